"""Ctrl-C in the middle of a heal: it leaves at once, and nothing is half-healed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from model_lab import candidate, module
from model_server import ModelServer, dripping, reply, silent, status
from test_eleven_scenarios import HUNGARIAN, STANDARD_EXPECTED, STANDARD_OLD, project

NAME = "1_translated"
PROGRAM = """\
import signal
import sys
# Started in the background, a shell has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import sanare
import job
{more}
print("begins", flush=True)
try:
    print(job.load_sales(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    try:
        job.load_sales(open(sys.argv[1] + "/old.csv").read())
    except Exception as error:
        print("old is broken:", error)
    else:
        print("old works")
"""
# Seconds; what is waited for takes twenty and more.
AT_ONCE = 5
EXAMPLE = "examples=[sanare.Example((OLD,), returns=EXPECTED)]"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def start(tmp_path: Path, options: str, url: str, more: str = "") -> tuple[subprocess.Popen[str], Path, str]:
    source = module(NAME, STANDARD_OLD, decorator=f"@sanare.heal({EXAMPLE}{options})")
    job = project(tmp_path, source)
    (tmp_path / "old.csv").write_text(STANDARD_OLD)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(more=textwrap.dedent(more)))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    if url:
        chosen = {"PROVIDER": "ollama", "MODEL": "scripted", "BASE_URL": url}
        environment |= {f"SANARE_MODEL_{name}": value for name, value in chosen.items()}
    command = [sys.executable, str(program), str(tmp_path), HUNGARIAN]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    return child, job, source


def interrupt(child: subprocess.Popen[str], job: Path, source: str) -> float:
    """Sends Ctrl-C; how long it took to leave. Nothing may be changed."""
    began = time.perf_counter()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    took = time.perf_counter() - began
    assert out.splitlines() == ["begins", "interrupted", "old works"], (out, err)
    assert job.read_text() == source
    return took


def until(condition: object) -> None:
    end = time.monotonic() + 20
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.01)


@pytest.mark.parametrize("answer", [silent, dripping, status(429, retry_after="20")], ids=["silent", "dripping", "429"])
def test_during_a_model_call(tmp_path: Path, answer: object) -> None:
    with ModelServer(answer) as server:  # type: ignore[arg-type]
        child, job, source = start(tmp_path, ', proposers=["model"]', server.url)
        until(lambda: server.requests)
        time.sleep(0.2)
        assert interrupt(child, job, source) < AT_ONCE
        # What was recorded up to there holds, and the next failure is dealt with as usual.
        verify = [sys.executable, "-m", "sanare", "--project", str(tmp_path), "ledger", "verify"]
        assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
        server.answers = [reply(candidate(NAME, "right", source))]
        again, _, _ = start(tmp_path, ', proposers=["model"]', server.url)
        out, err = again.communicate(timeout=60)
        assert out.splitlines() == ["begins", str(STANDARD_EXPECTED)], (out, err)


def test_during_a_verify_command(tmp_path: Path) -> None:
    mark = tmp_path / "runs"
    waits = f"import pathlib, time; time.sleep(60); pathlib.Path({str(mark)!r}).touch()"
    child, job, source = start(tmp_path, f", verify=[['python3', '-c', {waits!r}]]", "")
    assert child.stdout is not None
    until(lambda: any("time.sleep(60)" in line for line in commands_below(child.pid)))
    assert interrupt(child, job, source) < AT_ONCE
    assert not mark.exists()


def commands_below(process: int) -> list[str]:
    """Command lines of the children of a process."""
    shown = subprocess.run(["ps", "-o", "args=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return shown.stdout.splitlines()


@pytest.mark.parametrize("moment", ["before_swap", "after_swap"])
def test_between_the_write_and_the_owners_call(tmp_path: Path, moment: str) -> None:
    more = f"""
    import os, signal
    sanare.listen(lambda *_: os.kill(os.getpid(), signal.SIGINT), events=("{moment}",))
    """
    child, job, source = start(tmp_path, "", "", more)
    out, err = child.communicate(timeout=60)
    assert out.splitlines()[-2:] == ["interrupted", "old works"], (out, err)
    assert job.read_text() == source
