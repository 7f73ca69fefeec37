"""The failure path of functions and generators: decide, capture, hand over to Rust, return the result or pass."""

from __future__ import annotations

from _thread import get_ident
from itertools import count
from time import monotonic

from sanare import _flight, _outward, _state
from sanare._call import Call, call_in, call_in_wrapper
from sanare._guard import MISSED, Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, FunctionType
    from typing import Any

# Exceptions that only look like failures: a debugger that quits, a test that is skipped, a task that is cancelled.
_SIGNALS = frozenset(
    {
        ("bdb", "BdbQuit"),
        ("unittest.case", "SkipTest"),
        ("concurrent.futures._base", "CancelledError"),
        ("asyncio.exceptions", "CancelledError"),
        ("_pytest.outcomes", "Skipped"),
    }
)
MARK = "__sanare__"
_unrecorded = count(1)


def failed(guard: Guard, error: BaseException | None, frame: FrameType) -> Any:
    """What the guard of a function or generator asks: the repaired result, or MISSED."""
    if error is None or not concerns(guard, error):
        return MISSED
    return heal(call_in(guard, error, frame))


def failed_in_wrapper(
    guard: Guard,
    error: BaseException | None,
    function: FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    begun: bool,
) -> Any:
    """The same for a wrapper."""
    if error is None or not concerns(guard, error):
        return MISSED
    call = call_in_wrapper(guard, error, function, args, kwargs)
    call.begun = begun
    return heal(call)


def concerns(guard: Guard, error: BaseException) -> bool:
    """Whether this failure is for us at all (C25, C119); cheap, since it is asked for every exception that passes."""
    kind = type(error)
    if not issubclass(kind, Exception) or issubclass(kind, MemoryError) or _state.is_busy():
        return False
    options = guard.options
    if options.get("mode") == "off":
        return False
    incident = marked(error)
    if incident and not _outward.concerns(guard, incident):
        return False
    never = options.get("never")
    if never is not None and issubclass(kind, never):
        return False
    only = options.get("heal_on")
    if only is not None and not issubclass(kind, only):
        return False
    if issubclass(kind, (StopIteration, StopAsyncIteration)):
        return only is not None and kind in only
    from sanare._frames import mro, of_class

    for base in mro(kind):
        if (of_class(base, "__module__"), of_class(base, "__name__")) in _SIGNALS:
            return False
    return True


def marked(error: BaseException) -> str:
    """The id of the incident that this exception, or the one it was raised from, already belongs to."""
    from sanare._frames import instance_dict, raw

    at: BaseException | None = error
    for _ in range(5):
        if at is None:
            break
        mark = instance_dict(at).get(MARK)
        if type(mark) is str:
            return mark
        at = raw(at, "__cause__")
    return ""


def is_over(call: Call) -> bool:
    """Whether this failure belongs to an incident that does not go on with this function."""
    incident = marked(call.error)
    return bool(incident) and not _outward.goes_on(call.guard, incident)


def mark(error: BaseException, incident: str) -> None:
    """Makes outer decorated functions leave this exception alone."""
    from sanare._frames import instance_dict

    instance_dict(error)[MARK] = incident


def heal(call: Call) -> Any:
    """Heals in this thread, or waits for the thread that does."""
    guard = call.guard
    key = (type(call.error), call.line(), call.code)
    end = monotonic() + guard.options.get("wait", 30.0)
    while True:
        flight, leads = _flight.enter(guard, key)
        if leads:
            break
        if flight.key != key and is_over(call):
            return MISSED
        if not flight.wait(_flight.time_left(end)):
            _leave_note(call, {"status": "open", "summary": "another thread is healing this failure"})
            return MISSED
        if was_repaired(call):
            return _adopt(call)
        if flight.key == key and not flight.abandoned:
            if flight.report:
                _leave_note(call, flight.report)
            return MISSED
    try:
        if was_repaired(call):
            return _adopt(call)
        return MISSED if is_over(call) else lead(call, flight)
    finally:
        _flight.leave(guard, flight)


def was_repaired(call: Call) -> bool:
    """Whether the function got other code since this call began."""
    return not any(call.code is code for code in call.guard.codes)


def lead(call: Call, flight: _flight.Flight) -> Any:
    """The heal itself."""
    from sanare import _request
    from sanare._native import native
    from sanare._subject import Subject

    began = monotonic()
    request = _request.build(call)
    request["continues"] = _outward.request_of(call.guard, marked(call.error))
    subject = Subject(call)
    subject.about(request)
    ident = get_ident()
    _state.busy.add(ident)
    try:
        report = native().heal(request, subject)
    except BaseException:
        # Ctrl-C: whoever waits for this thread goes on without it.
        flight.abandoned = True
        raise
    finally:
        _state.busy.discard(ident)
    flight.report = report
    return conclude(call, subject, report, began)


