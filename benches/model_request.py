"""From a failing call to the first byte of the first request to a model, in milliseconds.

    python model_request.py [ROUNDS]

The offline engine is off, so that everything between raise and request is counted: capture, redaction, masking, shapes, the
request itself, the connection. The server answers that it has no repair. The first round of a process is cold, the rest are
warm; the very first one also makes the project's store. Then seven more processes of the same project have one cold round
each. Prints one JSON object.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

STATEMENT = "    total += int(row['amount']) * {number}\n"
SOURCE = "import sanare\n\n\n@sanare.heal(proposers=['model'])\ndef job{number}(row):\n    total = 0\n{body}    return total\n"
NONE = json.dumps({"summary": "no repair", "confidence": 0.1, "candidate": None})
ANSWER = json.dumps({"message": {"content": NONE}, "prompt_eval_count": 5000, "eval_count": 5}).encode()


class Server:
    """Notes when a request begins."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.sizes: list[int] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer: socket.socket) -> None:
        while data := peer.recv(1 << 20):
            self.begun.append(perf_counter())
            head, _, body = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            while len(body) < length:
                body += peer.recv(1 << 20)
            self.sizes.append(length)
            peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, path.stem)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    millis, sizes = measure(folder, range(rounds + 1))
    warm = millis[1:]
    again = [in_process_of_its_own(folder, rounds + 1 + number) for number in range(7)]
    answer = {
        "first_ms": millis[0],
        "cold_ms": [median(again), *quantiles(again)[::2]],
        "warm_ms": [median(warm), *quantiles(warm)[::2]],
        "rounds": len(warm),
        "request_bytes": median(sizes),
    }
    print(json.dumps(answer))


def in_process_of_its_own(folder: Path, number: int) -> float:
    """One cold round."""
    command = [sys.executable, __file__, "--one", str(folder), str(number)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(folder: Path, numbers: range) -> tuple[list[float], list[int]]:
    """Milliseconds of each round, and the sizes of the requests."""
    logging.getLogger("sanare").addHandler(logging.NullHandler())
    (folder / "pyproject.toml").write_text('[project]\nname = "bench"\n', encoding="utf-8")
    os.chdir(folder)
    server = Server()
    os.environ.update(
        SANARE_MODEL_PROVIDER="ollama",
        SANARE_MODEL_MODEL="bench",
        SANARE_MODEL_BASE_URL=f"http://127.0.0.1:{server.listener.getsockname()[1]}",
        SANARE_HEAL_MODEL_CALLS_PER_HOUR="1000",
        SANARE_MODEL_MAX_CALLS_PER_HOUR="1000",
    )
    body = "".join(STATEMENT.format(number=number) for number in range(57))
    millis = []
    for at, number in enumerate(numbers):
        path = folder / f"job{number}.py"
        path.write_text(SOURCE.format(number=number, body=body), encoding="utf-8")
        function = load(path)
        begin = perf_counter()
        try:
            function({"betrag": "12", "kunde": "Alder"})
        except KeyError:
            pass
        assert len(server.begun) == at + 1, "the model was not asked"
        millis.append((server.begun[at] - begin) * 1000)
    return millis, server.sizes


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(measure(Path(sys.argv[2]), range(int(sys.argv[3]), int(sys.argv[3]) + 1))[0][0])
    else:
        main()
