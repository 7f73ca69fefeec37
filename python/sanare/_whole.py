"""Whole calls: arguments and result as bytes that give back exactly what went in, or nothing (C49).

Exactly means values of the built-in plain types themselves. What has a class of its own, is used up by reading or is
shared with the rest of the program could only be stored as something else, and is not. An argument that names a file is
stored with the file's content: on another day the name says nothing.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Values that are one; more than a look may take time for.
NODES = 100_000
DEPTH = 100
# Marshalled bytes are this Python's own: another reads none of it.
_FORM = (1, *sys.version_info[:2])
_LEAVES = frozenset({type(None), bool, int, float, complex, str, bytes})


class NotExact(Exception):
    """What stands in the way, in words without a value."""


def stored(arguments: list[tuple[str, Any, str | None]], result: Any, most: int) -> bytes | None:
    """The call as bytes, if it can be had in at most so many; else None."""
    left = [NODES]
    try:
        parts: list[tuple[str, str, Any]] = []
        for name, value, path in arguments:
            if path is not None:
                parts.append((name, "file", _file(path, most)))
                continue
            _check(value, left, most, 0, set())
            parts.append((name, "value", value))
        _check(result, left, most, 0, set())
        data: bytes = marshal.dumps((_FORM, parts, result))
    except (NotExact, ValueError, OSError):
        return None
    return data if len(data) <= most else None


def read(data: bytes) -> tuple[list[tuple[str, str, Any]], Any] | None:
    """Parts and result of a stored call, fresh objects at each reading; None for one of another Python's. These bytes
    come out of the seal: they are what this user's own process put in."""
    form, parts, result = marshal.loads(data)
    return (parts, result) if tuple(form) == _FORM else None


def _file(path: str, most: int) -> tuple[str, bytes]:
    from sanare._source import read_regular

    return os.path.basename(path), read_regular(path, most)


def _check(value: Any, left: list[int], most: int, depth: int, inside: set[int]) -> None:
    kind = type(value)
    left[0] -= 1
    if left[0] < 0 or depth > DEPTH:
        raise NotExact("it is too large")
    if kind in _LEAVES:
        if (kind is str or kind is bytes) and len(value) > most:
            raise NotExact("it is too large")
        return
    if kind not in (list, tuple, dict, set, frozenset):
        raise NotExact("it has a class of its own")
    if id(value) in inside:
        raise NotExact("it holds itself")
    inside.add(id(value))
    if kind is dict:
        for key, item in list(value.items()):
            _check(key, left, most, depth + 1, inside)
            _check(item, left, most, depth + 1, inside)
    else:
        for item in list(value):
            _check(item, left, most, depth + 1, inside)
    inside.discard(id(value))


def same(one: Any, other: Any) -> bool:
    """Equal in value, type and order; floats may differ by rounding alone (1e-12 relative)."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is float:
        near = abs(one - other) <= 1e-12 * max(abs(one), abs(other))
        return bool(one == other or near or (one != one and other != other))
    if kind is complex:
        return same(one.real, other.real) and same(one.imag, other.imag)
    if kind is dict:
        pairs = zip(one.items(), other.items())
        return len(one) == len(other) and all(same(a, b) and same(x, y) for (a, x), (b, y) in pairs)
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(same, one, other))
    if kind is set or kind is frozenset:
        return bool(one == other) and sorted(map(_kind, one)) == sorted(map(_kind, other))
    return bool(kind in _LEAVES and one == other)


def _kind(value: Any) -> str:
    return type(value).__name__
