"""Hot swap: the code of a repaired text behind the existing function objects. No module is executed again (C108)."""

from __future__ import annotations

import sys

from sanare import _source
from sanare._compile import guard_from_text
from sanare._guard import Guard, constants_for, parameters_of
from sanare._source import find_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any

# Flags that tell the kind of a function: what a swap must not change.
_KIND = 0x4 | 0x8 | 0x20 | 0x80 | 0x100 | 0x200


class Swapped:
    """What a swap changed, so that it can be taken back."""

    def __init__(self, guard: Guard) -> None:
        self.current = guard.current
        self.guarded = guard.guarded
        self.recorder = guard.recorder
        self.codes = guard.codes
        self.only_in_memory = guard.only_in_memory
        self.functions: list[tuple[FunctionType, CodeType, CodeType]] = []


def code_in(text: str, guard: Guard, first_line: int) -> CodeType | str:
    """The target's code in a module's text, or why it cannot stand in the place of the running one."""
    from sanare._compile import _Quiet

    try:
        with _Quiet(guard.path):
            module: Any = compile(
                text, guard.path, "exec", guard.current.co_flags & _source.FUTURE_FLAGS, dont_inherit=True
            )
    except (SyntaxError, ValueError, RecursionError) as trouble:
        return f"the text does not compile: {trouble}"
    found = find_code(module, guard.qualname, first_line)
    if found is None:
        return f"`{guard.qualname}` is not found in the text"
    old = guard.current
    if (found.co_flags & _KIND) != (old.co_flags & _KIND):
        return "the function is of another kind"
    if parameters_of(found) != parameters_of(old) or found.co_posonlyargcount != old.co_posonlyargcount:
        return "the parameters differ"
    if found.co_argcount != old.co_argcount or found.co_kwonlyargcount != old.co_kwonlyargcount:
        return "the parameters differ"
    if found.co_freevars != old.co_freevars:
        return "the variables that it takes from outside differ"
    return found


def swap(guard: Guard, text: str, first_line: int) -> Swapped | str:
    """Puts the code in place for every living function of the definition, and for those still to be decorated."""
    code = code_in(text, guard, first_line)
    if isinstance(code, str):
        return code
    guarded: CodeType | None = None
    if guard.guarded is not None:
        try:
            guarded = guard_from_text(text, code, guard.qualname, constants_for(guard))
        except Exception:
            # The repaired body cannot carry the guard: the repair serves, further failures are not seen.
            guarded = None
    before = Swapped(guard)
    with guard.lock:
        new = guarded or code
        for function in guard.living():
            old = function.__code__
            # Somebody else may have put code of his own there: that is his.
            if any(old is known for known in before.codes):
                function.__code__ = new
                before.functions.append((function, old, new))
        guard.current, guard.guarded, guard.recorder = code, guarded, None
        guard.codes = (code, guarded or code)
    guard.only_in_memory = None if _source.read_text(guard.path) == text else text
    refresh(guard, text)
    return before


def unswap(guard: Guard, before: Swapped, text: str | None) -> None:
    """Takes a swap back; a function that got other code since then keeps that."""
    with guard.lock:
        for function, old, new in before.functions:
            if function.__code__ is new:
                function.__code__ = old
        guard.current, guard.guarded, guard.recorder = before.current, before.guarded, before.recorder
        guard.codes = before.codes
    guard.only_in_memory = before.only_in_memory
    refresh(guard, text)


def refresh(guard: Guard, text: str | None) -> None:
    """Lets tracebacks show the lines of today."""
    _source._recent.pop(guard.path, None)
    linecache: Any = sys.modules.get("linecache")
    cache = getattr(linecache, "cache", None)
    if type(cache) is not dict or guard.path not in cache:
        return
    if _source.read_text(guard.path) is None and text is not None:
        cache[guard.path] = (len(text), None, text.splitlines(keepends=True), guard.path)
    else:
        cache.pop(guard.path, None)
