"""What the owner said is in the prompt: contract, details of a request, in their places (C46, C51, C72)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sanare
from model_server import ModelServer, reply
from test_eleven_scenarios import load, project

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CONTRACTS = {
    "dataclass": (
        "@dataclasses.dataclass\nclass Sale:\n    customer: str\n    pieces: list[int]\n    due: datetime.date | None\n",
        "Sale",
        {"return": {"class": "Sale", "fields": {"customer": "str", "pieces": "list[int]", "due": "date | None"}}},
    ),
    "pydantic by its attributes": (
        "class Field:\n    __module__ = 'pydantic.fields'\n    annotation = int\n    alias = 'osszeg'\n\n\n"
        "class Sale:\n    __pydantic_fields__ = {'amount': Field()}\n",
        "Sale",
        {"return": {"class": "Sale", "fields": {"amount": "int, given as 'osszeg'"}, "aliases": {"amount": "osszeg"}}},
    ),
    "schema": (
        "",
        '{"type": "object", "required": ["total"]}',
        {"return": {"type": "object", "required": ["total"]}},
    ),
    "by parameter": (
        "def positive(value):\n    assert value > 0\n",
        '{"data": {"type": "object"}, "return": positive}',
        {"data": {"type": "object"}, "return": {"callable": "positive"}},
    ),
    "hostile": (
        "class Meta(type):\n    def __repr__(cls):\n        raise SystemExit\n    __str__ = __repr__\n\n\n"
        "class Odd(metaclass=Meta):\n    def __getattribute__(self, name):\n        raise SystemExit\n\n\n"
        "class Sale:\n    __annotations__ = {'odd': Odd()}\n",
        "Sale",
        {"return": {"class": "Sale", "fields": {"odd": "Odd"}}},
    ),
}  # fmt: skip


def asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, options: str, body: str
) -> tuple[dict[str, Any], str]:
    """The parts of the first prompt, and the whole of it."""
    source = (
        f"import dataclasses\nimport datetime\n\nimport sanare\n\n\n{head}\n\n"
        f'@sanare.heal(proposers=["model"]{options})\ndef job(data):\n{body}'
    )
    loaded = load(project(tmp_path, source), f"prompt_{tmp_path.name}")
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")
    with ModelServer(reply(None)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises((KeyError, sanare.HealRequested)):
            loaded.job({"osszeg": 3})
        prompt = server.prompts[0]
    inside = re.fullmatch(r"<<<DATA \w+>>>\n(.*)\n<<<END \w+>>>\s*", prompt, re.DOTALL)
    assert inside is not None
    parts = {entry["part"]: entry["data"] for name, entry in json.loads(inside[1]).items() if name != "not_supplied"}
    return parts, prompt


@pytest.mark.parametrize("kind", list(CONTRACTS))
def test_the_contract_is_said(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    head, contract, expected = CONTRACTS[kind]
    parts, _ = asked(tmp_path, monkeypatch, head, f", contract={contract}", '    return data["amount"]\n')
    assert parts.get("contract") == expected
    order = list(parts)
    if expected is not None:
        assert order.index("source") < order.index("contract") < order.index("arguments")


def test_what_the_program_says_when_it_asks_is_said_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        '    details = {"expected": "amount", "headers": list(data), "api_key": TOKEN,\n'
        '               "contract": {"type": "integer"}}\n'
        '    raise sanare.HealRequested("no amount in the export", details)\n'
    )
    parts, prompt = asked(tmp_path, monkeypatch, f'TOKEN = "{TOKEN}"\n', ', about="sums of a day"', body)
    details = parts["details_of_the_request"]
    assert (details["expected"], details["headers"]) == ("amount", ["osszeg"])
    assert parts["error"]["message"] == "no amount in the export"
    assert parts["contract"] == {"return": {"type": "integer"}}
    assert parts["about"] == "sums of a day"
    order = list(parts)
    assert order.index("about") < order.index("details_of_the_request") < order.index("error")
    assert TOKEN not in prompt and TOKEN[4:] not in prompt


def test_amounts_hold_for_the_details_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANARE_EVIDENCE_MODEL_ARGUMENTS", "0")
    body = '    raise sanare.HealRequested("no amount", {"row": data})\n'
    parts, _ = asked(tmp_path, monkeypatch, "", "", body)
    assert "details_of_the_request" not in parts and "arguments" not in parts


def test_without_either_there_is_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, _ = asked(tmp_path, monkeypatch, "", "", '    return data["amount"]\n')
    assert not {"contract", "details_of_the_request"} & set(parts)
    assert "source" in parts
