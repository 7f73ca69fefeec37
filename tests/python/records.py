"""What stands in a project's store, read from the file itself."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any


def records(folder: Path, step: str) -> list[dict[str, Any]]:
    """Payloads of the ledger's records of one step, oldest first."""
    with sqlite3.connect(f"file:{folder / '.sanare' / 'store.db'}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT payload FROM ledger WHERE step = ? ORDER BY seq", (step,)).fetchall()
    return [json.loads(row[0]) for row in rows]


def watches(store: Path) -> bool:
    """Whether a healer of services keeps here what it has detected: then it hears what is told."""
    if not store.exists():
        return False
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        try:
            return bool(connection.execute("SELECT count(*) FROM service_states").fetchone()[0])
        except sqlite3.OperationalError:
            return False
