"""One guard per decorated definition: what stands in the function's code, and the functions that share it."""

from __future__ import annotations

import sys
from _thread import allocate_lock
from _weakref import ref

from sanare._compile import FAIL, FIRST, MISS, NOTE, Place, Unguardable, guard_code, kind_of
from sanare._source import qualname_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType, FunctionType
    from typing import Any

# Good calls of a definition that are looked at, by their number (C48).
LOOKS = (1, 2, 4)


class Missed:
    """What the failure path answers when the exception shall leave as it came."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "MISSED"


MISSED = Missed()


class Guard:
    """The guard of one definition. Its bound methods are constants of the guarded code."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        code = function.__code__
        self.options = options
        self.kind = kind_of(code)
        self.path: str = code.co_filename
        self.module: str = str(function.__globals__.get("__name__", ""))
        self.qualname = qualname_of(function)
        self.parameters = parameters_of(code)
        # The code as Python made it, and as it stands now: a repair changes the second.
        self.original: CodeType = code
        self.current: CodeType = code
        # The same two with the guard inside. None: these functions stand in a wrapper.
        self.guarded: CodeType | None = None
        self.recorder: CodeType | None = None
        # The recording code while it does not stand in the functions, with the one that stands there instead.
        self.rested: tuple[CodeType, CodeType] | None = None
        # Every form of the present code, so that a call that began before a repair can be told by the code it ran.
        self.codes: tuple[CodeType, ...] = (code,)
        self.unguardable = ""
        # Why a call that failed at a line may not run again, or None: the code, the line, the verdict.
        self.judged: list[tuple[CodeType, int, str | None]] = []
        # The lines that the original code was made of, as far as they are known.
        self.place: Place | None = None
        # Where this code was found last: the code, the text, its first line there.
        self.located: tuple[CodeType, str, int] | None = None
        # The text that runs, where a repair was put into the running function alone.
        self.only_in_memory: str | None = None
        # The digest of the present code, with the code that it was made of.
        self.digest: tuple[CodeType, str] | None = None
        self.seen = 0
        self.functions: dict[int, ref[FunctionType]] = {}
        self.lock = allocate_lock()
        self.flight: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Code that travels to another process by value takes its guard along, without the functions of this one.
        return (_inert, ())

    def adopt(self, function: FunctionType) -> None:
        """Counts a function among those that share this guard."""
        key = id(function)
        functions = self.functions
        functions[key] = ref(function, lambda _: functions.pop(key, None))

    def living(self) -> list[FunctionType]:
        """The functions that share this guard and still exist."""
        return [function for function in [entry() for entry in list(self.functions.values())] if function is not None]

    # What the guarded code calls. Nothing but the exception that is being handled is passed: everything else stands in
    # the frame, so that a good call carries nothing.

    def failed(self) -> Any:
        """Called inside the guard's handler of a function or generator."""
        try:
            from sanare._heal import failed

            return failed(self, sys.exc_info()[1], sys._getframe(1))
        except Exception as trouble:
            return _own_failure(trouble)

    async def failed_async(self) -> Any:
        """The same, awaited, for `async def` and asynchronous generators."""
        try:
            from sanare._heal_async import Resumed, failed_async

            result = await failed_async(self, sys.exc_info()[1], sys._getframe(1))
            return Resumed(result) if self.kind == "async_generator" and result is not MISSED else result
        except Exception as trouble:
            return _own_failure(trouble)

    def note(self, result: Any) -> Any:
        """Called with what a good call returns, while recording."""
        self.seen += 1
        if self.seen in LOOKS:
            try:
                from sanare._remember import look

                frame = sys._getframe(1)
                look(self, arguments_in(self, frame), result, generator=self.kind != "function")
            except Exception as trouble:
                _own_failure(trouble)
        if self.seen >= LOOKS[-1]:
            self.settle()
            look_later(self)
        return result

    def settle(self) -> None:
        """Swaps the recording code away: from here on a good call costs nothing."""
        recorder, guarded = self.recorder, self.guarded
        if recorder is None or guarded is None:
            return
        with self.lock:
            self.recorder, self.rested = None, (recorder, guarded)
            for function in self.living():
                if function.__code__ is recorder:
                    function.__code__ = guarded

    def look_again(self) -> bool:
        """Puts the recording code back, unless somebody works on this guard at the moment: then False. A repaired body is
        looked at from the next start on."""
        if self.flight is not None or not self.lock.acquire(False):
            return False
        try:
            rested, self.rested = self.rested, None
            if rested is not None and rested[1] is self.guarded:
                self.recorder, guarded = rested
                for function in self.living():
                    if function.__code__ is guarded:
                        function.__code__ = self.recorder
            self.seen = 0
            return True
        finally:
            self.lock.release()


