"""One store and several that use it: in one process, and in two (S121)."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sanare
from test_ledger_heads import aside
from test_verbs import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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


class Running:
    """`sanare run-services` in a process of its own, which has begun to watch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / ".sanare" / "store.db"
        command = [sys.executable, "-m", "sanare", "--project", str(folder), "run-services"]
        self.log = folder / f"said-{len(list(folder.glob('said-*')))}"
        with self.log.open("w") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL)

    def wait_for(self, seen: Callable[[], object]) -> None:
        begin = time.monotonic()
        while not seen():
            assert self.process.poll() is None and time.monotonic() - begin < 60, self.log.read_text()
            time.sleep(0.02)

    def watches(self) -> bool:
        known = self.store.exists() and aside(self.store, "SELECT name FROM sqlite_schema WHERE name = 'leases'") != []
        return known and aside(self.store, "SELECT holder FROM leases WHERE key = 'detection' AND until > 0") != []

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def ended() -> Iterator[list[Running]]:
    all_of_them: list[Running] = []
    yield all_of_them
    for one in all_of_them:
        one.kill()


def steps(store: Path, name: str) -> list[dict[str, Any]]:
    rows = aside(store, f"SELECT payload FROM ledger WHERE step = '{name}' ORDER BY seq")
    return [json.loads(payload) for [payload] in rows]


def test_after_a_crash_the_store_is_looked_through_and_a_damaged_one_is_not_used(
    tmp_path: Path, ended: list[Running]
) -> None:
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n")
    store = tmp_path / ".sanare" / "store.db"
    running = Running(tmp_path)
    ended.append(running)
    running.wait_for(running.watches)
    running.kill()
    code, _, err = program(tmp_path, "run-services", "--once")
    assert code == 0, err
    assert steps(store, "store_not_looked_through") == [], "it came to the end"

    # Another crash, and a page that nothing reads by the way has gone bad meanwhile.
    again = Running(tmp_path)
    ended.append(again)
    again.wait_for(lambda: again.watches())
    again.kill()
    aside(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    [[size]] = aside(store, "PRAGMA page_size")
    [[root]] = aside(store, "SELECT rootpage FROM sqlite_schema WHERE name = 'calls'")
    content = bytearray(store.read_bytes())
    content[(root - 1) * size : (root - 1) * size + 8] = b"\x55" * 8
    store.write_bytes(content)
    records = aside(store, "SELECT count(*) FROM ledger")
    code, out, err = program(tmp_path, "run-services", "--once")
    assert (code, out) == (5, "") and "the store is damaged" in err, err
    assert program(tmp_path, "run-services")[0] == 5
    healer = sanare.Healer(tmp_path / "sanare.toml")
    service = sanare.Service("fraud", healer=healer)
    service.observe("depth", 1)
    for does in (healer.run_once, healer.start, healer.run):
        with pytest.raises(sanare.Error, match="the store is damaged"):
            does()
    assert aside(store, "SELECT count(*) FROM ledger") == records
    assert aside(store, "SELECT count(*) FROM service_observations") == [[0]]


def test_a_second_healer_on_a_store_says_so_and_leaves_detection_to_the_first(
    tmp_path: Path, ended: list[Running]
) -> None:
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n")
    first = Running(tmp_path)
    ended.append(first)
    first.wait_for(first.watches)
    holder = "SELECT holder FROM leases WHERE key = 'detection'"
    keeps = aside(first.store, holder)
    second = Running(tmp_path)
    ended.append(second)
    second.wait_for(lambda: "another healer is on this store" in second.log.read_text())
    assert aside(first.store, holder) == keeps
    assert steps(first.store, "healer_beside") == [{"keeps_detection": keeps[0][0]}]
    assert first.log.read_text() == "" and second.log.read_text().count("another healer") == 1
