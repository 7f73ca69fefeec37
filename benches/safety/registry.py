"""A small model registry that speaks the few calls of MLflow's that Sanare makes, as a process of its own.

`python -I -S registry.py PORT FOLDER`. The alias `champion` of the model `fraud` is what `live` of its folder names, a version
is there if its artefact is. Every write is a line of `registry-truth`, with who made it: whoever is asked as `/others/VERSION`
moves it for somebody else. `rival` holds `MOMENT VERSION`: somebody else is there once at that moment, which is `alias`,
`version`, `tag` or `move` (right after that call was answered, the last one of them).
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
API = "/api/2.0/mlflow/"


def at(name):
    return os.path.join(FOLDER, name)


def live():
    with open(at("live")) as file:
        return file.read().strip()


def tags():
    try:
        with open(at("registry-tags")) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def move(version, who):
    with open(at("live.new"), "w") as file:
        file.write(version)
    os.replace(at("live.new"), at("live"))
    with open(at("registry-truth"), "a") as log:
        log.write(f"move {version} {who}\n")


def rival(moment):
    try:
        with open(at("rival")) as file:
            wanted, version = file.read().split()
    except FileNotFoundError:
        return
    if moment == wanted:
        os.remove(at("rival"))
        move(version, "others")


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def version(self, version):
        if not os.path.exists(at(f"artefact-{version}")):
            return self.answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
        of_it = [{"key": key, "value": value} for key, value in tags().get(version, {}).items()]
        self.answer(200, {"model_version": {"version": version, "status": "READY", "tags": of_it}})

    def do_GET(self):
        asked = urlsplit(self.path)
        found = {name: values[0] for name, values in parse_qs(asked.query).items()}
        if asked.path == API + "registered-models/alias":
            self.version(live())
            rival("alias")
        elif asked.path == API + "model-versions/get":
            self.version(found["version"])
            rival("version")
        else:
            self.answer(404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.startswith("/others/"):
            move(self.path.removeprefix("/others/"), "others")
            self.answer(200, {})
        elif self.path == API + "model-versions/set-tag":
            all_of_them = tags()
            all_of_them.setdefault(body["version"], {})[body["key"]] = body["value"]
            with open(at("registry-tags"), "w") as file:
                json.dump(all_of_them, file)
            rival("tag")
            self.answer(200, {})
        elif self.path == API + "registered-models/alias":
            move(body["version"], "sanare")
            rival("move")
            self.answer(200, {})
        else:
            self.answer(404, {})


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
