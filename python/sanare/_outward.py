"""Outward: the incident of a function that could not be repaired goes on with the decorated function that called it,
on what is left of its budgets (C119). Whether it may is the Rust half's to say; here is what this process knows of it."""

from __future__ import annotations

from _thread import allocate_lock
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._guard import Guard

_KEPT = 64


class Trail:
    """One incident on its way out: when it began, and the functions that were its target."""

    __slots__ = ("began", "guards", "is_open")

    def __init__(self, began: float) -> None:
        self.began = began
        self.guards: list[Guard] = []
        # Whether another function may go on with it.
        self.is_open = False


_trails: dict[str, Trail] = {}
_lock = allocate_lock()


def goes_on(guard: Guard, incident: str) -> bool:
    """Whether this function may go on with an incident: one that it was the target of already does not."""
    trail = _trails.get(incident)
    return trail is not None and trail.is_open and not any(guard is one for one in trail.guards)


def concerns(guard: Guard, incident: str) -> bool:
    """Whether an exception that an incident has marked may still be helped at this function: it goes on with it, or
    another call is about to repair it, or has."""
    return guard.flight is not None or guard.current is not guard.original or goes_on(guard, incident)


def request_of(guard: Guard, incident: str) -> dict[str, Any] | None:
    """What the Rust half is told of the incident that goes on; None for a failure that is new."""
    trail = _trails.get(incident)
    if trail is None:
        return None
    trail.guards.append(guard)
    return {"incident": incident, "spent_ms": int((monotonic() - trail.began) * 1000)}


def ended(guard: Guard, report: dict[str, Any], began: float) -> None:
    """Notes how the incident ended with this function as its target."""
    is_open = bool(report.pop("goes_outward", False))
    incident = str(report.get("id", ""))
    with _lock:
        trail = _trails.get(incident)
        if trail is None and is_open:
            while len(_trails) >= _KEPT:
                _trails.pop(next(iter(_trails)))
            trail = _trails[incident] = Trail(began)
            trail.guards.append(guard)
        if trail is not None:
            trail.is_open = is_open
