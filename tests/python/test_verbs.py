"""What a person at a terminal can do about incidents of both halves: the real program, its streams and exit codes (S137)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sanare
from test_services import ASKS, AUTO, CONFIGURATION, Plant

WAITS = {"idempotent": True, "reversible": True}


def program(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "sanare", "--project", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def refused(folder: Path, *arguments: str) -> tuple[int, str]:
    """A refusal says nothing on standard output, where data goes."""
    code, out, err = program(folder, *arguments)
    assert out == "", out
    return code, err


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """A service whose version 2 is bad; a rollback waits for a person."""
    plant = Plant(tmp_path, ASKS)
    plant.lend(**WAITS)
    plant.go_bad()
    return plant


@pytest.fixture
def code_incident(tmp_path: Path, plant: Plant) -> str:
    """An incident of code in the same store, some time later than the service's."""
    job = tmp_path / "job.py"
    job.write_text(
        "import sanare\n\n\n@sanare.heal(mode='ask')\ndef load(row):\n    return row['amount']\n\n\n"
        "try:\n    load({'Betrag': 1})\nexcept KeyError:\n    pass\n"
    )
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "probe"\nversion = "0"\n')
    subprocess.run([sys.executable, str(job)], cwd=tmp_path, check=True, timeout=120)
    code, out, _ = program(tmp_path, "incidents", "--json")
    assert code == 0
    [found] = [one["id"] for one in json.loads(out) if "function" in one]
    return str(found)


def test_a_verb_of_code_says_what_an_incident_of_a_service_is(tmp_path: Path, plant: Plant) -> None:
    id = plant.incident["id"]
    right = {
        ("diff",): "sanare incident show",
        ("revert",): "sanare incident undo",
        ("retry",): "sanare incident retry",
        ("replay",): "sanare incident show",
        ("show", "--prompt"): "sanare incident show",
        ("explain",): "sanare policy explain",
    }
    for (verb, *more), hint in right.items():
        for given in (id, id[4:14], id[4:].lower()):
            code, err = refused(tmp_path, verb, given, *more)
            assert (code, err) == (
                2,
                f"error: `{id}` is an incident of a service (fraud: error_rate_high), and not of code\n"
                f"hint: for it there is `{hint} {id}`\n",
            )
    code, out, _ = program(tmp_path, "show", id[:12])
    assert (code, id in out, "error_rate_high" in out) == (0, True, True)
    for answer in (sanare.approve, sanare.deny, sanare.revert):
        with pytest.raises(sanare.Error, match=r"is an incident of a service \(fraud: error_rate_high\)"):
            answer(id, project=tmp_path)


def test_a_verb_of_services_says_what_an_incident_of_code_is(tmp_path: Path, plant: Plant, code_incident: str) -> None:
    right = {
        ("incident", "show"): "sanare show",
        ("incident", "ack"): "sanare show",
        ("incident", "hold"): "sanare show",
        ("incident", "retry"): "sanare retry",
        ("incident", "close", "--reason=x"): "sanare deny",
        ("incident", "undo", "--reason=x"): "sanare revert",
        ("propose", "--reason=x"): "sanare show",
    }
    for (verb, *more), hint in right.items():
        tail = ["restart_component"] if verb == "propose" else []
        first, options = ([verb, more[0]], more[1:]) if verb == "incident" else ([verb], more)
        code, err = refused(tmp_path, *first, code_incident, *tail, *options)
        assert (code, f"`{code_incident}` is an incident of code" in err) == (2, True), err
        assert f"hint: for it there is `{hint} {code_incident}`" in err, err
    with pytest.raises(sanare.Error, match="is an incident of code"):
        plant.healer.hold(code_incident)


