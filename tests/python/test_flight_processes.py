"""One failure, one heal, over threads and processes: who heals, who adopts, what becomes of a holder that stops (C116)."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from flight_crew import JOB, NEW, PROJECT, RESULT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox and process marks")

HERE = Path(__file__).resolve().parent
ROUNDS = int(os.environ.get("SANARE_STRESS_ROUNDS", "6"))


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

    def load(self, name: str) -> None:
        for worker in self.workers:
            worker.tell(load=name)
        for worker in self.workers:
            worker.answer()

    def go(self, **plan: int) -> list[dict[str, Any]]:
        for worker in self.workers:
            worker.tell(go=plan)
        return [got for worker in self.workers for got in worker.answer()]

    def steps(self, name: str, function: str) -> Counter[str]:
        """Ledger steps of the incidents of one function, counted; `written` stands for an adoption that wrote."""
        store = sqlite3.connect(f"file:{self.folder / '.sanare' / 'store.db'}?mode=ro", uri=True)
        try:
            rows = store.execute("SELECT incident, step, payload FROM ledger ORDER BY seq").fetchall()
        finally:
            store.close()
        of = {
            incident
            for incident, step, payload in rows
            if step == "opened"
            and json.loads(payload)["incident"]["path"] == f"{name}.py"
            and json.loads(payload)["incident"]["function"] == function
        }
        counted = Counter(step for incident, step, _ in rows if incident in of)
        counted["written"] = sum(
            step == "adopted" and json.loads(payload)["writes"] for incident, step, payload in rows if incident in of
        )
        return counted

    def verify(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "sanare", "ledger", "verify"],
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("SANARE_")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        left = [entry for entry in os.listdir(self.folder) if entry.startswith(".") and entry != ".sanare"]
        assert left == [], left

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file with `load_sales` repaired."""
    with Crew(tmp_path_factory.mktemp("healed") / "project", 1) as crew:
        path = crew.write("job")
        crew.load("job")
        assert crew.go(load_sales=1) == [{"function": "load_sales", "result": RESULT}]
        return path.read_text(encoding="utf-8")


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


def test_sixteen_threads_of_four_processes_fail_together(tmp_path: Path, healed: str) -> None:
    total: Counter[str] = Counter()
    with Crew(tmp_path / "project", 4) as crew:
        for number in range(ROUNDS):
            path = crew.write(f"job_{number}")
            crew.load(path.stem)
            total += check_got(crew.go(load_sales=16))
            steps = crew.steps(path.stem, "load_sales")
            assert (steps["proposed"], steps["prepared"], steps["written"]) == (1, 1, 0), (number, steps)
            assert path.read_text(encoding="utf-8") == healed, number
        crew.verify()
    print(f"\n{ROUNDS} rounds: {dict(total)}")
    assert total == {"load_sales healed": 64 * ROUNDS}


def test_another_function_of_the_file_is_healed_and_restored_meanwhile(tmp_path: Path, healed: str) -> None:
    total: Counter[str] = Counter()
    with Crew(tmp_path / "project", 4) as crew:
        for number in range(ROUNDS):
            path = crew.write(f"job_{number}")
            crew.load(path.stem)
            total += check_got(crew.go(load_sales=12, load_other=4))
            steps = crew.steps(path.stem, "load_sales")
            assert (steps["proposed"], steps["written"]) == (1, 0), (number, steps)
            other = crew.steps(path.stem, "load_other")
            assert other["undoing"] >= 1, other
            # The one repair stands, of the other nothing is left.
            assert path.read_text(encoding="utf-8") == healed, number
        crew.verify()
    print(f"\n{ROUNDS} rounds: {dict(total)}")
    assert total == {"load_sales healed": 48 * ROUNDS, "load_other raised": 16 * ROUNDS}


@pytest.mark.parametrize("turn", ["recorded checked", "before_write", "after_write", "after_swap"])
def test_a_killed_holder_is_followed_at_once(tmp_path: Path, healed: str, turn: str) -> None:
    with Crew(tmp_path / "project", 2) as crew:
        holder, other = crew.workers
        path = crew.write("job")
        crew.load("job")
        holder.ask(kill_at=turn)
        holder.tell(go={"load_sales": 4})
        holder.process.wait(timeout=60)
        assert holder.process.returncode == -signal.SIGKILL
        got = other.ask(go={"load_sales": 4})
        assert check_got(got) == {"load_sales healed": 4}
        assert path.read_text(encoding="utf-8") == healed
        crew.verify()


@pytest.mark.parametrize("turn", ["recorded checked", "recorded prepared", "before_write", "after_write", "after_swap"])
def test_the_late_write_of_a_frozen_holder_is_refused(tmp_path: Path, healed: str, turn: str) -> None:
    with Crew(tmp_path / "project", 2) as crew:
        holder, other = crew.workers
        path = crew.write("job")
        crew.load("job")
        for worker in crew.workers:
            worker.ask(lease=1.5)
        holder.ask(freeze_at=turn)
        holder.tell(go={"load_sales": 2})
        # WUNTRACED: until it stands still.
        os.waitpid(holder.process.pid, os.WUNTRACED)
        got = other.ask(go={"load_sales": 2})
        assert check_got(got) == {"load_sales healed": 2}
        assert path.read_text(encoding="utf-8") == healed
        before = path.stat()
        records = crew.steps("job", "load_sales")
        os.kill(holder.process.pid, signal.SIGCONT)
        check_got(holder.answer())
        assert path.stat() == before, "the late one wrote"
        after = crew.steps("job", "load_sales")
        # The late one may adopt what the other made; it records no further step of its own.
        assert {**after, "adopted": 0} == {**records, "adopted": 0}
        crew.verify()


def test_both_hold_the_same_input(healed: str) -> None:
    """The stress is real: the input fails on the old text and is read by the new one."""
    assert "amount" not in NEW and "osszeg" in healed
