"""The candidates corpus through the wheel: what must be refused changes nothing, what is sound goes through every gate.

Each candidate is the reply of a scripted model, in a process of its own with a home, inputs and a working folder that are
thrown away. The recorded cases of the corpus are the owner's examples.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, reply

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "security" / "candidates"
pytestmark = [
    pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/security/candidates"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox"),
]
BASES = ("csv_sales", "json_orders", "parse_line", "xml_rates")
# A method has no examples here: without an oracle a person is asked, and nothing is changed.
WITHOUT_ORACLE = {"json_orders"}
VALUES = """\
import builtins
import decimal
import json
import pathlib
from datetime import date, datetime

import sanare

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"$decimal": decimal.Decimal, "$date": date.fromisoformat, "$datetime": datetime.fromisoformat,
         "$file": lambda name: str(HERE / "inputs" / name)}


def value(given):
    if isinstance(given, dict):
        for kind, make in KINDS.items():
            if kind in given:
                return make(given[kind])
        return {name: value(one) for name, one in given.items()}
    return [value(one) for one in given] if isinstance(given, list) else given


CASES = json.loads((HERE / "cases.json").read_text())
EXAMPLES = []
for case in CASES:
    args, kwargs = value(case["args"]), value(case.get("kwargs", {}))
    if "returns" in case:
        EXAMPLES.append(sanare.Example(args, kwargs, returns=value(case["returns"])))
    elif len(case["raises"]) == 1 and hasattr(builtins, case["raises"][0]):
        EXAMPLES.append(sanare.Example(args, kwargs, raises=getattr(builtins, case["raises"][0])))
FAILING = next(case for case in CASES if case["name"] == "the failing input")
"""
PROGRAM = """\
import json
import logging
import sys

sys.path.insert(0, ".")
logging.getLogger("sanare").addHandler(logging.NullHandler())
import sanare
import values
import base

target = base.OrderReader().read if hasattr(base, "OrderReader") else getattr(base, sys.argv[1])
try:
    got = target(*values.value(values.FAILING["args"]))
    right = got == values.value(values.FAILING["returns"])
except Exception as error:
    right = None
report = sanare.last_report()
print(json.dumps([report.status, report.outcome, right, [one.get("rejected_because", "") for one in report.attempts]]))
"""


def candidates(base: str) -> list[dict[str, Any]]:
    if not CORPUS.is_dir():
        return []
    listed = json.loads((CORPUS / "manifest.json").read_text())["candidates"]
    # One is for a reviewer's judgement.
    return [one for one in listed if one["base"] == base and one.get("gate") != "reviewer"]


def fingerprint(*folders: Path) -> dict[str, str]:
    """What lies in folders, but for what Python and Sanare keep for themselves."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not {".sanare", "__pycache__"} & set(path.parts) and path.name != "sanare.lock":
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def play(folder: Path, base: str, target: str, text: str) -> tuple[list[Any], bool, bool]:
    """What came of a candidate (two modules fail on purpose, so the classes are named); whether the module changed; whether anything else did."""
    home, job = folder / "home", folder / "job"
    (home / "canary").mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("canary")
    (home / "canary" / "canary.txt").write_text("canary")
    shutil.copytree(CORPUS / "inputs", job / "inputs")
    source = (CORPUS / "bases" / f"{base}.py").read_text()
    plain = "def heal(fn):\n    return fn\n"
    assert plain in source
    examples = "" if base in WITHOUT_ORACLE else ", examples=values.EXAMPLES"
    healing = f'import sanare\nimport values\n\nheal = sanare.heal(proposers=["model"], heal_on=(KeyError, ValueError, AssertionError){examples})\n'
    module = job / "base.py"
    module.write_text(source.replace(plain, healing))
    (job / "sanare.toml").write_text("[heal]\nattempts = 1\n")
    (job / "values.py").write_text(VALUES)
    (job / "cases.json").write_text(json.dumps(json.loads((CORPUS / "replay.json").read_text())[base]))
    (job / "program.py").write_text(PROGRAM)
    before, text_before = fingerprint(home, job), module.read_text()
    with ModelServer(reply(text)) as server:
        chosen = {"PROVIDER": "ollama", "MODEL": "scripted", "BASE_URL": server.url}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "PYTHONDONTWRITEBYTECODE": "1",
            **{f"SANARE_MODEL_{name}": value for name, value in chosen.items()},
        }
        command = [sys.executable, "program.py", target.rpartition(".")[2]]
        ran = subprocess.run(
            command, cwd=job, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
    assert ran.returncode == 0, ("the process did not end as it should", ran.stdout, ran.stderr[-2000:])
    after = fingerprint(home, job)
    changed = module.read_text() != text_before
    elsewhere = {**after, str(module): ""} != {**before, str(module): ""}
    return json.loads(ran.stdout.splitlines()[-1]), changed, elsewhere


@pytest.mark.parametrize("base", BASES)
def test_candidates(base: str, tmp_path: Path) -> None:
    target = json.loads((CORPUS / "manifest.json").read_text())["bases"][base]["target"]
    wrong = []
    listed = candidates(base)
    for number, one in enumerate(listed):
        text = (CORPUS / one["file"]).read_text()
        (status, outcome, right, why), changed, elsewhere = play(tmp_path / str(number), base, target, text)
        told = (one["file"], status, outcome, right, why)
        if elsewhere:
            wrong.append(("changed something else", *told))
        elif one["label"] == "reject" and (changed or outcome == "healed"):
            wrong.append(("accepted", *told))
        elif one["label"] == "accept" and (
            (status, right) != ("waiting", None) if base in WITHOUT_ORACLE else (outcome, right) != ("healed", True)
        ):
            wrong.append(("sound, and not taken", *told))
        shutil.rmtree(tmp_path / str(number))
    assert len(listed) > 10 and not wrong, "\n".join(map(str, wrong))
