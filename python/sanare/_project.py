"""Which files are the owner's: the project around a source file, and what lies outside it (C14, C101)."""

from __future__ import annotations

import os
import sys

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_roots: dict[str, str] = {}
_libraries: dict[str, tuple[str, ...]] = {}


def root_of(path: str) -> str:
    """The project folder of a source file."""
    folder = os.path.dirname(path)
    known = _roots.get(folder)
    if known is None:
        from sanare._native import native

        known = _roots[folder] = native().project_of(path)[0]
    return known


def roots() -> list[str]:
    """The projects that this process knows: those of its decorated functions' files, and the working folder's."""
    known = [root for root in _roots.values() if os.path.isdir(root)]
    try:
        known.append(root_of(os.path.join(os.getcwd(), "_")))
    except (OSError, AttributeError):
        pass
    return sorted(set(known))


def standing_for(path: str) -> str:
    """The path that tells a source's project: its own, or for what is no file one in the working folder."""
    if path[:1] != "<":
        path = os.path.abspath(path)
        if os.path.isdir(os.path.dirname(path)):
            return path
        # What lies in an archive has the archive's project; a notebook names cells in a folder that never was.
        above = path
        while not os.path.exists(above) and os.path.dirname(above) != above:
            above = os.path.dirname(above)
        if os.path.isfile(above):
            return above
    return os.path.join(os.getcwd(), "_")


def library_folders() -> dict[str, tuple[str, ...]]:
    """Folders whose files are not the owner's: `stdlib` and `packages`.

    Where they lie is known without `sysconfig`, which reads all of Python's build settings for it.
    """
    if not _libraries:
        free_threaded = "t" if "t" in getattr(sys, "abiflags", "") else ""
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}{free_threaded}"
        bases = {sys.base_prefix, sys.base_exec_prefix}
        stdlib = {os.path.join(base, lib, version) for base in bases for lib in (sys.platlibdir, "lib")}
        stdlib.add(os.path.dirname(getattr(os, "__file__", "") or ""))
        site = sys.modules.get("site")
        packages = set(site.getsitepackages()) if site is not None else set()
        packages |= {path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")}
        for kind, found in (("stdlib", stdlib), ("packages", packages)):
            _libraries[kind] = tuple(sorted({os.path.realpath(path) + os.sep for path in found if path}))
    return _libraries


# Verdicts on files that tracebacks named: links are not followed anew for every failure.
_verdicts: dict[str, bool] = {}
_real: dict[str, str] = {}


def real_path(path: str) -> str:
    """`os.path.realpath`, asked once a path."""
    found = _real.get(path)
    if found is None:
        if len(_real) > 2000:
            _real.clear()
        found = _real[path] = os.path.realpath(path)
    return found


def is_library(path: str) -> bool:
    """Whether a file is not the owner's: standard library, installed package, Sanare, or no file at all."""
    verdict = _verdicts.get(path)
    if verdict is None:
        if len(_verdicts) > 2000:
            _verdicts.clear()
        verdict = _verdicts[path] = _is_library(path)
    return verdict


def _is_library(path: str) -> bool:
    if not path or path[0] == "<":
        return path[:8] == "<frozen " or path == "<sanare>"
    real = real_path(path)
    folders = library_folders()
    return (
        real.startswith((*folders["stdlib"], *folders["packages"], _OWN))
        or f"{os.sep}site-packages{os.sep}" in real
        or _in_zip(real)
    )


def _in_zip(path: str) -> bool:
    return not os.path.exists(path) and f".zip{os.sep}" in path


def is_project(path: str, root: str) -> bool:
    """Whether a file lies in the project and is the owner's own."""
    return not is_library(path) and real_path(path).startswith(os.path.join(real_path(root), ""))


def relative(path: str, root: str) -> str:
    """A file as records name it: relative to the project, with `/`; outside it only the last parts."""
    real, base = real_path(path), os.path.join(real_path(root), "")
    if real.startswith(base):
        return real[len(base) :].replace(os.sep, "/")
    return "/".join(path.replace(os.sep, "/").split("/")[-2:])


def python_version() -> tuple[int, int]:
    """Major and minor version of the running interpreter."""
    return sys.version_info[0], sys.version_info[1]
