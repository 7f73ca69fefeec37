"""One table of calls gives the same records from the Python client and from the Rust client, byte for byte (S17).

`service_calls.json` holds calls and the records that come of them; `crates/sanare/src/service/tests/calls.rs` plays it too.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import sanare

TABLE = json.loads((Path(__file__).parent / "service_calls.json").read_text())
START = 1_767_225_600.0


def play(service: sanare.Service, verb: str, told: dict[str, Any]) -> None:
    told = {name: datetime.fromisoformat(it) if name in ("at", "start", "end") else it for name, it in told.items()}
    if told.get("value") in ("NaN", "inf"):
        told["value"] = float(told["value"])
    getattr(service, verb)(**told)


def test_the_table_of_calls_gives_these_records(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n")
    healer = sanare.Healer(tmp_path / "sanare.toml", clock=lambda: START)
    service = sanare.Service("fraud", "api", {"zone": "b"}, healer=healer)
    for call in TABLE["calls"]:
        before = service.stats()["refused"]
        play(service, call["verb"], dict(call["told"]))
        assert service.stats()["refused"] - before == int(call["record"] is None), call
    healer.run_once()
    [store] = tmp_path.rglob("*.db")
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("select value from service_observations order by number").fetchall()
    stored = []
    for (text,) in rows:
        record = json.loads(text)
        # Chance and the store's own place.
        del record["id"], record["sequence"]
        stored.append(json.dumps(record, sort_keys=True))
    wanted = [json.dumps(call["record"], sort_keys=True) for call in TABLE["calls"] if call["record"] is not None]
    assert stored == wanted
