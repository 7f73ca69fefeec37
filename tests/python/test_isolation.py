"""Where a trial runs: in a fork, in a fresh interpreter behind the same fences, or nowhere (C89, C90)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest
import sanare
from conftest import Project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
NEW = OLD.replace("amount", "Betrag")
JOB = """
import csv, io, os, sanare
IMPORTED = os.getpid()
class Shop:
    def __init__(self, factor):
        self.factor = factor
    @sanare.heal
    def load(self, text):
        return self.factor * sum(int(row["amount"]) for row in csv.DictReader(io.StringIO(text)))
@sanare.heal
def load(text, more=None):
    return sum(int(row["amount"]) for row in csv.DictReader(io.StringIO(text)))
def outer(step):
    @sanare.heal
    def load(text):
        return step * sum(int(row["amount"]) for row in csv.DictReader(io.StringIO(text)))
    return load
"""


@pytest.fixture
def isolated(project: Project) -> Any:
    def isolated(word: str, text: str = JOB) -> Any:
        (project.folder / "sanare.toml").write_text(f'[heal.gates]\nisolation = "{word}"\n')
        return project.load(text)

    return isolated


def trial_checks() -> list[tuple[str, str, str]]:
    report = sanare.last_report()
    assert report is not None
    return [(one["name"], one["answer"], one.get("reason", "")) for one in report.gates or () if one["gate"] == "trial"]


def fresh_ones(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fresh interpreters that were asked for."""
    from sanare import _fresh

    started: list[str] = []
    make = _fresh.request

    def request(*given: Any) -> Any:
        started.append("fresh")
        return make(*given)

    monkeypatch.setattr(_fresh, "request", request)
    return started


@pytest.mark.parametrize("what", ["function", "method"])
def test_a_fresh_interpreter_proves_the_same(what: str, isolated, monkeypatch) -> None:
    module = isolated("fresh")
    started = fresh_ones(monkeypatch)
    load = module.load if what == "function" else module.Shop(2).load
    expected = 2000 if what == "function" else 4000
    assert load(OLD) == expected and load(NEW) == expected and load(OLD) == expected
    report = sanare.last_report()
    assert report is not None and report.outcome == "healed"
    assert ("returns", "passed", "") in trial_checks() and started
    assert any(one["name"] == "twin" and one["answer"] == "passed" for one in report.gates)


def test_a_fork_is_the_usual_way(isolated, monkeypatch) -> None:
    started = fresh_ones(monkeypatch)
    assert isolated("auto").load(NEW) == 2000 and started == []
    assert isolated("fork").load(NEW) == 2000 and started == []


def test_a_live_gpu_context_is_not_forked(isolated, monkeypatch) -> None:
    module = isolated("auto")
    started = fresh_ones(monkeypatch)
    begun: list[bool] = []
    framework = types.ModuleType("torch.cuda")
    framework.is_initialized = lambda: bool(begun)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.cuda", framework)
    # Loaded is not begun: what every import of the framework does is no reason for another process.
    assert module.load(NEW) == 2000 and started == []
    begun.append(True)
    assert isolated("auto", JOB + "\n").Shop(2).load(NEW) == 4000 and started
    started.clear()
    # The owner's word counts for more.
    assert isolated("fork", JOB + "\n\n").load(NEW) == 2000 and started == []


