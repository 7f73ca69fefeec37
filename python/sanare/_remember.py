"""Good calls that are remembered: their shapes, taken in Rust right after they returned (C48)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._guard import Guard


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
    _logs.settle(_settings.of_project(root))
    confirms = native().remember(
        {
            "project_root": root,
            "path": path,
            "function": guard.qualname,
            "source": read_text(path) or remembered_text(guard.path) or "",
            "options": options_of(guard.options),
            "arguments": [(name, value, file_of(value)) for name, value in arguments.items()],
            "result": None if generator else result,
            "has_result": not generator,
        }
    )
    if type(confirms) is str and _is_current(guard, path):
        native().confirm(root, confirms)


def _is_current(guard: Guard, path: str) -> bool:
    """Whether the running code is what the file holds now: only then does its return say anything about a repair."""
    from sanare._request import _locate
    from sanare._source import read_text

    text = read_text(path)
    return text is not None and _locate(text, guard.current, guard.qualname, guard.path) > 0
