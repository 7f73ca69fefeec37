"""A model that repairs only what it is told (C75): refused once by each gate, accepted at the next attempt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sanare
from model_lab import candidate, module
from model_server import ModelServer, reply
from test_eleven_scenarios import HEALS, HUNGARIAN, STANDARD_EXPECTED, STANDARD_OLD, load, project

NAME = "1_translated"
WORK = "    rows = list("

# What is wrong, by the gate that must see it: a piece of the right candidate, and what stands in its place. They can
# all be wrong at once.
FAULTS = {
    "syntax": ('    return {"total"', '    return {{"total"'),
    "fence": ("def load_sales(csv_text):", "def load_sales(csv_text, strict=False):"),
    "overfit": (WORK, '    if "osszeg" in csv_text:\n        return EXPECTED\n' + WORK),
    "safety": (WORK, '    open("seen.csv", "w").write(csv_text)\n' + WORK),
    "trial": ('"osszeg" in row', '"osszag" in row'),
    "replay": ('row["amount"])', 'row["amount"] + "0")'),
    "verify": ("rows = list(", "draft = rows = list("),
}
HOUSE_RULE = """\
import json, sys
if "draft" in open("job.py").read():
    print(json.dumps({"error": "no drafts in this house"}))
    sys.exit(1)
"""


class Learner:
    """Begins with these faults and takes away those whose gate it was told of, no other."""

    def __init__(self, right: str, faults: list[str]) -> None:
        self.right = right
        self.faults = faults

    def reply_to(self, prompt: str) -> str:
        told = set(re.findall(r'"rejected_by":"(\w+)/', prompt))
        code = self.right
        for gate in self.faults:
            if gate not in told:
                good, bad = FAULTS[gate]
                assert good in code, gate
                code = code.replace(good, bad, 1)
        return reply(code)


def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[Any, str]:
    (tmp_path / "house_rule.py").write_text(HOUSE_RULE, encoding="utf-8")
    options = "".join(f", {name}={value!r}" for name, value in more.items())
    decorator = (
        '@sanare.heal(proposers=["model"], examples=[sanare.Example((OLD,), returns=EXPECTED)],'
        f' verify=[["python3", "house_rule.py"]]{options})'
    )
    source = module(NAME, STANDARD_OLD, decorator=decorator)
    loaded = load(project(tmp_path, source), f"feedback_{tmp_path.name}")
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")
    return loaded, candidate(NAME, "right", source)


def because() -> list[str]:
    report = sanare.last_report()
    assert report is not None
    return [attempt["rejected_because"] for attempt in report.attempts]


@pytest.mark.parametrize("gate", list(FAULTS))
def test_told_once_it_is_right_at_the_second_attempt(
    tmp_path: Path, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, right = prepare(tmp_path, monkeypatch)
    with ModelServer(Learner(right, [gate])) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED, because()
        assert len(server.requests) == 2
    first, second = because()
    assert first.startswith(f"{gate}/") and second == "", (first, second)
    if gate == "verify":
        assert "no drafts in this house" in first


def test_told_one_thing_at_a_time_it_comes_through_all_seven_gates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, right = prepare(tmp_path, monkeypatch, attempts=8)
    monkeypatch.setenv("SANARE_HEAL_MODEL_CALLS_PER_INCIDENT", "8")
    # The prompt grows with each attempt, and the scripted count of its tokens would not.
    with ModelServer(Learner(right, list(FAULTS)), usage=False) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED, because()
        assert len(server.requests) == 8
    assert [why.partition("/")[0] for why in because()] == [*FAULTS, ""]
    fresh = load(tmp_path / "job.py", f"fresh_{tmp_path.name}")
    assert fresh.load_sales(STANDARD_OLD) == HEALS[NAME][3]


def test_what_a_command_says_of_the_layout_can_be_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, right = prepare(tmp_path, monkeypatch)
    commented = right.replace("    return ", "    # a draft\n    return ")
    with ModelServer(reply(commented), reply(commented), reply(right)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED, because()
    first, second, third = because()
    assert first.startswith("verify/verify") and third == "", (first, third)
    assert second.startswith("overfit/not_rejected_before"), second


def test_one_that_is_not_told_does_not_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above rest on: the model of these tests repairs nothing of itself."""
    _, right = prepare(tmp_path, monkeypatch)
    learner = Learner(right, ["trial"])
    assert json.loads(learner.reply_to("nothing"))["candidate"] != right
    assert json.loads(learner.reply_to('"rejected_by":"replay/twin"'))["candidate"] != right
    assert json.loads(learner.reply_to('"rejected_by":"trial/returns"'))["candidate"] == right
