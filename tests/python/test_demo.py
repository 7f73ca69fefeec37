"""The demo as a newcomer runs it: in a fresh process, with a home folder that has nothing in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_demo_heals_two_jobs_and_refuses_the_third(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "SANARE_HEAL_MODE": "off"}
    done = subprocess.run(
        [sys.executable, "-m", "sanare._demo"], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.count("outcome           healed") == 2
    assert done.stdout.count("outcome           refused") == 1
    assert "\x1b[" not in done.stdout, "colour where nobody looks"
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("sanare-demo-")] == []
