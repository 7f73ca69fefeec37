"""From the failing call to its healed result, for a renamed CSV column, in milliseconds.

    python heal_time.py sanare|healing_agent [ROUNDS]

Each round is a new file of the same program: one good call, then the call whose input has another header. The first
round is cold; the rest are warm. The peer asks a model: here a server on the loopback interface that answers at once
with a right repair, so that only the peer's own time is counted. Prints one JSON object.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

SOURCE = """\
import csv

{head}


@{decorator}
def load(path):
    totals = {{}}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            totals[row["customer"]] = totals.get(row["customer"], 0.0) + float(row["amount"])
    return totals
"""
REPAIR = """\
def load(path):
    import csv
    totals = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            amount = row["amount"] if "amount" in row else row["betrag"]
            totals[row["customer"]] = totals.get(row["customer"], 0.0) + float(amount)
    return totals
"""
ROWS = [("2026-02-27", "Alder", "1249.90"), ("2026-02-27", "Birch", "318.00"), ("2026-02-28", "Cedar", "77.25")]
RIGHT = {"Alder": 1249.9, "Birch": 318.0, "Cedar": 77.25}


class Model(BaseHTTPRequestHandler):
    """Answers every question with the same repair."""

    asked = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Model.asked += 1
        body = json.dumps({"response": REPAIR, "prompt_eval_count": 1, "eval_count": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def prepare_peer(home: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ.update(
        HOME=str(home),
        HEALING_AGENT_PROVIDER="ollama",
        OLLAMA_HOST=f"http://127.0.0.1:{server.server_address[1]}",
        NO_PROXY="127.0.0.1",
    )


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.load


def write_rows(path: Path, header: str) -> str:
    path.write_text("\n".join([header, *(",".join(row) for row in ROWS)]) + "\n", encoding="utf-8")
    return str(path)


def main() -> None:
    which = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    peer = which == "healing_agent"
    logging.getLogger("sanare").addHandler(logging.NullHandler())
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    # More heals in an hour than a project is allowed by itself.
    settings = '[project]\nname = "bench"\n\n[tool.sanare.heal.breaker]\nheals_per_hour = 1000\n'
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    os.chdir(folder)
    if peer:
        prepare_peer(folder)
    head, decorator = ("from healing_agent import healing_agent", which) if peer else ("import sanare", "sanare.heal")
    old, new = (
        write_rows(folder / "old.csv", "date,customer,amount"),
        write_rows(folder / "new.csv", "date,customer,betrag"),
    )
    millis = []
    for number in range(rounds + 1):
        path = folder / f"job{number}.py"
        path.write_text(SOURCE.format(head=head, decorator=decorator), encoding="utf-8")
        with contextlib.redirect_stdout(sys.stderr if "--loud" in sys.argv else open(os.devnull, "w")):
            function = load(path)
            assert function(old) == RIGHT
            begin = perf_counter()
            result = function(new)
            millis.append((perf_counter() - begin) * 1000)
        assert result == RIGHT, result
        assert "betrag" in path.read_text(encoding="utf-8"), "the file was not written"
        assert load(path)(old) == RIGHT
    warm = millis[1:]
    answer = {"cold_ms": millis[0], "warm_ms": [median(warm), *quantiles(warm)[::2]], "rounds": len(warm)}
    print(json.dumps(answer | ({"model_calls": Model.asked / (rounds + 1)} if peer else {})))


if __name__ == "__main__":
    main()
