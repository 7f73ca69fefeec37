"""Async: the loop goes on while a proposer is slow, a hundred failures cost one proposal, cancellation leaves at once (C114).

The real engine heals. What a slow proposer does is made at the turns of its loop, which the subject is told of in the
worker's thread: there a test waits, or holds the heal until it is let go.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sanare._guard import Guard, guard_of
from sanare._subject import Subject

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
NEW = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
TEXT = """
import asyncio, csv, io, os
import sanare

HERE = os.getpid()
inside = None

async def hold():
    if inside is not None and os.getpid() == HERE:
        inside.set()
        await asyncio.sleep(3600)

@sanare.heal(rerun="always")
async def load_sales(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    total = sum(int(row["amount"]) for row in rows)
    await hold()
    return {"total": total, "names": sorted(row["customer"] for row in rows)}
"""
RESULT = {"total": 2000, "names": ["Alfa Kft", "Beta Zrt"]}


class Turns:
    """Counts the turns of every heal, and holds one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: Counter[str] = Counter()
        self.hold_at = ""
        self.reached = threading.Event()
        self.released = threading.Event()
        monkeypatch.setattr(Subject, "moment", lambda subject, name: self.moment(name))

    def moment(self, name: str) -> None:
        self.seen[name] += 1
        if name == self.hold_at:
            self.hold_at = ""
            self.reached.set()
            assert self.released.wait(60)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    return Turns(monkeypatch)


@pytest.fixture
def module(load: Callable[..., ModuleType]) -> ModuleType:
    loaded = load(TEXT)
    assert asyncio.run(loaded.load_sales(OLD)) == RESULT
    return loaded


def guard_in(module: ModuleType) -> Guard:
    guard = guard_of(module.load_sales)
    assert guard is not None
    return guard


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to that")


def test_a_slow_proposer_holds_up_neither_the_loop_nor_costs_a_hundred_proposals(
    module: ModuleType, turns: Turns
) -> None:
    turns.hold_at = "recorded diagnosed"

    async def main() -> tuple[list[Any], list[float]]:
        loop = asyncio.get_running_loop()
        ticks: list[float] = []

        async def tick() -> None:
            while True:
                ticks.append(loop.time())
                await asyncio.sleep(0.01)

        ticker = asyncio.create_task(tick())
        calls = [asyncio.create_task(module.load_sales(NEW)) for _ in range(100)]
        await until(turns.reached.is_set)
        began = len(ticks)
        await until(lambda: len(ticks) >= began + 200)
        turns.released.set()
        done = await asyncio.gather(*calls)
        ticker.cancel()
        return done, ticks[began : began + 200]

    done, ticks = asyncio.run(main())
    assert done == [RESULT] * 100
    assert turns.seen["recorded opened"] == turns.seen["recorded proposed"] == 1
    late = sorted(after - before - 0.01 for before, after in zip(ticks, ticks[1:]))
    print(f"\nover {ticks[-1] - ticks[0]:.2f} s a 10 ms ticker was late by at most {late[-1] * 1000:.1f} ms")


BEFORE = ["recorded opened", "recorded evident", "recorded diagnosed", "recorded proposed", "recorded judged",
          "recorded checked", "recorded approved", "recorded prepared", "before_write"]  # fmt: skip
AFTER = ["after_write", "before_swap", "after_swap", "recorded applied", "before_rerun"]


@pytest.mark.parametrize("turn", BEFORE + AFTER)
def test_cancelled_at(module: ModuleType, turns: Turns, turn: str) -> None:
    path = Path(str(module.__file__))
    original = path.read_bytes()
    guard = guard_in(module)
    codes = guard.codes
    turns.hold_at = turn

    async def main() -> None:
        call = asyncio.create_task(module.load_sales(NEW))
        await until(turns.reached.is_set)
        call.cancel()
        # The heal stands still: what leaves now has not waited for it.
        with pytest.raises(asyncio.CancelledError):
            await call
        turns.released.set()
        await until(lambda: guard.flight is None)

    asyncio.run(main())
    assert path.read_bytes() == original
    assert guard.codes == codes
    assert turns.seen["recorded closed"] == 1
    # Nothing rests after a cancellation: the next call heals.
    assert asyncio.run(module.load_sales(NEW)) == RESULT


def test_cancelled_inside_the_call_that_runs_again(module: ModuleType, turns: Turns) -> None:
    path = Path(str(module.__file__))
    original = path.read_bytes()
    guard = guard_in(module)

    async def main() -> None:
        module.inside = asyncio.Event()
        call = asyncio.create_task(module.load_sales(NEW))
        await module.inside.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: guard.flight is None)

    asyncio.run(main())
    assert path.read_bytes() == original
    assert turns.seen["before_rerun"] == 1 and turns.seen["recorded undoing"] == 1


def test_one_of_those_who_wait_goes_on_when_the_first_is_cancelled(module: ModuleType, turns: Turns) -> None:
    turns.hold_at = "recorded diagnosed"

    async def main() -> list[Any]:
        first = asyncio.create_task(module.load_sales(NEW))
        await until(turns.reached.is_set)
        others = [asyncio.create_task(module.load_sales(NEW)) for _ in range(5)]
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        turns.released.set()
        return await asyncio.gather(*others)

    assert asyncio.run(main()) == [RESULT] * 5
    assert turns.seen["recorded proposed"] == 1


def test_a_loop_that_is_not_asyncios_gets_an_offline_heal(module: ModuleType, turns: Turns) -> None:
    call = module.load_sales(NEW)
    try:
        while True:
            call.send(None)
    except StopIteration as stop:
        assert stop.value == RESULT
    except KeyError as error:
        # It had one second, and this machine was too slow for that.
        assert "deadline" in str(error.__notes__) or "allowed" in str(error.__notes__)  # type: ignore[attr-defined]
    assert turns.seen["recorded opened"] == 1 and turns.seen["recorded proposed"] <= 1
