"""The calling frame, recorded because the program says so (C47)."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def capture(label: str | None = None) -> str | None:
    """Records the variables of the calling function, bounded and redacted; gives the record's id.

    Never raises, calls no model and changes nothing. None: it could not be recorded, and the log says why.
    """
    try:
        return _capture(label, sys._getframe(1))
    except Exception as trouble:
        try:
            from sanare._log import WARNING, say

            say(WARNING, f"nothing was captured: {type(trouble).__name__}: {str(trouble)[:200]}")
        except Exception:
            pass
        return None


def _capture(label: object, frame: FrameType) -> str | None:
    from sanare import _logs, _project, _settings, _state
    from sanare._frames import globals_read, locals_of, qualname_in, statement_at
    from sanare._native import native

    if _state.is_busy():
        return None
    file = frame.f_code.co_filename
    path = _project.standing_for(file)
    if _project.is_library(file):
        path = os.path.join(os.getcwd(), "_")
    root = _project.root_of(path)
    _logs.settle(_settings.of_project(root))
    name, shown = qualname_in(frame.f_code), _project.relative(file, root)
    described: dict[str, Any] = {
        "function": name,
        "file": shown,
        "line": frame.f_lineno,
        "statement": statement_at(file, frame.f_lineno, frame.f_globals),
        "locals": locals_of(frame) if frame.f_code.co_name != "<module>" else {},
    }
    identity, trouble = native().capture(
        {
            "project_root": root,
            "label": label[:200] if type(label) is str else "",
            "function": name,
            "path": shown,
            "line": frame.f_lineno,
            "frames": [described],
            "globals": globals_read(frame.f_code, frame.f_globals),
            "logs": _logs.lines(),
            "python": _project.python_version(),
        }
    )
    if trouble:
        from sanare._log import WARNING, say

        say(WARNING, f"captured as {identity}, but its file could not be written: {trouble}")
    return str(identity)
