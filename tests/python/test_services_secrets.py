"""Secrets through every door of services and out of every exit (S118): details of checks, log lines, labels, what lent functions
raise and programs print, reasons that people give. None of them is in the store's bytes, in a message, in what a terminal shows,
in exports, heads, or any other file. The corpus is the one of `shared/security/redaction`, where it is there."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import sanare
from test_services import ASKS, CONFIGURATION, Plant
from test_sixty_secrets import AROUND, SECRETS
from test_verbs import program

CORPUS = Path(os.environ.get("SANARE_SHARED", "") or Path(__file__).parents[3] / "shared") / "security" / "redaction"


def sixty() -> list[tuple[str, list[str]]]:
    """A text with a secret, and what of it must not be anywhere."""
    return [(AROUND.get(kind, "cannot use {}").format(secret), [secret]) for kind, secret in SECRETS]


def corpus(form: str = "text") -> list[tuple[str, list[str]]]:
    if not (CORPUS / "corpus.py").exists():
        return []
    sys.path.insert(0, str(CORPUS))
    try:
        built: list[Any] = importlib.import_module("corpus").build(20261201)
    finally:
        sys.path.remove(str(CORPUS))
    texts = [one for one in built if one.cls == "secret" and one.form == form]
    written = [(one.payload if form == "text" else json.dumps(one.payload), one.cores) for one in texts]
    # A core that JSON writes otherwise would never be found.
    return [(text, [core for core in cores if core in text]) for text, cores in written]


def data() -> list[tuple[str, list[str]]]:
    """What the corpus has as data, written as programs log it."""
    return corpus("json")


LOGS = """
[heads]
every = "1m"
file = "heads.json"
routes = ["file"]
[[service.fraud.log]]
signal = "lines"
pattern = "."
[[notify]]
name = "file"
argv = ["/usr/bin/tee", "-a", "MESSAGES"]
[service.fraud.target.application]
restart_component = { adapter = "command", argv = ["/bin/sh", "PRINTS"], idempotent = true, verify = ["error_share"] }
"""


def found(folder: Path, secrets: list[str], shown: str) -> list[str]:
    """Secrets that are in a byte of any file, or in what was shown."""
    texts = {"shown": shown.encode()}
    for path in folder.rglob("*"):
        # What the test itself has written for the program to print.
        if path.is_file() and path.name not in ("prints", "prints.txt"):
            texts[str(path)] = path.read_bytes()
    return [f"{secret} in {place}" for secret in secrets for place, text in texts.items() if secret.encode() in text]


@pytest.mark.parametrize("source", [sixty, corpus, data], ids=["sixty", "corpus", "data"])
def test_no_secret_comes_out_of_any_exit(tmp_path: Path, source: Any, capfd: pytest.CaptureFixture[str]) -> None:
    items = source()
    if not items:
        pytest.skip(f"SKIPPED: there is no corpus in {CORPUS}")
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "prints.txt").write_text("\n".join(text for text, _ in items))
    (folder / "prints").write_text(f"cat {folder / 'prints.txt'}; exit 1\n")
    written = CONFIGURATION + LOGS.replace("MESSAGES", str(folder / "messages")).replace(
        "PRINTS", str(folder / "prints")
    )
    plant = Plant(folder, ASKS, written)
    plant.lend(idempotent=True, reversible=True)
    shown: list[str] = []

    def say(*arguments: str) -> None:
        code, out, err = program(folder, *arguments)
        shown.append(out + err)
        assert code in (0, 1, 2, 3, 4, 6), (arguments, err)

    # What a program reports of itself, in lines and details and labels.
    texts = [text for text, _ in items]
    for number, text in enumerate(texts):
        plant.service.health(f"check_{number % 5}", "fail", text)
        plant.service.log(text)
        plant.service.observe("labelled", 1.0, labels={"why": text[:100]}, id=text)
        if number % 40 == 39:
            plant.minutes(1)
    plant.does = RuntimeError("; ".join(texts[:20]))
    plant.go_bad()
    [asked] = [one for one in plant.healer.pending_approvals() if one["action"] == "rollback_model"][:1]
    # What people give as their reasons, as far as a line goes.
    lines = [text for text in texts if "\n" not in text and "\0" not in text][:60]
    for number, line in enumerate(lines):
        plant.healer.mark_good("fraud", "1", line)
        if number < 12:
            say("model", "mark-good", "fraud", "1", "--reason", line)
            say("stop", "fraud", "--reason", line)
            say("start", "fraud", "--reason", line)
            say("silence", "add", "application=other", "--for", "1h", "--reason", line)
    say("silence", "add", "application=fraud", "--for", "1s", "--reason", lines[0])
    plant.healer.stop("fraud", lines[1])
    plant.healer.start_again("fraud", reason=lines[2])
    plant.minutes(1)
    for asked in plant.healer.pending_approvals():
        plant.healer.approve(asked["id"], lines[3])
    plant.minutes(20)
    for incident in plant.healer.incidents():
        say("propose", incident["id"], "restart_component", "--reason", lines[4])
        plant.minutes(1)
        for asked in plant.healer.pending_approvals():
            shown.append(json.dumps(asked))
        say("show", incident["id"])
        say("incident", "show", incident["id"])
        shown.append(json.dumps(plant.healer.incident(incident["id"])))
        say("incident", "close", incident["id"], "--reason", lines[5])
    for arguments in (
        ["services"],
        ["incidents"],
        ["report"],
        ["ledger", "export"],
        ["export"],
        ["ledger", "head"],
        ["target", "list"],
    ):
        say(*arguments)
        say("--json", *arguments)
    say("store", "erase", "other", "--reason", lines[6])
    say("ledger", "rotate", "--reason", lines[7])
    said = capfd.readouterr()
    shown += [said.out, said.err]
    everything = "".join(shown)
    assert "ledger_heads" in (folder / "messages").read_text() and len(everything) > 50_000
    assert (folder / "heads.json").exists() and isinstance(plant.healer, sanare.Healer)
    assert found(folder, [core for _, cores in items for core in cores], everything) == []
