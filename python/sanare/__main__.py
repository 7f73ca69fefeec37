"""The `sanare` command: its arguments go to the Rust half, which has the whole command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line and gives its exit code."""
    from sanare import _sanare

    return _sanare.main(sys.argv[1:], sys.executable)


if __name__ == "__main__":
    raise SystemExit(main())
