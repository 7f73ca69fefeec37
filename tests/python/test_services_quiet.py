"""Silences and storms through the wheel and the command line (S50, S52)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
import sanare

if TYPE_CHECKING:
    from pathlib import Path

RULE = """
[service.{name}]
instances = 3
[[service.{name}.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "30s"
"""
SIX = [f"app-{number}" for number in range(6)]


class Fleet:
    """Services on a clock that the test moves."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        (folder / "sanare.toml").write_text("".join(RULE.format(name=name) for name in names))
        self.folder = folder
        self.now = 1_767_225_600.0
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.services = [sanare.Service(name, healer=self.healer) for name in names]

    def minutes(self, count: int, share: float = 0.5) -> None:
        for _ in range(count * 6):
            self.now += 10
            for service in self.services:
                service.observe("error_share", share)
            self.healer.run_once()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sanare", "--project", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path, ["fraud", "credit"])


def flags(healer: sanare.Healer) -> dict[str, list[str]]:
    return {one["application"]: sorted(one["flags"]) for one in healer.incidents()}


def test_what_is_silenced_is_marked_and_its_end_releases_it(fleet: Fleet) -> None:
    silence = fleet.healer.silence("new disks", seconds=3_600, application="fraud")
    assert silence["id"].startswith("sil_")
    fleet.minutes(3)
    assert flags(fleet.healer) == {"fraud": ["silenced"], "credit": []}
    steps = {one["application"]: fleet.healer.incident(one["id"]) for one in fleet.healer.incidents()}
    assert steps["fraud"] is not None and steps["fraud"]["steps"] == ["opened"]
    assert [one["id"] for one in fleet.healer.silences()] == [silence["id"]]
    assert fleet.healer.end_silence(silence["id"])["ended_by"]
    fleet.minutes(1)
    assert flags(fleet.healer) == {"fraud": [], "credit": []}
    assert fleet.healer.silences() == []
    assert fleet.healer.verify_ledger() > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "matchers"),
        ({"everything": True, "application": "fraud"}, "matchers"),
        ({"application": "frod"}, "no service `frod`"),
        ({"application": "Fraud!"}, "Fraud!"),
        ({"kind": "errors"}, "errors"),
        ({"zone": "eu"}, "application, component, kind, severity"),
        ({"application": "fraud", "seconds": 31 * 86_400}, "30 days"),
        ({"application": "fraud", "seconds": None}, "`end` is missing"),
        ({"application": "fraud", "seconds": -1.0}, "negative"),
        ({"application": 7}, "compared with a text"),
        ({"application": re.compile("fraud", re.IGNORECASE)}, "without flags"),
        ({"label": {"zone": re.compile(b"eu")}}, "a pattern of text"),
    ],
)
def test_silences_that_say_nothing_or_too_much_are_refused(fleet: Fleet, arguments: dict[str, Any], said: str) -> None:
    arguments = {"seconds": 60, **arguments}
    with pytest.raises(sanare.Error, match=re.escape(said)):
        fleet.healer.silence("new disks", **arguments)
    with pytest.raises(sanare.Error, match="reason"):
        fleet.healer.silence("why", seconds=60, application="fraud")
    assert fleet.healer.silences() == []


def test_patterns_lists_and_labels_and_times(fleet: Fleet) -> None:
    start = datetime.fromtimestamp(fleet.now, timezone.utc) + timedelta(minutes=10)
    label: dict[str, re.Pattern[str] | str | list[str]] = {"zone": re.compile("eu-.*"), "host": ["a", "b"]}
    fleet.healer.silence("new disks", start=start, end=start + timedelta(hours=1), label=label)
    fleet.healer.silence("new disks", seconds=60, component=re.compile("rank.*"), severity=["low", "medium"])
    kept = [one["matchers"] for one in fleet.healer.silences()]
    assert kept[0] == [
        {"field": {"label": "zone"}, "test": {"matches": "eu-.*"}},
        {"field": {"label": "host"}, "test": {"one_of": ["a", "b"]}},
    ]
    assert kept[1][0] == {"field": "component", "test": {"matches": "rank.*"}}
    with pytest.raises(ValueError, match="zone"):
        fleet.healer.silence("new disks", end=datetime(2026, 1, 2), application="fraud")  # noqa: DTZ001


