"""`sanare.Service` and `sanare.Healer` through the wheel: the whole story, bad values, forks, and the command line."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pwd
import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sanare

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIGURATION = """
[policy]
file = "policy.toml"
[service.fraud]
instances = 3
[[service.fraud.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "30s"
"""
ME = pwd.getpwuid(os.getuid()).pw_name
ASKS = f'version = 1\nblast = {{ share = 1.0 }}\napprovals = {{ approvers = ["{ME}"] }}\n'
AUTO = 'version = 1\nmode = "auto"\nalways_ask = []\nhistory_min = 0\nblast = { share = 1.0 }\n'


class Plant:
    """A service whose version 2 is bad, on a clock that the test moves."""

    def __init__(
        self, folder: Path, policy: str, configuration: str = CONFIGURATION, now: float = 1_767_225_600.0
    ) -> None:
        (folder / "sanare.toml").write_text(configuration)
        (folder / "policy.toml").write_text(policy)
        self.folder = folder
        self.now = now
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.service = sanare.Service("fraud", healer=self.healer)
        self.served = "1"
        self.intents: list[sanare.Intent] = []
        self.does: Any = None
        self.sees: Any = None
        self.also: Callable[[], None] = lambda: None

    def lend(self, **declared: Any) -> None:
        def roll_back(intent: sanare.Intent) -> None:
            self.intents.append(intent)
            if self.does is not None:
                raise self.does
            assert intent.to_version is not None
            self.served = intent.to_version

        def look() -> dict[str, str]:
            if isinstance(self.sees, BaseException):
                raise self.sees
            return {"served_version": self.served} if self.sees is None else self.sees

        self.service.capability("rollback_model", roll_back, probe=look, **declared)

    def minutes(self, count: int) -> None:
        for _ in range(count * 12):
            self.now += 5
            self.service.observe("error_share", 0.5 if self.served == "2" else 0.01)
            self.also()
            self.healer.run_once()

    def go_bad(self) -> None:
        self.service.deployed("1")
        self.minutes(5)
        self.healer.mark_good("fraud", "1", "it has served for months")
        self.served = "2"
        self.service.deployed("2")
        self.minutes(3)

    @property
    def incident(self) -> dict[str, Any]:
        [incident] = self.healer.incidents()
        return incident


def test_a_bad_version_is_rolled_back_once_a_person_agrees(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    plant.lend(idempotent=True, reversible=True)
    plant.go_bad()
    [asked] = plant.healer.pending_approvals()
    assert (asked["action"], asked["params"]) == (
        "rollback_model",
        {"rollback": {"from_version": "2", "to_version": "1"}},
    )
    assert plant.intents == []
    with pytest.raises(sanare.Error, match="what was shown is not what is asked"):
        plant.healer.approve(asked["id"], shown="0" * 64)
    assert plant.healer.approve(asked["id"], "yes", shown=asked["digest"]) == "granted"
    plant.minutes(1)
    assert [(one.action, one.purpose, one.from_version, one.to_version) for one in plant.intents] == [
        ("rollback_model", "act", "2", "1")
    ]
    assert plant.incident["outcome"] is None, "one good minute is no recovery"
    plant.minutes(20)
    assert (plant.incident["outcome"], plant.incident["closed_by"]) == ("healed", "action")
    assert len(plant.intents) == 1, "never twice"
    assert plant.healer.verify_ledger() > 8
    found = plant.healer.incident(plant.incident["id"][:12])
    assert found is not None and found["steps"][-1] == "closed"
    story = [line for one in found["story"] for line in [one["step"], *one["lines"]]]
    for line in (
        "rollback_model, from 2 to 1",
        "policy: ask",
        "ask by mode_ask: the mode is ask",
        "rollback_model: rct_",
    ):
        assert any(one.startswith(line) for one in story), (line, story)
    assert [one["lines"] for one in found["story"] if one["step"] == "answered"] == [[f"approve: {ME}: yes"]]
    assert (found["next"], story[-2]) == ([], "closed")
    # The records are in a file: another healer of the same folder has them.
    again = sanare.Healer(tmp_path / "sanare.toml", clock=lambda: plant.now)
    assert again.incidents() == plant.healer.incidents()


def test_whoever_has_no_good_version_yet_is_told_so_and_what_to_do(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    plant.lend(idempotent=True, reversible=True)
    plant.service.deployed("1")
    plant.minutes(5)
    plant.served = "2"
    plant.service.deployed("2")
    plant.minutes(3)
    code, said = command(tmp_path, "incident", "show", plant.incident["id"])
    assert code == 0 and "handed_over" in said
    assert "not offered: rollback_model: no version before is known as good" in said
    assert "no target: restart_component, reload_model, request_retraining, request_redeployment" in said
    good = "sanare model mark-good fraud 1 --reason …"
    assert [good in line for line in said.splitlines() if "next: " in line] == [True, False, False], said
    plant.healer.mark_good("fraud", "1", "it has served for months")
    plant.healer.retry(plant.incident["id"])
    plant.minutes(1)
    [asked] = plant.healer.pending_approvals()
    assert asked["params"] == {"rollback": {"from_version": "2", "to_version": "1"}}


def test_an_act_that_makes_it_worse_is_taken_back(tmp_path: Path) -> None:
    slow = '[[service.fraud.rule]]\nid = "slow"\nsignal = "latency"\nkind = "latency_high"\nabove = 500\nfor = "10m"\n'
    plant = Plant(tmp_path, AUTO, CONFIGURATION + slow)
    plant.lend(idempotent=True, reversible=True)
    plant.also = lambda: plant.service.observe("latency", 400 if len(plant.intents) == 1 else 100)
    plant.go_bad()
    plant.minutes(20)
    assert plant.incident["outcome"] == "rolled_back", plant.incident
    assert [(one.purpose, one.from_version, one.to_version) for one in plant.intents] == [
        ("act", "2", "1"),
        ("undo", "1", "2"),
    ]
    assert plant.served == "2", "as it was"


@pytest.mark.parametrize(
    ("raised", "effect"),
    [(sanare.NotStarted("busy"), "not_started"), (RuntimeError("hunter2 is the password"), "unknown")],
)
def test_what_a_capability_raises_is_what_is_known(tmp_path: Path, raised: Exception, effect: str) -> None:
    plant = Plant(tmp_path, AUTO)
    plant.does = raised
    plant.lend(idempotent=True)
    plant.go_bad()
    plant.minutes(5)
    attempts = plant.incident["attempts"]
    assert attempts and {attempt["effect"] for attempt in attempts} == {effect}, plant.incident
    assert plant.served == "2"
    for path in (tmp_path / ".sanare").iterdir():
        assert b"hunter2" not in path.read_bytes(), "only its type is recorded"


@pytest.mark.parametrize("sees", [RuntimeError("hunter2 is the password"), SystemExit(3), 5])
def test_of_a_target_that_nobody_can_look_at_nothing_is_done_unasked(tmp_path: Path, sees: Any) -> None:
    plant = Plant(tmp_path, AUTO)
    plant.lend(idempotent=True, reversible=True)
    plant.does = sanare.NotStarted("never called")
    plant.sees = sees
    plant.go_bad()
    plant.minutes(3)
    assert plant.intents == [], plant.incident
    # The loop goes on: somebody is asked, or has it.
    assert plant.healer.pending_approvals() or plant.incident["outcome"] == "escalated", plant.incident
    for path in (tmp_path / ".sanare").iterdir():
        assert b"hunter2" not in path.read_bytes(), "only its type is recorded"


def test_nothing_is_called_while_the_switch_is_set(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)
    plant.lend(idempotent=True)
    plant.healer.stop("fraud")
    plant.go_bad()
    plant.minutes(5)
    assert plant.intents == []


class Nasty:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __float__(self) -> float:
        raise RuntimeError("no number")


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        (1, True),
        (1.5, True),
        (math.nan, True),
        (math.inf, True),
        (Decimal("1.5"), True),
        (None, False),
        (True, False),
        ("1e3", False),
        (1j, False),
        ("x" * 10_000_000, False),
        (Nasty(), False),
        ([1], False),
        (10**400, False),
    ],
)
def test_a_value_of_production_never_raises(tmp_path: Path, value: object, taken: bool) -> None:
    plant = Plant(tmp_path, ASKS)
    plant.service.observe("s", value)
    expected = {"queued": 1, "refused": 0} if taken else {"queued": 0, "refused": 1}
    stats = plant.service.stats()
    assert {name: stats[name] for name in expected} == expected
    strict = sanare.Service("fraud", healer=plant.healer, strict=True)
    if not taken:
        with pytest.raises(ValueError):
            strict.observe("s", value)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    plant = Plant(tmp_path, ASKS)
    for value in [numpy.float32(1.5), numpy.int64(3), numpy.float64("nan")]:
        plant.service.observe("s", value)
    assert plant.service.stats()["queued"] == 3


def test_a_service_that_nobody_asks_is_not_ill(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS, CONFIGURATION.replace('"error_share"', '"serving_error_share"'))

    @plant.service.serving
    def score() -> None: ...

    for _ in range(600):
        plant.now += 5
        if plant.now < 1_767_225_600 + 120:
            score()
        plant.healer.run_once()
    assert plant.healer.incidents() == []


def test_values_of_other_kinds(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    at = datetime.fromtimestamp(plant.now, timezone.utc)
    plant.service.health("ready", "fail", "no model")
    plant.service.quality("auc", 0.8, 1_000, at, at)
    plant.service.observe("temperature", 71, "resource", unit="C", labels={"host": "a"}, at=at, id="1")
    plant.service.health("ready", "maybe")  # type: ignore[arg-type]
    plant.service.observe("temperature", 71, "resource", at=at.replace(tzinfo=None))
    assert plant.service.stats() == {"queued": 3, "sent": 0, "dropped": 0, "refused": 2, "rows": 0}
    assert plant.healer.run_once()["stored"] == 3
    assert plant.service.stats()["sent"] == 3


def test_readings_of_one_instant_are_as_many_as_were_reported(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    for number in (0.01, 0.01, 0.01, 0.5):
        plant.service.observe("error_share", number)
    plant.now -= 0.005  # A clock that is set back a little.
    plant.service.observe("error_share", 0.01)
    plant.healer.run_once()
    [account] = [one for one in plant.healer.intake() if one["application"] == "fraud"]
    told = {key: account[key] for key in ("received", "accepted", "duplicate")}
    assert told == {"received": 5, "accepted": 5, "duplicate": 0}, account


def test_names_are_constants_of_the_program(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    for bad in ["", "a b", "</data>", "x" * 201]:
        with pytest.raises(ValueError):
            plant.service.observe(bad, 1)
    with pytest.raises(ValueError):
        sanare.Service("Fraud", healer=plant.healer)
    with pytest.raises(ValueError):
        plant.service.observe("s", 1, "metrics")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="escalate"):
        plant.service.capability("escalate", print)  # type: ignore[arg-type]


def test_the_oldest_metrics_make_room(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    plant.service.health("ready", "pass")
    for number in range(10_500):
        plant.service.observe("s", number)
    stats = plant.service.stats()
    assert (stats["queued"], stats["dropped"]) == (10_000, 501)


def test_a_served_path_passes_everything_on(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)

    @plant.service.serving
    def divide(number: int) -> float:
        "Divides."
        return 1 / number

    @plant.service.serving
    async def wait(number: int) -> float:
        return 1 / number

    assert (divide(2), divide.__doc__, asyncio.run(wait(4))) == (0.5, "Divides.", 0.25)
    with pytest.raises(ZeroDivisionError):
        divide(0)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(wait(0))
    plant.now += 1
    assert plant.healer.run_once()["stored"] == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_each_process_reports_for_itself(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    plant.service.observe("s", 1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(tmp_path)
            plant.service.observe("s", 2)
            told = [plant.service.close(5.0)]
            try:
                plant.healer.incidents()
            except sanare.Error as error:
                told.append("before a fork" in str(error))
            os.write(writer, json.dumps(told).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    assert (os.waitstatus_to_exitcode(status), json.loads(os.read(reader, 1_000))) == (0, [True, True])
    assert plant.service.stats()["queued"] == 1


def test_a_wrong_configuration_says_which_line(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text("[service.fraud]\ninstanses = 3\n")
    with pytest.raises(
        sanare.Error, match=r"sanare.toml:2: `service.fraud.instanses`: unknown key; hint: .*`instances`"
    ):
        sanare.Healer.from_config(tmp_path / "sanare.toml")
    (tmp_path / "sanare.toml").write_bytes("[service.fraud]\n# caf\u00e9\n".encode("latin-1"))
    with pytest.raises(sanare.Error, match=r"sanare.toml:2: .*is not UTF-8"):
        sanare.Healer.from_config(tmp_path / "sanare.toml")
    with pytest.raises(sanare.Error, match="cannot be read"):
        sanare.Healer.from_config(tmp_path / "none.toml")


def test_policy_explains_itself(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)
    case = {"application": "fraud", "action": "rollback_model", "kind": "error_rate_high", "mode": "auto"}
    assert plant.healer.explain(case)["verdict"] == "permit"
    asked = plant.healer.explain({**case, "confidence": 0.1})
    fired = [rule["rule"] for rule in asked["rules"] if rule["verdict"]]
    assert (asked["verdict"], fired) == ("ask", ["confidence"])
    with pytest.raises(sanare.Error):
        plant.healer.explain({**case, "action": "destroy"})
    rules = {one["rule"] for one in plant.healer.obstacles()}
    assert rules == {"unmapped"}


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "sanare", "--project", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_command_line_of_services(tmp_path: Path) -> None:
    code, said = command(tmp_path, "check")
    assert (code, "`sanare init` writes one" in said) == (2, True), said
    assert command(tmp_path, "init", "fraud")[0] == 0
    code, said = command(tmp_path, "init", "fraud")
    assert (code, "nothing is written over" in said) == (1, True)
    code, said = command(tmp_path, "check")
    assert (code, "fraud: 1 rules" in said) == (0, True), said
    assert command(tmp_path, "services") == (0, "fraud: well\n")
    (tmp_path / "sanare.toml").write_text("[service.fraud]\nx = 1\n")
    code, said = command(tmp_path, "check")
    assert (code, "sanare.toml:2: `service.fraud.x`: unknown key" in said) == (2, True), said


def test_a_question_is_answered_by_command(tmp_path: Path) -> None:
    plant = Plant(tmp_path, ASKS)
    plant.lend(idempotent=True)
    plant.go_bad()
    [asked] = plant.healer.pending_approvals()
    code, said = command(tmp_path, "incidents")
    assert (code, "fraud/application: error_rate_high (high)" in said) == (0, True), said
    code, said = command(tmp_path, "incident", "show", plant.incident["id"][:12])
    assert (code, "waiting" in said) == (0, True), said
    assert command(tmp_path, "incident", "show", "inc_ZZZZZZ")[0] == 4
    # The command's clock is the real one, by which a question of this story's clock has long expired.
    code, said = command(tmp_path, "deny", asked["id"], "--reason", "not now")
    assert (code, "expired" in said) == (1, True), said
    assert command(tmp_path, "propose", plant.incident["id"], "destroy", "--reason", "x")[0] == 2
    assert command(tmp_path, "stop", "fraud")[0] == 0
    assert (tmp_path / ".sanare" / "STOP.fraud").exists()
    code, said = command(tmp_path, "start", "fraud")
    assert (code, "a reason is needed" in said) == (2, True), said
    assert (tmp_path / ".sanare" / "STOP.fraud").exists()
    assert command(tmp_path, "start", "fraud", "--reason", "seen to")[0] == 0
    assert not (tmp_path / ".sanare" / "STOP.fraud").exists()
    assert command(tmp_path, "ledger", "verify")[0] == 0


def test_a_fault_is_played_and_nothing_is_touched(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    target = (
        '[service.fraud.target.application]\nrollback_model = { adapter = "command", idempotent = true, reversible = true, '
        f'undo = "move_back", argv = ["/usr/bin/touch", "{touched}"], undo_argv = ["/usr/bin/touch", "{touched}"] }}\n'
    )
    (tmp_path / "sanare.toml").write_text(CONFIGURATION + target)
    (tmp_path / "policy.toml").write_text(AUTO)
    code, said = command(tmp_path, "simulate", "fraud", "errors", "--changed")
    assert code == 0, said
    assert "opened after 3" in said and "proposed: rollback_model on service:fraud/application" in said, said
    assert "ask unverifiable: nothing could show that it helped" in said, said
    code, said = command(tmp_path, "simulate", "fraud", "errors")
    assert (code, "rollback_model" in said) == (0, False), said
    assert command(tmp_path, "simulate", "fraud", "none")[0] == 4
    assert not touched.exists() and not (tmp_path / ".sanare").exists()


def test_the_demo_ends_well() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sanare", "demo", "--services"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "healed, by action" in done.stdout
