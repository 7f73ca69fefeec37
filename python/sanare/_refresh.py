"""Good calls are looked at again after `heal.memory.refresh` (C48), in a program that runs on.

No thread waits for that: a program with one more thread gets warnings when it forks. The garbage collector passes by
anyway, and calls who asks for it; where it never runs, the next start looks again.
"""

from __future__ import annotations

from _thread import allocate_lock
from _weakref import ref
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._guard import Guard

# When to look at which guard again, and the earliest of these moments.
_due: list[tuple[float, ref[Guard]]] = []
_next: float = 0.0
_lock = allocate_lock()


def plan(guard: Guard) -> None:
    """Has the good calls of this guard looked at again when the time has come."""
    import gc

    from sanare import _project, _settings

    if guard.path[:1] == "<" or _project.is_library(guard.path):
        return
    settings = _settings.of_project(_project.root_of(_project.standing_for(guard.path)))
    millis = settings.get("heal.memory.refresh")
    if not millis:
        return
    global _next
    with _lock:
        at = monotonic() + millis / 1000
        _next = min(at, _next) if _due else at
        _due.append((at, ref(guard)))
        if _pass not in gc.callbacks:
            gc.callbacks.append(_pass)


def _pass(phase: str, _: dict[str, Any]) -> None:
    """Called by the collector at its start and its stop, in any thread, in the middle of anything: it waits for nothing."""
    global _next
    if phase != "stop" or not _due or monotonic() < _next or not _lock.acquire(False):
        return
    try:
        now = monotonic()
        later = []
        for at, entry in _due:
            guard = entry()
            if guard is not None and not (at <= now and guard.look_again()):
                later.append((at, entry))
        _due[:] = later
        _next = min((at for at, _ in later), default=0.0)
    finally:
        _lock.release()
