"""What this process is doing right now: threads inside a heal, and whether this is a trial's child."""

from __future__ import annotations

from _thread import get_ident

busy: set[int] = set()
in_child = False


def is_busy() -> bool:
    """Whether the current thread is healing already: what fails meanwhile is part of that heal."""
    return in_child or get_ident() in busy
