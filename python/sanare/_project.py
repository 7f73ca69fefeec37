"""Which files are the owner's: the project around a source file, and what lies outside it (C14, C101)."""

from __future__ import annotations

import os
import sys

_MARKS = (".git", "pyproject.toml", "setup.cfg", "setup.py")
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_roots: dict[str, str] = {}
_libraries: tuple[str, ...] = ()


def root_of(path: str) -> str:
    """The project folder of a source file: the nearest with Sanare's settings, else with a project's marks."""
    folder = os.path.dirname(path)
    known = _roots.get(folder)
    if known is None:
        known = _roots[folder] = _search(folder)
    return known


def _search(folder: str) -> str:
    home = os.path.expanduser("~")
    marked = ""
    at = folder
    while at:
        if os.path.isfile(os.path.join(at, "sanare.toml")) or _names_us(os.path.join(at, "pyproject.toml")):
            return at
        if not marked and any(os.path.exists(os.path.join(at, mark)) for mark in _MARKS):
            marked = at
        above = os.path.dirname(at)
        if at == home or above == at or os.path.exists(os.path.join(at, ".git")):
            break
        at = above
    return marked or folder


def _names_us(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"[tool.sanare" in file.read(1 << 20)
    except OSError:
        return False


def library_folders() -> tuple[str, ...]:
    """Folders whose files belong to the interpreter, to installed packages, or to us."""
    global _libraries
    if not _libraries:
        import sysconfig

        paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        folders = {os.path.realpath(path) + os.sep for path in paths if path}
        _libraries = (*sorted(folders), _OWN)
    return _libraries


def is_library(path: str) -> bool:
    """Whether a file is not the owner's: standard library, installed package, Sanare, or no file at all."""
    if not path or path[0] == "<":
        return path[:8] == "<frozen " or path == "<sanare>"
    real = os.path.realpath(path)
    return real.startswith(library_folders()) or f"{os.sep}site-packages{os.sep}" in real or _in_zip(real)


def _in_zip(path: str) -> bool:
    return not os.path.exists(path) and f".zip{os.sep}" in path


def is_project(path: str, root: str) -> bool:
    """Whether a file lies in the project and is the owner's own."""
    return not is_library(path) and os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))


def relative(path: str, root: str) -> str:
    """A file as records name it: relative to the project, with `/`; outside it only the last parts."""
    real, base = os.path.realpath(path), os.path.join(os.path.realpath(root), "")
    if real.startswith(base):
        return real[len(base) :].replace(os.sep, "/")
    return "/".join(path.replace(os.sep, "/").split("/")[-2:])


def python_version() -> tuple[int, int]:
    """Major and minor version of the running interpreter."""
    return sys.version_info[0], sys.version_info[1]
