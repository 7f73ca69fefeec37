"""What a registry names against what is served, and how old it is; a registry that is away says nothing (S29)."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
import sanare

if TYPE_CHECKING:
    from pathlib import Path

START = 1_767_225_600.0
DAY = 86_400
CONFIGURATION = """
[service.fraud]
[[service.fraud.probe]]
name = "score"
url = "http://127.0.0.1:PORT/score"
version_pointer = "/version"
[service.fraud.model]
registry = "main"
model = "fraud"
alias = "champion"
served = "score"
[registry.main]
url = "http://127.0.0.1:PORT"
"""


class Plant:
    """A registry that answers as MLflow does, the service that follows it, and the time of both."""

    def __init__(self) -> None:
        self.now = START
        self.alias: str | None = "1"
        self.versions: dict[str, float] = {"1": START - DAY, "2": START}
        self.status = "READY"
        self.served: str | None = "1"
        self.away = False
        plant = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def answer(self, status: int, body: object) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def version(self, version: str) -> None:
                made = plant.versions.get(version)
                if made is None:
                    self.answer(404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})
                    return
                told = {"version": version, "status": plant.status, "creation_timestamp": int(made * 1_000)}
                self.answer(200, {"model_version": told})

            def do_GET(self) -> None:
                parsed = urllib.parse.urlsplit(self.path)
                asked = {name: values[0] for name, values in urllib.parse.parse_qs(parsed.query).items()}
                if parsed.path == "/score":
                    self.answer(200, {"version": plant.served} if plant.served else {})
                elif plant.away:
                    self.answer(503, {"error": "token=hunter2"})
                elif parsed.path.endswith("/registered-models/alias"):
                    if plant.alias is None:
                        self.answer(400, {"error_code": "INVALID_PARAMETER_VALUE"})
                    else:
                        self.answer(200, {"model_version": {"version": plant.alias}})
                else:
                    self.version(asked["version"])

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def watch(self, folder: Path, more: str = "") -> None:
        text = CONFIGURATION.replace("PORT", str(self.server.server_address[1]))
        (folder / "sanare.toml").write_text(text.replace("[registry.main]", f"{more}\n[registry.main]"))
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)

    def minutes(self, count: float) -> None:
        for _ in range(int(count * 4)):
            self.now += 15
            self.healer.run_once()

    def told(self) -> list[str]:
        return sorted(f"{one['kind']} {one['condition']}" for one in self.healer.incidents())


@pytest.fixture
def plant() -> Iterator[Plant]:
    plant = Plant()
    yield plant
    plant.server.shutdown()


def test_a_service_that_follows_its_alias_is_quiet(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path, 'max_age = "30d"')
    plant.minutes(5)
    plant.alias = "2"
    plant.minutes(1.75)
    plant.served = "2"
    plant.minutes(10)
    assert plant.told() == [], "it had loaded the new version before its time was over"


def test_another_version_than_the_alias_names_is_the_wrong_one(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.minutes(3)
    plant.alias = "2"
    plant.minutes(2)
    assert plant.told() == [], "it may still be loading"
    plant.minutes(2)
    assert plant.told() == ["wrong_model_version firing"]
    [incident] = plant.healer.incidents()
    assert (incident["severity"], incident["component"]) == ("high", "application")
    plant.served = "2"
    plant.minutes(4)
    assert plant.told() == ["wrong_model_version cleared"]


def test_a_version_that_the_registry_does_not_have_is_the_wrong_one(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.served = "77"
    plant.minutes(1.25)
    assert plant.told() == ["wrong_model_version firing"]


def test_an_alias_on_a_version_that_was_deleted(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.minutes(3)
    del plant.versions["1"]
    plant.minutes(2)
    assert plant.told() == ["wrong_model_version firing"], "it is served, and nobody can load it again"


def test_what_the_registry_tells_is_kept_each_time_that_it_is_something_else(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.minutes(4)
    plant.alias = "2"
    plant.minutes(3)
    told = plant.healer.registry_history("fraud")
    assert [one["version"] for one in told] == ["1", "2"]
    assert all(one["exists"] and one["status"] == "READY" and one["model"] == "fraud" for one in told), told
    with pytest.raises(sanare.Error, match="nobody"):
        plant.healer.registry_history("nobody")


def test_what_cannot_be_read_is_no_evidence(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.minutes(5)
    plant.served = None
    plant.minutes(5)
    assert plant.told() == [], "what is served is not known"
    plant.served, plant.alias = "1", None
    plant.minutes(5)
    assert plant.told() == [], "without an alias there is nothing that it differs from"
    plant.alias, plant.away = "2", True
    plant.minutes(30)
    # The registry's outage is an incident of its signals, and of nothing else.
    assert plant.told() == ["signal_missing firing"]
    plant.away, plant.served = False, "2"
    plant.minutes(10)
    assert plant.told() == ["signal_missing cleared"]
    assert all(b"hunter2" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_what_is_ill_stays_ill_while_the_registry_is_away(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.served = "77"
    plant.minutes(3)
    plant.served, plant.away = "1", True
    plant.minutes(30)
    assert "wrong_model_version firing" in plant.told()


def test_a_model_is_stale_from_its_limit_on(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path, 'max_age = "2d"')
    plant.minutes(10)
    assert plant.told() == []
    plant.now = START + DAY - 600
    plant.minutes(8)
    assert plant.told() == [], "a day before it was a day old"
    plant.minutes(10)
    assert plant.told() == ["model_stale firing"]
    plant.alias = plant.served = "2"
    plant.minutes(10)
    assert plant.told() == ["model_stale cleared"]


def test_that_a_healer_begins_is_no_change_of_the_model(plant: Plant, tmp_path: Path) -> None:
    plant.watch(tmp_path)
    plant.minutes(2)
    plant.alias = plant.served = "2"
    plant.minutes(2)
    plant.watch(tmp_path)
    plant.minutes(2)
    with sqlite3.connect(next(tmp_path.rglob("*.db"))) as connection:
        text = "\n".join(connection.iterdump())
    moves = re.findall(r'"deployment":\{"before":"(\d)","after":"(\d)"\}', text)
    assert moves == [("1", "1"), ("1", "2")], "where it stood when it was first seen, and the one move"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (('registry = "main"\n', ""), "goes with `model` and `alias`"),
        (('registry = "main"', 'registry = "other"'), r"there is no \[registry.other\]"),
        (('served = "score"', 'served = "ping"'), "there is no probe `ping`"),
        (('served = "score"\n', ""), "nothing would be compared"),
        (('version_pointer = "/version"\n', ""), "probe `score` has no `version_pointer`"),
        (('alias = "champion"', 'alias = "latest"'), "are the registry's own"),
        (('served = "score"', 'served = "score"\nmax_age = "30m"'), "from 1h"),
        (('served = "score"', 'served = "score"\nmax_age = 30'), "such as"),
    ],
)
def test_what_the_table_cannot_mean(tmp_path: Path, changed: tuple[str, str], why: str) -> None:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION.replace("PORT", "1").replace(*changed))
    with pytest.raises(sanare.Error, match=why):
        sanare.Healer(tmp_path / "sanare.toml")