def test_ids_are_named_by_six_characters_that_no_other_begins_with(tmp_path: Path) -> None:
    slow = '[[service.fraud.rule]]\nid = "slow"\nsignal = "latency"\nkind = "latency_high"\nabove = 500\nfor = "30s"\n'
    plant = Plant(tmp_path, ASKS, CONFIGURATION + slow)
    plant.also = lambda: plant.service.observe("latency", 900 if plant.served == "2" else 1)
    plant.go_bad()
    # Two incidents of the same quarter of an hour begin with the same characters.
    first, second = sorted(one["id"] for one in plant.healer.incidents())
    same = os.path.commonprefix([first, second])
    assert len(same) >= 10
    for verb in (["show"], ["incident", "show"], ["approve"], ["deny"], ["diff"], ["incident", "hold"]):
        for given in (same[4:10], same, same.lower()[4:]):
            code, err = refused(tmp_path, *verb, given)
            assert (code, "is the beginning of 2" in err, "give more of the id" in err) == (2, True, True), err
        for given in (first[4:9], "inc_00000000000000000000000000", "inc_", "", "\u00e9" * 8):
            code, err = refused(tmp_path, *verb, given)
            assert (code, err.startswith("error: no ")) == (4, True), err
    for given in (first, first[4:], first[: len(same) + 1], first[4 : len(same) + 1].lower()):
        code, out, _ = program(tmp_path, "incident", "show", given)
        assert (code, out.startswith(first)) == (0, True)


def test_what_a_person_does_about_an_incident(tmp_path: Path, plant: Plant) -> None:
    id = plant.incident["id"]

    def said(*arguments: str) -> tuple[int, str]:
        code, out, err = program(tmp_path, "incident", *arguments)
        return code, out + err

    assert said("ack", id) == (0, f"seen: {id}\n")
    code, text = said("ack", id)
    assert (code, "it was acknowledged before, by" in text) == (1, True), text
    assert said("hold", id) == (0, f"held: {id}\n")
    assert said("hold", id) == (1, "error: it is held already\n")
    assert said("release", id) == (0, f"goes on: {id}\n")
    assert said("release", id) == (1, "error: it is not held\n")
    code, text = said("retry", id)
    assert (code, "only what was handed over" in text) == (1, True), text
    assert said("undo", id, "--reason", "x") == (1, "error: nothing was done that could be taken back\n")
    assert said("close", id, "--reason", " ") == (2, "error: a reason is needed\n")
    assert said("close", id, "--reason", "seen to") == (0, f"closed: {id}\n")
    assert said("close", id, "--reason", "again") == (1, "error: it is closed already: escalated by person\n")
    false_alarm = ("close", id, "--false-alarm", "--reason", "the sensor was broken")
    assert said(*false_alarm) == (0, f"called a false alarm: {id}\n")
    assert said(*false_alarm)[0] == 1
    code, text = said("show", id)
    assert (code, "marked: false_alarm" in text, "seen by" in text) == (0, True, True), text
    code, out, _ = program(tmp_path, "--json", "incident", "show", id)
    shown = json.loads(out)
    assert (shown["status"], shown["outcome"], shown["closed_by"]) == ("closed", "escalated", "person")
    assert [one["step"] for one in shown["steps"]].count("closed") == 1
    assert plant.intents == []


def test_an_act_is_taken_back_by_hand(tmp_path: Path, plant: Plant) -> None:
    [asked] = plant.healer.pending_approvals()
    plant.healer.approve(asked["id"])
    plant.minutes(25)
    id = plant.incident["id"]
    assert (plant.incident["outcome"], plant.served) == ("healed", "1")
    code, out, err = program(tmp_path, "incident", "undo", id, "--reason", "version 1 lacks the new law")
    assert (code, out, err) == (0, f"its last act is taken back by the healer that runs: {id}\n", "")
    # The command's clock is the real one.
    plant.now = time.time() + 1
    plant.healer.run_once()
    assert [(one.purpose, one.from_version, one.to_version) for one in plant.intents] == [
        ("act", "2", "1"),
        ("undo", "1", "2"),
    ]
    incident = next(one for one in plant.healer.incidents() if one["id"] == id)
    assert (plant.served, incident["outcome"], incident["closed_by"]) == ("2", "rolled_back", "person")
    code, out, err = program(tmp_path, "incident", "undo", id, "--reason", "once more")
    assert (code, err) == (1, "error: its last act is undone: there is nothing to take back\n")