def test_silences_on_the_command_line(fleet: Fleet) -> None:
    add = ["silence", "add", "--reason", "new disks"]
    made = fleet.command("--json", *add, "--for", "2h", "application=fraud,credit", "label.zone~eu-.*")
    assert made.returncode == 0, made.stderr
    id = json.loads(made.stdout)["id"]
    listed = fleet.command("silence", "list")
    assert listed.returncode == 0
    assert re.fullmatch(
        rf"{id}  \S+ \S+ to \S+ \S+  application=credit,fraud label\.zone~eu-\.\*  by \S+: new disks\n", listed.stdout
    )
    ended = fleet.command("silence", "end", id[:12])
    assert ended.returncode == 0 and ended.stdout.startswith(f"ended: {id}")
    assert fleet.command("silence", "list").stdout.strip() == ""
    assert fleet.command("silence", "end", id).returncode == 4
    for bad, code in [
        (["--for", "2h"], 2),
        (["--for", "2h", "application"], 2),
        (["--for", "2h", "application=frod"], 4),
        (["--for", "two hours", "application=fraud"], 2),
        (["--for", "31d", "application=fraud"], 2),
        (["application=fraud"], 2),
        (["--for", "2h", "--until", "2026-01-01T00:00:00Z", "application=fraud"], 2),
        (["--until", "2026-01-01T00:00:00", "application=fraud"], 2),
        (["--for", "2h", "label.zone~("], 2),
    ]:
        assert fleet.command(*add, *bad).returncode == code, bad
    assert fleet.command(*add, "--for", "2h", "--all").returncode == 0


def test_a_storm_is_lifted_by_a_person(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, SIX)
    with pytest.raises(sanare.Error, match="there is no storm"):
        fleet.healer.lift_storm()
    assert fleet.command("storm", "lift").returncode == 1
    fleet.minutes(3)
    incidents = fleet.healer.incidents()
    assert sorted(one["kind"] for one in incidents) == ["error_rate_high"] * 6 + ["storm"]

    def begun() -> list[str]:
        found = [fleet.healer.incident(one["id"]) for one in fleet.healer.incidents()]
        return sorted(one["application"] for one in found if one is not None and "evident" in one["steps"])

    assert begun() == ["fleet"], "the storm alone"
    with pytest.raises(sanare.Error, match="no service `frod`"):
        fleet.healer.lift_storm("frod")
    fleet.healer.lift_storm("app-3")
    fleet.minutes(1)
    assert begun() == ["app-3", "fleet"]
    lifted = fleet.command("storm", "lift")
    assert lifted.returncode == 0 and lifted.stdout.startswith("lifted for all services: storm inc_")
    fleet.minutes(1)
    assert begun() == [*SIX, "fleet"]


def test_a_new_healer_goes_on_where_the_old_one_was(tmp_path: Path) -> None:
    old = Fleet(tmp_path, ["fraud"])
    for _ in range(5):  # 20 of the 30 seconds
        old.now += 5
        old.services[0].observe("error_share", 0.5)
        old.healer.run_once()
    assert old.healer.incidents() == []
    old.healer.close()
    new = Fleet(tmp_path, ["fraud"])
    new.now = old.now
    for _ in range(2):
        new.now += 5
        new.services[0].observe("error_share", 0.5)
        new.healer.run_once()
    assert [one["kind"] for one in new.healer.incidents()] == ["error_rate_high"]
    new.healer.close()
    third = Fleet(tmp_path, ["fraud"])
    third.now = new.now
    third.minutes(7, 0.01)
    assert [one["condition"] for one in third.healer.incidents()] == ["cleared"], "and it is not open for ever"


def test_what_was_recorded_is_detected_again(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ["fraud", "credit"])
    nothing = fleet.command("detect", "replay")
    assert nothing.returncode == 0 and nothing.stdout == "0 readings: 0 incidents would have opened\n"
    fleet.minutes(2)
    fleet.minutes(7, 0.01)
    replayed = fleet.healer.replay()
    assert replayed["readings"] == 108
    assert [(one["application"], one["kind"], one["cleared"] is None) for one in replayed["opened"]] == [
        ("fraud", "error_rate_high", False),
        ("credit", "error_rate_high", False),
    ]
    shown = fleet.command("detect", "replay", "credit")
    assert shown.returncode == 0, shown.stderr
    line, last = shown.stdout.splitlines()
    assert re.fullmatch(r"\S+ \S+  credit/application: error_rate_high \(high\) by `errors`, cleared \S+ \S+", line)
    assert last.startswith("54 readings from ") and last.endswith(": 1 incident would have opened")
    again = fleet.command("--json", "detect", "replay")
    assert json.loads(again.stdout) == replayed
    # Other settings over the same history.
    strict = (tmp_path / "sanare.toml").read_text().replace("above = 0.1", "above = 0.6")
    (tmp_path / "other.toml").write_text(strict)
    assert (
        json.loads(fleet.command("--json", "--config", str(tmp_path / "other.toml"), "detect", "replay").stdout)[
            "opened"
        ]
        == []
    )
    assert fleet.command("detect", "replay", "frod").returncode == 4
    assert fleet.command("detect", "replay", "--since", "yesterday").returncode == 2
    with pytest.raises(sanare.Error, match="frod"):
        fleet.healer.replay("frod")
    since = datetime.fromtimestamp(fleet.now, timezone.utc)
    assert fleet.healer.replay(since=since)["readings"] == 2


def test_without_a_store_there_is_nothing_to_detect_in(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text(RULE.format(name="fraud"))
    command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "detect", "replay"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4 and "nothing was recorded" in done.stderr
    assert not (tmp_path / ".sanare").exists()
