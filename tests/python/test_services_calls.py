"""Calls of a served path, measured over their whole run; and clocks that tell no time (S2, S14)."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import time
from typing import TYPE_CHECKING, Any

import pytest
import sanare

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from pathlib import Path

START = 1_767_225_600.0
WAIT = 0.06


class Calls:
    """A service without rules, and what was measured of its one path."""

    def __init__(self, folder: Path) -> None:
        (folder / "sanare.toml").write_text("[service.fraud]\n")
        self.now = START
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.service = sanare.Service("fraud", healer=self.healer)
        self.seen: list[tuple[str, float, bool]] = []
        native = self.service._native

        class Spy:
            def __getattr__(self, name: str) -> Any:
                return getattr(native, name)

            def served(_, path: str, seconds: float, failed: bool) -> None:
                self.seen.append((path, seconds, failed))
                native.served(path, seconds, failed)

        self.service._native = Spy()

    def only(self) -> tuple[float, bool]:
        assert len(self.seen) == 1, self.seen
        return self.seen[0][1:]


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path)


async def agen(count: int, fails: bool = False) -> AsyncGenerator[int, None]:
    for number in range(count):
        await asyncio.sleep(WAIT / count)
        yield number
    if fails:
        raise ZeroDivisionError


def gen(count: int, fails: bool = False) -> Generator[int, None, str]:
    for number in range(count):
        time.sleep(WAIT / count)
        yield number
    if fails:
        raise ZeroDivisionError
    return "end"


async def coro(fails: bool = False) -> int:
    await asyncio.sleep(WAIT)
    if fails:
        raise ZeroDivisionError
    return 1


class Callable_:
    async def __call__(self) -> int:
        return await coro()


async def drain(run: AsyncGenerator[int, None]) -> list[int]:
    return [item async for item in run]


def test_an_asynchronous_generator_is_measured_over_its_run(calls: Calls) -> None:
    served = calls.service.serving(agen)
    assert inspect.isasyncgenfunction(served) and served.__name__ == "agen"
    run = served(3)
    assert calls.seen == [], "nothing has run yet"
    assert asyncio.run(drain(run)) == [0, 1, 2]
    seconds, failed = calls.only()
    assert seconds >= WAIT * 0.9 and not failed


def test_one_that_fails_at_its_end_has_failed(calls: Calls) -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(drain(calls.service.serving(agen)(2, fails=True)))
    assert calls.only()[1] is True


def test_a_reader_that_goes_away_is_no_fault(calls: Calls) -> None:
    cleaned = []

    @calls.service.serving
    async def stream() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(True)

    async def first() -> None:
        run = stream()
        assert await run.__anext__() == 1
        await run.aclose()

    asyncio.run(first())
    assert (cleaned, calls.only()[1]) == ([True], False)


def test_what_is_sent_and_thrown_arrives(calls: Calls) -> None:
    @calls.service.serving
    async def echo() -> AsyncGenerator[Any, Any]:
        got: Any = None
        while True:
            try:
                got = yield got
            except KeyError as error:
                got = repr(error)

    async def talk() -> list[Any]:
        run = echo()
        heard = [await run.asend(None), await run.asend(5), await run.athrow(KeyError("k")), await run.asend("x")]
        with pytest.raises(OSError, match="gone"):
            await run.athrow(OSError("gone"))
        return heard

    assert asyncio.run(talk()) == [None, 5, "KeyError('k')", "x"]
    assert calls.only()[1] is True


@pytest.mark.parametrize(
    ("make", "run", "result"),
    [
        (lambda: agen, lambda made: asyncio.run(drain(made(2))), [0, 1]),
        (lambda: functools.partial(agen, 2), lambda made: asyncio.run(drain(made())), [0, 1]),
        (lambda: lambda: agen(2), lambda made: asyncio.run(drain(made())), [0, 1]),
        (lambda: gen, lambda made: list(made(2)), [0, 1]),
        (lambda: functools.partial(gen, 2), lambda made: list(made()), [0, 1]),
        (lambda: lambda: gen(2), lambda made: list(made()), [0, 1]),
        (lambda: coro, lambda made: asyncio.run(made()), 1),
        (lambda: functools.partial(coro), lambda made: asyncio.run(made()), 1),
        (lambda: lambda: coro(), lambda made: asyncio.run(made()), 1),
        (Callable_, lambda made: asyncio.run(made()), 1),
        (lambda: lambda: time.sleep(WAIT), lambda made: made(), None),
    ],
)
def test_every_form_of_a_call(calls: Calls, make: Callable[[], Any], run: Callable[[Any], Any], result: Any) -> None:
    assert run(calls.service.serving(make())) == result
    seconds, failed = calls.only()
    assert seconds >= WAIT * 0.9 and not failed


@pytest.mark.parametrize(
    ("make", "run"),
    [
        (lambda: lambda: gen(1, fails=True), lambda made: list(made())),
        (lambda: lambda: coro(fails=True), lambda made: asyncio.run(made())),
        (lambda: lambda: agen(1, fails=True), lambda made: asyncio.run(drain(made()))),
        (lambda: lambda: 1 / 0, lambda made: made()),
    ],
)
def test_every_form_of_a_failure(calls: Calls, make: Callable[[], Any], run: Callable[[Any], Any]) -> None:
    with pytest.raises(ZeroDivisionError):
        run(calls.service.serving(make()))
    assert calls.only()[1] is True


def raises() -> float:
    raise OSError("no clock")


@pytest.mark.parametrize(
    "broken", [raises, lambda: math.nan, lambda: math.inf, lambda: -1.0, lambda: "noon", lambda: 1e300]
)
def test_a_clock_that_gives_no_time_is_refused(tmp_path: Path, broken: Callable[[], Any]) -> None:
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n")
    with pytest.raises(sanare.Error, match="`clock` gives no time"):
        sanare.Healer(tmp_path / "sanare.toml", clock=broken)
    tell: Callable[[], Any] = lambda: START  # noqa: E731
    healer = sanare.Healer(tmp_path / "sanare.toml", clock=lambda: tell())
    service = sanare.Service("fraud", healer=healer)
    service.observe("s", 1)
    tell = broken
    service.observe("s", 2)
    assert service.stats() == {"queued": 1, "sent": 0, "dropped": 0, "refused": 1, "rows": 0}, (
        "nobody knows when that was"
    )
    with pytest.raises(sanare.Error, match="the clock gives no time"):
        healer.run_once()
    assert service.stats()["queued"] == 1, "what was taken is kept"
    tell = lambda: START + 5  # noqa: E731
    assert healer.run_once()["stored"] == 1
