"""Lines that were proved once need no second proof; lines that became others do."""

from __future__ import annotations

from pathlib import Path

import pytest
from sanare._compile import guard_from_text
from sanare._guard import guard_of
from sanare._request import locate

TEXT = """
import math
import sanare

@sanare.heal
def job(row):
    # cents
    total = math.floor(row["amount"])

    row["total"] = total


LAST = 1
"""
SAME = {
    "nothing": lambda text: text,
    "a comment below": lambda text: text.replace("= total\n", "= total\n    # done\n"),
    "more of the module": lambda text: text + "\ndef other():\n    return 2\n",
    "the rest is gone": lambda text: text[: text.index("\n\nLAST")],
    "an unused import": lambda text: text + "\nimport json\n",
}
MOVED = {"a line above": lambda text: "# head\n" + text}
OTHER = {
    "the body goes on": lambda text: text.replace("= total\n", "= total\n\n    return 1\n"),
    "another value": lambda text: text.replace("amount", "betrag"),
    "another comment sign": lambda text: text.replace("    # cents", "    row = row"),
    "no function": lambda text: text.replace("def job", "def gone"),
    "cut short": lambda text: text[: text.index("    total")],
    "empty": lambda _: "",
}


def made(project, text):
    return guard_of(project.load(text).job)


@pytest.mark.parametrize("name", [*SAME, *MOVED, *OTHER])
def test_place_is_what_a_second_proof_says(project, name):
    guard = made(project, TEXT)
    text = {**SAME, **MOVED, **OTHER}[name](Path(guard.path).read_text())
    quick = guard.place.holds(text.split("\n"), guard.original)
    assert quick is (name in SAME)
    try:
        guard_from_text(text, guard.original, guard.qualname, {})
        proved = True
    except Exception:
        proved = False
    assert proved or not quick
    line = guard.original.co_firstlineno
    assert locate(guard, text) == {**dict.fromkeys(SAME, line), **dict.fromkeys(MOVED, line + 1)}.get(name, 0)


def test_an_import_that_changes_what_is_compiled_is_proved_anew(project):
    guard = made(project, TEXT)
    text = Path(guard.path).read_text().replace("import math", "math = object()")
    assert not guard.place.holds(text.split("\n"), guard.original)
