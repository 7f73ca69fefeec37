"""One store and several that use it: in one process, and in two (S121)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sanare
from test_ledger_heads import aside


def test_who_only_looks_with_another_sqlite_takes_no_log_along(tmp_path: Path) -> None:
    """Two that use one store in one process keep their locks: an older SQLite that looks in takes itself for the last one
    otherwise, and takes the log along that these two go on writing into."""
    if sqlite3.sqlite_version_info >= (3, 51):
        pytest.skip(f"SQLite {sqlite3.sqlite_version} looks twice before it takes a log along")
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n")
    first = sanare.Healer(tmp_path / "sanare.toml")
    first.observe({"application": "fraud", "signal": "depth", "value": 1})
    second = sanare.Healer(tmp_path / "sanare.toml")
    store = tmp_path / ".sanare" / "store.db"
    log = store.with_name("store.db-wal")
    before = log.stat().st_ino
    for number in range(3):
        assert aside(store, "SELECT count(*) FROM service_observations") == [[2 * number + 1]]
        first.observe({"application": "fraud", "signal": "depth", "value": 2})
        second.observe({"application": "fraud", "signal": "depth", "value": 3})
    assert log.stat().st_ino == before, "it is the log that both write into"
