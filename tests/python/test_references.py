"""Every reference sees the repair, nothing of a module runs twice, and what cannot be reached is left as it was."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
import sanare

LOADER = """
import csv, io, sanare
HEAL
def load(text):
    total = 0
    for row in csv.DictReader(io.StringIO(text)):
        total += int(row["amount"])
    return total
"""
OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
NEW = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"


def loader(heal="@sanare.heal", name="load"):
    return LOADER.replace("HEAL", heal).replace("def load", f"def {name}").lstrip("\n")


def python(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    here = Path(sanare.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_f09_f10_f27_every_reference_sees_the_repair(project):
    module = project.load(
        """
        import csv, enum, io, sanare
        runs = globals().get("runs", 0) + 1
        class Kind(enum.Enum):
            SALE = 1
        class Base:
            def load(self, text):
                return 0
        class Loader(Base):
            @sanare.heal(rerun="always")
            def load(self, text):
                total = super().load(text)
                total = 0
                for row in csv.DictReader(io.StringIO(text)):
                    total += int(row["amount"])
                return total
        """,
        "probe_sales",
    )
    (project.folder / "probe_package").mkdir()
    (project.folder / "probe_package" / "__init__.py").write_text(
        "from probe_sales import Loader\nload = Loader.load\n"
    )
    package = __import__("probe_package")
    kept, unbound, bound = module.Loader(), module.Loader.load, module.Loader().load
    registry = {"load": unbound}
    kind, classes = module.Kind.SALE, (module.Base, module.Loader)
    frozen = pickle.dumps((kept, kind))
    assert bound(OLD) == 2000
    assert bound(NEW) == 2000
    incident = sanare.last_report()
    assert incident.outcome == "healed", incident
    for call in (kept.load, bound, package.Loader().load, sys.modules["probe_sales"].Loader().load):
        assert call(NEW) == 2000
    for call in (unbound, registry["load"], package.load):
        assert call(kept, NEW) == 2000
    assert sanare.last_report() is incident
    assert module.runs == 1 and module.Kind.SALE is kind and (module.Base, module.Loader) == classes
    again, same = pickle.loads(frozen)
    assert type(again) is module.Loader and same is kind and isinstance(kept, module.Loader)
    assert again.load(NEW) == 2000


def test_closures_living_and_made_later_are_swapped(load):
    module = load(
        """
        import csv, io, sanare
        def make(add):
            @sanare.heal
            def load(text):
                total = 0
                for row in csv.DictReader(io.StringIO(text)):
                    total += int(row["amount"])
                return total + add
            return load
        """
    )
    one, two = module.make(1), module.make(2)
    assert (one(OLD), two(OLD)) == (2001, 2002)
    assert one(NEW) == 2001, sanare.last_report()
    incident = sanare.last_report()
    # The other living one, and one made after the heal from the factory's old constants.
    assert (two(NEW), module.make(3)(NEW), module.make(3)(OLD)) == (2002, 2003, 2003)
    assert sanare.last_report() is incident


@pytest.mark.parametrize("form", ["script", "guarded script", "python -m"])
def test_f04_the_main_script_is_not_run_again(form, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "probe"\nversion = "0"\n')
    body = f"""
open("runs", "a").write("x")
def main():
    print(load({OLD!r}), load({NEW!r}), load({NEW!r}), sanare.last_report().outcome)
"""
    call = "main()\n" if form == "script" else 'if __name__ == "__main__":\n    main()\n'
    (tmp_path / "job.py").write_text(loader() + body + call)
    done = python(tmp_path, *(["-m", "job"] if form == "python -m" else ["job.py"]))
    assert done.stdout == "2000 2000 2000 healed\n", done.stderr
    assert (tmp_path / "runs").read_text() == "x"
    assert "osszeg" in (tmp_path / "job.py").read_text()
    # The rewrite is told on standard error: this program has no logging.
    assert "repaired `load`" in done.stderr and done.stderr.count("\n") <= 8


@pytest.mark.parametrize(("how", "reason"), [("exec", "no_source"), ("command", "no_source"), ("stdin", "no_source")])
def test_f32_without_source_it_is_recorded_and_refused(how, reason, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "probe"\nversion = "0"\n')
    text = (
        loader()
        + f"""
