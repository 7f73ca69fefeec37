"""One scenario through the Python package and through the commands leaves the ledger that the Rust library leaves (S140), and
the values of every type get the same answers (S1)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import sanare
from records import watches
from test_services import ME
from test_verbs import program

ROOT = Path(__file__).parents[2]
DOORS = ROOT / "scenarios" / "doors"
VALUES = ROOT / "crates" / "sanare-core" / "tests" / "values"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sanare.toml").write_text((DOORS / "sanare.toml").read_text())
    (tmp_path / "policy.toml").write_text(f'version = 1\napprovals = {{ approvers = ["{ME}"] }}\n')
    return tmp_path


def plain(json: Any) -> Any:
    """What is never the same twice is left out."""
    if isinstance(json, dict):
        return {key: plain(value) for key, value in json.items()}
    if isinstance(json, list):
        return [plain(value) for value in json]
    if not isinstance(json, str):
        return json
    if len(json) == 30 and json[3] == "_":
        return json[:4] + "ID"
    if re.fullmatch("[0-9a-f]{64}", json):
        return "HASH"
    if re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", json):
        return "TIME"
    return json.replace(ME, "WHO")


def transcript(folder: Path) -> str:
    code, out, err = program(folder, "ledger", "export")
    assert code == 0, err
    lines = []
    for line in out.splitlines():
        record = json.loads(line)
        payload = json.dumps(
            plain(json.loads(record["payload"])), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        lines.append(f"{record['step']} {payload}\n")
    return "".join(lines)


def times() -> list[str]:
    began = time.time() - 40
    return [datetime.fromtimestamp(began + second, timezone.utc).isoformat() for second in (0, 10, 20, 30)]


def test_through_the_package(folder: Path) -> None:
    healer = sanare.Healer.from_config(folder / "sanare.toml")
    for at in times():
        healer.observe({"application": "fraud", "signal": "answers", "value": 0, "event_time": at})
        healer.run_once()
    [incident] = healer.incidents()
    id = incident["id"]
    healer.acknowledge(id)
    with pytest.raises(sanare.Error):
        healer.acknowledge(id)
    healer.hold(id)
    healer.release(id)
    assert healer.deny(id, "not now") == "denied"
    healer.run_once()
    healer.propose(id, "restart_component", "it hangs")
    healer.run_once()
    with pytest.raises(sanare.Error, match="who proposed it may not approve it"):
        healer.approve(id)
    healer.close_incident(id, "seen to", false_alarm=True)
    with pytest.raises(sanare.Error, match="closed already"):
        healer.close_incident(id, "again")
    healer.mark_good("fraud", "7", "a year of service")
    healer.stop("fraud")
    healer.start_again("fraud", reason="all is well")
    assert transcript(folder) == (DOORS / "asked.txt").read_text()


def test_through_the_commands(folder: Path) -> None:
    healer = subprocess.Popen(
        [sys.executable, "-m", "sanare", "--project", str(folder), "run-services"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        # It hears what is told from when it began: once it keeps what it has detected.
        end = time.monotonic() + 60
        while not watches(folder / ".sanare" / "store.db"):
            assert healer.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        for at in times():
            assert program(folder, "observe", "fraud", "answers", "0", "--at", at)[0] == 0
        found: list[dict[str, Any]] = []
        while not found or found[0]["step"] != "waiting":
            assert healer.poll() is None and time.monotonic() < end, found
            time.sleep(0.2)
            found = json.loads(program(folder, "--json", "incidents")[1])
    finally:
        healer.terminate()
        healer.wait(60)
    [incident] = found
    id = incident["id"]
    steps: list[tuple[int, list[str]]] = [
        (0, ["incident", "ack", id]),
        (1, ["incident", "ack", id]),
        (0, ["incident", "hold", id]),
        (0, ["incident", "release", id]),
        (0, ["deny", id, "--reason", "not now"]),
        (0, ["run-services", "--once"]),
        (2, ["propose", id, "destroy", "--reason", "it hangs"]),
        (0, ["propose", id, "restart_component", "--reason", "it hangs"]),
        (0, ["run-services", "--once"]),
        (3, ["approve", id]),
        (0, ["incident", "close", id, "--reason", "seen to", "--false-alarm"]),
        (1, ["incident", "close", id, "--reason", "again"]),
        (0, ["model", "mark-good", "fraud", "7", "--reason", "a year of service"]),
        (0, ["stop", "fraud"]),
        (2, ["start", "fraud"]),
        (0, ["start", "fraud", "--reason", "all is well"]),
    ]
    for expected, arguments in steps:
        code, out, err = program(folder, *arguments)
        assert code == expected, (arguments, out, err)
    assert transcript(folder) == (DOORS / "asked.txt").read_text()


@pytest.mark.parametrize("bad", [None, 3, b"x", "\ud800", object(), [], {}], ids=lambda bad: type(bad).__name__)
def test_a_wrong_type_is_the_documented_error(folder: Path, bad: Any) -> None:
    healer = sanare.Healer.from_config(folder / "sanare.toml")
    calls = [
        lambda: healer.propose(bad, "restart_component", "x"),
        lambda: healer.propose("inc_0000000000", bad, "x"),
        lambda: healer.acknowledge(bad),
        lambda: healer.undo(bad, "x"),
        lambda: healer.close_incident(bad, "x"),
        lambda: healer.settle(bad, "done", "x"),
        lambda: healer.explain(bad),
        lambda: healer.model_history(bad),
        lambda: healer.observe(bad),
    ]
    for call in calls:
        if call is calls[6] and bad == {}:
            continue  # The sound case.
        with pytest.raises(sanare.Error):
            call()
    with pytest.raises(sanare.Error):
        healer.propose("inc_0000000000", "destroy", "x")  # type: ignore[arg-type]
    healer.close()
    assert healer.incidents() == []
    assert healer.verify_ledger() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_every_call_says_so(folder: Path) -> None:
    healer = sanare.Healer.from_config(folder / "sanare.toml")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            calls = [
                healer.incidents,
                healer.run_once,
                healer.verify_ledger,
                healer.report,
                healer.targets,
                lambda: healer.observe({"application": "fraud", "signal": "answers", "value": 1}),
                lambda: healer.acknowledge("inc_0000000000"),
                lambda: healer.explain({}),
            ]
            said = []
            for call in calls:
                try:
                    call()
                except sanare.Error as error:
                    said.append("before a fork" in str(error))
            code = 0 if said == [True] * len(calls) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VALUES / name).read_text().splitlines()]


def test_readings_get_the_same_answers(folder: Path) -> None:
    healer = sanare.Healer.from_config(folder / "sanare.toml")
    wrong = []
    for row in rows("readings.jsonl"):
        reading = {
            "application": "fraud",
            "component": "api",
            "signal": "p99",
            "kind": "metric",
            "value": 1.5,
            "unit": "ms",
            "event_time": "2026-01-01T00:00:00Z",
            "source_id": row["name"],
            "labels": {"host": "a"},
            **row["change"],
        }
        try:
            healer.observe(reading)
            got = None
        except sanare.Error as error:
            got = str(error)
        field = row["field"]
        if row["change"].get("application", "fraud") == "a" * 63:
            # A legal name of a service that the configuration does not have.
            assert got is not None and "no service" in got
        elif (
            field is None
            and got is not None
            or field is not None
            and not re.match(f"`{re.escape(field)}[`.]", got or "")
        ):
            wrong.append((row["name"], field, got))
    assert wrong == []


def test_made_up_cases_get_the_same_answers(folder: Path) -> None:
    healer = sanare.Healer.from_config(folder / "sanare.toml")
    wrong = []
    for row in rows("cases.jsonl"):
        try:
            healer.explain(row["case"])
            legal = True
        except sanare.Error:
            legal = False
        if legal != row["legal"]:
            wrong.append(row["name"])
    assert wrong == []
