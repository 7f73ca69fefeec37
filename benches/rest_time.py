"""What a failure costs that rests or was refused for good, over the same failure undecorated, in milliseconds.

    python rest_time.py [ROUNDS]

The function fails in the same way each time. The first failure is looked into and refused; the others rest (C118): they
are counted and raised as they are. Decorated and undecorated take turns. Prints one JSON object.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any

SOURCE = """\
import sanare


def plain(row):
    return float(row["amount"])


@sanare.heal(remember="off")
def load(row):
    return float(row["amount"])
"""


def fail(function: Any) -> tuple[float, float]:
    row = {"date": "2026-02-27", "customer": "Alder", "total_after_tax": "1249.90"}
    start, used = perf_counter(), thread_time()
    try:
        function(row)
    except KeyError:
        return (perf_counter() - start) * 1000, (thread_time() - used) * 1000
    raise AssertionError("it did not fail")


def main() -> None:
    logging.disable(logging.CRITICAL)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.py"
        path.write_text(SOURCE)
        # Narration is not what is measured.
        (Path(folder) / "sanare.toml").write_text('log_mode = "logging"\n')
        spec = importlib.util.spec_from_file_location("job", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        first = fail(module.load)[0]
        over, used = [], []
        for _ in range(rounds):
            plain, rests = fail(module.plain), fail(module.load)
            over.append(rests[0] - plain[0])
            used.append(rests[1] - plain[1])
        print(json.dumps({"first_ms": first, "over_ms": middle(over), "processor_ms": middle(used), "rounds": rounds}))


def middle(times: list[float]) -> list[float]:
    return [round(one, 4) for one in (median(times), *quantiles(times)[::2])]


if __name__ == "__main__":
    main()
