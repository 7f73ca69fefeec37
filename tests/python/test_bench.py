"""`sanare bench`: cases put to every configured proposer, through the same gates (C80)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_server import reply
from test_verbs import program, refused

LOADER = """\
import csv


def load(path):
    with open(path, newline="") as file:
        return sum(int(row["amount"]) for row in csv.DictReader(file))
"""
CANDIDATE = """\
def load(path):
    with open(path, newline="") as file:
        return sum(int(row["{name}"] if "{name}" in row else row["amount"]) for row in csv.DictReader(file))
"""
NETWORK = """\
def load(path):
    import socket

    socket.create_connection(("192.0.2.1", 80))
    with open(path, newline="") as file:
        return sum(int(row["zqx"] if "zqx" in row else row["amount"]) for row in csv.DictReader(file))
"""


def case(folder: Path, name: str, header: str, *, expected: bool = True) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "loader.py").write_text(LOADER)
    (made / "old.csv").write_text("amount,tax\n1,9\n2,9\n")
    (made / "new.csv").write_text(f"{header},tax\n4,9\n2,9\n")
    (made / "new2.csv").write_text(f"{header},tax\n40,9\n2,9\n")
    (made / "task.toml").write_text('input = "path"\n')
    if expected:
        answers = {"old": {"value": 3}, "new": {"value": 6}, "new2": {"value": 42}}
        (made / "expected.json").write_text(json.dumps(answers))
    return made


def model(folder: Path, candidate: str | None) -> None:
    """A program as the project's model, which gives this candidate whatever it is asked."""
    answer = folder / "answer.json"
    answer.write_text(reply(candidate))
    agent = folder / "agent.py"
    agent.write_text(f"import sys\nsys.stdin.read()\nprint(open({str(answer)!r}).read())\n")
    argv = json.dumps([sys.executable, str(agent)])
    (folder / "sanare.toml").write_text(
        f'[heal]\nmode = "ask"\nproposers = ["drift", "model"]\n[model]\nprovider = "command"\nargv = {argv}\n'
    )


def bench(folder: Path, *arguments: str) -> tuple[int, dict[str, object]]:
    code, out, err = program(folder, "--json", "bench", *arguments)
    assert err == "", err
    return code, json.loads(out)


def test_each_proposer_alone_is_put_to_the_same_cases(tmp_path: Path) -> None:
    cases = tmp_path / "cases"
    case(cases, "a_known_name", "Betrag")
    case(cases, "b_another_name", "zqx")
    model(tmp_path, CANDIDATE.format(name="zqx"))
    code, told = bench(tmp_path, str(cases))
    drift, asked = told["proposers"]  # type: ignore[misc]
    assert code == 0, told
    names = ("proposer", "cases", "healed", "wrong", "refused", "failed", "not_compared")
    assert [drift[name] for name in names] == ["drift", 2, 1, 0, 1, 0, 0], told
    assert drift["usage"] == {"calls": 0, "tokens": 0}
    # What repairs the one does not repair the other, and is rejected there.
    assert [asked[name] for name in names] == ["model", 2, 1, 0, 1, 0, 0], told
    assert asked["usage"]["calls"] >= 2 and asked["usage"]["tokens"] > 0 and asked["rejected"], told
    came = [(one["case"], one["proposer"], one["came"]) for one in told["cases"]]  # type: ignore[attr-defined]
    assert came == [
        ("a_known_name", "drift", "healed"),
        ("b_another_name", "drift", "refused"),
        ("a_known_name", "model", "refused"),
        ("b_another_name", "model", "healed"),
    ]
    # The cases are as they were, and so is the project.
    assert (cases / "b_another_name" / "loader.py").read_text() == LOADER
    assert not (tmp_path / ".sanare").exists()


def test_a_value_that_is_wrong_is_said(tmp_path: Path) -> None:
    one = case(tmp_path, "case", "zqx")
    model(tmp_path, CANDIDATE.format(name="zqx").replace('row["zqx"]', 'row["tax"]'))
    code, told = bench(tmp_path, str(one), "--proposer", "model")
    [asked] = told["proposers"]  # type: ignore[misc]
    assert (code, asked["wrong"], asked["healed"]) == (1, 1, 0), told
    # Where no case says what is right, nothing is called right.
    (one / "expected.json").unlink()
    code, told = bench(tmp_path, str(one), "--proposer", "model")
    [asked] = told["proposers"]  # type: ignore[misc]
    assert (code, asked["wrong"], asked["healed"], asked["not_compared"]) == (0, 0, 1, 1), told


def test_what_a_gate_rejects_is_counted_by_gate(tmp_path: Path) -> None:
    one = case(tmp_path, "case", "zqx")
    model(tmp_path, NETWORK)
    code, out, err = program(tmp_path, "bench", str(one), "--proposer", "model")
    assert (code, "1 refused" in out, "rejected by safety/" in out) == (0, True, True), out + err


def test_without_a_provider_no_model_is_asked(tmp_path: Path) -> None:
    one = case(tmp_path, "case", "Betrag")
    code, out, _ = program(tmp_path, "bench", str(one))
    assert code == 0 and out.startswith("drift: 1 cases: 1 healed, 0 wrong"), out
    assert out.endswith("model: skipped, no provider is configured (`model.provider`)\n"), out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "<CASES>"), (["none"], "cannot be read"), (["."], "no case in"), ([".", "--proposer", "luck"], "drift")],
)
def test_what_is_no_case(tmp_path: Path, arguments: list[str], said: str) -> None:
    given = [str(tmp_path / one) if one in ("none", ".") else one for one in arguments]
    code, err = refused(tmp_path, "bench", *given)
    assert (code, said in err) == (2, True), err


def test_a_case_that_cannot_be_run_is_no_refusal(tmp_path: Path) -> None:
    one = case(tmp_path, "case", "Betrag")
    (one / "loader.py").write_text("def load(path):\n    raise ValueError('never')\n")
    code, told = bench(tmp_path, str(one))
    [drift] = told["proposers"]  # type: ignore[misc]
    assert (code, drift["failed"], drift["refused"]) == (0, 1, 0), told
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "bench", str(one)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
