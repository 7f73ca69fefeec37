"""Whether the owner's call may run a second time (C111): judged conservatively, from the arguments and from the old body.

Safe means: no argument can be used up, nothing that the body did not create was written to on the way to the failure,
and every call on that way is known to be harmless. What is not known is not safe.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._call import Call

NODES = 10_000
DEPTH = 3
_effects: dict[str, frozenset[str]] = {}

# Modules whose objects stand for something that is used up or shared: connections, queues, locks.
_ONE_SHOT_MODULES = frozenset(
    {"_io", "io", "socket", "_socket", "ssl", "_ssl", "queue", "_queue", "_thread", "threading", "multiprocessing"}
)
_PLAIN = (str, bytes, int, float, complex, bool, type(None), bytearray, range, type)


def effects() -> dict[str, frozenset[str]]:
    """The lists of `data/effects.txt`, by kind."""
    if not _effects:
        found: dict[str, set[str]] = {}
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "effects.txt")
        with open(path, encoding="utf-8") as file:
            for line in file:
                kind, *names = line.partition("#")[0].split() or [""]
                found.setdefault(kind, set()).update(names)
        _effects.update({kind: frozenset(names) for kind, names in found.items()})
    return _effects


def unsafe_because(call: Call, texts: dict[str, list[str]]) -> str | None:
    """Why the call may not run again, or None. Asked before the repair is in place: it judges the body that failed."""
    if call.begun:
        return "items were given out already"
    if not call.complete:
        return "the arguments of the call are not all known"
    used_up = one_shot(call.arguments)
    if used_up is not None:
        return used_up
    return body_is_unsafe(call, texts)


def one_shot(arguments: dict[str, Any]) -> str | None:
    """The first argument that can be used only once, in words (rule 1)."""
    stack: list[tuple[str, Any]] = list(reversed(arguments.items()))
    seen: set[int] = set()
    nodes = 0
    while stack and nodes < NODES:
        name, value = stack.pop()
        nodes += 1
        kind = type(value)
        if kind in _PLAIN or id(value) in seen:
            continue
        seen.add(id(value))
        why = _used_up(kind)
        if why:
            return f"the argument `{name}` {why}"
        if isinstance(value, dict):
            stack.extend((name, item) for item in list(dict.values(value))[:NODES])
        elif isinstance(value, (list, tuple)):
            stack.extend((name, item) for item in value[:NODES])
        elif kind is set or kind is frozenset:
            stack.extend((name, item) for item in list(value)[:NODES])
        elif kind.__module__.partition(".")[0] not in ("pandas", "numpy", "polars", "pyarrow"):
            from sanare._frames import instance_dict

            if kind.__name__ not in ("function", "module"):
                stack.extend((name, item) for item in list(instance_dict(value).values())[:NODES])
    return None


def _used_up(kind: type) -> str:
    for base in type.mro(kind):
        names = base.__dict__
        root = base.__module__.partition(".")[0]
        if base.__module__ in _ONE_SHOT_MODULES and base.__name__ != "Thread":
            return f"is a {base.__name__}, which cannot be read or used again"
        if "__next__" in names or "__anext__" in names:
            return "is an iterator, which is used up"
        if ("fetchone" in names and "execute" in names) or "cursor" in base.__name__.lower():
            return "is a cursor, which is used up"
        if root in ("asyncio", "_asyncio") or "__await__" in names or ("send" in names and "throw" in names):
            return "belongs to a running event loop"
    return ""


def body_is_unsafe(call: Call, texts: dict[str, list[str]]) -> str | None:
    """Rules 2 and 3, on the way from the start of the old body to the failing line."""
    from sanare._effects_walk import Walk

    judged = call.guard.judged
    for code, line, why in judged:
        if code is call.code and line == call.line():
            return why
    if not texts and not any(call.code is code for code in call.guard.codes):
        # Another thread's repair is in place already: the text of the body that failed is gone.
        return "the body that failed can no longer be judged"
    try:
        why = Walk(call.function, DEPTH, texts, call.arguments).until(call.line(), code=call.plain)
    except Exception as trouble:
        why = f"its body could not be judged ({type(trouble).__name__})"
    judged.append((call.code, call.line(), why))
    del judged[:-16]
    return why
