"""A function with a secret in its body heals, is taken back, taken over and recovered like any other, and no byte of the
secret is kept as it is: receipts are sealed under a key outside of the project (C41, C105, C106)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import test_kill_matrix as matrix

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL and the sandbox")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LINE = "    rows = list("
JOB = matrix.JOB.replace(LINE, f'    api_key = "{TOKEN}"\n    assert api_key\n{LINE}')


@pytest.fixture(autouse=True)
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "JOB", JOB)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def kept(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / ".sanare").rglob("*") if path.is_file())


def healed(folder: Path) -> str:
    """The text after a heal by a process of its own."""
    matrix.healed_text(folder)
    text = (folder / "job.py").read_text()
    assert text != JOB and TOKEN in text
    assert TOKEN.encode() not in kept(folder) and TOKEN[4:].encode() not in kept(folder)
    return text


def test_f11_it_heals_and_is_taken_back_to_the_byte(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    healed(folder)
    [report] = matrix.json.loads(matrix.command(folder, "--json", "incidents").stdout)
    done = matrix.command(folder, "revert", report["id"])
    assert done.returncode == 0, done
    assert (folder / "job.py").read_text() == JOB
    assert TOKEN.encode() not in kept(folder)


def test_f11_the_next_deployment_takes_it_over(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    text = healed(folder)
    (folder / "job.py").write_text(JOB)
    again = matrix.start(folder, "never")
    assert matrix.EXPECTED in again.stdout, again
    assert (folder / "job.py").read_text() == text
    listed = matrix.json.loads(matrix.command(folder, "--json", "incidents").stdout)
    assert len(listed) == 1, listed
    assert TOKEN.encode() not in kept(folder)


def test_f11_a_person_approves_it_from_another_process(tmp_path: Path) -> None:
    text = healed(tmp_path / "whole")
    folder = tmp_path / "shop"
    folder.mkdir()
    matrix.project(folder)
    (folder / "sanare.toml").write_text('[heal]\nmode = "ask"\n')
    (folder / "pyproject.toml").unlink()
    matrix.start(folder, "never")
    assert (folder / "job.py").read_text() == JOB and TOKEN.encode() not in kept(folder)
    [report] = matrix.json.loads(matrix.command(folder, "--json", "incidents").stdout)
    done = matrix.command(folder, "approve", report["id"])
    assert done.returncode == 0 and (folder / "job.py").read_text() == text, done
    assert TOKEN not in matrix.command(folder, "diff", report["id"]).stdout


@pytest.mark.parametrize("turn", ["recorded prepared", "after_write", "recorded applied"])
def test_f11_f13_killed_at(turn: str, tmp_path: Path) -> None:
    new = healed(tmp_path / "whole").encode()
    matrix.check(tmp_path / "run", turn, new)
    assert TOKEN.encode() not in kept(tmp_path / "run")


@pytest.mark.parametrize("why", ["inside the project", "not to be written", "readable by others"])
def test_f11_without_a_key_nothing_is_changed_and_it_is_said(why: str, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    matrix.project(folder)
    state = tmp_path / "state"
    if why == "inside the project":
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    elif why == "not to be written":
        state.write_text("a file stands in its place")
    else:
        (state / "sanare").mkdir(parents=True)
        (state / "sanare" / "key").write_bytes(os.urandom(32))
        (state / "sanare" / "key").chmod(0o644)
    done = matrix.start(folder, "never")
    assert "KeyError: 'amount'" in done.stderr and "sealed" in done.stderr, done
    assert (folder / "job.py").read_text() == JOB
    assert TOKEN.encode() not in kept(folder)
    # What holds no secret needs no key.
    plain = tmp_path / "plain"
    plain.mkdir()
    matrix.project(plain)
    (plain / "job.py").write_text(JOB.replace(TOKEN, "none"))
    assert matrix.EXPECTED in matrix.start(plain, "never").stdout


def test_f11_a_key_that_is_gone_stops_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    matrix.project(folder)
    killed = matrix.start(folder, "after_write")
    assert killed.returncode == -signal.SIGKILL
    written = (folder / "job.py").read_text()
    (tmp_path / "state" / "sanare" / "key").write_bytes(os.urandom(32))
    [report] = matrix.json.loads(matrix.command(folder, "--json", "incidents").stdout)
    done = matrix.command(folder, "revert", report["id"])
    assert done.returncode != 0 and "sealed" in done.stderr, done
    assert (folder / "job.py").read_text() == written
    # Another job of the same project heals, and the ledger is whole.
    (folder / "other.py").write_text(JOB.replace(TOKEN, "none"))
    (folder / "run.py").write_text(matrix.RUN.replace("job", "other"))
    assert matrix.EXPECTED in matrix.start(folder, "never").stdout
    assert matrix.command(folder, "ledger", "verify").returncode == 0
