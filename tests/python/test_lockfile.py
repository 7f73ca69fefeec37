"""`sanare.lock` comes with a repair; a malformed one refuses the file and not the program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sanare
from test_eleven_scenarios import load, project

LOADER = """import csv


def load(path):
    with open(path, newline="", encoding="utf-8") as fh:
        return sum(int(row["amount"]) for row in csv.DictReader(fh))
"""


def healed(folder: Path) -> Path:
    """A case healed in a project that stays; the project."""
    case = folder / "case"
    case.mkdir()
    (case / "loader.py").write_text(LOADER, encoding="utf-8")
    (case / "task.toml").write_text('function = "load"\ninput = "path"\n', encoding="utf-8")
    (case / "old.csv").write_text("date,amount\n2024-01-05,12\n2024-01-06,30\n", encoding="utf-8")
    (case / "new.csv").write_text("date,betrag\n2024-01-07,11\n2024-01-08,31\n", encoding="utf-8")
    out, work = folder / "healed.py", folder / "work"
    given = ["-m", "sanare._case", str(case), "--out", str(out), "--work", str(work)]
    done = subprocess.run([sys.executable, *given], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "betrag" in out.read_text(encoding="utf-8"), done.stdout + done.stderr
    return work / "project"


def test_a_line_comes_with_a_repair(tmp_path: Path) -> None:
    lines = (healed(tmp_path) / "sanare.lock").read_text(encoding="utf-8").splitlines()
    (entry,) = [line for line in lines if "betrag" in line]
    for part in ('function = "loader.py:load"', 'expected = "amount"', 'evidence = ["I4"', 'accepted = "policy"'):
        assert part in entry, entry
    assert 'incident = "inc_' in entry and "profile = " in entry


ASKED = """import csv
import io

import sanare


@sanare.heal(mode="ask")
def load(text):
    return sum(int(row["amount"]) for row in csv.DictReader(io.StringIO(text)))
"""


def test_a_line_comes_with_an_approval_and_goes_with_its_revert(tmp_path: Path) -> None:
    job = project(tmp_path, ASKED)
    loaded = load(job, f"asked_{tmp_path.name}")
    loaded.load("date,amount\n2024-01-05,12\n2024-01-06,30\n")
    with pytest.raises(KeyError):
        loaded.load("date,betrag\n2024-01-07,11\n2024-01-08,31\n")
    report = sanare.last_report()
    lock = tmp_path / "sanare.lock"
    assert report is not None and report.status == "waiting" and not lock.exists()

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("approve", report.id)
    (entry,) = [line for line in lock.read_text(encoding="utf-8").splitlines() if "betrag" in line]
    for part in ('function = "job.py:load"', 'expected = "amount"', 'evidence = ["I4"', f'incident = "{report.id}"'):
        assert part in entry, entry
    assert "accepted = " in entry and 'accepted = "policy"' not in entry and "profile = " in entry
    assert "betrag" in job.read_text(encoding="utf-8")
    run("revert", report.id)
    assert "betrag" not in lock.read_text(encoding="utf-8") + job.read_text(encoding="utf-8")
