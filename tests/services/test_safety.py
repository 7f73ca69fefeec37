"""A few faults of the safety bench (`benches/safety`, S149), as real processes: the whole of it is `cargo xtask bench safety`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs signals that stop a process")

BENCH = Path(__file__).parents[2] / "benches" / "safety"
# Of each group at least one, and of each end.
FAULTS = [
    "crash",
    "half-alive",
    "burst of 5xx",
    "bad by errors",
    "known-good bad too",
    "alias moved by others",
    "served is not the alias",
    "real drift",
    "NaN",
    "clock jumps back",
    "source down after the act",
    "keeper lies",
    "identity probe down",
    "fleet of one",
    "store full",
    "a person acts meanwhile",
]


def test_faults_on_real_processes_do_no_harm_and_heal_what_can_be_healed() -> None:
    argv = [sys.executable, str(BENCH), "--only", ",".join(FAULTS), "--at-once", "4"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    total = json.loads(done.stdout.splitlines()[-1])
    assert (total["faults"], total["broken"]) == (len(FAULTS), 0)
    assert total["healed"] == total["healable"] == 7
    assert total["handed_over"] == total["for_a_person"] == 7
