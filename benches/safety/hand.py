"""What the owner's own script would do: asks the keeper of the service for something, and says by its end how it went.

`python -I -S hand.py ADDRESS PATH`
"""

import sys
import urllib.error
import urllib.request

try:
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + sys.argv[2], b"", method="POST"), timeout=60):
        pass
except urllib.error.HTTPError as error:
    print(f"the keeper says {error}")
    # Who declines has begun nothing.
    sys.exit(75 if error.code == 409 else 1)
except OSError as error:
    print(f"the keeper cannot be asked: {error}")
    sys.exit(1)
