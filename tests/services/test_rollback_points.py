"""A rollback on a real MLflow server with somebody else at each point of it, and with the server killed at each point (S86).

Between the healer and the registry stands a way through that knows what passes: before and after the tag, the one write and
the looks that follow it, a rival moves the alias, or the server is killed. And what a registry may say: that there is no such
alias, no such version any more, or that it does not serve this host.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "mlflow", reason="NOT RUN: MLflow is not installed here, so the rollback on a real registry is not shown"
)

import sanare
from test_rollback import ASKS, AUTO, Plant, Registry, me, registry

__all__ = ["me", "registry"]

# When somebody comes in between, and what is there of it then.
POINTS = ["before tag", "after tag", "before move", "after move", "before look 1", "after look 1", "before look 2"]


class Way:
    """What lets requests through to the registry, and says which one passes."""

    def __init__(self, registry: Registry) -> None:
        self.at: Callable[[str], None] = lambda point: None
        self.port = 0
        self.moves: list[str] = []
        self.looks = 0
        way = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_GET(self) -> None:
                self.through("look" if way.moves and "registered-models/alias" in self.path else "")

            def do_POST(self) -> None:
                self.through("tag" if self.path.endswith("/set-tag") else "move")

            def through(self, what: str) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if what == "look":
                    way.looks += 1
                    what = f"look {way.looks}"
                way.at(f"before {what}")
                if what == "move":
                    way.moves.append(json.loads(body)["version"])
                url = f"http://127.0.0.1:{registry.port}{self.path}"
                headers = {"Content-Type": "application/json"} if body else {}
                try:
                    asked = urllib.request.Request(url, body or None, headers, method=self.command)
                    with urllib.request.urlopen(asked, timeout=20) as answer:
                        status, text = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, text = error.code, error.read()
                except OSError:
                    # Nobody is there: whoever asks gets no answer.
                    return self.close()
                way.at(f"after {what}")
                if registry.process is None:
                    return self.close()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def close(self) -> None:
                self.close_connection = True

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def way(registry: Registry) -> Iterator[Way]:
    way = Way(registry)
    yield way
    way.server.shutdown()
    if registry.process is None:
        registry.start()


def behind(registry: Registry, way: Way, folder: Path, policy: str) -> Plant:
    """A plant whose healer asks the registry by this way; it asks none before its file is read again."""
    plant = Plant(folder, registry, policy)
    plant.healer.close()
    file = folder / "sanare.toml"
    file.write_text(file.read_text().replace(f"127.0.0.1:{registry.port}", f"127.0.0.1:{way.port}"))
    plant.healer = sanare.Healer(file, clock=lambda: plant.now)
    plant.service = sanare.Service("fraud", healer=plant.healer)
    return plant


def once(point: str, do: Callable[[], object]) -> Callable[[str], None]:
    left = [do]

    def at(found: str) -> None:
        if found == point and left:
            left.pop()()

    return at


@pytest.mark.parametrize("point", POINTS)
def test_what_a_rival_made_live_is_not_written_over(registry: Registry, way: Way, tmp_path: Path, point: str) -> None:
    plant = behind(registry, way, tmp_path, AUTO)
    plant.bad = {"2", "3"}
    way.at = once(point, lambda: registry.move(plant.model, "3"))
    plant.go_bad()
    plant.until(lambda: plant.incident["outcome"], 60)
    incident = plant.incident
    if point == "before move":
        # Between our last look and our write: the one gap of a registry that compares nothing.
        assert (registry.live(plant.model), incident["outcome"], way.moves) == ("1", "healed", ["1"])
        return
    assert (registry.live(plant.model), incident["outcome"]) == ("3", "escalated"), incident
    before = point.endswith("tag")
    assert (way.moves, plant.reloads) == ([] if before else ["1"], 0), "no second write"
    effects = [attempt["effect"] for attempt in incident["attempts"]]
    assert set(effects) == ({"refused"} if before else {"unknown"}), effects
    plant.minutes(20)
    assert (registry.live(plant.model), len(way.moves)) == ("3", 0 if before else 1), "nor later"


@pytest.mark.parametrize("point", POINTS)
def test_a_server_that_is_killed_leaves_no_doubt_or_a_person(
    registry: Registry, way: Way, tmp_path: Path, point: str
) -> None:
    plant = behind(registry, way, tmp_path, AUTO)
    way.at = once(point, registry.kill)
    plant.go_bad()
    plant.until(lambda: plant.incident["outcome"], 5)
    incident = plant.incident
    assert incident["outcome"] == "escalated", incident
    registry.start()
    moved = POINTS.index(point) >= POINTS.index("after move")
    assert registry.live(plant.model) == ("1" if moved else "2")
    effects = {attempt["effect"] for attempt in incident["attempts"]}
    assert effects == ({"not_started"} if POINTS.index(point) < 2 else {"unknown"}), incident["attempts"]
    moves = list(way.moves)
    plant.minutes(20)
    assert way.moves == moves, "what nobody knows is done by nobody again"


def delete(plant: Plant, version: str) -> None:
    plant.registry.ask("DELETE", "/model-versions/delete", {"name": plant.model, "version": version})


@pytest.mark.parametrize("when", ["before", "while it waits", "before tag", "before move"])
def test_a_good_version_that_was_deleted_is_not_made_live(
    registry: Registry, way: Way, tmp_path: Path, me: str, when: str
) -> None:
    plant = behind(registry, way, tmp_path, AUTO if " " in when and when != "while it waits" else ASKS.format(me=me))
    way.at = once(when, lambda: delete(plant, "1"))
    if when == "before":
        plant.service.deployed("1")
        plant.minutes(3)
        plant.healer.mark_good("fraud", "1", "it has served for months")
        registry.move(plant.model, "2")
        delete(plant, "1")
        plant.reload()
        plant.service.deployed("2", before="1")
        plant.minutes(2)
    else:
        plant.go_bad()
    if when == "while it waits":
        plant.until(lambda: plant.healer.pending_approvals(), 5)
        [asked] = plant.healer.pending_approvals()
        delete(plant, "1")
        try:
            plant.healer.approve(asked["id"])
        except sanare.Error as refused:
            print(refused)
    plant.until(lambda: plant.incident["outcome"], 60)
    assert plant.incident["outcome"] == "escalated", plant.incident
    assert (registry.live(plant.model), plant.reloads, plant.loaded) == ("2", 0, "2")


def test_an_alias_that_is_not_there(registry: Registry, way: Way, tmp_path: Path) -> None:
    plant = behind(registry, way, tmp_path, AUTO)
    # Somebody takes it away right before the act.
    gone = {"name": plant.model, "alias": "champion"}
    way.at = once("before tag", lambda: registry.ask("DELETE", "/registered-models/alias", gone))
    plant.go_bad()
    plant.until(lambda: plant.incident["outcome"], 60)
    assert (plant.incident["outcome"], way.moves, plant.reloads) == ("escalated", [], 0), plant.incident
    with pytest.raises(urllib.error.HTTPError, match="400"):
        registry.live(plant.model)


def test_a_registry_that_does_not_serve_this_host(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    foreign = Registry(tmp_path / "registry")
    foreign.start()
    try:
        (tmp_path / "plant").mkdir()
        plant = Plant(tmp_path / "plant", foreign, AUTO)
        plant.service.deployed("1")
        plant.minutes(3)
        plant.healer.mark_good("fraud", "1", "it has served for months")
        foreign.move(plant.model, "2")
        plant.reload()
        foreign.kill()
        foreign.more = ["--allowed-hosts", "registry.example"]
        foreign.start()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            foreign.live(plant.model)
        plant.service.deployed("2", before="1")
        plant.until(lambda: plant.healer.incidents() and plant.incident["outcome"], 60)
        assert (plant.incident["outcome"], plant.reloads) == ("escalated", 0), plant.incident
    finally:
        foreign.kill()


def live_at(history: list[dict[str, Any]], at: str) -> str | None:
    found = [span["version"] for span in history if span["from"] <= at and (span["to"] is None or at < span["to"])]
    return found[0] if found else None


def test_which_version_was_live_at_any_time(registry: Registry, way: Way, tmp_path: Path) -> None:
    from datetime import datetime, timezone

    plant = behind(registry, way, tmp_path, AUTO)
    truth: list[tuple[float, str]] = [(plant.now + 5, "1")]
    plant.service.deployed("1")
    plant.minutes(3)
    plant.healer.mark_good("fraud", "1", "it has served for months")
    # Somebody moves it there, and nobody reports it but the registry.
    registry.move(plant.model, "2")
    plant.reload()
    truth.append((plant.now, "2"))
    plant.until(lambda: plant.loaded == "1", 30)
    truth.append((plant.now, "1"))
    plant.until(lambda: plant.incident["outcome"], 60)
    registry.move(plant.model, "3")
    plant.reload()
    truth.append((plant.now, "3"))
    plant.minutes(5)
    history = plant.healer.model_history("fraud")
    assert [span["version"] for span in history] == ["1", "2", "1", "3"], history
    assert [span["moved_by"] for span in history] == ["others", "others", "sanare", "others"], history
    for at in range(int(truth[0][0]) + 60, int(plant.now), 7):
        wanted = [version for began, version in truth if began <= at][-1]
        # The registry is asked once a minute: what moved is known a minute later at the most.
        if all(not began <= at < began + 65 for began, _ in truth):
            moment = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
            assert live_at(history, moment) == wanted, (at, history)
