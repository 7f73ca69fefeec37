"""What the tests of single flight share: a project with failing processes in it, and what its ledger says."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from flight_crew import JOB, PROJECT, RESULT

HERE = Path(__file__).resolve().parent


class Worker:
    """A process that fails when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "flight_crew.py")],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("SANARE_")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, **order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise AssertionError(f"the worker ended: {self.process.wait()}\n{self.process.stderr.read()}")
        return json.loads(line)

    def ask(self, **order: Any) -> Any:
        self.tell(**order)
        return self.answer()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Crew:
    """A project and the processes that fail in it."""

    def __init__(self, folder: Path, size: int) -> None:
        folder.mkdir()
        (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
        self.folder = folder
        self.workers = [Worker(folder) for _ in range(size)]

    def write(self, name: str) -> Path:
        path = self.folder / f"{name}.py"
        path.write_text(JOB, encoding="utf-8")
        return path

    def add(self) -> Worker:
        """One more process: a next start of the program."""
        self.workers.append(Worker(self.folder))
        return self.workers[-1]

    def load(self, name: str) -> None:
        for worker in self.workers:
            worker.tell(load=name)
        for worker in self.workers:
            worker.answer()

    def go(self, **plan: int) -> list[dict[str, Any]]:
        for worker in self.workers:
            worker.tell(go=plan)
        return [got for worker in self.workers for got in worker.answer()]

    def incidents(self, name: str, function: str) -> dict[str, list[tuple[str, dict[str, Any]]]]:
        """The records of the incidents of one function, by incident."""
        store = sqlite3.connect(f"file:{self.folder / '.sanare' / 'store.db'}?mode=ro", uri=True)
        try:
            rows = store.execute("SELECT incident, step, payload FROM ledger ORDER BY seq").fetchall()
        finally:
            store.close()
        found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for incident, step, text in rows:
            payload = json.loads(text)
            about = payload.get("incident", {})
            if step == "opened" and (about["path"], about["function"]) == (f"{name}.py", function):
                found[incident] = []
            if incident in found:
                found[incident].append((step, payload))
        return found

    def steps(self, name: str, function: str) -> Counter[str]:
        """Ledger steps of the incidents of one function, counted; `written` stands for an adoption that wrote."""
        records = [record for records in self.incidents(name, function).values() for record in records]
        counted = Counter(step for step, _ in records)
        counted["written"] = sum(step == "adopted" and payload["writes"] for step, payload in records)
        return counted

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sanare", *arguments],
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("SANARE_")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def verify(self) -> None:
        done = self.command("ledger", "verify")
        assert done.returncode == 0, done.stdout + done.stderr
        left = [entry for entry in os.listdir(self.folder) if entry.startswith(".") and entry != ".sanare"]
        assert left == [], left

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()


def writing(path: Path) -> tuple[int, ...]:
    """What changes when a file is written, and not when it is read."""
    stat = path.stat()
    return stat.st_ino, stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def check_got(got: list[dict[str, Any]]) -> Counter[str]:
    """Everybody has the healed result or the original exception."""
    counted: Counter[str] = Counter()
    for one in got:
        if "result" in one:
            assert one["result"] == RESULT and one["function"] == "load_sales", one
        else:
            assert (one["error"], one["args"]) == ("KeyError", ["amount"]), one
            assert len(one["notes"]) == 1, one
        counted[f"{one['function']} {'healed' if 'result' in one else 'raised'}"] += 1
    return counted