try:
    load({NEW!r})
except KeyError as error:
    report = sanare.report(error)
    print(report.outcome, report.reason, error.args[0])
"""
    )
    if how == "exec":
        (tmp_path / "job.py").write_text(f"exec({text!r})\n")
        done = python(tmp_path, "job.py")
    elif how == "command":
        done = python(tmp_path, "-c", text)
    else:
        done = python(tmp_path, "-", text=text)
    assert done.stdout == f"refused {reason} amount\n", done.stderr
    shown = python(tmp_path, "-m", "sanare", "--json", "incidents")
    assert [one["reason"] for one in json.loads(shown.stdout)] == [reason], shown.stderr


CELL = """
import linecache
def run_cell(text, name):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), globals())
"""


@pytest.mark.parametrize("name", ["<ipython-input-3-abc>", "/tmp/ipykernel_1/3.py"])
@pytest.mark.parametrize("write", ["memory", "file"])
def test_f32_notebook_cells(name, write, tmp_path):
    name = name.replace("_1/", f"_{os.getpid()}_{write}_never_there/")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "probe"\nversion = "0"\n')
    cell = loader(f'@sanare.heal(write="{write}")')
    (tmp_path / "job.py").write_text(
        CELL
        + f"""
run_cell({cell!r}, {name!r})
first = load
print(load({OLD!r}))
try:
    print(load({NEW!r}), first({NEW!r}), load is first, sanare.last_report().outcome)
    print("osszeg" in "".join(linecache.cache[{name!r}][2]))
except KeyError as error:
    print(sanare.report(error).reason, getattr(error, "__notes__")[0].count("memory"))
