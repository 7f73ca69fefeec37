"""What an exception says and where it passed, read without running any of the owner's code (C31, C33)."""

from __future__ import annotations

import builtins
import os

from sanare import _project
from sanare._errors import HealRequested
from sanare._source import HAS_QUALNAME, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

CHAIN = 5
# Characters of a message.
LONGEST = 65_536
FRAMES = 8
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
_C_METHOD = type(object.__str__)


def of_class(kind: type, name: str) -> Any:
    """An attribute of a class as `type` itself gives it, whatever the metaclass says."""
    return type.__getattribute__(kind, name)


def dotted(kind: type) -> str:
    """`module.QualifiedName` of a class, built-in ones without their module."""
    module, name = of_class(kind, "__module__"), of_class(kind, "__qualname__")
    return str(name) if module == "builtins" else f"{module}.{name}"


def raw(error: BaseException, name: str) -> Any:
    """An attribute of an exception as `BaseException` itself keeps it, whatever the class put in its place."""
    descriptor: Any = BaseException.__dict__[name]
    return descriptor.__get__(error)


def mro(kind: type) -> tuple[type, ...]:
    """A class with its bases, without asking its metaclass."""
    descriptor: Any = type.__dict__["__mro__"]
    found: tuple[type, ...] = descriptor.__get__(kind)
    return found


def describe(
    error: BaseException,
    traceback: TracebackType | None,
    *,
    root: str,
    path: str,
    qualname: str,
    code: CodeType | None,
    most: int = FRAMES,
) -> dict[str, Any]:
    """One exception with its causes and the project frames that it passed, innermost last. Values are raw."""
    seen: set[int] = set()
    described = _one(error, seen, 0)
    entries = _entries(traceback)
    described["frames"] = _frames(entries, root, path, qualname, code, most)
    described["places"] = _places(entries, root)
    described["deliberate"] = _is_deliberate(entries, root)
    described["group"] = _group(error)
    return described


def _one(error: BaseException, seen: set[int], depth: int) -> dict[str, Any]:
    seen.add(id(error))
    kind = type(error)
    given = cause = raw(error, "__cause__")
    if cause is None and not raw(error, "__suppress_context__"):
        cause = raw(error, "__context__")
    inner = None
    if cause is not None and id(cause) not in seen and depth < CHAIN:
        inner = _one(cause, seen, depth + 1)
    return {
        "class": dotted(kind),
        "bases": [dotted(base) for base in mro(kind)[1:] if base is not object],
        "message": message_of(error),
        "args": _args(error),
        "errno": _errno(error),
        "status": _status(error),
        "cause": inner,
        "explicit": given is not None,
    }


def message_of(error: BaseException) -> str:
    """The exception's text: by its own `__str__` where that is written in C, else from its arguments."""
    args = raw(error, "args")
    plain = all(type(item) in _PLAIN for item in args)
    for base in mro(type(error)):
        method = of_class(base, "__dict__").get("__str__")
        if method is None:
            continue
        quick = plain or of_class(base, "__module__") != "builtins"
        # What holds a long text is not asked: a `KeyError` would make a second one of it.
        if type(method) is _C_METHOD and quick and not any(map(_is_long, args)) and _names(error):
            try:
                text = method(error)
                return text[:LONGEST] if type(text) is str else ""
            except Exception:
                break
        break
    if len(args) == 1 and type(args[0]) is str:
        text = args[0]
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}… <{len(text)} characters>"
    return ", ".join(_short(item) for item in args[:16])[:LONGEST]


def _is_long(item: object) -> bool:
    return type(item) in (str, bytes) and len(item) > LONGEST  # type: ignore[arg-type]


def _names(error: BaseException) -> bool:
    """Whether an operating system error names only plain files: its text would call `repr` of anything else."""
    if not issubclass(type(error), OSError):
        return True
    names: Any = [OSError.__dict__[name] for name in ("filename", "filename2")]
    return all(type(name.__get__(error)) in _PLAIN for name in names)


def _short(item: object) -> str:
    if type(item) in _PLAIN:
        return repr(item[:4096] if type(item) in (str, bytes) else item)  # type: ignore[index]
    return f"<{dotted(type(item))}>"


def _errno(error: BaseException) -> int | None:
    if issubclass(type(error), OSError):
        descriptor: Any = OSError.__dict__["errno"]
        number = descriptor.__get__(error)
        return number if type(number) is int else None
    return None


