"""One drift case in a project of its own: `python -m sanare._case DIR --out FILE`.

DIR holds `loader.py` with a function `load`, an input on which it works (`old.*`), one on which it raises (`new.*`) and
`task.toml` or `case.toml` with the kind of input. The loader is copied into a temporary project, imported from there,
decorated, and called with the old and then the new input. With `--work FOLDER` the project and its store are made there
and stay. Exit 0 and FILE (without `--out` the loader itself): healed.
Exit 3: refused, with the reason as the last line. Anything else: an error.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(argv: list[str]) -> int:
    """Runs one case."""
    out = None
    rest = list(argv)
    if "--out" in rest:
        place = rest.index("--out")
        out = rest[place + 1] if place + 1 < len(rest) else None
        del rest[place : place + 2]
    work = None
    if "--work" in rest:
        place = rest.index("--work")
        work = rest[place + 1] if place + 1 < len(rest) else None
        del rest[place : place + 2]
    if len(rest) != 1 or not Path(rest[0]).is_dir():
        print("usage: python -m sanare._case DIR [--out FILE] [--work FOLDER]", file=sys.stderr)
        return 2
    if work is not None:
        home = Path(os.path.realpath(work))
        home.mkdir()
        case = Path(rest[0]).resolve()
        return run(case, home / "project", Path(out).resolve() if out else case / "loader.py")
    with tempfile.TemporaryDirectory(prefix="sanare-case-") as folder:
        project = Path(os.path.realpath(folder)) / "project"
        case = Path(rest[0]).resolve()
        return run(case, project, Path(out).resolve() if out else case / "loader.py")


def run(case: Path, project: Path, out: Path) -> int:
    """Heals the case's loader in `project`."""
    import sanare

    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "case"\nversion = "0"\n', encoding="utf-8")
    # The bytes alone: a case folder may be read-only.
    shutil.copyfile(case / "loader.py", project / "loader.py")
    # The data does not belong to the program: it lies beside the project, as downloads do.
    data = project.parent / "data"
    data.mkdir()
    for name in (*_inputs(case, "old"), *_inputs(case, "new")):
        shutil.copyfile(case / name, data / name)
    os.chdir(project)
    sys.path.insert(0, str(project))
    import importlib

    loader: Any = importlib.import_module("loader")
    kind = _task(case, "input", "path")
    old, new = (data / _inputs(case, which)[0] for which in ("old", "new"))
    function = getattr(loader, _task(case, "function", "load"))
    try:
        worked = function(_argument(old, kind))
    except Exception as error:
        print(f"the loader fails on its old input: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    # The old input is one on which the loader must go on giving what it gave: the owner's own example.
    example = sanare.Example([_argument(old, kind)], returns=worked)
    more: dict[str, Any] = {}
    if _raises_at_its_end(function, _argument(new, kind)):
        # Such a class passes unless its owner names it (C25). The failure of a case is named by the case.
        more["heal_on"] = StopIteration
    load = sanare.heal(mode="auto", examples=[example], **more)(function)
    load(_argument(old, kind))
    before = (project / "loader.py").read_bytes()
    try:
        load(_argument(new, kind))
    except Exception as error:
        report = sanare.report(error)
        print(f"{type(error).__name__}: {str(error)[:300]}")
        if report is None:
            print(f"{type(error).__name__}: an exception of this class is never healed")
            return 3
        fields = report.to_dict()
        if fields.get("reason") == "internal":
            print(fields.get("summary", ""), file=sys.stderr)
            return 1
        if (project / "loader.py").read_bytes() != before and fields.get("status") == "applied":
            return _healed(project, out)
        word = fields.get("reason") or fields.get("status") or "refused"
        print(f"{word}: {' '.join(str(fields.get('summary') or 'a repair waits for a person').split())}")
        return 3
    if (project / "loader.py").read_bytes() == before:
        print("the loader does not fail on its new input", file=sys.stderr)
        return 1
    return _healed(project, out)


def _raises_at_its_end(function: Any, argument: Any) -> bool:
    try:
        function(argument)
    except StopIteration:
        return True
    except Exception:
        pass
    return False


def _healed(project: Path, out: Path) -> int:
    shutil.copyfile(project / "loader.py", out)
    return 0


def _inputs(case: Path, which: str) -> list[str]:
    found = sorted(path.name for path in case.iterdir() if path.name.startswith(f"{which}.") and path.is_file())
    if not found:
        raise SystemExit(f"{case}: no input {which}.*")
    return found


def _task(case: Path, wanted: str, default: str) -> str:
    """One line of the case's description: a TOML reader comes with Python 3.11 only."""
    for name in ("task.toml", "case.toml"):
        if not (case / name).is_file():
            continue
        for line in (case / name).read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() == wanted:
                return value.strip().strip("\"'")
    return default


def _argument(path: Path, kind: str) -> Any:
    if kind == "object":
        import json

        return json.loads(path.read_text(encoding="utf-8-sig"))
    if kind == "factory":
        namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
        return namespace["make"]()
    return str(path)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
