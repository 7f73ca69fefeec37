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
    from sanare._source import read_text

    if _state.is_busy():
        return
    if guard.path[:1] == "<":
        return
    path = os.path.abspath(guard.path)
    if _project.is_library(path):
        return
    _logs.settle(_settings.of_project(_project.root_of(path)))
    native().remember(
        {
            "project_root": _project.root_of(path),
            "path": path,
            "function": guard.qualname,
            "source": read_text(path) or "",
            "options": options_of(guard.options),
            "arguments": [(name, value, file_of(value)) for name, value in arguments.items()],
            "result": None if generator else result,
            "has_result": not generator,
        }
    )
