"""Same input, same settings, same lexicon: byte-identical source, and a ledger that says the same (C52)."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_eleven_scenarios import GUARDS, HEALS, STANDARD, argument, project

PROGRAM = """\
import json, logging, sys
sys.path.insert(0, ".")
logging.disable(logging.CRITICAL)
import job
call = getattr(job, sys.argv[1])
for text in sys.argv[2:]:
    try:
        print(call(json.loads(text)))
    except KeyError as error:
        print(repr(error))
"""
# What differs by its nature: identity, time, measured time, the process, and hashes over these.
MOVING = {"id", "incident", "micros", "millis", "process", "at", "expires_at", "opened_at", "created_at"}
IDS = re.compile(r"\b(?:inc|cap|pat)_[0-9A-Z]{26}\b")


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in MOVING}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return IDS.sub("ID", value) if isinstance(value, str) else value


def once(folder: Path, source: str, function: str, *inputs: Any) -> tuple[bytes, list[Any]]:
    """The source afterwards, and the payloads of the ledger without what moves by its nature."""
    folder.mkdir()
    job = project(folder, source)
    given = [json.dumps(argument(folder, value)) for value in inputs]
    # In the folder, so that paths in records do not differ by its name; another seed for what iterates by hash.
    given = [text.replace(str(folder) + os.sep, "") for text in given]
    environment = {**os.environ, "PYTHONHASHSEED": str(len(folder.name)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PROGRAM, function, *given]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(folder / ".sanare" / "store.db") as store:
        rows = store.execute("SELECT step, payload FROM ledger ORDER BY seq").fetchall()
    assert rows
    return job.read_bytes(), [(step, plain(json.loads(payload))) for step, payload in rows]


@pytest.mark.parametrize("name", ["1_translated", "6_workbook", "8_bom_and_decimals", "9_pages"])
def test_a_heal(tmp_path: Path, name: str) -> None:
    source, function, old, _, new, _ = HEALS[name]
    first, second = (once(tmp_path / folder, source, function, old, new) for folder in ("a", "bb"))
    assert first[0] == second[0] != source.encode()
    assert first[1] == second[1]
    assert [step for step, _ in first[1]][-1] == "closed"


def test_a_refusal(tmp_path: Path) -> None:
    gone = GUARDS["11_decoy"]
    first, second = (once(tmp_path / folder, STANDARD, "load_sales", gone) for folder in ("a", "bb"))
    assert first[0] == second[0] == STANDARD.encode()
    assert first[1] == second[1]
