"""What a person at a terminal can ask, report and look after: the real program, its streams and exit codes (S137)."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import sanare
from test_services import ASKS, AUTO, CONFIGURATION, Plant
from test_verbs import program, refused

TARGETS = (
    "[service.fraud.target.application]\n"
    'restart_component = { adapter = "command", argv = ["/bin/true"], idempotent = true }\n'
    'rollback_model = { adapter = "callback" }\n'
)


def as_json(folder: Path, *arguments: str) -> Any:
    code, out, err = program(folder, "--json", *arguments)
    assert code == 0, err
    return json.loads(out)


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    plant = Plant(tmp_path, ASKS)
    plant.lend(idempotent=True, reversible=True)
    plant.go_bad()
    return plant


def now_plant(folder: Path, policy: str, configuration: str = CONFIGURATION) -> Plant:
    """A plant on the clock of the command."""
    plant = Plant(folder, policy, configuration)
    plant.now = time.time()
    return plant


def test_a_reading_from_a_terminal_is_looked_at_by_the_healer_that_runs(tmp_path: Path) -> None:
    plant = now_plant(tmp_path, ASKS)
    plant.healer.run_once()
    began = time.time() - 40
    for second in range(0, 40, 10):
        at = datetime.fromtimestamp(began + second, timezone.utc).isoformat()
        code, out, err = program(tmp_path, "observe", "fraud", "error_share", "0.5", "--at", at)
        assert (code, err) == (0, ""), err
        assert out.startswith("taken: obs_") and out.endswith(" error_share of fraud\n"), out
        plant.now = max(plant.now, time.time())
        opened = plant.healer.run_once()["opened"]
        # The rule waits half a minute.
        assert opened == (second == 30), second
    assert plant.incident["kind"] == "error_rate_high"
    # It is looked at once.
    assert plant.healer.run_once()["opened"] == 0
    # What persons say of versions reaches a healer that runs already.
    assert program(tmp_path, "observe", "fraud", "deployed", "7", "--kind", "deployment")[0] == 0
    plant.now = max(plant.now, time.time())
    plant.healer.run_once()
    assert [(one["version"], one["standing"]) for one in plant.healer.model_history("fraud")] == [("7", "unknown")]
    assert program(tmp_path, "model", "mark-good", "fraud", "7", "--reason", "it is good")[0] == 0
    plant.healer.run_once()
    assert [(one["version"], one["standing"]) for one in plant.healer.model_history("fraud")] == [("7", "good")]
    code, out, _ = program(tmp_path, "model", "history", "fraud")
    assert (code, out.startswith("7  good  from "), ", moved by others\n" in out) == (0, True, True), out
    assert [one["version"] for one in as_json(tmp_path, "model", "history", "fraud")] == ["7"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["fruad", "s", "1"], 4, "no service `fruad`"),
        (["fraud", "s s", "1"], 2, "signal"),
        (["fraud", "s", "much"], 2, "value"),
        (["fraud", "s", "true"], 2, "value"),
        (["fraud", "s", "[1]"], 2, "value"),
        (["fraud", "s", ""], 2, "value"),
        (["fraud", "s", "1", "--kind", "metrics"], 2, "one of metric"),
        (["fraud", "s", "maybe", "--kind", "health"], 2, "one of pass"),
        (["fraud", "s", "1", "--at", "yesterday"], 2, "yesterday"),
        (["fraud", "s", "1", "--at", "2026-01-01T00:00:00"], 2, "a time needs an offset"),
        (["fraud", "s", "1", "--at", "2999-01-01T00:00:00Z"], 2, "over a day ahead"),
        (["fraud", "s", "1", "--label", "host"], 2, "KEY=VALUE"),
        (["fraud", "s", "1", "--label", "host=a", "--label", "host=b"], 2, "twice"),
        (["fraud", "s", "1", "--unit", "a unit that is too long"], 2, "unit"),
        (["fraud", "s", "1", "--id", " "], 2, "source_id"),
        (["fraud", "s", "1", "--component", "A"], 2, "component"),
        (["fraud", "s"], 2, "<VALUE>"),
        ([], 2, "<SERVICE>"),
        (["fraud", "s", "1", "--loud"], 2, "--loud"),
    ],
)
def test_a_reading_that_cannot_be_is_refused(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    (tmp_path / "policy.toml").write_text(ASKS)
    got, err = refused(tmp_path, "observe", *arguments)
    assert (got, said in err) == (code, True), err


def test_a_reading_is_told_as_json_and_taken_once(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    (tmp_path / "policy.toml").write_text(ASKS)
    arguments = ["observe", "fraud", "queue", "-3", "--unit", "jobs", "--label", "host=a", "--id", "1"]
    at = ["--at", datetime.now(timezone.utc).isoformat()]
    seen = as_json(tmp_path, *arguments, *at)
    assert (seen["value"], seen["unit"], seen["labels"], seen["source"]) == (
        {"metric": -3.0},
        "jobs",
        {"host": "a"},
        "command",
    )
    assert program(tmp_path, *arguments, *at)[0] == 0
    arguments[3] = "-4"
    code, err = refused(tmp_path, *arguments, *at)
    assert (code, "another observation has this source id" in err) == (1, True), err
    healer = sanare.Healer(tmp_path / "sanare.toml")
    assert healer.observe({"application": "fraud", "signal": "s", "value": 1})["signal"] == "s"
    for wrong in ({}, {"application": "fraud"}, {"application": "no", "signal": "s", "value": 1}, {"value": object()}):
        with pytest.raises(sanare.Error):
            healer.observe(wrong)


def test_targets_are_listed(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO, CONFIGURATION + TARGETS)
    code, out, _ = program(tmp_path, "target", "list")
    assert (code, out) == (
        0,
        "fraud/application  restart_component      service:fraud/application by command (idempotent)\n"
        "fraud/application  rollback_model         - by callback (nothing declared)\n"
        "    the program has not lent it to this process\n",
    )
    assert as_json(tmp_path, "target", "list", "--online")[0]["now"] == "available"
    plant.does = RuntimeError("gone")
    plant.lend(idempotent=True, reversible=True)
    plant.go_bad()
    plant.minutes(1)
    [receipt] = [one["receipt_id"] for one in plant.incident["attempts"] if one["action"] == "rollback_model"]
    [held] = [one for one in plant.healer.targets(online=True) if one["action"] == "rollback_model"]
    assert (held["held_by"], held["identity"]) == ([receipt, "unknown"], {"served_version": "2"})
    assert held["declared"] == ["idempotent", "reversible"]
    code, out, _ = program(tmp_path, "target", "list")
    assert f"    receipt {receipt} is unknown; `sanare target settle` frees it\n" in out, out
    assert refused(tmp_path, "target")[0] == 2


def test_policy_explains_an_incident_of_a_service_and_a_made_up_case(tmp_path: Path, plant: Plant) -> None:
    id = plant.incident["id"]
    # The function is lent to the program and not to the command: there nothing can be done, and that is said.
    code, out, _ = program(tmp_path, "policy", "explain", id[:14])
    assert (code, out.startswith("verdict: refuse\n"), "unmapped" in out) == (0, True, True), out
    assert "to be permitted:\n  unmapped: " in out, out
    assert "\n  refuse   unmapped: " in out.split("ask ")[0], "the strictest first"
    explained = plant.healer.explain(id)
    assert explained["verdict"] == "ask"
    assert "mode_ask" in [one["rule"] for one in explained["rules"] if one["verdict"]]
    case = tmp_path / "case.toml"
    case.write_text('application = "fraud"\naction = "restart_component"\nconfidence = 0.1\n')
    explained = as_json(tmp_path, "policy", "explain", "--case", str(case))
    assert explained["verdict"] == "ask"
    assert {"confidence", "mode_ask"} <= {one["rule"] for one in explained["rules"] if one["verdict"]}
    assert any(line.startswith("confidence: ") for line in explained["to_permit"])
    for text, said in (("action = 'destroy'", "line 1: "), ("\nspeed = 1", "line 2: "), ("a =", "line 1: ")):
        case.write_text(text)
        code, err = refused(tmp_path, "policy", "explain", "--case", str(case))
        assert (code, said in err) == (2, True), err
    assert refused(tmp_path, "policy", "explain")[0] == 2
    assert refused(tmp_path, "policy", "explain", "--case", str(tmp_path / "none.toml"))[0] == 2
    assert refused(tmp_path, "policy", "explain", "inc_0000000000")[0] == 4


def test_a_policy_is_tried_on_cases_of_services_and_on_the_past(tmp_path: Path) -> None:
    plant = now_plant(tmp_path, ASKS)
    plant.now -= 3600
    plant.lend(idempotent=True, reversible=True)
    plant.go_bad()
    cases = tmp_path / "cases.toml"
    head = '[[case]]\nname = "sound"\nverdict = "{}"\ngiven = {{ action = "restart_component" }}\n'
    cases.write_text(head.format("ask"))
    assert program(tmp_path, "policy", "test", str(cases)) == (0, "1 cases, 0 differences\n", "")
    cases.write_text(head.format("permit") + '[[case]]\nname = "b"\nverdict = "refuse"\ngiven = { tried = true }\n')
    code, out, _ = program(tmp_path, "policy", "test", str(cases))
    assert (code, out) == (1, "sound: expected permit, got ask mode_ask (line 1)\n2 cases, 1 differences\n")
    new = tmp_path / "new.toml"
    new.write_text(AUTO)
    assert program(tmp_path, "policy", "test", str(cases), "--policy", str(new))[0] == 0
    cases.write_text('[[case]]\nname = "a"\nverdict = "ask"\nrules = ["none"]\ngiven = {}\n')
    code, err = refused(tmp_path, "policy", "test", str(cases))
    assert (code, "there is no rule `none`" in err) == (2, True), err
    # The past: what was asked would be permitted.
    id = plant.incident["id"]
    code, out, _ = program(tmp_path, "policy", "test", "--history", "2h", "--policy", str(new))
    assert (code, f"{id}: was ask, would be permit (default)\n" in out) == (1, True), out
    assert program(tmp_path, "policy", "test", "--history", "2h") == (0, "1 cases, 0 differences\n", "")
    code, err = refused(tmp_path, "policy", "test", "--history", "1m")
    assert (code, "nothing was decided in that time" in err) == (2, True), err


def test_hashes_that_decisions_are_bound_to(tmp_path: Path) -> None:
    assert refused(tmp_path, "config", "hash")[0] == 2
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    (tmp_path / "policy.toml").write_text(ASKS)
    code, out, _ = program(tmp_path, "config", "hash")
    first, second = out.splitlines()
    assert (code, first.endswith("sanare.toml"), second.endswith("policy.toml"), len(first.split()[0])) == (
        0,
        True,
        True,
        64,
    )
    told = as_json(tmp_path, "config", "hash")
    assert (told["configuration"], told["policy"], told["policy_trouble"]) == (
        first.split()[0],
        second.split()[0],
        None,
    )
    (tmp_path / "policy.toml").write_text(ASKS + "# a remark\n")
    (tmp_path / "sanare.toml").write_text(CONFIGURATION.replace("0.1", "0.2"))
    other = as_json(tmp_path, "config", "hash")
    assert other["configuration"] != told["configuration"] and other["policy"] != told["policy"]
    (tmp_path / "policy.toml").write_text("version = ")
    assert as_json(tmp_path, "config", "hash")["policy_trouble"]


def test_a_store_is_copied_while_it_is_in_use(tmp_path: Path, plant: Plant) -> None:
    copy = tmp_path / "copy.db"
    code, out, err = program(tmp_path, "store", "backup", str(copy))
    assert (code, err, out.startswith(f"{copy}: "), "their chain holds" in out) == (0, "", True, True), err
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    before = copy.read_bytes()
    code, err = refused(tmp_path, "store", "backup", str(copy))
    assert (code, "nothing is written over" in err, copy.read_bytes() == before) == (1, True, True), err
    code, err = refused(tmp_path, "store", "backup", str(tmp_path / "none" / "copy.db"))
    assert (code, "none/copy.db" in err) == (5, True), err
    # It is a store: the incident and the chain are in it.
    other = tmp_path / "other"
    (other / ".sanare").mkdir(parents=True)
    for name in ("sanare.toml", "policy.toml"):
        (other / name).write_text((tmp_path / name).read_text())
    copy.rename(other / ".sanare" / "store.db")
    assert program(other, "incident", "show", plant.incident["id"])[0] == 0
    assert program(other, "ledger", "verify")[0] == 0
    told = as_json(other, "store", "backup", str(tmp_path / "again.db"))
    assert told["records"] == plant.healer.verify_ledger()
    # A chain that is broken is not copied as if it were whole.
    edited = sqlite3.connect(other / ".sanare" / "store.db")
    for (name,) in edited.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        edited.execute(f"DROP TRIGGER {name}")
    edited.execute("UPDATE ledger SET payload = '{}' WHERE seq = 2")
    edited.commit()
    edited.close()
    code, err = refused(other, "store", "backup", str(tmp_path / "broken.db"))
    assert (code, "the chain breaks at record 2" in err) == (5, True), err
    assert not (tmp_path / "broken.db").exists()


def test_a_store_is_brought_to_the_present_format(tmp_path: Path, plant: Plant) -> None:
    path = tmp_path / ".sanare" / "store.db"
    assert (
        program(tmp_path, "store", "migrate")[1] == "format 5, as it was\n"
        or "as it was" in program(tmp_path, "store", "migrate")[1]
    )
    told = as_json(tmp_path, "store", "migrate")
    assert told["from"] == told["to"] >= 5
    edited = sqlite3.connect(path)
    edited.execute("PRAGMA user_version = 99")
    edited.commit()
    edited.close()
    for verb in (["migrate"], ["backup", str(tmp_path / "copy.db")]):
        code, err = refused(tmp_path, "store", *verb)
        assert (code, "99" in err) == (5, True), err
    assert not (tmp_path / "copy.db").exists()
    assert refused(tmp_path / "..", "store")[0] == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "pyproject.toml").write_text("")
    assert refused(empty, "store", "migrate")[0] == 4


def test_the_ledger_is_exported_as_it_is_and_that_is_recorded(tmp_path: Path, plant: Plant) -> None:
    code, out, err = program(tmp_path, "ledger", "export")
    records = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [one["seq"] for one in records] == list(range(1, len(records) + 1))
    for chain in {one["chain"] for one in records}:
        own = [one for one in records if one["chain"] == chain]
        assert [one["place"] for one in own] == list(range(1, len(own) + 1))
        assert all(one["previous"] == before["hash"] for before, one in zip(own, own[1:], strict=False))
    assert {"opened", "proposed", "waiting"} <= {one["step"] for one in records}
    # The export is a record itself, and the next one has it.
    file = tmp_path / "ledger.ndjson"
    told = as_json(tmp_path, "ledger", "export", "--out", str(file))
    again = [json.loads(line) for line in file.read_text().splitlines()]
    assert (told["records"], len(again), again[-1]["step"]) == (len(records) + 1, len(records) + 1, "exported")
    assert json.loads(again[-1]["payload"])["records"] == len(records)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert refused(tmp_path, "ledger", "export", "--out", str(file))[0] == 1
    assert [one["step"] for one in json.loads(program(tmp_path, "incidents", "--json")[1])] == ["waiting"]
    _, out, _ = program(tmp_path, "ledger", "export", "--application", "fraud")
    mine = {json.loads(line)["step"] for line in out.splitlines()}
    assert "waiting" in mine and "marked_good" in mine and "exported" not in mine
    code, err = refused(tmp_path, "ledger", "export", "--application", "churn")
    assert (code, "nothing is recorded of `churn`: there is `fraud`" in err) == (4, True), err
    assert program(tmp_path, "ledger", "export", "--since", "1s", "--application", "fraud") == (0, "", "")
    middle = datetime.fromtimestamp(records[3]["at"] / 1000, timezone.utc).isoformat()
    _, out, _ = program(tmp_path, "ledger", "export", "--until", middle)
    assert [json.loads(line)["at"] < records[3]["at"] for line in out.splitlines()] == [True] * len(out.splitlines())
    for wrong in (["--since", "soon"], ["--until", "2026"], ["--out", str(tmp_path / "no" / "x")]):
        assert refused(tmp_path, "ledger", "export", *wrong)[0] == 2
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "ledger", "export"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_figures_are_those_of_the_records(tmp_path: Path) -> None:
    plant = Plant(tmp_path, AUTO)
    assert plant.healer.report() == {"incidents": [], "acts": []}
    assert program(tmp_path, "report") == (0, "no incident was opened in that time\n", "")
    plant.lend(idempotent=True, reversible=True)
    plant.go_bad()
    plant.minutes(20)
    assert plant.incident["closed_by"] == "action"
    report = plant.healer.report()
    [one], [act] = report["incidents"], report["acts"]
    assert {name: one[name] for name in ("incidents", "healed", "healed_by_itself", "escalated", "healed_share")} == {
        "incidents": 1,
        "healed": 1,
        "healed_by_itself": 0,
        "escalated": 0,
        "healed_share": 1.0,
    }
    # The rule waits half a minute from the first bad reading.
    assert one["detect"] == {"known": 1, "median_ms": 30_000, "longest_ms": 30_000}
    assert "wait" not in one, "nobody was asked"
    assert (act["action"], act["begun"], act["recovered"], act["failed"], act["undone"]) == (
        "rollback_model",
        1,
        1,
        0,
        0,
    )
    assert act["agent"].startswith("rule/")
    # Nobody calls what passes by itself an act's success.
    plant.served = "3"
    plant.also = lambda: plant.service.observe("error_share", 0.5)
    plant.minutes(200)
    assert as_json(tmp_path, "report") == plant.healer.report()
    code, out, _ = program(tmp_path, "report", "fraud")
    assert (code, "fraud error_rate_high: " in out, "to detect" in out) == (0, True, True), out
    assert program(tmp_path, "report", "--since", "1m")[1] == "no incident was opened in that time\n"
    assert refused(tmp_path, "report", "fruad")[0] == 4
    assert refused(tmp_path, "report", "Fraud")[0] == 2
    assert refused(tmp_path, "report", "--since", "soon")[0] == 2
    later = datetime.fromtimestamp(plant.now, timezone.utc)
    assert plant.healer.report("fraud", since=later) == {"incidents": [], "acts": []}
    for wrong in ("fruad", "", 3):
        with pytest.raises(sanare.Error):
            plant.healer.report(wrong)  # type: ignore[arg-type]
    with pytest.raises(sanare.Error, match="without a zone"):
        plant.healer.report(since=later.replace(tzinfo=None))
