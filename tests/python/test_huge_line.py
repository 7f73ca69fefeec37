"""A file that is one endless line: refused with its reason, in bounded time and memory (C35, C52).

A quarter of a gigabyte here; with `SANARE_SLOW=1` two gigabytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_eleven_scenarios import project

SIZE = (2 << 30) if os.environ.get("SANARE_SLOW") else (1 << 28)
# What is read of a file that an argument names, and what reading it may take besides.
MEMORY = 400
SOURCE = """\
import csv

import sanare


@sanare.heal
def load(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        head = file.read(4096)
        return [row["amount"] for row in csv.DictReader([head.split("\\n")[0], head[-1000:]])]
"""
PROGRAM = """\
import csv, logging, resource, sys, time
sys.path.insert(0, ".")
logging.disable(logging.CRITICAL)
import job, sanare
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) << 20, resource.RLIM_INFINITY))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
try:
    job.load(sys.argv[1])
except (KeyError, csv.Error) as error:
    report = sanare.report(error)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(report.outcome, report.reason, int(time.perf_counter() - begun), (after - before) // 1024, sep="|")
"""


def write(path: Path, kind: str) -> None:
    with open(path, "wb") as file:
        if kind == "text":
            block = b"12;x," * (1 << 18)
            for _ in range(SIZE // len(block)):
                file.write(block)
        elif kind == "after a header":
            file.write(b"date,customer,total\n2026-01-05,Alfa,")
            block = b"x" * (1 << 20)
            for _ in range(SIZE // len(block)):
                file.write(block)
        else:
            file.truncate(SIZE)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
@pytest.mark.parametrize("kind", ["text", "after a header", "nothing but zero bytes"])
def test_one_endless_line(tmp_path: Path, kind: str) -> None:
    project(tmp_path, SOURCE)
    data = tmp_path.parent / f"{tmp_path.name}.csv"
    write(data, kind)
    try:
        command = [sys.executable, "-c", PROGRAM, str(data), str(16 << 10)]
        # A variable of this name that is no setting would refuse everything.
        environment = {name: value for name, value in os.environ.items() if name != "SANARE_SLOW"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
    finally:
        data.unlink()
    assert done.returncode == 0 and done.stdout.count("|") == 3, (done.stdout, done.stderr)
    outcome, reason, seconds, memory = done.stdout.strip().split("|")
    print(kind, outcome, reason, seconds, "s", memory, "MiB")
    assert (outcome, (tmp_path / "job.py").read_text()) == ("refused", SOURCE)
    assert reason in ("no_proposer", "missing_field", "no_identity", "not_data"), reason
    assert int(seconds) < 60 and int(memory) < MEMORY, done.stdout
