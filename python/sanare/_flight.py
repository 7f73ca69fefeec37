"""One failure, one heal: the first thread works, the others wait for what comes of it (C116)."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._guard import Guard


# Seconds that the lease on a failing function lasts in the store without being renewed by the process that heals.
LEASE = 30.0


class Flight:
    """A heal in progress. Waiting for it is waiting for its lock."""

    def __init__(self, key: object) -> None:
        self.key = key
        self.owner = get_ident()
        self.report: dict[str, Any] = {}
        # Whether the leader went away: then one of those who wait leads.
        self.abandoned = False
        self.lock = allocate_lock()
        self.lock.acquire()
        # Event loops that wait as well: called, from the working thread, when the heal is over.
        self.callbacks: list[Any] = []

    def wait(self, seconds: float) -> bool:
        """Whether the heal was over within that time."""
        if not self.lock.acquire(timeout=max(0.0, min(seconds, 86400.0))):
            return False
        self.lock.release()
        return True


def enter(guard: Guard, key: object) -> tuple[Flight, bool]:
    """The heal that is going on for this guard, or a new one that the caller leads."""
    with guard.lock:
        if guard.flight is not None:
            return guard.flight, False
        guard.flight = flight = Flight(key)
        return flight, True


def leave(guard: Guard, flight: Flight) -> None:
    """Ends a heal that the caller led."""
    with guard.lock:
        if guard.flight is flight:
            guard.flight = None
        callbacks, flight.callbacks = flight.callbacks, []
    flight.lock.release()
    for callback in callbacks:
        callback()


def time_left(end: float) -> float:
    """Seconds until `end`."""
    return end - monotonic()
