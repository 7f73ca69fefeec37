"""One failing call: which function object, which arguments, which exception; and how to make that call again."""

from __future__ import annotations

from sanare._compile import FIRST, STARTED
from sanare._guard import Guard, parameters_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, FunctionType, TracebackType
    from typing import Any

_ABSENT = object()


def _cell() -> Any:
    inside = None

    def function() -> Any:
        return inside

    return function


_Function: Any = type(_cell)
_Cell: Any = type(_cell().__closure__[0])


class Call:
    """A failing call, as far as it is known."""

    def __init__(
        self,
        guard: Guard,
        error: BaseException,
        traceback: TracebackType | None,
        frame: FrameType | None,
        function: FunctionType,
        arguments: dict[str, Any],
    ) -> None:
        self.guard = guard
        self.error = error
        self.traceback = traceback
        self.frame = frame
        self.function = function
        self.arguments = arguments
        # The code that failed: a repair that another thread made meanwhile shows by it.
        self.code: CodeType = frame.f_code if frame is not None else function.__code__
        # The same without the guard, as Python made it from the source.
        self.plain: CodeType = guard.current
        self.begun = False
        self.complete = True
        self.positional: tuple[Any, ...] | None = None
        self.keywords: dict[str, Any] | None = None

    def as_passed(self) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments that bind to the same parameters again."""
        if self.positional is not None:
            return list(self.positional), dict(self.keywords or {})
        return spread(self.guard.current, self.arguments)

    def line(self) -> int:
        """The line in the function where the exception passed."""
        return self.traceback.tb_lineno if self.traceback is not None else 0


def spread(code: CodeType, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by parameter name, as positional and keyword arguments."""
    names = parameters_of(code)
    keyword_at = code.co_argcount
    star_at = keyword_at + code.co_kwonlyargcount
    args = [arguments[name] for name in names[:keyword_at]]
    kwargs = {name: arguments[name] for name in names[keyword_at:star_at]}
    if code.co_flags & 4:
        args.extend(arguments[names[star_at]])
    if code.co_flags & 8:
        kwargs.update(arguments[names[-1]])
    return args, kwargs


def bind(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, defaults included; by position where they do not bind (C32)."""
    code = function.__code__
    names = parameters_of(code)
    keyword_at = code.co_argcount
    star_at = keyword_at + code.co_kwonlyargcount
    bound: dict[str, Any] = dict(zip(names[:keyword_at], args))
    rest = args[keyword_at:]
    left = dict(kwargs)
    for name in names[code.co_posonlyargcount : star_at]:
        if name in left:
            if name in bound:
                return _by_position(args, kwargs)
            bound[name] = left.pop(name)
    defaults = function.__defaults__ or ()
    for name, value in zip(names[keyword_at - len(defaults) : keyword_at], defaults):
        bound.setdefault(name, value)
    for name, value in (function.__kwdefaults__ or {}).items():
        bound.setdefault(name, value)
    if any(name not in bound for name in names[:star_at]):
        return _by_position(args, kwargs)
    if code.co_flags & 4:
        bound[names[star_at]] = rest
    elif rest:
        return _by_position(args, kwargs)
    if code.co_flags & 8:
        bound[names[star_at + bool(code.co_flags & 4)]] = left
    elif left:
        return _by_position(args, kwargs)
    return {name: bound[name] for name in names}


def _by_position(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**{f"argument {place}": value for place, value in enumerate(args, 1)}, **kwargs}


def call_in(guard: Guard, error: BaseException, frame: FrameType) -> Call:
    """The call whose guarded frame this is."""
    values = dict(frame.f_locals)
    arguments: dict[str, Any] = {}
    code = frame.f_code
    names = parameters_of(code)
    for place, name in enumerate(names):
        kept = FIRST.format(place)
        value = values.get(kept, values.get(name, _ABSENT))
        if value is not _ABSENT:
            arguments[name] = value
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame is not frame:
        traceback = traceback.tb_next
    call = Call(guard, error, traceback, frame, _function_of(guard, frame, values), arguments)
    call.complete = len(arguments) == len(names)
    call.begun = STARTED in values or _stands_at_yield(call)
    return call


def call_in_wrapper(
    guard: Guard, error: BaseException, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Call:
    """The call that the wrapper made; without a frame of its own when the arguments did not bind."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code is not function.__code__:
        traceback = traceback.tb_next
    frame = traceback.tb_frame if traceback is not None else None
    call = Call(guard, error, traceback, frame, function, bind(function, args, kwargs))
    call.positional, call.keywords = args, kwargs
    # Without a frame the call never reached the function: nothing in it can be repaired.
    call.complete = frame is not None
    return call


def _function_of(guard: Guard, frame: FrameType, values: dict[str, Any]) -> FunctionType:
    """The function object that runs in `frame`: of several closures of one definition the one with these cells."""
    code = frame.f_code
    for function in reversed(guard.living()):
        if function.__globals__ is not frame.f_globals:
            continue
        if not code.co_freevars or _holds(function, values):
            return function
    # A copy of the code that was never decorated itself: a stand-in with the same names and cells.
    closure = tuple(_Cell(values[name]) if name in values else _Cell() for name in code.co_freevars)
    made: FunctionType = _Function(code, frame.f_globals, code.co_name, None, closure or None)
    guard.adopt(made)
    return made


def _holds(function: FunctionType, values: dict[str, Any]) -> bool:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            content = cell.cell_contents
        except ValueError:
            content = _ABSENT
        if content is not values.get(name, _ABSENT):
            return False
    return True


def _stands_at_yield(call: Call) -> bool:
    """Whether the exception came in at a `yield`: thrown by the consumer, after an item went out."""
    if call.guard.kind not in ("generator", "async_generator") or call.traceback is None:
        return False
    from opcode import opname

    code = call.traceback.tb_frame.f_code.co_code
    at = call.traceback.tb_lasti
    if not 0 <= at < len(code):
        return True
    if opname[code[at]] == "YIELD_VALUE" and at + 3 < len(code) and opname[code[at + 2]] == "RESUME":
        at += 2
    # What follows a `yield` is marked 1 there, 2 and 3 stand for `yield from` and `await`.
    return opname[code[at]] == "YIELD_VALUE" or (opname[code[at]] == "RESUME" and code[at + 1] & 3 == 1)
