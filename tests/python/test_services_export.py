"""What is kept of services as lines (`sanare export`, `Healer.export`), and a service that is erased: nothing of it is left in any
file, whoever runs beside and wherever the eraser dies (S119)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import sanare
from test_ledger_heads import aside
from test_services import ASKS, CONFIGURATION, Plant
from test_verbs import program

# It stands in a label, a check, a reason, a comment and an incident; a service that is erased takes all of it along.
MARK = "marker-8841-of-the-owner"
SECRET = "sk-ant-api03-" + "Zx9" * 31 + "AA"
TWO = CONFIGURATION + "[service.churn]\n"


def ill(folder: Path) -> Plant:
    """A service that went bad, was asked about and is closed, and another one beside it."""
    folder.mkdir(exist_ok=True)
    # Thirteen minutes, up to now.
    plant = Plant(folder, ASKS, TWO, float(int(time.time()) - 13 * 60))
    plant.lend(idempotent=True, reversible=True)
    told = [0]

    def also() -> None:
        told[0] += 1
        plant.service.observe("depth", told[0], labels={"host": MARK})
        plant.service.health("disk", "fail" if told[0] % 3 else "pass", f"{MARK} token={SECRET}")

    plant.also = also
    plant.go_bad()
    plant.healer.service("churn").observe("depth", 1.0, labels={"host": "of-churn"})
    [asked] = plant.healer.pending_approvals()
    plant.healer.deny(asked["id"], f"not now, {MARK}")
    plant.served = "1"
    plant.minutes(5)
    for one in plant.healer.incidents():
        if one["status"] != "closed":
            plant.healer.close_incident(one["id"], f"seen by {MARK}")
    plant.healer.silence(f"new disks of {MARK}", seconds=3_600, application="fraud")
    plant.healer.silence("both are moved", seconds=3_600, application=["fraud", "churn"])
    return plant


def lines(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = program(folder, "export", *arguments)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_what_is_kept_comes_out_as_it_is_stored(tmp_path: Path) -> None:
    plant = ill(tmp_path)
    given = list(plant.healer.export())
    assert (given[0]["kind"], given[0]["format"]) == ("export", 1)
    assert given[-1] == {"kind": "end", "lines": len(given) - 2}
    by: dict[str, list[dict[str, Any]]] = {}
    for line in given[1:-1]:
        by.setdefault(line["kind"], []).append(line)
    assert set(by) == {"observation", "incident", "snapshot", "approval"}, "there is no act, and no minute yet"
    store = tmp_path / ".sanare" / "store.db"
    plant.healer.close()
    [[readings]] = aside(store, "SELECT count(*) FROM service_observations")
    assert len(by["observation"]) == readings > 100
    assert {one["application"] for one in by["observation"]} == {"fraud", "churn"}
    # What was taken out before it was stored is nowhere.
    text = json.dumps(given)
    assert SECRET not in text and MARK in text
    assert by["approval"][0]["value"]["state"] == "denied"
    [incident] = {one["value"]["id"] for one in by["incident"]}
    assert by["snapshot"][0]["value"]["incident"]["id"] == incident and len(by["snapshot"][0]["digest"]) == 64
    # The command gives the same lines, and each export is a record that says what was wanted.
    assert lines(tmp_path)[1:-1] == given[1:-1]
    told = aside(store, "SELECT chain, by, payload FROM ledger WHERE step = 'exported' ORDER BY seq")
    assert [(chain, bool(by)) for chain, by, _ in told] == [("@system", True)] * 2
    assert json.loads(told[0][2])["sorts"][0] == "observation"
    assert program(tmp_path, "ledger", "verify")[0] == 0


def test_a_service_a_time_and_a_sort_can_be_wanted(tmp_path: Path) -> None:
    plant = ill(tmp_path)
    plant.healer.close()
    churn = lines(tmp_path, "--application", "churn")
    assert [one["value"]["labels"] for one in churn[1:-1]] == [{"host": "of-churn"}]
    assert {one["kind"] for one in lines(tmp_path, "--kind", "incident", "--kind", "approval")} == {
        "export",
        "incident",
        "approval",
        "end",
    }
    middle = datetime.fromtimestamp(plant.now - 120, timezone.utc)
    early = lines(tmp_path, "--until", middle.isoformat(), "--kind", "observation")[1:-1]
    late = lines(tmp_path, "--since", middle.isoformat(), "--kind", "observation")[1:-1]
    assert len(early) > 50 and len(late) > 50
    when = [datetime.fromisoformat(one["value"]["event_time"].replace("Z", "+00:00")) for one in [*early, *late]]
    assert max(when[: len(early)]) < middle <= min(when[len(early) :])
    assert len(early) + len(late) == len(lines(tmp_path, "--kind", "observation")) - 2
    # An incident is of each time that it touches.
    assert len(lines(tmp_path, "--since", middle.isoformat(), "--kind", "incident")) == 3
    assert len(lines(tmp_path, "--until", "2020-01-01T00:00:00Z")) == 2
    out = tmp_path / "out.ndjson"
    code, said, _ = program(tmp_path, "export", "--out", str(out))
    assert (code, out.stat().st_mode & 0o777) == (0, 0o600)
    assert f": {len(out.read_text().splitlines())} lines" in said
    assert program(tmp_path, "export", "--out", str(out))[0] == 1, "nothing is written over"
    for wanted, code in [
        (["--application", "nobody"], 4),
        (["--application", "../x"], 4),
        (["--kind", "reading"], 2),
        (["--since", "1h", "--until", "2h"], 2),
        (["--since", "soon"], 2),
        (["--out", str(tmp_path / "none" / "x")], 2),
    ]:
        got, printed, err = program(tmp_path, "export", *wanted)
        assert (got, printed, err != "") == (code, "", True), (wanted, got, err)
    healer = sanare.Healer(tmp_path / "sanare.toml")
    for given in ({"application": "nobody"}, {"kinds": ["reading"]}, {"application": 7}):
        with pytest.raises(sanare.Error):
            healer.export(**given)


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    ill(tmp_path).healer.close()
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "export"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def many(folder: Path, readings: int) -> Path:
    """A store with so many readings of fraud, and as many folded minutes."""
    healer = sanare.Healer(folder / "sanare.toml", clock=lambda: 1_767_225_600.0)
    healer.observe({"application": "fraud", "signal": "depth", "value": 1, "labels": {"host": MARK}})
    healer.close()
    store = folder / ".sanare" / "store.db"
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {readings}) "
    aside(
        store,
        f"INSERT INTO service_observations (id, application, source, source_id, content, value) {numbers}"
        "SELECT 'obs_' || i, application, source, source_id || i, content, value FROM service_observations, n",
        f"INSERT INTO service_minutes {numbers}"
        "SELECT 'fraud', json_object('component', 'application', 'signal', 'depth', 'labels', json('{}')), i, 1, 1.0, 1.0, 1.0"
        " FROM n",
    )
    return store


def test_an_export_of_much_takes_no_more_memory_than_one_of_little(tmp_path: Path) -> None:
    peaks = []
    for readings in (100, 20_000):
        folder = tmp_path / str(readings)
        folder.mkdir()
        (folder / "sanare.toml").write_text("[service.fraud]\n")
        many(folder, readings)
        command = [sys.executable, "-m", "sanare", "--project", str(folder), "export"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        given = sum(1 for _ in child.stdout)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert (child.returncode, given) == (0, 2 * readings + 3)
        peaks.append(used.ru_maxrss / 1024)
    # All of it at once would be over 30 MB.
    assert peaks[1] - peaks[0] < 12, peaks


def left(folder: Path) -> list[str]:
    """Files beside the store that still have the mark in them."""
    files = [path for path in (folder / ".sanare").iterdir() if path.is_file()]
    return sorted(path.name for path in files if MARK.encode() in path.read_bytes())


def knows(store: Path, name: str) -> list[str]:
    """What detection and whatever else is remembered that names a service."""
    found = f"instr(CAST(key || '' AS BLOB), CAST('{name}' AS BLOB)) OR instr(value, CAST('{name}' AS BLOB))"
    keys = [key for [key] in aside(store, f"SELECT key FROM service_states WHERE {found}")]
    # It is configured still.
    return [key for key in keys if key != "known/configuration"]


def test_nothing_of_an_erased_service_is_left_and_the_other_stays(tmp_path: Path) -> None:
    plant = ill(tmp_path)
    plant.healer.close()
    store = tmp_path / ".sanare" / "store.db"
    assert left(tmp_path) != []
    head = program(tmp_path, "ledger", "head")[1]
    (tmp_path / "head.json").write_text(head)
    code, out, err = program(tmp_path, "store", "erase", "fraud", "--reason", "asked for")
    assert code == 0, err
    assert left(tmp_path) == []
    assert program(tmp_path, "ledger", "verify", "--head", str(tmp_path / "head.json"))[0] == 0
    steps = [step for [step] in aside(store, "SELECT step FROM ledger WHERE chain = '@system' ORDER BY seq")]
    assert steps[-2:] == ["erasing", "erased"]
    # Detection goes on with the other service, and knows nothing of this one.
    assert knows(store, "fraud") == []
    assert len(knows(store, "churn")) > 1, knows(store, "churn")
    assert [one["value"]["labels"] for one in lines(tmp_path, "--kind", "observation")[1:-1]] == [{"host": "of-churn"}]
    [silence] = json.loads(program(tmp_path, "silence", "list", "--json")[1])
    assert "fraud" not in json.dumps(silence) and "churn" in json.dumps(silence)
    # Again there is its chain, and nothing in it.
    assert program(tmp_path, "store", "erase", "fraud", "--reason", "once more")[0] == 0


def test_a_healer_that_runs_forgets_it_too(tmp_path: Path) -> None:
    ill(tmp_path).healer.close()
    store = tmp_path / ".sanare" / "store.db"
    healer = sanare.Healer(tmp_path / "sanare.toml")
    churn = healer.service("churn")
    healer.run_once()
    assert len(knows(store, "fraud")) > 1, "it goes on where detection was"
    healer.start()
    try:
        churn.observe("depth", 1.0)
        begin = time.monotonic()
        code, _, err = program(tmp_path, "store", "erase", "fraud", "--reason", "asked for")
        assert code == 0, err
        assert time.monotonic() - begin < 9, "the healer did it, and not whoever comes when it is gone"
        assert knows(store, "fraud") == []
    finally:
        healer.close()
    # Whatever it keeps at its end, this service is not in it.
    while healer._native.is_running():
        time.sleep(0.01)
    assert healer.model_history("fraud") == []
    assert knows(store, "fraud") == []
    assert left(tmp_path) == []


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_whoever_erases_is_killed_and_the_next_one_ends_it(tmp_path: Path, moment: int) -> None:
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n[service.churn]\n")
    store = many(tmp_path, 30_000)
    table = "service_observations" if moment < 3 else "service_minutes"
    command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "store", "erase", "fraud", "--reason", "x"]
    eraser = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    before = 30_001 if moment < 3 else 30_000

    def count() -> int:
        [[rows]] = aside(store, f"SELECT count(*) FROM {table}")
        return int(rows)

    begin = time.monotonic()
    while count() > before - 1 - 3_000 * (moment - 1):
        assert time.monotonic() - begin < 60 and eraser.poll() is None
    eraser.send_signal(signal.SIGKILL)
    eraser.wait()
    assert 0 < count() < before, "it died in the middle"
    steps = "SELECT step FROM ledger WHERE chain = '@system' ORDER BY seq"
    assert aside(store, steps)[-1] == ["erasing"], "nothing says that it is done"
    assert program(tmp_path, "ledger", "verify")[0] == 0
    code, _, err = program(tmp_path, "store", "erase", "fraud", "--reason", "again")
    assert code == 0, err
    assert aside(store, steps)[-1] == ["erased"]
    assert left(tmp_path) == [] and count() == 0
    assert program(tmp_path, "ledger", "verify")[0] == 0
