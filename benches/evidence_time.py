"""From a raise to the recorded evidence, in milliseconds, and the memory that it takes at its peak, in MiB.

    python evidence_time.py [ROUNDS]

Each round fails with another key, so that each is an incident of its own; the function is only observed, so that the
time is that of classifying, reading, redacting and writing. `typical` holds a few small values; the others hold one
large value each, as argument and as local variable. The first round of a process, which opens the store, is `cold`.
Prints one JSON object.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any

SOURCE = """\
import sanare


@sanare.heal(mode="observe", remember="off")
def load(given, key):
    held = given
    names = ["date", "customer", "amount"]
    row = {"date": "2026-02-27", "customer": "Alder", "amount": "1249.90"}
    total = 0.0
    return row[key], held, names, total
"""


def values() -> dict[str, Any]:
    """What the failing function holds, by name."""
    found: dict[str, Any] = {
        "typical": "export.csv",
        "list of 1,000,000": [{"id": number} for number in range(1_000_000)],
        "50 MB of bytes": bytes(50_000_000),
        "50 MB of text": "x" * 50_000_000,
    }
    cycle: dict[str, Any] = {}
    cycle["itself"], cycle["again"] = cycle, cycle
    for _ in range(20):
        cycle = {"left": cycle, "right": cycle}
    found["shared through 20 levels"] = cycle
    try:
        import numpy
        import pandas
    except ImportError:
        return found
    found["50 MB frame"] = pandas.DataFrame({f"column {n}": numpy.arange(625_000.0) for n in range(10)})
    found["frame of 10,000 columns"] = pandas.DataFrame(numpy.zeros((50, 10_000)))
    return found


def peak() -> float:
    """Most memory of the process since the last call, in MiB."""
    text = Path("/proc/self/status").read_text()
    most = next(line for line in text.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(most.split()[1]) / 1024


def resident() -> float:
    """Memory of the process now, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def spread(times: list[float]) -> list[float]:
    """Quartiles, rounded."""
    low, _, high = quantiles(times, n=4)
    return [round(low, 3), round(median(times), 3), round(high, 3)]


def word(number: int) -> str:
    """A key that is no number: numbers do not tell failures apart."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def main() -> None:
    logging.disable(logging.CRITICAL)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.py"
        path.write_text(SOURCE)
        # Narration is not what is measured.
        (Path(folder) / "sanare.toml").write_text('log_mode = "logging"\n')
        spec = importlib.util.spec_from_file_location("job", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        number = 0

        def fail(value: Any) -> tuple[float, float]:
            nonlocal number
            number += 1
            key = f"missing {word(number)}"
            start, used = perf_counter(), thread_time()
            try:
                module.load(value, key)
            except KeyError:
                return (perf_counter() - start) * 1000, (thread_time() - used) * 1000
            raise AssertionError("it did not fail")

        result: dict[str, Any] = {"cold": round(fail("export.csv")[0], 3)}
        for name, value in values().items():
            fail(value)
            peak()
            before = resident()
            times = [fail(value) for _ in range(rounds)]
            over = max(0.0, peak() - before)
            result[name] = {
                # Lower quartile, median, upper quartile; the second is processor time, which a busy disk leaves alone.
                "ms": spread([wall for wall, _ in times]),
                "processor ms": spread([cpu for _, cpu in times]),
                "MiB": round(over, 1),
            }
        print(json.dumps(result))


if __name__ == "__main__":
    main()
