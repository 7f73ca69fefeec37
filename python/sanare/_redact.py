"""`sanare.redact`: a text or plain data without its secrets."""

from __future__ import annotations

import math

from sanare._native import native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Deeper data is given as text.
_DEPTH = 100
_LEAST, _MOST = -(2**63), 2**64 - 1


def redact(value: Any, *, personal: bool = False) -> Any:
    """The value without its secrets, by the rules that everything passes which Sanare records or sends.

    A text gives a text. Other values give new plain data: mappings as dictionaries whose keys are texts, sequences and sets
    as lists, bytes as text; numbers, truth values and `None` as they are; anything else as its `repr`, redacted too. With
    names beside them more secrets are known as such than in a text. `personal` also takes what names a person (addresses,
    numbers of cards and accounts). What cannot be read is replaced. Never raises for a value; the arguments are not changed.
    """
    if isinstance(value, str):
        return native().redact_text(_encodable(value), personal)
    import json

    text = json.dumps(_plain(value, 0, set()), ensure_ascii=True, allow_nan=False)
    return json.loads(native().redact_json(text, personal))


def _plain(value: Any, depth: int, above: set[int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _encodable(value)
    if type(value) is int:
        return value if _LEAST <= value <= _MOST else _text(value)
    if type(value) is float:
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    kind = type(value)
    if depth < _DEPTH and id(value) not in above and issubclass(kind, (dict, list, tuple, set, frozenset)):
        above.add(id(value))
        try:
            if issubclass(kind, dict):
                return _pairs(value, depth, above)
            return [_plain(item, depth + 1, above) for item in list(value)]
        except Exception:
            return "<unreadable>"
        finally:
            above.discard(id(value))
    return _text(value)


def _pairs(value: Mapping[Any, Any], depth: int, above: set[int]) -> dict[str, Any]:
    return {
        key if type(key) is str else _text(key): _plain(item, depth + 1, above) for key, item in list(value.items())
    }


def _text(value: object) -> str:
    try:
        return _encodable(repr(value))
    except Exception:
        return f"<{type(value).__name__}: unreadable>"


def _encodable(text: str) -> str:
    if type(text) is str and text.isascii():
        return text
    # A lone surrogate has no place in UTF-8.
    return str.encode(text, "utf-8", "backslashreplace").decode("utf-8")
