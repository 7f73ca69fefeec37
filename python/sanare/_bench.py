"""Whether a healed loader gives what its case expects: `python -m sanare._bench CASE HEALED`.

`expected.json` of the case holds an answer for `old`, `new` and perhaps further inputs of the same kind: `value`, `any_of`, or
`refuse` where no value is right (`accept` beside it names one that is all the same). Exit 0: every answer is right, or the loader
raises where that is right. Exit 1: a value is wrong. Exit 3: the case does not say.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path

from sanare._case import _argument, _inputs, _task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(argv: list[str]) -> int:
    """Judges one healed source."""
    case, healed = Path(argv[0]), Path(argv[1])
    expected = case / "expected.json"
    if not expected.is_file():
        return 3
    answers = json.loads(expected.read_text(encoding="utf-8"))
    kind, name = _task(case, "input", "path"), _task(case, "function", "load")
    right = all(_is_right(answer, case, which, kind, healed, name) for which, answer in answers.items())
    return 0 if right else 1


def _is_right(answer: dict[str, Any], case: Path, which: str, kind: str, healed: Path, name: str) -> bool:
    argument = _argument(case / _inputs(case, which)[0], kind)
    try:
        value = _plain(getattr(_load(healed), name)(argument))
    except Exception:
        # To raise is right where nothing is to be given; elsewhere the repair does not hold.
        return "refuse" in answer
    if "value" in answer:
        return _same(answer["value"], value)
    options = answer.get("any_of", [answer["accept"]] if "accept" in answer else [])
    return any(_same(option, value) for option in options)


def _load(path: Path) -> Any:
    """The healed module, anew for each input."""
    spec = importlib.util.spec_from_file_location("healed_loader", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plain(value: Any) -> Any:
    """A result as JSON could hold it; what is not a number is nothing."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(one) for one in value), key=repr)
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if hasattr(value, "item") and not isinstance(value, (int, float)):
        value = value.item()
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return repr(value)
    if math.isnan(number):
        return None
    return value if isinstance(value, int) else number


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one is None and other is None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