"""
    )
    before = {path for path in tmp_path.rglob("*") if ".sanare" not in str(path)}
    done = python(tmp_path, "job.py")
    assert not os.path.exists(os.path.dirname(name)) or name[0] == "<"
    expected = "2000\n2000 2000 True healed\nTrue\n" if write == "memory" else "2000\nno_source 1\n"
    assert done.stdout == expected, done.stderr
    assert {path for path in tmp_path.rglob("*") if ".sanare" not in str(path)} == before


def test_a_second_repair_in_memory_builds_on_the_first(load):
    module = load(loader('@sanare.heal(write="memory")'))
    before = Path(module.__file__).read_bytes()
    assert (module.load(OLD), module.load(NEW)) == (2000, 2000), sanare.last_report()
    assert sanare.last_report().outcome == "healed"
    assert module.load(NEW.replace("1200", "1 200")) == 2000, sanare.last_report()
    assert (module.load(OLD), module.load(NEW)) == (2000, 2000)
    assert Path(module.__file__).read_bytes() == before


def test_zip_imports_are_captured_only(tmp_path, monkeypatch):
    archive = tmp_path / "jobs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for write in ("file", "memory"):
            file.writestr(f"probe_zipped_{write}.py", loader(f'@sanare.heal(write="{write}")'))
    before = archive.read_bytes()
    monkeypatch.syspath_prepend(str(archive))
    for write in ("file", "memory"):
        module = __import__(f"probe_zipped_{write}")
        with pytest.raises(KeyError) as found:
            module.load(NEW)
        report = sanare.report(found.value)
        assert (report.outcome, report.reason) == ("refused", "unsupported_target"), report
        assert "archive" in report.summary
    assert archive.read_bytes() == before


def test_f24_a_library_below_is_never_written(tmp_path, monkeypatch, project):
    packages = tmp_path / "site-packages"
    packages.mkdir()
    library = packages / "probe_library.py"
    library.write_text(
        textwrap.dedent("""
        import functools
        def load(text):
            return "the library's own"
        def command(function):
            @functools.wraps(function)
            def load(*args):
                return function(*args)
            return load
        def plain(text):
            return [1].amount
    """)
    )
    before = library.read_bytes()
    monkeypatch.syspath_prepend(str(packages))
    module = project.load(
        "import probe_library\n"
        + loader("@sanare.heal\n@probe_library.command")
        + "\nborrowed = sanare.heal(write='memory')(probe_library.plain)\n"
    )
    assert module.load(OLD) == 2000
    assert module.load(NEW) == 2000, sanare.last_report()
    assert "osszeg" in Path(module.__file__).read_text()
    with pytest.raises(AttributeError) as found:
        module.borrowed(OLD)
    assert sanare.report(found.value).reason == "unsupported_target", sanare.report(found.value)
    assert library.read_bytes() == before


def test_a_running_frame_keeps_its_old_code(load):
    module = load(
        """
        import sanare, csv, io
        @sanare.heal
        def load(texts):
            for text in texts:
                total = 0
                for row in csv.DictReader(io.StringIO(text)):
                    total += int(row["amount"])
                yield total
        """
    )
    running = module.load([OLD, NEW])
    assert next(running) == 2000
    with pytest.raises(KeyError) as found:
        next(running)
    with pytest.raises(StopIteration):
        next(running)
    assert sanare.report(found.value).outcome != "healed"


def test_f34_an_async_heal_leaves_the_loop_alone(load):
    module = load(loader().replace("def load", "async def load"))

    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticker = asyncio.ensure_future(tick())
        result = await asyncio.gather(*(module.load(NEW) for _ in range(4)))
        ticker.cancel()
        return result, ticks

    result, ticks = asyncio.run(main())
    assert result == [2000] * 4 and ticks > 10, sanare.reports()[0]


@pytest.mark.parametrize("change", ["gone", "moved", "replaced", "folder", "broken", "edited"])
def test_source_that_is_no_longer_there(change, project):
    module = project.load(loader())
    path = Path(module.__file__)
    other = path.with_name("elsewhere.py")
    if change == "gone":
        path.unlink()
    elif change == "moved":
        path.rename(other)
    elif change == "folder":
        path.unlink()
        path.mkdir()
    elif change == "broken":
        path.write_text(path.read_text() + "def (:\n")
    elif change == "edited":
        path.write_text(path.read_text().replace("total = 0", "total = int()"))
    else:
        path.write_text("def other():\n    return 1\n")
    before = other.read_bytes() if change == "moved" else path.read_bytes() if path.is_file() else None
    with pytest.raises(KeyError) as found:
        module.load(NEW)
    report = sanare.report(found.value)
    expected = "source_changed" if change in ("replaced", "broken", "edited") else "no_source"
    assert (report.outcome, report.reason) == ("refused", expected), report
    after = other.read_bytes() if change == "moved" else path.read_bytes() if path.is_file() else None
    assert after == before


def test_f31_lines_that_moved_since_import(project):
    module = project.load(loader())
    path = Path(module.__file__)
    path.write_text("# a line above\n" * 7 + path.read_text() + "# the owner's own edit\n")
    assert (module.load(OLD), module.load(NEW)) == (2000, 2000), sanare.last_report()
    text = path.read_text()
    assert text.startswith("# a line above\n" * 7) and text.endswith("# the owner's own edit\n") and "osszeg" in text


@pytest.mark.parametrize(
    ("name", "change"),
    {
        "latin-1": lambda text: ("# coding: latin-1\n# caf\u00e9\n" + text).encode("latin-1"),
        "mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
        "tabs": lambda text: text.replace("    ", "\t").encode(),
        "windows lines": lambda text: text.replace("\n", "\r\n").encode(),
    }.items(),
)
def test_f28_f29_encodings_marks_tabs_and_line_ends(name, change, project):
    import importlib

    path = project.folder / f"probe_{name.replace(' ', '_').replace('-', '_')}.py"
    before = change(loader())
    path.write_bytes(before)
    importlib.invalidate_caches()
    module = importlib.import_module(path.stem)
    assert (module.load(OLD), module.load(NEW)) == (2000, 2000), sanare.last_report()
    after = path.read_bytes()
    head = before.index(b"total = 0")
    assert after != before and after[:head] == before[:head]
    assert (b"\r\n" in after) == (name == "windows lines") and after.count(b"\n") - after.count(b"\r\n") in (
        0,
        after.count(b"\n"),
    )
    assert name != "tabs" or b"\n    " not in after
