"""What is not healed rests, repairs have budgets, and decorators above, recursion and loops cost one heal (C118, C119)."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sanare
from flight_project import Crew, check_got

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

# `amount` is gone and nothing says which column is meant: this is refused.
LOST = """
import sanare

@sanare.heal
def total(rows):
    return sum(row["amount"] for row in rows)
"""
ROWS = [{"x": 1}, {"x": 2}]


def store_of(module: ModuleType) -> Path:
    return Path(str(module.__file__)).parent / ".sanare" / "store.db"


def steps(module: ModuleType) -> Counter[str]:
    """Counted in another process: a second SQLite in this one would let go of the store's locks when it closes it."""
    read = (
        "import sqlite3, sys; print(*(s for (s,) in sqlite3.connect(sys.argv[1]).execute('SELECT step FROM ledger')))"
    )
    given = [sys.executable, "-c", read, str(store_of(module))]
    return Counter(subprocess.run(given, capture_output=True, text=True, timeout=60, check=True).stdout.split())


def fail(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(KeyError) as found:
        call()
    return found.value


def command(module: ModuleType, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder = store_of(module).parent.parent
    given = [sys.executable, "-m", "sanare", "--project", str(folder), *arguments]
    return subprocess.run(given, capture_output=True, text=True, timeout=60, check=False)


def test_f21_a_loop_of_failures_is_one_incident(
    load: Callable[..., ModuleType], caplog: pytest.LogCaptureFixture
) -> None:
    module = load(LOST)
    with caplog.at_level(logging.DEBUG):
        errors = [fail(lambda: module.total(ROWS)) for _ in range(20)]
    assert steps(module)["opened"] == 1 and steps(module)["proposed"] <= 3
    first = sanare.report(errors[0])
    last = sanare.last_report()
    assert first is not None and last is not None
    assert (first.outcome, last.reason, last.occurrences) == ("refused", "cooldown", 20)
    lines = [record for record in caplog.records if record.name.startswith("sanare") and record.levelno > logging.INFO]
    assert len(lines) <= 8, lines


def test_a_rest_is_lifted_by_hand(load: Callable[..., ModuleType]) -> None:
    module = load(LOST)
    first = sanare.report(fail(lambda: module.total(ROWS)))
    fail(lambda: module.total(ROWS))
    assert first is not None and steps(module)["opened"] == 1
    assert command(module, "retry", "inc_NOSUCHINCIDENT").returncode == 4
    done = command(module, "retry", first.id)
    assert done.returncode == 0 and "`" not in done.stderr, done.stderr
    fail(lambda: module.total(ROWS))
    fail(lambda: module.total(ROWS))
    assert steps(module)["opened"] == 2
    assert command(module, "ledger", "verify").returncode == 0


def test_f21_budgets_outlast_processes(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 1) as crew:
        settings = crew.folder / "pyproject.toml"
        settings.write_text(settings.read_text().replace("heals_per_hour = 1000", "heals_per_hour = 2"))
        told = []
        for number in range(4):
            path = crew.write(f"job_{number}")
            before = path.read_bytes()
            worker = crew.workers[-1] if number < 2 else crew.add()
            worker.ask(load=path.stem)
            [got] = worker.ask(go={"load_sales": 1})
            told.append("healed" if "result" in got else got["notes"][0])
            assert (path.read_bytes() == before) == ("result" not in got)
        assert told[:2] == ["healed", "healed"]
        assert all("the budget `heals` is spent" in note for note in told[2:]), told
        # Nobody was asked for what could not be put in force.
        assert crew.steps("job_3", "load_sales")["proposed"] == 0
        crew.verify()


def test_the_budget_of_a_function_is_its_own(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 1) as crew:
        settings = crew.folder / "pyproject.toml"
        settings.write_text(settings.read_text().replace("per_day = 100", "per_day = 1"))
        for name in ("one", "two"):
            crew.write(name)
            crew.load(name)
            assert check_got(crew.go(load_sales=1)) == {"load_sales healed": 1}
        incident = next(iter(crew.incidents("one", "load_sales")))
        assert crew.command("revert", incident).returncode == 0
        again = crew.add()
        again.ask(load="one")
        [got] = again.ask(go={"load_sales": 1})
        assert "repairs of load_sales in one.py" in got["notes"][0], got


def test_f21_thirteen_tries_above_cost_one_heal(load: Callable[..., ModuleType]) -> None:
    module = load(
        """
        import functools
        import sanare
        tries = 0
        def retry(function):
            @functools.wraps(function)
            def again(rows):
                global tries
                for _ in range(13):
                    tries += 1
                    try:
                        return function(rows)
                    except KeyError as error:
                        last = error
                raise last
            return again
        @retry
        @sanare.heal
        def total(rows):
            return sum(row["amount"] for row in rows)
        """
    )
    fail(lambda: module.total(ROWS))
    assert module.tries == 13
    assert steps(module)["opened"] == 1 and steps(module)["proposed"] <= 3


def test_recursion_and_nesting_are_one_incident(load: Callable[..., ModuleType]) -> None:
    module = load(
        """
        import sanare
        @sanare.heal
        def outer(rows):
            return middle(rows)
        @sanare.heal
        def middle(rows):
            return inner(rows, 10)
        @sanare.heal
        def inner(rows, depth):
            if depth:
                return inner(rows, depth - 1)
            return sum(row["amount"] for row in rows)
        """
    )
    error = fail(lambda: module.outer(ROWS))
    assert steps(module)["opened"] == 1
    assert len(error.__notes__) == 1  # type: ignore[attr-defined]


def test_calls_during_swaps_get_old_or_new_and_never_both(load: Callable[..., ModuleType]) -> None:
    from sanare import _swap
    from sanare._guard import guard_of

    module = load(
        """
        from time import sleep
        import sanare
        @sanare.heal
        def pair(x):
            first = 1
            sleep(x)
            second = 1
            return first, second
        """
    )
    guard = guard_of(module.pair)
    assert guard is not None
    old = Path(str(module.__file__)).read_text()
    new = old.replace("first = 1", "first = 2").replace("second = 1", "second = 2")
    line = guard.current.co_firstlineno
    stop = threading.Event()
    seen: list[set[Any]] = []

    def call() -> None:
        mine: set[Any] = set()
        while not stop.is_set():
            # Nearly all of them stand in the middle of a call when a swap comes.
            mine.add(module.pair(0.002))
        seen.append(mine)

    threads = [threading.Thread(target=call) for _ in range(64)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        swapped = _swap.swap(guard, new, line)
        assert not isinstance(swapped, str)
        assert module.pair(0) == (2, 2)
        _swap.unswap(guard, swapped, old)
        assert module.pair(0) == (1, 1)
    stop.set()
    for thread in threads:
        thread.join()
    assert len(seen) == 64 and set().union(*seen) <= {(1, 1), (2, 2)}
