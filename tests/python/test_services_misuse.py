"""`sanare.Service`, `sanare.Healer` and the commands of services, used wrongly: what is said, and that nothing breaks."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sanare
from test_services import AUTO, CONFIGURATION, Plant, command


class Raises:
    """Everything that is asked of it raises."""

    def __str__(self) -> str:
        raise RuntimeError("hunter2")

    __repr__ = __str__

    def __float__(self) -> float:
        raise KeyError("hunter2")

    __index__ = __str__  # type: ignore[assignment]


BAD: tuple[Any, ...] = (math.nan, Decimal("sNaN"), 1j, 10**400, b"x", "\ud800", [1], {1: 2}, Raises(), object(), print)


@pytest.fixture
def healer(tmp_path: Path) -> sanare.Healer:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    (tmp_path / "policy.toml").write_text(AUTO)
    return sanare.Healer(tmp_path / "sanare.toml")


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
def test_no_value_of_production_raises(healer: sanare.Healer, bad: Any) -> None:
    service = sanare.Service("fraud", healer=healer)
    strict = sanare.Service("fraud", healer=healer, strict=True)
    now = datetime.now(timezone.utc)
    refused = 0
    for report in (
        lambda on: on.observe("reading", 1, at=bad),
        lambda on: on.observe("reading", 1, labels=bad),
        lambda on: on.observe("reading", 1, id=bad),
        lambda on: on.quality("auc", 0.9, 100, bad, now),
        lambda on: on.quality("auc", 0.9, 100, now, bad),
        lambda on: on.profile("age", bad),
    ):
        report(service)
        with pytest.raises(ValueError) as raised:
            report(strict)
        refused += 2
        assert service.stats()["refused"] == refused
        assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("bad", [None, *BAD], ids=lambda bad: type(bad).__name__)
def test_a_healer_raises_its_own_error_alone(healer: sanare.Healer, bad: Any) -> None:
    calls: list[Any] = [
        lambda: healer.incidents(bad),
        lambda: healer.incident(bad),
        lambda: healer.approve(bad),
        lambda: healer.approve("inc_x", bad),
        lambda: healer.deny(bad),
        lambda: healer.propose(bad, "reload_model", "why"),
        lambda: healer.propose("inc_x", bad, "why"),
        lambda: healer.propose("inc_x", "reload_model", bad),
        lambda: healer.explain(bad),
        lambda: healer.mark_good(bad, "1", "why"),
        lambda: healer.mark_good("fraud", bad, "why"),
        lambda: healer.mark_good("fraud", "1", bad),
    ]
    if bad is not None:
        calls += [lambda: healer.stop(bad), lambda: healer.start_again(bad, reason="x"), lambda: sanare.Healer(bad)]
    for call in calls:
        with pytest.raises(sanare.Error):
            call()
    if not callable(bad) and bad is not None:
        with pytest.raises(sanare.Error, match="`clock` is no function"):
            sanare.Healer(clock=bad)
    assert healer.verify_ledger() >= 0


def test_what_is_lent_is_looked_at_when_it_is_lent(healer: sanare.Healer) -> None:
    service = sanare.Service("fraud", healer=healer)

    async def later(intent: sanare.Intent) -> None: ...

    for wrong in (None, "reload", later):
        with pytest.raises(TypeError, match="`function`"):
            service.capability("reload_model", wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`probe`"):
        service.capability("reload_model", print, probe={"served_version": "1"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`idempotent`"):
        service.capability("reload_model", print, idempotent="no")  # type: ignore[arg-type]
    for timeout in (0, -1, math.nan, math.inf, "30", None, True):
        with pytest.raises(ValueError, match="`timeout`"):
            service.capability("reload_model", print, timeout=timeout)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`serving`"):
        service.serving(None)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="`healer`"):
        sanare.Service("fraud", healer=True)  # type: ignore[arg-type]
    service.capability("reload_model", print)


def test_a_coroutine_that_nobody_awaits_is_not_called_done(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)

    async def load(version: str | None) -> None:
        raise AssertionError("nobody awaits it")

    service = plant.service
    service.capability(
        "rollback_model",
        lambda intent: load(intent.to_version),
        idempotent=True,
        probe=lambda: {"served_version": plant.served},
    )
    plant.go_bad()
    plant.minutes(5)
    attempts = plant.incident["attempts"]
    assert attempts and all(one["effect"] == "not_started" for one in attempts), attempts


def test_a_path_that_streams_is_measured_to_its_end(healer: sanare.Healer) -> None:
    service = sanare.Service("fraud", healer=healer)

    @service.serving
    def tokens(count: int) -> Any:
        sent = yield "first"
        yield sent
        if count > 2:
            raise LookupError("the model has gone")
        return "end"

    stream = tokens(2)
    assert (next(stream), stream.send("back")) == ("first", "back")
    with pytest.raises(StopIteration) as ended:
        next(stream)
    assert ended.value.value == "end"
    with pytest.raises(LookupError):
        list(tokens(3))


def test_a_name_that_nothing_watches_is_said(healer: sanare.Healer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "sanare"):
        sanare.Service("fraud", healer=healer)
        assert caplog.text == ""
        sanare.Service("fruad", healer=healer)
    assert "no service `fruad`" in caplog.text and "there is `fraud`" in caplog.text
    for call in (lambda: healer.stop("fruad"), lambda: healer.mark_good("fruad", "1", "why")):
        with pytest.raises(sanare.Error, match="no service `fruad`"):
            call()


def test_two_configurations_in_one_process_are_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text("[service.fraud]\ninstances = 1\n")
    program = (
        "import sanare\n"
        "sanare.Service('fraud', config='a.toml'); sanare.Service('fraud', config='./a.toml')\n"
        "try:\n    sanare.Service('fraud', config='b.toml')\n"
        "except sanare.Error as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "this process has a healer already" in done.stdout, done.stdout + done.stderr


def switches(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".sanare").glob("STOP*"))


def test_a_slip_of_the_pen_is_no_switch(tmp_path: Path) -> None:
    assert command(tmp_path, "init", "fraud")[0] == 0
    for wrong in (["stop", "fruad"], ["start", "fruad"], ["model", "mark-good", "fruad", "7", "--reason", "x"]):
        code, said = command(tmp_path, *wrong)
        assert (code, "no service `fruad`" in said, "there is `fraud`" in said) == (4, True, True), said
    assert switches(tmp_path) == []
    code, said = command(tmp_path, "stop", "fraud", "--json")
    assert (code, json.loads(said)) == (0, {"stopped": True, "service": "fraud"})
    assert command(tmp_path, "services") == (0, "fraud: well; stopped\n")
    # One that has left the configuration since is lifted all the same.
    (tmp_path / "sanare.toml").write_text("[service.other]\ninstances = 1\n")
    assert command(tmp_path, "start", "fraud", "--reason", "it is gone")[0] == 0
    assert switches(tmp_path) == []


def test_setting_the_switch_needs_no_store_and_lifting_it_does(tmp_path: Path) -> None:
    assert command(tmp_path, "init", "fraud")[0] == 0
    (tmp_path / ".sanare").mkdir()
    (tmp_path / ".sanare" / "store.db").write_bytes(os.urandom(5000))
    for service in (["fraud"], []):
        code, said = command(tmp_path, "stop", *service)
        assert code == 5, said
        assert "stopped: " in said and "could not be withdrawn: the store is damaged" in said, said
    assert switches(tmp_path) == ["STOP", "STOP.fraud"]
    for service in (["fraud"], []):
        code, said = command(tmp_path, "start", *service, "--reason", "seen to")
        assert (code, "the store is damaged" in said) == (5, True), said
    assert switches(tmp_path) == ["STOP", "STOP.fraud"]


def test_a_configuration_that_cannot_be_read_hides_nothing(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO.replace('"auto"', '"ask"', 1))
    plant.lend(idempotent=True)
    plant.go_bad()
    id = plant.incident["id"]
    code, said = command(tmp_path, "show", id)
    assert (code, id in said, "error_rate_high" in said) == (0, True, True), said
    (tmp_path / "sanare.toml").write_text(CONFIGURATION.replace("above", "abov"))
    code, said = command(tmp_path, "incidents")
    assert (code, "incidents of services are not listed" in said, "did you mean `above`" in said) == (0, True, True), (
        said
    )
    for answer in ("approve", "deny"):
        code, said = command(tmp_path, answer, id)
        assert (code, "did you mean `above`" in said) == (2, True), said
    code, said = command(tmp_path, "stop")
    assert (code, "stopped: " in said, "the configuration is wrong" in said) == (2, True, True), said
    assert switches(tmp_path) == ["STOP"]


def test_the_example_of_the_manual_is_a_configuration(tmp_path: Path) -> None:
    manual = Path(__file__).parents[2] / "docs" / "services.md"
    example = manual.read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "sanare.toml").write_text(example)
    (tmp_path / "probe.json").write_text("{}")
    code, said = command(tmp_path, "check")
    assert (code, "fraud: 2 rules, 1 probes, 1 queries" in said) == (0, True), said
    code, said = command(tmp_path, "simulate", "fraud", "p99", "--changed")
    assert (code, "proposed: rollback_model" in said) == (0, True), said


def test_what_can_be_simulated_is_named_where_something_else_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    code, said = command(tmp_path, "simulate", "fraud", "p99")
    assert (code, "hint: its rules: `errors`" in said) == (4, True), said
    code, said = command(tmp_path, "simulate", "fruad", "errors")
    assert (code, "no service `fruad`" in said) == (4, True), said


def test_a_healer_whose_policy_cannot_be_used_says_so_when_it_begins(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    (tmp_path / "policy.toml").write_text("version = ")
    code, said = command(tmp_path, "run-services", "--once")
    assert code == 0, said
    assert "the policy file `policy.toml` cannot be used" in said and "until it can, nothing is done" in said, said


@pytest.mark.parametrize("bad", [None, 3, b"inc_x", Raises()], ids=lambda bad: type(bad).__name__)
def test_an_id_that_is_no_text_is_said(bad: Any) -> None:
    for answer in (sanare.approve, sanare.deny, sanare.revert):
        with pytest.raises(sanare.Error):
            answer(bad)


def test_an_incident_that_asks_nothing_is_there_all_the_same(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)
    plant.go_bad()
    id = plant.incident["id"]
    for answer in ("approve", "deny"):
        code, said = command(tmp_path, answer, id)
        assert (code, "nothing is asked: it is " in said) == (1, True), said
        assert command(tmp_path, answer, "inc_00000000")[0] == 4
    for done in (["incident", "close", id, "--reason", "x"], ["model", "mark-good", "fraud", "7", "--reason", "x"]):
        code, said = command(tmp_path, "--json", *done)
        assert (code, list(json.loads(said))) == (0, ["done"]), said


def test_a_status_that_is_none_is_no_empty_list(tmp_path: Path) -> None:
    assert command(tmp_path, "init", "fraud")[0] == 0
    assert command(tmp_path, "run-services", "--once")[0] == 0
    code, said = command(tmp_path, "incidents", "--status", "wating")
    assert (code, "'waiting'" in said) == (2, True), said
    for status in ("waiting", "healed", "escalated", "applied"):
        assert command(tmp_path, "incidents", "--status", status) == (0, "")


def test_output_that_is_lost_is_an_error_and_a_reader_that_left_is_none(tmp_path: Path) -> None:
    assert command(tmp_path, "init", "fraud")[0] == 0
    check = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "check"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(check, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, "the output cannot be written" in done.stderr) == (5, True), done.stderr
    for program in (check, [sys.executable, "-m", "sanare", "demo"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_switch_that_cannot_be_set_says_where(tmp_path: Path) -> None:
    (tmp_path / ".sanare").mkdir()
    (tmp_path / ".sanare" / "STOP").mkdir()
    code, said = command(tmp_path, "stop")
    assert (code, ".sanare/STOP: " in said) == (5, True), said


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes another account")
def test_another_account_does_not_stop_its_own_store_instead(tmp_path: Path) -> None:
    store = tmp_path / ".sanare" / "store.db"
    store.parent.mkdir()
    store.write_bytes(b"")
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    program = (
        "import os, sys\nfrom sanare import _sanare\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        f"os.environ['HOME'] = os.environ['XDG_STATE_HOME'] = {str(tmp_path / 'home')!r}\n"
        f"sys.exit(_sanare.main(['--project', {str(tmp_path)!r}, *sys.argv[1:]], sys.executable))\n"
    )
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", 65534, 65534)
    for arguments in (["stop"], ["ledger", "verify"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 5, done.stdout + done.stderr
        assert str(tmp_path / ".sanare") in done.stderr and done.stdout == "", done.stderr


def test_a_fault_of_the_whole_file_names_no_key(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_bytes(b"[service.fraud]\n# caf\xe9\n")
    code, said = command(tmp_path, "check")
    assert (code, "sanare.toml:2: is not UTF-8" in said) == (2, True), said


def test_a_probe_that_hangs_holds_nothing_up(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)
    never = threading.Event()
    asked = []

    def probe() -> dict[str, str]:
        asked.append(plant.now)
        if plant.served == "2":
            never.wait(60)
        return {"served_version": plant.served}

    plant.service.capability("rollback_model", lambda intent: None, probe=probe, idempotent=True, reversible=True)
    began = time.monotonic()
    plant.go_bad()
    # It was asked for five seconds, once; since then nobody knows, so a person is asked and told why.
    assert time.monotonic() - began < 40
    hung = [at for at in asked if at >= asked[-1]]
    assert len(hung) == 1
    assert plant.incident["step"] == "waiting", plant.incident
    [question] = plant.healer.pending_approvals()
    assert "gate_skipped" in json.dumps(question["reasons"]), question
    never.set()
