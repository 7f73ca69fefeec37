"""A small model service, as one runs in production: a process of its own that serves the version that `live` names.

`python -I -S model_service.py PORT FOLDER`. What happens to it, it writes into `truth` of its folder itself: every start and
every load is known from there, and not from whoever watches it. `POST /ill` makes it ill in memory, which a start heals;
`curse` in its folder makes it ill from every start on, which none heals; an artefact may be bad too, which another one heals.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
# Pieces that a process of this service can hold, and files that it can have open.
LIMIT = 40


def write(line):
    log = os.open(os.path.join(FOLDER, "truth"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, f"{line}\n".encode())
    os.close(log)


class Process:
    def __init__(self):
        self.start = str(time.time_ns())
        self.ill = {}
        self.held, self.files, self.on_card = [], [], 0
        self.asked = self.answered = 0
        try:
            with open(os.path.join(FOLDER, "curse")) as file:
                self.ill = json.load(file)
        except FileNotFoundError:
            pass
        write(f"start {os.getpid()}")
        self.load()
        if "dies" in self.ill:
            threading.Timer(self.ill["dies"], self.die).start()

    def load(self):
        with open(os.path.join(FOLDER, "live")) as file:
            self.version = file.read().strip()
        self.loaded = str(time.time_ns())
        try:
            with open(os.path.join(FOLDER, f"artefact-{self.version}")) as file:
                self.model = json.load(file)
            write(f"load {self.version}")
        except ValueError:
            self.model = None
            write(f"damaged {self.version}")

    def die(self):
        write(f"dies {os.getpid()}")
        os._exit(1)

    def has(self, what):
        return self.ill.get(what) or (self.model or {}).get(what) or 0

    def leak(self):
        """What it holds grows with every look, as with every request of a service that leaks."""
        if self.ill.get("memory"):
            self.held.append(bytearray(64 * 1024))
        if self.ill.get("files"):
            self.files.append(open(os.devnull))
        if self.ill.get("card"):
            self.on_card += 1

    def figures(self):
        self.leak()
        return {
            "memory_share": min(len(self.held) / LIMIT, 1.0),
            "card_share": min(self.on_card / LIMIT, 1.0),
            "files_share": min(len(self.files) / LIMIT, 1.0),
            "disk_share": self.has("disk"),
            "answered": self.answered,
            "model_loaded": self.model is not None,
        }


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def who(self):
        # Behind one address there may be many, and another one answers each time.
        many = f"{process.asked}-" if process.ill.get("many") else ""
        return {
            "version": process.version,
            "instance": many + str(os.getpid()),
            "start": many + process.start,
            "loaded": process.loaded,
        }

    def do_GET(self):
        if self.path == "/ping":
            return self.answer(200, {"ping": "pong"})
        if self.path == "/who":
            return self.answer(*((503, {}) if process.has("unknown") else (200, self.who())))
        if self.path == "/figures":
            return self.answer(200, process.figures())
        process.asked += 1
        if process.has("slow"):
            time.sleep(process.has("slow"))
        # A share of the inputs fails, spread evenly; the one that a probe sends is among them when hardly any is well.
        path, _, row = self.path.partition("?row=")
        failing = process.has("errors")
        if int(row) * 0.6180339887498949 % 1 < failing if row else failing >= 0.9:
            return self.answer(500, {"error": "no answer", **self.who()})
        process.answered += 1
        return self.answer(200, {"score": 0.5, **self.who()})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/reload":
            write("reload")
            if not process.ill.get("stubborn"):
                process.load()
        elif self.path == "/ill":
            process.ill = json.loads(body)
            write("ill " + json.dumps(process.ill))
        self.answer(200, {})


process = Process()
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
