"""Names that only the owner knows: his lexicon files (`heal.drift.lexicon`) and the aliases of his contract (I1)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """\
import csv
import sys
from dataclasses import dataclass

import sanare

{head}

@sanare.heal({options})
def load(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{{"amount": float(row["amount"]), "customer": row["customer"]}} for row in csv.DictReader(file)]


if __name__ == "__main__":
    load("old.csv")
    try:
        print([row["amount"] for row in load("new.csv")])
    except KeyError as error:
        print("raised", *getattr(error, "__notes__", ["no note"]))
"""
# A word that stands in no lexicon: this house's own name for an amount.
OLD = "customer,amount\nAlder,12.5\nBirch,7.0\n"
NEW = "customer,zwurbel\nCedar,3.5\nElm,4.25\n"
WORDS = '[concept.amount]\nrole = "money"\nen = "zwurbel"\nyes = ["zwurbel"]\nno = ["customer"]\n'


def run(folder: Path, settings: str = "", options: str = "", head: str = "") -> str:
    (folder / "old.csv").write_text(OLD)
    (folder / "new.csv").write_text(NEW)
    (folder / "sanare.toml").write_text(settings)
    (folder / "job.py").write_text(JOB.format(options=options, head=head))
    ran = subprocess.run([sys.executable, "job.py"], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return ran.stdout.strip()


def test_without_the_word_it_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path).startswith("raised sanare: refused")


def test_a_lexicon_of_the_owners(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(WORDS)
    assert run(tmp_path, '[heal.drift]\nlexicon = ["words.toml"]\n') == json.dumps([3.5, 4.25])
    assert "I1" in (tmp_path / "sanare.lock").read_text()


@pytest.mark.parametrize(
    ("text", "why"), [(None, "cannot be read"), ("[concept.amount]\nrole = 7\n", "not of its form"), ("{", "not of")]
)
def test_a_lexicon_that_is_none(text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "words.toml").write_text(text)
    shown = run(tmp_path, '[heal.drift]\nlexicon = ["words.toml"]\n')
    assert shown.startswith("raised sanare: refused") and why in shown, shown


def test_one_layer_at_most(tmp_path: Path) -> None:
    # The name and the decimal comma are two layers.
    new = NEW.replace("zwurbel", "betrag").replace("3.5", '"3,5"').replace("4.25", '"4,25"')
    for layers, healed in ((1, False), (2, True)):
        folder = tmp_path / str(layers)
        folder.mkdir()
        (folder / "new.csv").write_text(new)
        text = JOB.replace('load("old.csv")', "load('old.csv')")
        (folder / "old.csv").write_text(OLD)
        (folder / "sanare.toml").write_text(f"[heal.drift]\nlayers = {layers}\n")
        (folder / "job.py").write_text(text.format(options="", head=""))
        ran = subprocess.run(
            [sys.executable, "job.py"], cwd=folder, capture_output=True, text=True, timeout=60, check=True
        )
        assert (ran.stdout.strip() == json.dumps([3.5, 4.25])) is healed, ran.stdout


def test_an_alias_of_the_contract(tmp_path: Path) -> None:
    # A class in the manner of a validation library: fields that know another name.
    head = """
class Field:
    __module__ = "pydantic.fields"
    def __init__(self, annotation, alias=None):
        self.annotation, self.alias = annotation, alias


class Row:
    __pydantic_fields__ = {"amount": Field(float, "zwurbel"), "customer": Field(str)}
    def __init__(self, amount, customer):
        if type(amount) is not float or type(customer) is not str:
            raise TypeError("not a row")
"""
    assert run(tmp_path, options="contract=Row", head=head) == json.dumps([3.5, 4.25])
