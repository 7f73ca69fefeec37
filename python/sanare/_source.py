"""Where a function's source stands: the lines of a file, and code objects found by name.

Nothing here imports `inspect`, `ast`, `tokenize` or `linecache`: decorating must stay cheap. A file is read from disk;
`linecache` is asked only when the program has loaded it already (notebooks keep their cells there).
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FunctionType
    from typing import Any

# The `from __future__` flags of a code object: what `compile` must be given to read its source the same way.
FUTURE_FLAGS = 0x1FE0000
HAS_QUALNAME = sys.version_info >= (3, 11)
# Bytes of a source file: more is no program that a person wrote.
LARGEST = 16 * 1024 * 1024

# The text of the two files read last: modules decorate in one go, and an import inside a module is the usual detour.
_recent: dict[str, list[str]] = {}
_imports: dict[str, tuple[list[str], tuple[set[str], set[str]]]] = {}


def decode(data: bytes) -> str:
    """The text of a Python file, line ends as the compiler sees them."""
    if data[:3] == b"\xef\xbb\xbf":
        text = data[3:].decode("utf-8")
    elif b"coding" in b"\n".join(data.replace(b"\r", b"\n").split(b"\n", 2)[:2]):
        import io
        import tokenize

        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    else:
        text = data.decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_regular(path: str, most: int) -> bytes:
    """The bytes of a regular file of at most so many. A pipe under its name would hold up the program for ever."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError("it is no regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError("it is too large")
    return data


def read_text(path: str) -> str | None:
    """The text of a source file on disk, or None when there is none that can be read."""
    if not path or path[0] == "<":
        return None
    try:
        return decode(read_regular(path, LARGEST))
    except (OSError, ValueError, SyntaxError, LookupError):
        return None


def remembered_text(path: str, namespace: dict[str, object] | None = None) -> str | None:
    """Source that is no file: what the interactive shell keeps in `linecache`, or what a zip importer can give."""
    linecache = sys.modules.get("linecache")
    entry = getattr(linecache, "cache", {}).get(path) if linecache is not None else None
    if type(entry) is tuple and len(entry) == 4:
        return "".join(entry[2])
    if path[:1] == "<":
        # Text that was executed in a module's namespace is not that module's own.
        return None
    if os.path.lexists(path):
        # The importer would read the very file that could not be read.
        return None
    loader = (namespace or {}).get("__loader__")
    get_source = getattr(loader, "get_source", None)
    name = (namespace or {}).get("__name__")
    if get_source is None or type(name) is not str:
        return None
    try:
        text = get_source(name)
    except (ImportError, OSError, SyntaxError):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n") if type(text) is str else None


def lines_of(path: str, namespace: dict[str, object] | None = None, *, fresh: bool = False) -> list[str] | None:
    """The lines of a source, without their ends; `fresh` reads again even when the file was just read."""
    lines = None if fresh else _recent.get(path)
    if lines is None:
        text = read_text(path)
        if text is None:
            text = remembered_text(path, namespace)
        if text is None:
            return None
        lines = text.split("\n")
        while len(_recent) > 1:
            del _recent[next(iter(_recent))]
        _recent[path] = lines
    return lines


def imports_of(path: str, lines: list[str]) -> tuple[set[str], set[str]]:
    """`imported_names` of a file, made once for the text read last."""
    kept = _imports.get(path)
    if kept is None or kept[0] is not lines:
        _imports.clear()
        kept = _imports[path] = (lines, imported_names(lines))
    return kept[1]


def imported_names(lines: list[str]) -> tuple[set[str], set[str]]:
    """Names that import statements bind: those at the left margin, and those that stand further in."""
    outer: set[str] = set()
    inner: set[str] = set()
    for place, line in enumerate(lines):
        text = line.lstrip()
        if text[:7] != "import " and text[:5] != "from ":
            continue
        end = place + 1
        while end < len(lines) and end < place + 200 and (text.count("(") > text.count(")") or text[-1:] == "\\"):
            text += "\n" + lines[end]
            end += 1
        try:
            tree: Any = compile(text, "<sanare>", "exec", 0x400, dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        for node in tree.body:
            for alias in getattr(node, "names", ()):
                (inner if line[:1].isspace() else outer).add(alias.asname or alias.name.partition(".")[0])
    return outer, inner - outer


def qualname_of(function: FunctionType) -> str:
    """The qualified name of the code itself: from Python 3.11 on a decorator's `wraps` cannot change it."""
    if HAS_QUALNAME:
        return str(function.__code__.co_qualname)  # type: ignore[attr-defined,unused-ignore]
    name = function.__code__.co_name
    qualname: str = function.__qualname__
    return qualname if qualname.rpartition(".")[2] == name else name


def nested(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Every code object inside `code` with its qualified name, outer before inner."""
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            name = prefix + constant.co_name
            yield name, constant
            # Functions show in the names of what they hold, classes and type parameter scopes as Python spells them.
            is_function = constant.co_flags & 0x2 and not constant.co_name.startswith("<generic parameters")
            if constant.co_name.startswith("<generic parameters"):
                yield from nested(constant, prefix)
            else:
                yield from nested(constant, f"{name}.<locals>." if is_function else f"{name}.")


def same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two code objects do the same, wherever their lines stand."""
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and one.co_freevars == other.co_freevars
        and one.co_cellvars == other.co_cellvars
        and one.co_name == other.co_name
        and one.co_flags == other.co_flags
        and one.co_argcount == other.co_argcount
        and one.co_posonlyargcount == other.co_posonlyargcount
        and one.co_kwonlyargcount == other.co_kwonlyargcount
        and getattr(one, "co_exceptiontable", b"") == getattr(other, "co_exceptiontable", b"")
        and same_constants(one.co_consts, other.co_consts)
    )


def same_constants(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Equal constants of equal types: `1`, `1.0` and `True` differ, `0.0` and `-0.0` too."""
    if len(one) != len(other):
        return False
    for left, right in zip(one, other):
        if type(left) is not type(right):
            return False
        if isinstance(left, type(same_code.__code__)):
            if not same_code(left, right):  # type: ignore[arg-type]
                return False
        elif isinstance(left, tuple):
            if not same_constants(left, right):  # type: ignore[arg-type]
                return False
        elif isinstance(left, frozenset):
            if left != right or sorted(map(repr, left)) != sorted(map(repr, right)):
                return False
        elif left is not right and repr(left) != repr(right):
            return False
    return True


def find_code(module: CodeType, qualname: str, first_line: int = 0) -> CodeType | None:
    """The function `qualname` in a compiled module; of two with that name the one that starts at `first_line`."""
    found = [code for name, code in nested(module) if name == qualname and code.co_flags & 0x2]
    if len(found) > 1:
        exact = [code for code in found if code.co_firstlineno == first_line]
        # Two under one name and neither where it was: nobody can say which is meant.
        return exact[0] if len(exact) == 1 else None
    return found[0] if found else None


def find_running(module: CodeType, qualname: str, running: CodeType) -> CodeType | None:
    """The function in a compiled module that does what `running` does; two equals are told apart by first line."""
    found = [code for name, code in nested(module) if name == qualname and same_code(code, running)]
    if len(found) > 1:
        exact = [code for code in found if code.co_firstlineno == running.co_firstlineno]
        return exact[0] if exact else None
    return found[0] if found else None
