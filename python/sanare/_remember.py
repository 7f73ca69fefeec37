"""Good calls that are remembered: their shapes, taken in Rust right after they returned (C48), and where the owner wants
that the calls themselves (C49)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._guard import Guard


# Projects whose owner was told that calls cannot be kept.
_told: set[str] = set()


def look(guard: Guard, arguments: dict[str, Any], result: Any, *, generator: bool) -> None:
    """Hands one good call over. A function that is no file's, or not the owner's, is not remembered."""
    from sanare import _logs, _project, _settings, _state
    from sanare._native import native
    from sanare._request import file_of, options_of
    from sanare._source import read_text, remembered_text

    if _state.is_busy():
        return
    if guard.path[:1] == "<":
        return
    path = os.path.abspath(guard.path)
    if _project.is_library(path):
        return
    # A notebook's cell has a path in a folder that never was: what it belongs to is the working folder.
    root = _project.root_of(_project.standing_for(guard.path))
    settings = _settings.of_project(root)
    _logs.settle(settings)
    given = [(name, value, file_of(value)) for name, value in arguments.items()]
    answer = native().remember(
        {
            "project_root": root,
            "path": path,
            "function": guard.qualname,
            "source": read_text(path) or remembered_text(guard.path) or "",
            "options": options_of(guard.options),
            "arguments": given,
            "result": None if generator else result,
            "has_result": not generator,
            "whole": _whole(guard, settings, given, result),
        }
    )
    confirms, not_kept = answer if type(answer) is tuple else (None, None)
    if not_kept and root not in _told:
        from sanare._log import WARNING, say

        _told.add(root)
        say(WARNING, f"calls are not remembered, since they cannot be sealed: {not_kept}")
    if type(confirms) is str and _is_current(guard, path):
        native().confirm(root, confirms)


def _whole(
    guard: Guard, settings: dict[str, Any], given: list[tuple[str, Any, str | None]], result: Any
) -> bytes | None:
    # Broken settings are none: they might have forbidden it.
    if (
        guard.kind not in ("function", "coroutine")
        or not settings
        or guard.options.get("remember", settings.get("heal.remember")) != "calls"
    ):
        return None
    from sanare import _whole

    # Arguments without names did not bind, and a call that cannot be made again is no example.
    if [name for name, _, _ in given] != list(guard.parameters):
        return None
    return _whole.stored(given, result, int(settings.get("heal.memory.call_size", 0)))


def _is_current(guard: Guard, path: str) -> bool:
    """Whether the running code is what the file holds now: only then does its return say anything about a repair."""
    from sanare._request import locate
    from sanare._source import read_text

    text = read_text(path)
    return text is not None and locate(guard, text) > 0
