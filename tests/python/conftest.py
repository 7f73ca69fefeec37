"""Fixtures: a project in a temporary folder, modules written into it and imported from there."""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

_numbers = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is put into the home folder of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


class Project:
    """A folder with a project mark, whose modules can be imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").write_text('[project]\nname = "probe"\nversion = "0"\n')

    def write(self, text: str, name: str | None = None) -> Path:
        path = self.folder / f"{name or f'probe_{next(_numbers)}'}.py"
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def load(self, text: str, name: str | None = None) -> ModuleType:
        path = self.write(text, name)
        importlib.invalidate_caches()
        return importlib.import_module(path.stem)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield Project(folder)
    for name in set(sys.modules) - before:
        if name.startswith("probe"):
            del sys.modules[name]


@pytest.fixture
def load(project: Project) -> Callable[..., ModuleType]:
    return project.load
