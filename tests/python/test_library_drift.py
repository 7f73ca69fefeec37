"""Changed libraries through the whole product: what the running interpreter has is asked, loaded or not (C68)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from test_eleven_scenarios import project

SOURCE = """\
import collections

import sanare


def is_table(value):
    return not isinstance(value, (str, int)) and isinstance(value, collections.Mapping)


@sanare.heal(examples=[sanare.Example(({"a": 1},), returns=["a"])])
def leaves(config):
    found = []
    for key, value in config.items():
        found += [f"{key}.{name}" for name in value] if is_table(value) else [key]
    return found
"""
# Nothing but the interpreter's own start has loaded anything: the successor's module is there, and nobody asked for it.
PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
import job
loaded = "collections.abc" in sys.modules
try:
    print(job.leaves({"db": {"host": "h", "pool": {"most": 4}}, "port": 1}), loaded)
except AttributeError as error:
    print(error, error.__notes__)
"""


def test_a_successor_in_a_module_that_is_not_loaded(tmp_path: Path) -> None:
    job = project(tmp_path, SOURCE)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.startswith("['db.host', 'db.pool', 'port']"), (done.stdout, done.stderr)
    assert "from collections.abc import Mapping" in job.read_text()


def test_only_the_standard_library_is_loaded_for_a_look(tmp_path: Path) -> None:
    (tmp_path / "owners.py").write_text("raise SystemExit('loaded')\n")
    look = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from sanare._subject import _exists\n"
        "print(_exists('collections.abc.Mapping'), _exists('owners.thing'), _exists('collections.abc.Nothing'))\n"
    )
    done = subprocess.run([sys.executable, "-c", look, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "False", "False"], done.stderr


CASE = {
    "loader.py": (
        "import csv\n\n\ndef load(path):\n"
        "    with open(path, newline='') as fh:\n        lines = fh.read().splitlines()\n"
        "    start = next(i for i, line in enumerate(lines) if line.startswith('Date,'))\n"
        "    return sum(int(row['Amount']) for row in csv.DictReader(lines[start:]))\n"
    ),
    "old.csv": "a title\nDate,Customer,Amount\n2026-01-05,Alfa,12\n2026-01-06,Beta,30\n",
    "new.csv": "a title\nId,Date,Customer,Amount\n7,2026-02-05,Alfa,15\n8,2026-02-06,Beta,40\n",
    "task.toml": 'function = "load"\ninput = "path"\n',
}


def test_a_case_names_its_own_failure(tmp_path: Path) -> None:
    """`StopIteration` passes unless its owner names it; a case is about nothing else."""
    for name, text in CASE.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "healed.py"
    command = [sys.executable, "-m", "sanare", "heal-case", str(tmp_path), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    namespace: dict[str, object] = {}
    exec(out.read_text(), namespace)
    load = namespace["load"]
    assert callable(load) and (load(str(tmp_path / "old.csv")), load(str(tmp_path / "new.csv"))) == (42, 55)
