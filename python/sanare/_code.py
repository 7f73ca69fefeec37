"""A digest over a function's code: equal in every process that runs it, wherever its lines stand (C116)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

    from sanare._guard import Guard


def digest_of(guard: Guard) -> str:
    """The digest of the code that a guard stands in now, as Python made it from the source; made once."""
    code, known = guard.current, guard.digest
    if known is None or known[0] is not code:
        known = guard.digest = (code, code_digest(code))
    return known[1]


def code_digest(code: CodeType) -> str:
    """Instructions, names and constants, those of nested code too; no line numbers and no file name."""
    from _blake2 import blake2b

    state: Any = blake2b(digest_size=32)
    _add(state, sys.implementation.cache_tag)
    _add(state, code)
    return str(state.hexdigest())


def _add(state: Any, value: Any) -> None:
    """One value, told apart from every other by type and length."""
    kind = type(value)
    if kind is type(_add.__code__):
        parts: Any = (
            value.co_name,
            value.co_code,
            value.co_names,
            value.co_varnames,
            value.co_freevars,
            value.co_cellvars,
            value.co_flags,
            value.co_argcount,
            value.co_posonlyargcount,
            value.co_kwonlyargcount,
            getattr(value, "co_exceptiontable", b""),
            value.co_consts,
        )
        _many(state, b"code", parts)
    elif kind is tuple:
        _many(state, b"tuple", value)
    elif kind is frozenset:
        # The order of a set differs from process to process.
        _many(state, b"set", sorted(_of_one(item) for item in value))
    elif kind is slice:
        _many(state, b"slice", (value.start, value.stop, value.step))
    else:
        data = value if kind is bytes else repr(value).encode("utf-8", "surrogatepass")
        state.update(b"%s %d:" % (kind.__name__.encode(), len(data)))
        state.update(data)


def _many(state: Any, kind: bytes, values: Any) -> None:
    state.update(b"%s %d:" % (kind, len(values)))
    for value in values:
        _add(state, value)


def _of_one(value: Any) -> bytes:
    """The digest of one constant, for putting a set's items in order."""
    from _blake2 import blake2b

    state: Any = blake2b(digest_size=16)
    _add(state, value)
    digest: bytes = state.digest()
    return digest