def instance_dict(value: object) -> dict[str, Any]:
    """The raw instance dictionary, without asking the class."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def _status(error: BaseException) -> int | None:
    """An HTTP status that the exception carries as plain data."""
    own = instance_dict(error)
    response = own.get("response")
    places = [own.get(name) for name in ("status_code", "status", "http_status", "code")]
    if type(response) is dict:
        metadata = response.get("ResponseMetadata")
        places.append(metadata.get("HTTPStatusCode") if type(metadata) is dict else None)
    elif response is not None:
        inner = instance_dict(response)
        places.extend(inner.get(name) for name in ("status_code", "status"))
    for value in places:
        if type(value) is int and 100 <= value <= 599:
            return value
    return None


def _args(error: BaseException) -> tuple[Any, ...]:
    """The arguments of an exception; what `sanare.request` was given in detail stands beside its reason."""
    args: tuple[Any, ...] = raw(error, "args")
    if type(error) is HealRequested and error.details:
        return (*args, error.details)
    return args


def _group(error: BaseException) -> str:
    """Empty for a plain exception; `uniform` or `mixed` for a group of exceptions (C30)."""
    group: Any = getattr(builtins, "BaseExceptionGroup", None)
    if group is None or not issubclass(type(error), group):
        return ""
    leaves: list[BaseException] = []
    stack: list[tuple[BaseException, int]] = [(error, 0)]
    while stack and len(leaves) < 1000:
        one, depth = stack.pop()
        if issubclass(type(one), group) and depth < 64:
            stack.extend((part, depth + 1) for part in group.exceptions.__get__(one))
        else:
            leaves.append(one)
    origins = set()
    for leaf in leaves:
        entries = _entries(raw(leaf, "__traceback__"))
        last = entries[-1] if entries else None
        origins.add((type(leaf), last[0].f_code.co_filename if last else "", last[1] if last else 0))
    return "uniform" if len(origins) == 1 else "mixed"


def _entries(traceback: TracebackType | None) -> list[tuple[Any, int, int]]:
    entries = []
    while traceback is not None:
        entries.append((traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti))
        traceback = traceback.tb_next
    return entries


def _is_own(filename: str) -> bool:
    return filename.startswith(_project._OWN)


def qualname_in(code: CodeType) -> str:
    """A code object's name as people write it."""
    return str(code.co_qualname) if HAS_QUALNAME else code.co_name  # type: ignore[attr-defined,unused-ignore]


def _frames(
    entries: list[tuple[Any, int, int]], root: str, path: str, qualname: str, code: CodeType | None, most: int
) -> list[dict[str, Any]]:
    """At most so many project frames: always the target's and the deepest, then those between, inner first."""
    mine = []
    target = None
    for place, (frame, _, _) in enumerate(entries):
        if target is None and code is not None and frame.f_code is code:
            target = place
            mine.append(place)
        elif frame.f_code.co_filename == path or _project.is_project(frame.f_code.co_filename, root):
            mine.append(place)
    chosen = set(mine[-most:])
    if target is not None and target not in chosen:
        chosen.discard(min(chosen))
        chosen.add(target)
    described = []
    for place in sorted(chosen):
        frame, line, _ = entries[place]
        file = frame.f_code.co_filename
        described.append(
            {
                "function": qualname if place == target else qualname_in(frame.f_code),
                "file": _project.relative(file, root),
                "line": line if file == path else 0,
                "statement": statement_at(file, line, frame.f_globals),
                "locals": locals_of(frame),
            }
        )
    return described


def locals_of(frame: Any) -> dict[str, Any]:
    """The local variables of a frame, without what the guard keeps there."""
    return {name: value for name, value in frame.f_locals.items() if name[:9] != "__sanare_"}


_DATA = _PLAIN | {list, dict, tuple, set, frozenset, bytearray}


def globals_read(code: CodeType, namespace: dict[str, Any]) -> list[tuple[str, Any]]:
    """Module names that the code reads and that hold plain data, at most 64 (C31)."""
    found: dict[str, Any] = {}
    stack = [code]
    while stack and len(found) < 64:
        one = stack.pop()
        for name in one.co_names:
            value = namespace.get(name, stack)
            if type(value) in _DATA and value is not stack and name[:2] != "__":
                found[name] = value
        stack.extend(constant for constant in one.co_consts if isinstance(constant, type(code)))
    return list(found.items())


def statement_at(path: str, line: int, namespace: dict[str, Any] | None = None) -> str:
    """The line of source where a frame stood; empty when it cannot be had."""
    lines = lines_of(path, namespace)
    if lines is None or not 1 <= line <= len(lines):
        return ""
    return lines[line - 1].strip()[:500]


def _places(entries: list[tuple[Any, int, int]], root: str) -> list[str]:
    """All frames as `file:line function`, the first and last 32, none of Sanare's."""
    shown = [
        f"{_project.relative(frame.f_code.co_filename, root)}:{line} {qualname_in(frame.f_code)}"
        for frame, line, _ in entries[:32] + entries[max(32, len(entries) - 32) :]
        if not _is_own(frame.f_code.co_filename)
    ]
    return shown


def _is_deliberate(entries: list[tuple[Any, int, int]], root: str) -> bool:
    """Whether the owner's code raised this itself: the innermost frame is the owner's and stands at a `raise`."""
    from opcode import opname

    entries = [entry for entry in entries if not _is_own(entry[0].f_code.co_filename)]
    if not entries:
        return False
    frame, _, at = entries[-1]
    code = frame.f_code
    if not (0 <= at < len(code.co_code)) or opname[code.co_code[at]] != "RAISE_VARARGS":
        return False
    return not _project.is_library(code.co_filename) and not os.path.isdir(code.co_filename)
