"""What the Rust half is told of a failing call, put together in one place. Values are raw: Rust reads them, bounded."""

from __future__ import annotations

import os
import sys

from sanare import _contract, _flight, _logs, _project, _settings
from sanare._call import Call
from sanare._code import digest_of
from sanare._compile import guard_from_text
from sanare._frames import FRAMES, describe, globals_read, raw
from sanare._source import find_running, read_text, remembered_text, same_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._guard import Guard


def build(call: Call) -> dict[str, Any]:
    """The request of one heal."""
    guard = call.guard
    path = os.path.abspath(guard.path) if guard.path[:1] != "<" else guard.path
    root = _project.root_of(_project.standing_for(guard.path))
    settings = _settings.of_project(root)
    _logs.settle(settings)
    state, first_line, source = origin(call, path, root)
    error = describe(
        call.error,
        call.traceback or raw(call.error, "__traceback__"),
        root=root,
        path=guard.path,
        qualname=guard.qualname,
        code=call.code,
        most=settings.get("evidence.frames", FRAMES),
    )
    return {
        "project_root": root,
        "path": path,
        "function": guard.qualname,
        "module": guard.module,
        "kind": guard.kind,
        "first_line": first_line,
        "origin": state,
        "source": source,
        "code": digest_of(guard),
        "lease_ms": int(_flight.LEASE * 1000),
        "options": options_of(guard.options),
        "error": error,
        "frames": error.pop("frames"),
        "contract": _contract.described(call),
        "arguments": [(name, value, file_of(value)) for name, value in call.arguments.items()],
        "globals": globals_read(call.plain, call.function.__globals__),
        "logs": _logs.lines(),
        "line": call.line(),
        "named": type(call.error) in guard.options.get("heal_on", ()),
        "begun": call.begun,
        "complete": call.complete,
        "unguardable": guard.unguardable,
        "python": _project.python_version(),
        **{kind: list(folders) for kind, folders in _project.library_folders().items()},
        "interpreter": sorted({sys.prefix, sys.base_prefix, sys.exec_prefix}),
        "program": sys.argv[0] if getattr(sys, "argv", None) else "",
    }


def options_of(options: dict[str, Any]) -> dict[str, Any]:
    """The decorator's options as plain data; classes by their dotted names, objects left out."""
    from sanare._frames import dotted

    plain: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("heal_on", "never"):
            plain[name] = [dotted(one) for one in value]
        elif name == "examples":
            plain[name] = [one for one in value if type(one) is str]
        elif name == "verify":
            plain[name] = [list(command) for command in value]
        elif name == "proposers":
            plain[name] = list(value)
        elif name != "contract":
            plain[name] = value
    return plain


def file_of(value: Any) -> str | None:
    """The path of the regular file that an argument names, or None. A pipe or device is never opened, nor any path
    that is only looked at."""
    kind = type(value)
    if kind is str:
        text = value
    elif kind.__module__ in ("pathlib", "pathlib._local") and kind.__name__ in ("PosixPath", "WindowsPath"):
        text = str(value)
    else:
        return None
    if not text or len(text) > 4096 or "\0" in text or "\n" in text:
        return None
    try:
        return os.path.abspath(text) if os.path.isfile(text) else None
    except (OSError, ValueError):
        return None


def origin(call: Call, path: str, root: str) -> tuple[str, int, str]:
    """Where the running code stands now: a state, its first line in the source of today, and that source.

    `file`: in a file of the project. `memory`: in a source that is no file, or in one that may not be written.
    `changed`: the source of today holds another function of this name. `library`: not the owner's file.
    `none`: no source (C102, C103).
    """
    guard = call.guard
    state = "file"
    text = _text_of_today(path)
    if text is None:
        text = remembered_text(guard.path, call.function.__globals__)
        state = "memory"
    if text is None:
        return "none", 0, ""
    library = _project.is_library(guard.path) if state == "memory" else not _project.is_project(path, root)
    if library:
        return "library", guard.original.co_firstlineno, text
    line = _place_in(guard, text)
    if not line and guard.only_in_memory is not None:
        # An earlier repair stayed in memory: its text is the one that runs.
        text, state = guard.only_in_memory, "memory"
        line = _place_in(guard, text)
    return (state, line, text) if line else ("changed", 0, text)


def _place_in(guard: Guard, text: str) -> int:
    """The first line of the running code in this text; 0 when it is not there."""
    located = guard.located
    if located is None or located[0] is not guard.current or located[1] is not text:
        located = guard.located = (guard.current, text, locate(guard, text))
    return located[2]


# The files read last, with what the file system says of them: a function that fails in a loop reads its file once.
_texts: dict[str, tuple[tuple[int, ...], str]] = {}


def _text_of_today(path: str) -> str | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    sign = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
    kept = _texts.get(path)
    if kept is not None and kept[0] == sign:
        return kept[1]
    text = read_text(path)
    if text is not None:
        while len(_texts) > 3:
            _texts.pop(next(iter(_texts)), None)
        _texts[path] = (sign, text)
    return text


def locate(guard: Guard, text: str) -> int:
    """The first line of the running code in a text; 0 when it is not there."""
    code, qualname, path = guard.current, guard.qualname, guard.path
    # The usual case is an untouched file: the lines that were proved at decoration, at the same place.
    if guard.place is not None and code is guard.original and guard.place.holds(text.split("\n"), code):
        return code.co_firstlineno
    try:
        # Else the function alone is compiled where it was.
        guard_from_text(text, code, qualname, {})
        return code.co_firstlineno
    except Exception:
        pass
    try:
        module: Any = compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return 0
    found = find_running(module, qualname, code)
    return found.co_firstlineno if found is not None and same_code(found, code) else 0
