"""Callbacks of the program: told when an incident ends, and around a swap (C12)."""

from __future__ import annotations

from _thread import get_ident

from sanare import _state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

EVENTS = ("closed", "waiting", "applied", "before_swap", "after_swap")
_listeners: list[tuple[Callable[[str, Any], object], frozenset[str]]] = []


def listen(callback: Callable[[str, Any], object], events: Iterable[str] = ("closed",)) -> Callable[[], None]:
    """Calls `callback(event, about)`; the answer is a function that ends it.

    `closed`, `waiting` and `applied` come with the `Report`, once an incident. `before_swap` and `after_swap` come with
    each function object whose code changes, for programs that must register it anew. In a heal of `async def` the swap
    happens in a worker thread, and these two are called there. An error in a callback is logged and changes nothing.
    """
    from sanare._errors import SettingsError
    from sanare._options import nearest

    if not callable(callback):
        raise SettingsError(f"listen takes a callable, not {type(callback).__name__}")
    if type(events) is str:
        raise SettingsError(f'listen takes several events\nhint: write events=("{events}",)')
    wanted = tuple(events)
    for event in wanted:
        if event not in EVENTS:
            near = nearest(event, EVENTS) if type(event) is str else ""
            hint = f"did you mean `{near}`?" if near else f"the events are {', '.join(EVENTS)}"
            raise SettingsError(f"listen knows no event {event!r:.60}\nhint: {hint}")
    entry = (callback, frozenset(wanted))
    _listeners.append(entry)

    def stop() -> None:
        for place, one in enumerate(_listeners):
            if one is entry:
                del _listeners[place]
                return

    return stop


def tell(event: str, about: Any) -> None:
    """Calls whoever listens. What fails in a listener is not healed: its end would call the listener again."""
    waiting = [callback for callback, events in list(_listeners) if event in events]
    ident = get_ident()
    healing = ident in _state.busy
    _state.busy.add(ident)
    try:
        for callback in waiting:
            try:
                callback(event, about)
            except Exception as trouble:
                from sanare._log import ERROR, say

                name = getattr(callback, "__qualname__", type(callback).__name__)
                say(ERROR, f"a listener failed: {name} raised {type(trouble).__name__}; nothing else changes")
    finally:
        if not healing:
            _state.busy.discard(ident)


def is_awaited(event: str) -> bool:
    """Whether anybody listens to it."""
    return any(event in events for _, events in _listeners)
