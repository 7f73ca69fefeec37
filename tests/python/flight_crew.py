"""A worker of the tests of single flight: a process whose threads fail together when it is told to.

It reads one JSON object a line and answers with one. `{"load": MODULE}` imports and makes a good call of every function;
`{"go": {FUNCTION: THREADS}}` lets so many threads fail at once in each function and tells what each of them got.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from types import ModuleType
from typing import Any

OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
NEW = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
RESULT = {"total": 2000, "names": ["Alfa Kft", "Beta Zrt"]}

# `load_other` fails under its repair as well, but only in the live process: it is healed and restored.
JOB = """\
import csv
import io
import os

import sanare

HERE = os.getpid()
BROKEN = False


@sanare.heal(rerun="always")
def load_other(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    total = sum(int(row["amount"]) for row in rows)
    if BROKEN and os.getpid() == HERE:
        total = total // 0
    return {"total": total, "names": sorted(row["customer"] for row in rows)}


@sanare.heal
def load_sales(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    return {"total": sum(int(row["amount"]) for row in rows), "names": sorted(row["customer"] for row in rows)}
"""

PROJECT = """\
[project]
name = "shop"

[tool.sanare.heal.breaker]
repairs_per_function_per_day = 100
heals_per_hour = 1000
"""


def fail_together(module: ModuleType, plan: dict[str, int]) -> list[dict[str, Any]]:
    names = [name for name, count in plan.items() for _ in range(count)]
    barrier = threading.Barrier(len(names))
    got: list[dict[str, Any]] = []

    def call(name: str) -> None:
        barrier.wait()
        try:
            result = getattr(module, name)(NEW)
            got.append({"function": name, "result": result})
        except Exception as error:
            got.append({"function": name, "error": type(error).__name__, "args": [str(arg) for arg in error.args],
                        "notes": list(getattr(error, "__notes__", []))})  # fmt: skip

    threads = [threading.Thread(target=call, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


def main() -> None:
    sys.path.insert(0, os.getcwd())
    sys.dont_write_bytecode = True
    module: Any = None
    for line in sys.stdin:
        order = json.loads(line)
        answer: Any = "done"
        if "lease" in order:
            from sanare import _flight

            _flight.LEASE = order["lease"]
        if "freeze_at" in order or "kill_at" in order:
            listen(order)
        if "load" in order:
            importlib.invalidate_caches()
            module = importlib.import_module(order["load"])
            for name in ("load_other", "load_sales"):
                assert getattr(module, name)(OLD) == RESULT
            module.BROKEN = True
        if "go" in order:
            answer = fail_together(module, order["go"])
        print(json.dumps(answer), flush=True)


def listen(order: dict[str, Any]) -> None:
    """Stops or kills this process at one turn of a heal."""
    import signal

    from sanare import _subject

    sign = signal.SIGSTOP if "freeze_at" in order else signal.SIGKILL
    turn = order.get("freeze_at", order.get("kill_at"))

    def moment(self: Any, name: str) -> None:
        if name == turn:
            # To this thread: of a signal to the process another thread might take notice, and this one go on for a while.
            signal.pthread_kill(threading.get_ident(), sign)

    _subject.Subject.moment = moment  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