def conclude(call: Call, subject: Any, report: dict[str, Any], began: float) -> Any:
    """The result, if the owner's call returned under the repair; else a note on the exception."""
    from sanare._listen import tell
    from sanare._report import keep

    before = marked(call.error)
    _outward.ended(call.guard, report, began)
    if before and not report.get("id"):
        # It rests further out: the incident stays as it ended further in.
        return MISSED
    key = str(report.get("id", ""))
    if not key and report.get("outcome") == "escalated":
        # What could not be recorded has no id; its exception leads to it all the same.
        key = f"unrecorded {next(_unrecorded)}"
    kept = keep(report, key)
    narrate(call, report, again=bool(before))
    if report.get("id"):
        tell(str(report.get("status", "")), kept)
    mark(call.error, key)
    if subject.interrupted is not None:
        raise subject.interrupted
    if report.get("outcome") == "healed" and subject.has_result:
        return subject.result
    _leave_note(call, report)
    return MISSED


def narrate(call: Call, report: dict[str, Any], *, again: bool = False) -> None:
    """One line an incident in the program's own log: a rewrite is a WARNING, an own failure an ERROR (C132). That it was
    `again` not repaired, further out, is no news."""
    from sanare._log import ERROR, INFO, WARNING, say

    incident = str(report.get("id", ""))
    place = f"`{call.guard.qualname}` in {report.get('path') or call.guard.path}"
    outcome, status = report.get("outcome"), report.get("status")
    summary = " ".join(str(report.get("summary") or report.get("reason") or "").split())[:300]
    if outcome == "healed":
        level, text = WARNING, f"repaired {place}: {summary}"
    elif status == "applied":
        level, text = WARNING, f"repaired {place}, the call itself failed: {summary}"
    elif status == "waiting":
        level, text = WARNING, f"a repair of {place} waits for a person"
    elif outcome == "rolled_back":
        level, text = WARNING, f"took a repair of {place} back: {summary}"
    elif outcome == "escalated":
        level, text = ERROR, f"{place} failed and could not be dealt with: {summary}"
    elif report.get("reason") == "cooldown":
        level, text = INFO, f"{place} failed again and rests: {summary}"
    else:
        level, text = INFO if again else WARNING, f"{place} failed and was not repaired: {summary}"
    text += f"; sanare show {incident}" if incident else ""
    mode = log_mode(call.guard)
    say(level, text, name="sanare.heal", incident=incident, mode=mode)
    usage = report.get("usage")
    if type(usage) is dict and usage.get("calls"):
        say(INFO, str(usage.get("line", "")), name="sanare.model", incident=incident, mode=mode)


def log_mode(guard: Guard) -> str:
    """Where own lines go (C133), as the settings of the guard's project say."""
    from sanare import _project, _settings

    root = _project.root_of(_project.standing_for(guard.path))
    return str(_settings.of_project(root).get("log_mode", "auto"))


def _adopt(call: Call) -> Any:
    """Runs the call under the repair that another thread got accepted meanwhile (C117)."""
    from sanare._subject import Subject

    subject = Subject(call)
    why = subject.rerun_unsafe() if call.guard.options.get("rerun", "safe") == "safe" else None
    if call.guard.options.get("rerun") == "never":
        why = "rerun is never"
    if why is not None:
        _leave_note(call, {"status": "applied", "summary": f"repaired, not re-run: {why}"})
        return MISSED
    ident = get_ident()
    _state.busy.add(ident)
    try:
        failure = subject.rerun()
    finally:
        _state.busy.discard(ident)
    if subject.interrupted is not None:
        raise subject.interrupted
    if failure is None and subject.has_result:
        return subject.result
    _leave_note(call, {"status": "applied", "summary": "the repaired function failed on this call too"})
    return MISSED


def _leave_note(call: Call, report: dict[str, Any]) -> None:
    """One note, at most 200 characters, on the exception that leaves (C10)."""
    from sanare._report import note_of

    text = note_of(report)
    error = call.error
    mark(error, str(report.get("id", "")) or marked(error) or "passed")
    if not text:
        return
    from sanare._frames import instance_dict, raw

    # The note of the same incident, from a function further in, gives way to this one.
    at: BaseException | None = error
    for _ in range(5):
        if at is None:
            break
        notes: Any = instance_dict(at).get("__notes__")
        for place, note in enumerate(notes if type(notes) is list else ()):
            if type(note) is str and note[:8] == "sanare: ":
                notes[place] = text
                return
        at = raw(at, "__cause__")
    # What `add_note` does from Python 3.11 on, without asking the exception's class; Python 3.10 has the list as well.
    notes = instance_dict(error).setdefault("__notes__", [])
    if type(notes) is list:
        notes.append(text)
