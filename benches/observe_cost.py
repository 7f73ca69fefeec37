"""What a call of `Service.observe` costs the program, in microseconds, while its readings are stored beside it.

    python observe_cost.py [ROUNDS]

Each round is 2,000 calls in bursts of 20 with a pause between, as of a program that serves requests; the healer watches from
its own thread and stores on a real disk. Prints one JSON object: median and quartiles over the rounds of the median, and of
the 99th of 100 calls; and that no reading was lost.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter_ns

import sanare

CALLS, BURST = 2_000, 20


def spread(numbers: list[float]) -> list[float]:
    low, _, high = quantiles(numbers, n=4)
    return [median(numbers), low, high]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sanare.toml").write_text("[service.bench]\n")
        os.chdir(folder)
        service = sanare.Service("bench")
        medians: list[float] = []
        worst: list[float] = []
        for _ in range(rounds):
            times: list[float] = []
            for _ in range(CALLS // BURST):
                for number in range(BURST):
                    begun = perf_counter_ns()
                    service.observe("latency_ms", number)
                    times.append((perf_counter_ns() - begun) / 1_000)
                time.sleep(0.002)
            times.sort()
            medians.append(median(times))
            worst.append(times[len(times) * 99 // 100])
        stored = service.close(30)
        stats = service.stats()
        assert stored and stats["sent"] == rounds * CALLS and not stats["dropped"] + stats["refused"], stats
    print(json.dumps({"median_us": spread(medians), "p99_us": spread(worst)}))


if __name__ == "__main__":
    main()
