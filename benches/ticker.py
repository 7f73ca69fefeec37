"""How late a 10 ms ticker is while a heal waits for a proposer of two seconds, in milliseconds.

    python ticker.py [HEALS]

A coroutine fails in 100 tasks at once; the model that is asked answers after two seconds. Meanwhile a task sleeps for 10 ms
again and again. `late_ms` is the worst lateness of each heal, from the failing calls until all of them have ended; `alone_ms`
that of the same ticker for two seconds with nothing else in the loop, in turns. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
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
from time import sleep
from typing import Any

SOURCE = """\
import sanare


@sanare.heal(proposers=["model"])
async def job{number}(row):
    return float(row["amount"])
"""
NONE = json.dumps({"summary": "no repair", "confidence": 0.1, "candidate": None})
ANSWER = json.dumps({"message": {"content": NONE}, "prompt_eval_count": 1, "eval_count": 1}).encode()
TASKS = 100
PAUSE = 0.01


class Model(BaseHTTPRequestHandler):
    """Takes its time."""

    asked = 0

    def do_POST(self) -> None:
        Model.asked += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        sleep(2)
        self.send_response(200)
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, path.stem)


async def fail(function: Any) -> None:
    try:
        await function({"betrag": "12"})
    except KeyError:
        return
    raise AssertionError("it did not fail")


async def beside(work: Any) -> float:
    """The worst lateness of the ticker while something is awaited."""
    loop = asyncio.get_running_loop()
    worst = 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            due = loop.time() + PAUSE
            await asyncio.sleep(PAUSE)
            worst = max(worst, loop.time() - due)

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(PAUSE * 5)
    worst = 0.0
    await work()
    ticker.cancel()
    return worst * 1000


async def one_heal(function: Any) -> float:
    async def work() -> None:
        await asyncio.gather(*(fail(function) for _ in range(TASKS)))

    return await beside(work)


async def alone() -> float:
    async def work() -> None:
        await asyncio.sleep(2)

    return await beside(work)


def main() -> None:
    heals = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    logging.getLogger("sanare").addHandler(logging.NullHandler())
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    (folder / "pyproject.toml").write_text('[project]\nname = "bench"\n', encoding="utf-8")
    os.chdir(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ.update(
        SANARE_MODEL_PROVIDER="ollama",
        SANARE_MODEL_MODEL="bench",
        SANARE_MODEL_BASE_URL=f"http://127.0.0.1:{server.server_address[1]}",
    )
    late, quiet = [], []
    for number in range(heals + 1):
        path = folder / f"job{number}.py"
        path.write_text(SOURCE.format(number=number), encoding="utf-8")
        late.append(asyncio.run(one_heal(load(path))))
        quiet.append(asyncio.run(alone()))
    first, *warm = late
    answer = {
        "first_ms": first,
        "late_ms": [median(warm), *quantiles(warm)[::2]],
        "worst_ms": max(warm),
        "alone_ms": max(quiet),
        "proposals_a_heal": Model.asked / (heals + 1),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