def look_later(guard: Guard) -> None:
    """The first good calls were looked at; so are others, some time later."""
    try:
        from sanare._refresh import plan

        plan(guard)
    except Exception as trouble:
        _own_failure(trouble)


def _inert() -> Guard:
    guard = object.__new__(Guard)
    guard.options = {"mode": "off"}
    guard.flight = None
    return guard


def _own_failure(trouble: Exception) -> Missed:
    """Our own failure never reaches the program: one line for its owner, and the original exception leaves (C3)."""
    if not isinstance(trouble, (RecursionError, MemoryError)) and not sys.is_finalizing():
        try:
            from sanare._log import own_failure

            own_failure(trouble)
        except Exception:
            pass
    return MISSED


def parameters_of(code: CodeType) -> tuple[str, ...]:
    """Parameter names in the order of `co_varnames`: positional, keyword-only, `*args`, `**kwargs`."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]


def arguments_in(guard: Guard, frame: FrameType) -> dict[str, Any]:
    """The arguments of the call that `frame` runs, as they were bound; rebound ones from where the guard kept them."""
    values = frame.f_locals
    arguments: dict[str, Any] = {}
    for place, name in enumerate(parameters_of(frame.f_code)):
        kept = FIRST.format(place)
        if kept in values:
            arguments[name] = values[kept]
        elif name in values:
            arguments[name] = values[name]
    return arguments


# Guards by the identity of the code that they were made for; each keeps that code alive, so that the identity holds.
_guards: dict[int, list[Guard]] = {}


def guard_of(function: FunctionType) -> Guard | None:
    """The guard inside a function's code, if there is one."""
    for constant in reversed(function.__code__.co_consts):
        owner = getattr(constant, "__self__", None)
        if type(owner) is Guard:
            return owner
    return None


def guard_function(function: FunctionType, options: dict[str, Any]) -> FunctionType | Callable[..., Any]:
    """Puts a guard into the function, or into a wrapper around it where that is not possible."""
    code = function.__code__
    guard = next((known for known in _guards.get(id(code), ()) if known.options == options), None)
    if guard is None:
        guard = Guard(function, options)
        recording = options.get("remember", "shape") != "off" and options.get("mode") != "observe"
        try:
            made = guard_code(function, constants_for(guard), recording=recording)
            guard.guarded, guard.recorder, guard.place = made
            guard.codes = (code, guard.guarded, guard.recorder or guard.guarded)
        except Unguardable as why:
            guard.unguardable = str(why)
        _guards.setdefault(id(code), []).append(guard)
    guard.adopt(function)
    if guard.guarded is None:
        from sanare._wrap import wrap

        return wrap(guard, function)
    with guard.lock:
        function.__code__ = guard.recorder or guard.guarded
    return function


def constants_for(guard: Guard) -> dict[str, object]:
    """What the stand-ins of the compiled guard are replaced by."""
    fail = guard.failed_async if guard.kind in ("coroutine", "async_generator") else guard.failed
    return {FAIL: fail, MISS: MISSED, NOTE: guard.note}
