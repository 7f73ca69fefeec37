"""What a person decides: approve, deny, take back; and patches that nobody applies by themselves (C97, C107, C131)."""

from __future__ import annotations

import os

from sanare._errors import Error, SettingsError
from sanare._report import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def approve(incident: str | Report, *, reason: str = "", project: str | os.PathLike[str] | None = None) -> Report:
    """Applies what an incident proposes, exactly as it was shown, or not at all: then `sanare.Error` says why.

    The file is written; programs that run take the repair over at their next failure, new ones at their start.
    `project` is the folder whose store has the incident; without it the projects that this process knows are asked.
    """
    id = _id(incident)
    return _ask(project, lambda native, root: native.answer(root, id, True, reason))


def deny(incident: str | Report, *, reason: str = "", project: str | os.PathLike[str] | None = None) -> Report:
    """Closes what an incident proposes; nothing is changed."""
    id = _id(incident)
    return _ask(project, lambda native, root: native.answer(root, id, False, reason))


def revert(incident: str | Report, *, project: str | os.PathLike[str] | None = None) -> Report:
    """Takes an applied repair back: its own lines, whatever else changed in the file since."""
    id = _id(incident)
    return _ask(project, lambda native, root: native.revert(root, id))


def save_patch(
    path: str | os.PathLike[str],
    new_text: str,
    *,
    reason: str = "",
    project: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> tuple[str, str]:
    """Writes a patch for a UTF-8 text file of the project, with a JSON record beside it; gives both paths.

    The file itself is not touched. `folder` is where the two go, `.sanare/patches` in the project without it.
    """
    from sanare._native import native
    from sanare._project import root_of

    given = os.path.abspath(os.fspath(path))
    root = os.fspath(project) if project is not None else root_of(given)
    target = os.fspath(folder) if folder is not None else os.path.join(root, ".sanare", "patches")
    saved = native().save_patch(root, target, given, new_text, reason)
    if type(saved) is tuple:
        raise Error(saved[1])
    return saved[0], saved[1]


def _id(incident: str | Report) -> str:
    if isinstance(incident, str):
        return incident
    if not isinstance(incident, Report):
        raise Error(f"an incident is named by its id, a text, or by its report, not by {type(incident).__name__}")
    return str(incident.id)


def _ask(project: str | os.PathLike[str] | None, question: Callable[[Any, str], Any]) -> Report:
    from sanare._native import native
    from sanare._project import roots

    why = "nothing was recorded here"
    for root in [os.fspath(project)] if project is not None else roots():
        answer = question(native(), root)
        if type(answer) is dict:
            return Report(answer)
        kind, why = answer
        if kind == "settings":
            raise SettingsError(why)
        if kind != "unknown":
            raise Error(why)
    raise Error(why)
