"""What keeps the figures of a service, as a process of its own that answers as Prometheus does.

`python -I -S source.py PORT FOLDER`: the one series is what `scraped` of its folder holds, a time and a value.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        [query] = parse_qs(urlsplit(self.path).query).get("query", [""])
        with open(os.path.join(FOLDER, "scraped")) as file:
            when, value = file.read().split()
        found = when if query.startswith("timestamp(") else value
        result = [{"metric": {}, "value": [float(when), found]}]
        answer = {"status": "success", "data": {"resultType": "vector", "result": result}}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
