"""Every verb for services that needs no server: what the real program says, in a transcript, and what it does with what is
no use to it (S137). `VERBS_UPDATE=1` writes `verbs.txt` anew; read the diff."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_services import ASKS, CONFIGURATION, ME, Plant
from test_verbs import program

BOOK = Path(__file__).parent / "verbs.txt"
# Verbs of code healing: they have tests of their own.
OF_CODE = set(
    "demo show explain diff revert replay retry doctor forget migrate redact vet heal-case bench help".split()
)
# What is said, in this order: it is one story. A word in capitals stands for what the story has made.
STORY = """\
check
config show
config hash
services
incidents
incident show INCIDENT
incident ack INCIDENT
incident ack INCIDENT
incident hold INCIDENT
incident release INCIDENT
policy explain INCIDENT
policy test CASES
propose INCIDENT restart_component --reason slow
propose INCIDENT rollback_model --reason
deny APPROVAL
approve APPROVAL
incident retry INCIDENT
incident undo INCIDENT --reason wrong
incident close INCIDENT --reason seen --false-alarm
incident close INCIDENT --reason again
model history fraud
model history fruad
model registry fraud
model mark-good fraud 1 --reason months
report fraud --since 30d
target list
target settle rct_00000000000000 --as done --reason looked
observe fraud queue_length 12
observe fraud queue_length many
simulate fraud errors --changed
simulate fraud nothing
detect replay fraud
silence add application=fraud kind=latency_high --for 2h --reason disks
silence add --for 2h --reason everything
silence list
silence end SILENCE
silence end SILENCE
storm lift fraud
storm lift
stop fraud
services
start fraud
start fraud --reason repaired
ledger verify
ledger head
ledger prune
ledger rotate
ledger rotate --reason yearly
ledger export --out EXPORT
export --application fraud --out LINES
export --application nobody
export --kind reading
store backup COPY
store migrate
store erase
run-services --once
""".splitlines()
# Those that only look: they may be asked again.
LOOKS = [
    "check",
    "config show",
    "services",
    "incidents",
    "incident show INCIDENT",
    "model history fraud",
    "report fraud",
]
LOOKS += [
    "target list",
    "simulate fraud errors",
    "detect replay fraud",
    "silence list",
    "ledger head",
    "policy test CASES",
]


class Place:
    """A service with an incident that waits for a person, and the words of the story."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        # The program looks at the clock of the machine: all of it is long over by then.
        plant = Plant(self.folder, ASKS, CONFIGURATION, float(int(time.time()) - 400 * 86_400))
        plant.lend(idempotent=True, reversible=True)
        plant.go_bad()
        cases = self.folder / "cases.toml"
        cases.write_text('[[case]]\nname = "alone"\nverdict = "ask"\n[case.given]\napplication = "fraud"\n')
        [asked] = plant.healer.pending_approvals()
        self.words = {
            "INCIDENT": plant.incident["id"],
            "APPROVAL": asked["id"],
            "CASES": str(cases),
            "EXPORT": str(self.folder / "export.ndjson"),
            "LINES": str(self.folder / "lines.ndjson"),
            "COPY": str(self.folder / "copy.db"),
        }
        plant.healer.close()

    def arguments(self, line: str) -> list[str]:
        return [self.words.get(word, word) for word in line.split()]

    def say(self, line: str) -> tuple[int, str, str]:
        if "SILENCE" in line and "SILENCE" not in self.words:
            listed = json.loads(program(self.folder, "silence", "list", "--json")[1])
            self.words["SILENCE"] = (listed["silences"] if isinstance(listed, dict) else listed)[0]["id"]
        return program(self.folder, *self.arguments(line))

    def plain(self, text: str) -> str:
        """Without what is another one each time."""
        for word, value in self.words.items():
            text = text.replace(value, word)
        text = text.replace(str(self.folder), "FOLDER").replace(ME, "ME")
        text = re.sub(r"\b(inc|obs|rct|apr|pro|dia|evd|sil)_[0-9A-Z]{10,26}", r"\1_ID", text)
        text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
        text = re.sub(r"\([0-9a-f]{12}\)", "(DIGEST)", text)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "TIME", text)
        text = re.sub(r'"(at|place)":\d+', r'"\1":N', text)
        text = re.sub(r"\b[0-9a-f]{32,128}\b", "DIGEST", text)
        text = re.sub(r"\bformat \d+", "format N", text)
        # What nobody has set is told by its own tests.
        text = re.sub(r".* default\n", "", text)
        return re.sub(r"\b\d+ (records|bytes|lines)\b", r"N \1", text)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("verbs"))