def test_the_same_from_python(tmp_path: Path, plant: Plant) -> None:
    healer, id = plant.healer, plant.incident["id"]
    healer.acknowledge(id)
    healer.hold(id[4:])
    with pytest.raises(sanare.Error, match="held already"):
        healer.hold(id)
    healer.release(id)
    with pytest.raises(sanare.Error, match="only what was handed over"):
        healer.retry(id)
    with pytest.raises(sanare.Error, match="nothing was done"):
        healer.undo(id, "x")
    with pytest.raises(sanare.Error, match="a reason is needed"):
        healer.close_incident(id, "\u200b")
    healer.close_incident(id, "seen to", false_alarm=True)
    with pytest.raises(sanare.Error, match="closed already"):
        healer.close_incident(id, "seen to")
    with pytest.raises(sanare.Error, match="no `rct_0000000000` here"):
        healer.settle("rct_0000000000", "done", "x")
    with pytest.raises(sanare.Error, match="is `maybe`; one of"):
        healer.settle("rct_0000000000", "maybe", "x")  # type: ignore[arg-type]


def test_an_act_of_which_nobody_knows_is_settled_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)
    plant.does = RuntimeError("gone")
    plant.lend(idempotent=True)
    plant.go_bad()
    plant.minutes(1)
    receipt = plant.incident["attempts"][0]["receipt_id"]
    code, err = refused(tmp_path, "target", "settle", receipt[:9], "--as", "done", "--reason", "x")
    assert code == 4, err
    assert refused(tmp_path, "target", "settle", receipt, "--as", "done", "--reason", "") == (
        2,
        "error: a reason is needed\n",
    )
    code, out, err = program(tmp_path, "target", "settle", receipt[:20], "--as", "failed", "--reason", "looked at it")
    assert (code, out, err) == (0, f"settled: {receipt} is failed\n", "")
    assert refused(tmp_path, "target", "settle", receipt[:20], "--as", "done", "--reason", "x") == (
        1,
        "error: the receipt is failed\n",
    )


def test_a_version_is_marked_with_a_reason(tmp_path: Path, plant: Plant) -> None:
    for blank in ("", "  ", "\u200b"):
        assert refused(tmp_path, "model", "mark-good", "fraud", "7", "--reason", blank) == (
            2,
            "error: a reason is needed\n",
        )
        with pytest.raises(sanare.Error, match="a reason is needed"):
            plant.healer.mark_good("fraud", "7", blank)
    assert program(tmp_path, "model", "mark-good", "fraud", "7", "--reason", "a year of service")[0] == 0


def test_everything_is_told_as_json_too(tmp_path: Path) -> None:
    code, out, _ = program(tmp_path, "forget", "--json")
    assert (code, json.loads(out)) == (0, {"forgotten": 0})
    code, out, _ = program(tmp_path, "init", "fraud", "--json")
    assert (code, [Path(one).name for one in json.loads(out)["written"]]) == (0, ["sanare.toml", "policy.toml"])
    assert program(tmp_path, "run-services", "--once")[0] == 0
    code, out, _ = program(tmp_path, "forget", "--json")
    assert (code, json.loads(out)) == (0, {"forgotten": 0})


@pytest.mark.parametrize(
    "status", [4, "wating", "", b"open", ["open"], True, object()], ids=lambda one: type(one).__name__
)
def test_a_status_that_is_none_says_what_there_is(status: Any) -> None:
    with pytest.raises(sanare.Error, match=r"`status` is .*: it is None, or one of open, waiting, applied, closed"):
        sanare.reports(status=status)


@pytest.mark.parametrize("limit", [-1, 2**64, "4", 1.5, True, None, object()], ids=lambda one: type(one).__name__)
def test_a_limit_that_is_none_says_what_it_is(limit: Any) -> None:
    with pytest.raises(sanare.Error, match=r"`limit` is .*: it is a whole number"):
        sanare.reports(limit=limit)


VERBS = ["ack", "hold", "release", "retry", "show"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_without_its_id_or_with_a_flag_that_it_does_not_have(tmp_path: Path, verb: str) -> None:
    code, err = refused(tmp_path, "incident", verb)
    assert (code, "<ID>" in err) == (2, True), err
    code, err = refused(tmp_path, "incident", verb, "inc_0000000000", "--force")
    assert (code, "--force" in err) == (2, True), err
    # Without a configuration there is no service, and what is needed is said.
    code, err = refused(tmp_path, "incident", verb, "inc_0000000000")
    assert (code, "`sanare init` writes one" in err) == (2, True), err


def test_a_reader_that_left_is_no_error(tmp_path: Path, plant: Plant) -> None:
    id = plant.incident["id"]
    for arguments in (["incident", "show", id], ["incident", "hold", id], ["incidents"]):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), *arguments]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, "")
