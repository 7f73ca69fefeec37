"""What a heal does to files: the bytes around the function stay, and where a file cannot be replaced it stays whole.

Each case is a program of its own: a good call, then the drifted one. Afterwards the file is compared byte for byte, and a
new interpreter runs it on both inputs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

BODY = """\
@sanare.heal{options}
def load_sales(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    return sum(int(row["amount"]) for row in rows)
"""
BEFORE = """\
import csv
import io

import sanare

NAME = "{name}"


"""
AFTER = """

def neighbour():
    return "{name}" + '''
 text   of two lines\t
'''
"""
RUN = """\
import sys
sys.path.insert(0, sys.argv[1])
import job
OLD = "date,customer,amount\\n2026-01-05,Alfa,1200\\n2026-01-06,Beta,800\\n"
NEW = "datum,ugyfel,osszeg\\n2026-01-05,Alfa,1200\\n2026-01-06,Beta,800\\n"
assert job.load_sales(OLD) == 2000
exec(sys.argv[2])
try:
    print(job.load_sales(NEW))
except KeyError as error:
    print("raised", error)
    print(*getattr(error, "__notes__", ()), sep="\\n")
"""


def run(folder: Path, *, cwd: Path | None = None, before: str = "") -> str:
    """Output of one program on the old and then the new input."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder), before],
        cwd=cwd or folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "files"\n')
    return folder


def texts(name: str = "plain", options: str = "") -> tuple[str, str, str]:
    return BEFORE.format(name=name), BODY.format(options=options), AFTER.format(name=name)


def forms() -> Iterator[tuple[str, bytes, bytes, bytes]]:
    """Name, and the bytes before, of, and after the function."""
    for name, cookie, encoding, mark, line, form in [
        ("lf", "", "utf-8", b"", "\n", "é"),
        ("crlf", "", "utf-8", b"", "\r\n", "é"),
        ("bom", "", "utf-8", b"\xef\xbb\xbf", "\n", "é"),
        ("bom and crlf", "", "utf-8", b"\xef\xbb\xbf", "\r\n", "é"),
        ("latin-1", "# -*- coding: latin-1 -*-\n", "latin-1", b"", "\n", "é"),
        ("cp1252", "# vim: set fileencoding=cp1252 :\n", "cp1252", b"", "\n", "€"),
        ("line separator", "", "utf-8", b"", "\n", "a\u2028b\u2029c\x85d"),
        ("form feed", "\x0c\n", "utf-8", b"", "\n", "a"),
    ]:
        before, body, after = texts(form)
        parts = [part.replace("\n", line).encode(encoding) for part in (cookie + before, body, after)]
        yield name, mark + parts[0], parts[1], parts[2]
    before, body, after = texts()
    yield "no newline at the end", before.encode(), body.rstrip("\n").encode(), b""
    yield "tabs", before.encode(), body.replace("    ", "\t").encode(), after.encode()
    yield "form feed between", before.encode() + b"\x0c\n", body.encode(), b"\x0c\n" + after.encode()
    yield (
        "inside a class",
        before.encode() + b"class Jobs:\n",
        b"".join(b"    " + line for line in body.replace("@sanare.heal\n", "@staticmethod\n@sanare.heal\n").encode().splitlines(True)),
        after.encode() + b"\n\nload_sales = Jobs.load_sales\n",
    )  # fmt: skip


@pytest.mark.parametrize("name,before,body,after", list(forms()), ids=[form[0] for form in forms()])
def test_f07_f28_f29_f30_bytes_around_the_function_stay(
    tmp_path: Path, name: str, before: bytes, body: bytes, after: bytes
) -> None:
    folder = project(tmp_path / "job")
    file = folder / "job.py"
    file.write_bytes(before + body + after)
    assert run(folder) == "2000\n"
    found = file.read_bytes()
    header = body[: body.index(b":", body.index(b"def load_sales"))]
    assert found.startswith(before + header) and found.endswith(after)
    inner = found[len(before) : len(found) - len(after)] if after else found[len(before) :]
    assert inner != body and b"osszeg" in inner
    if b"\r\n" in body:
        assert inner.count(b"\n") == inner.count(b"\r\n")
    assert body.endswith(b"\n") == inner.endswith(b"\n")
    assert run(folder) == "2000\n" and file.read_bytes() == found
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == [
        ".sanare",
        "job.py",
        "pyproject.toml",
        "sanare.lock",
    ]


def test_symlink(tmp_path: Path) -> None:
    folder = project(tmp_path / "job")
    (folder / "inner").mkdir()
    real = folder / "inner" / "real.py"
    real.write_text("".join(texts()))
    (folder / "job.py").symlink_to("inner/real.py")
    assert run(folder) == "2000\n"
    assert (folder / "job.py").is_symlink() and "osszeg" in real.read_text()


def test_symlink_out_of_the_project(tmp_path: Path) -> None:
    folder = project(tmp_path / "job")
    outside = tmp_path / "outside.py"
    outside.write_text("".join(texts()))
    (folder / "job.py").symlink_to(outside)
    shown = run(folder)
    assert "raised 'amount'" in shown and "sanare: refused" in shown
    assert outside.read_text() == "".join(texts())


def test_hard_links(tmp_path: Path) -> None:
    folder = project(tmp_path / "job")
    file = folder / "job.py"
    file.write_text("".join(texts()))
    os.link(file, folder / "other.py")
    shown = run(folder)
    assert "raised 'amount'" in shown and "names of the same file" in shown
    assert file.read_text() == (folder / "other.py").read_text() == "".join(texts())


EDIT = "import pathlib; p = pathlib.Path(job.__file__); p.write_text(p.read_text().replace({old!r}, {new!r}))"


def test_edited_around_the_function_meanwhile(tmp_path: Path) -> None:
    folder = project(tmp_path / "job")
    file = folder / "job.py"
    file.write_text("".join(texts()))
    edit = EDIT.format(old="NAME = ", new="# one\n# two\nNAME_NOW = ")
    assert run(folder, before=edit) == "2000\n"
    found = file.read_text()
    assert "# one\n# two\nNAME_NOW" in found and "osszeg" in found and found.endswith(texts()[2])


def test_edited_in_the_function_meanwhile(tmp_path: Path) -> None:
    folder = project(tmp_path / "job")
    file = folder / "job.py"
    file.write_text("".join(texts()))
    edit = EDIT.format(old='"amount"', new='"amount_eur"')
    shown = run(folder, before=edit)
    assert "raised 'amount'" in shown and "sanare: refused" in shown
    assert file.read_text() == "".join(texts()).replace('"amount"', '"amount_eur"')


@pytest.mark.parametrize(
    "edit", ["p.unlink()", "p.write_text('def (')", "p.write_bytes(b'\\x00\\xff')", "p.write_text('')"]
)
def test_file_gone_or_broken_meanwhile(tmp_path: Path, edit: str) -> None:
    folder = project(tmp_path / "job")
    (folder / "job.py").write_text("".join(texts()))
    shown = run(folder, before=f"import pathlib; p = pathlib.Path(job.__file__); {edit}")
    assert "raised 'amount'" in shown and "sanare: refused" in shown


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("a small file system can only be made by root")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"mount: {made.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("where", ["all on the full disk", "record elsewhere"])
def test_f06_full_disk(small_disk: Path, tmp_path: Path, where: str) -> None:
    folder = project(small_disk / "job")
    file = folder / "job.py"
    file.write_text("".join(texts()))
    if where == "record elsewhere":
        elsewhere = tmp_path / "store.db"
        (folder / "sanare.toml").write_text(f'[store]\npath = "{elsewhere}"\n')
    fill = "f = open(sys.argv[1] + '/fill', 'wb', buffering=0)\ntry:\n    while True: f.write(b'x' * 512)\nexcept OSError: pass"
    shown = run(folder, cwd=tmp_path, before=fill)
    assert "raised 'amount'" in shown
    assert file.read_text() == "".join(texts())
    (folder / "fill").unlink()
    assert run(folder, cwd=tmp_path).startswith(("2000", "raised"))
    assert file.read_text() == "".join(texts()) or "osszeg" in file.read_text()


def test_read_only_file_system(small_disk: Path, tmp_path: Path) -> None:
    folder = project(small_disk / "job")
    file = folder / "job.py"
    file.write_text("".join(texts()))
    (folder / "sanare.toml").write_text(f'[store]\npath = "{tmp_path / "store.db"}"\n')
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    shown = run(folder, cwd=tmp_path)
    assert "raised 'amount'" in shown and "sanare: refused" in shown
    assert file.read_text() == "".join(texts())


def test_read_only_file_system_in_memory(small_disk: Path, tmp_path: Path) -> None:
    folder = project(small_disk / "job")
    file = folder / "job.py"
    file.write_text("".join(texts(options='(write="memory")')))
    (folder / "sanare.toml").write_text(f'[store]\npath = "{tmp_path / "store.db"}"\n')
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert run(folder, cwd=tmp_path) == "2000\n"
    assert file.read_text() == "".join(texts(options='(write="memory")'))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_f46_not_ours_to_write(what: str) -> None:
    """A file or folder that this user may not write: known before anything is tried."""
    # Not under the test run's own folder, which is closed to the user that the program becomes.
    place = Path(tempfile.mkdtemp(prefix="files-"))
    try:
        folder = project(place / "job")
        file = folder / "job.py"
        file.write_text("".join(texts()))
        (folder / "sanare.toml").write_text(f'[store]\npath = "{place / "store" / "store.db"}"\n')
        (place / "store").mkdir()
        becoming = ""
        if os.geteuid() == 0:
            # Root may write everywhere: the program gives that up first, and must be able to read its modules then.
            for closed in Path(os.__file__).parents:
                if closed.stat().st_mode & 0o005 != 0o005:
                    pytest.skip(f"the interpreter lies in {closed}, which is closed to other users")
            for path in [place, *place.rglob("*")]:
                os.chown(path, 65534, 65534)
            becoming = "import os; os.setgid(65534); os.setuid(65534)"
        (file if what == "file" else folder).chmod(0o444 if what == "file" else 0o555)
        shown = run(folder, cwd=place, before=becoming)
        (file if what == "file" else folder).chmod(0o755)
        assert "raised 'amount'" in shown and "sanare: refused" in shown and "read-only" in shown
        assert file.read_text() == "".join(texts())
    finally:
        shutil.rmtree(place)


def test_immutable_file(tmp_path: Path) -> None:
    folder = project(tmp_path / "job")
    file = folder / "job.py"
    file.write_text("".join(texts()))
    chattr = shutil.which("chattr")
    if chattr is None or subprocess.run([chattr, "+i", str(file)], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file can be made immutable here")
    try:
        shown = run(folder)
        assert "raised 'amount'" in shown and "sanare: refused" in shown and "immutable" in shown
        assert file.read_text() == "".join(texts())
    finally:
        subprocess.run([chattr, "-i", str(file)], check=True)