DRIVER = """
static int begun, live;
int cuInit(unsigned flags) { begun = 1; return 0; }
int play(int on) { live = on; return 0; }
int cuDeviceGetCount(int *count) { if (!begun) return 3; *count = 2; return 0; }
int cuCtxGetCurrent(void **context) { if (!begun) return 3; *context = 0; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (!begun) return 3;
    *active = live && device == 1;
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler for the driver's stand-in")
def test_any_framework_s_context_is_seen_by_the_driver(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text(DRIVER)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, tmp_path / "driver.c"], check=True
    )
    program = textwrap.dedent(
        """
        import ctypes, sys
        from sanare._gpu import holds_context
        assert not holds_context()
        driver = ctypes.CDLL(sys.argv[1])
        assert not holds_context()
        driver.cuInit(0)
        assert not holds_context()
        driver.play(1)
        assert holds_context()
        driver.play(0)
        assert not holds_context()
        """
    )
    subprocess.run([sys.executable, "-c", program, str(library)], check=True, timeout=60)


def test_a_framework_without_an_answer_counts_as_a_context(monkeypatch) -> None:
    from sanare._gpu import holds_context

    def broken() -> bool:
        raise RuntimeError("no driver")

    framework = types.ModuleType("torch.xpu")
    framework.is_initialized = broken  # type: ignore[attr-defined]
    assert not holds_context()
    monkeypatch.setitem(sys.modules, "torch.xpu", framework)
    assert holds_context()


SKIPPED = {
    "an argument that cannot be pickled": ("module.load(NEW, lambda: 1)", "cannot be pickled"),
    "a function inside another": ("module.outer(1)(NEW)", "cannot find"),
}


@pytest.mark.parametrize("what", SKIPPED)
def test_what_a_fresh_interpreter_cannot_have_skips_the_gate_with_that_reason(what: str, isolated) -> None:
    module = isolated("fresh")
    call, words = SKIPPED[what]
    before = Path(module.__file__).read_bytes()
    with pytest.raises(KeyError):
        eval(call, {"module": module, "NEW": NEW})
    report = sanare.last_report()
    # Skipped is not passed: a person is asked, or nothing is proposed at all.
    assert report is not None and report.outcome != "healed", report
    told = json.dumps([trial_checks(), report.summary, report.refusals])
    assert words in told, told
    assert Path(module.__file__).read_bytes() == before


def test_without_any_place_nothing_is_tried(isolated, monkeypatch) -> None:
    module = isolated("none")
    started = fresh_ones(monkeypatch)
    with pytest.raises(KeyError):
        module.load(NEW)
    assert sanare.last_report().outcome != "healed" and started == []  # type: ignore[union-attr]


PROBE = """
import os, socket, sanare
WHERE = %r
def touch(name):
    try:
        with open(os.path.join(WHERE, name), "w") as file:
            file.write("x")
    except OSError:
        return "denied"
    return "written"
try:
    socket.create_connection(("127.0.0.1", int(os.environ["PROBE_PORT"])), timeout=1)
except OSError:
    pass
touch("at import")
@sanare.heal(mode="dry_run")
def load(rows):
    touch("in the call")
    os.system("touch " + os.path.join(WHERE, "by-program"))
    return rows["amount"]
"""


def test_the_fences_are_the_same(project: Project, tmp_path: Path, monkeypatch) -> None:
    import socket

    (project.folder / "sanare.toml").write_text('[heal.gates]\nisolation = "fresh"\n')
    where = tmp_path / "outside"
    where.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        monkeypatch.setenv("PROBE_PORT", str(server.getsockname()[1]))
        module = project.load(PROBE % str(where))
        server.accept()[0].close()
        for path in where.iterdir():
            path.unlink()
        with pytest.raises(KeyError):
            module.load({"Amount": 1})
        # The program's own call did that, and nothing that ran for a trial.
        (where / "in the call").unlink()
        (where / "by-program").unlink()
        with pytest.raises(TimeoutError):
            server.accept()
    assert list(where.iterdir()) == []


STUCK = """
import csv, io, sys, threading, time
import sanare
LOCK = threading.Lock()
def hold():
    with LOCK:
        time.sleep(60)
@sanare.heal(rerun="always")
def load(text):
    rows = csv.DictReader(io.StringIO(text))
    if LOCK.acquire(timeout=30 if threading.active_count() == 1 else 0.01):
        LOCK.release()
    return sum(int(row["amount"]) for row in rows)
"""


def test_a_fork_that_stands_still_is_followed_by_a_fresh_interpreter(project: Project) -> None:
    program = textwrap.dedent(
        """
        import threading, job, sanare
        threading.Thread(target=job.hold, daemon=True).start()
        # In a copy of this process the lock is held by a thread that is not there.
        print(job.load(%r), flush=True)
        print(sanare.last_report().outcome, flush=True)
        import os
        os._exit(0)
        """
    )
    (project.folder / "job.py").write_text(STUCK)
    done = subprocess.run(
        [sys.executable, "-c", program % NEW], cwd=project.folder, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["2000", "healed"], done