def verbs(*of: str) -> list[str]:
    """The verbs that the program's own help names, each with its own."""
    done = subprocess.run([sys.executable, "-m", "sanare", *of, "--help"], capture_output=True, text=True, timeout=60)
    listed = re.search(r"Commands:\n((?:  .*\n)+)", done.stdout)
    if listed is None:
        return [" ".join(of)]
    names = [line.split()[0] for line in listed.group(1).splitlines() if re.match(r"  \S", line)]
    skipped = OF_CODE if not of else {"help"}
    return [verb for name in names if name not in skipped for verb in verbs(*of, name)]


@pytest.fixture(scope="module")
def all_verbs() -> list[str]:
    return verbs()


def test_the_story_of_every_verb(place: Place, tmp_path: Path, all_verbs: list[str]) -> None:
    told = []
    code, out, err = program(tmp_path, "init", "fraud")
    told.append(f"$ sanare init fraud\n{out}{err}= {code}\n".replace(str(tmp_path), "FOLDER"))
    for line in STORY:
        code, out, err = place.say(line)
        told.append(f"$ sanare {line}\n{place.plain(out)}{place.plain(err)}= {code}\n")
    story = "\n".join(told)
    if "VERBS_UPDATE" in os.environ:
        BOOK.write_text(story)
    assert story == BOOK.read_text()
    said = {"init", *STORY}
    missing = [verb for verb in all_verbs if not any(line == verb or line.startswith(f"{verb} ") for line in said)]
    assert missing == [], "a verb that no transcript shows"


def test_a_flag_that_no_verb_has(place: Place, all_verbs: list[str]) -> None:
    for verb in all_verbs:
        code, out, err = program(place.folder, *verb.split(), "--no-such-flag")
        assert (code, out, "--no-such-flag" in err) == (2, "", True), (verb, out, err)


def test_a_verb_without_what_it_is_about(place: Place, all_verbs: list[str]) -> None:
    for verb in [*all_verbs, "incident", "policy", "silence", "target", "model", "ledger", "store", "config", ""]:
        # Without anything these look, or do what is meant for all; they are in the story.
        if verb in {*LOOKS, "report", "run-services", "stop", "start", "storm lift", "config hash", "detect replay"}:
            continue
        if verb in {"init", "ledger verify", "ledger export", "export", "store migrate"}:
            continue
        code, out, err = program(place.folder, *verb.split())
        assert (code, out) == (2, ""), (verb, out, err)
        assert "Usage: sanare" in err or "error: " in err, (verb, err)


def test_a_reader_that_has_left_and_data_for_programs(place: Place) -> None:
    for line in LOOKS:
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "sanare", "--project", str(place.folder), *place.arguments(line)]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        os.close(writer)
        assert "panicked" not in done.stderr and "Traceback" not in done.stderr, (line, done.stderr)
        code, out, _ = program(place.folder, "--json", *place.arguments(line))
        assert done.returncode == code, (line, done)
        found: Any = json.loads(out)
        assert found is not None, line


def test_an_id_that_is_none_reaches_nothing(place: Place) -> None:
    about = ["incident show", "incident hold", "approve", "deny", "policy explain", "silence end"]
    for bad in (
        "../../etc/passwd",
        "inc_../x",
        "a b",
        "rct_'; rm -rf x",
        "INC_\u202e0000000000",
        "*",
        "fraud/application",
    ):
        for verb in about:
            code, out, err = program(place.folder, *verb.split(), bad)
            assert (code, out, err.startswith("error: ")) == (4, "", True), (verb, bad, code, out, err)
        code, out, err = program(place.folder, "target", "settle", bad, "--as", "done", "--reason", "x")
        assert (code, out) == (4, ""), (bad, err)
        code, out, err = program(place.folder, "propose", bad, "restart_component", "--reason", "x")
        assert (code, out) == (4, ""), (bad, err)
