"""How long one call of a served path takes, and whether it fails: over its whole run, whatever kind of function it is."""

from __future__ import annotations

import functools
import inspect
import time
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator

    Served = Callable[[float, bool], None]

_clock = time.perf_counter


def measured(function: Callable[..., Any], served: Served) -> Callable[..., Any]:
    """The function, and for each call how many seconds it took and whether it failed. Every exception passes on."""
    kind = (
        function if inspect.isroutine(function) or isinstance(function, functools.partial) else type(function).__call__
    )
    if inspect.iscoroutinefunction(kind):

        @functools.wraps(function)
        async def asynchronous(*args: Any, **kwargs: Any) -> Any:
            return await _coroutine(function(*args, **kwargs), _clock(), served)

        return asynchronous

    if inspect.isasyncgenfunction(kind):
        return functools.wraps(function)(_async_generator(function, served))

    if inspect.isgeneratorfunction(kind):

        @functools.wraps(function)
        def streaming(*args: Any, **kwargs: Any) -> Any:
            return (yield from _generator(function(*args, **kwargs), _clock(), served))

        return streaming

    @functools.wraps(function)
    def synchronous(*args: Any, **kwargs: Any) -> Any:
        began = _clock()
        try:
            result = function(*args, **kwargs)
        except BaseException:
            served(began, True)
            raise
        # What a plain function gives may be a run that has not begun: it is measured when it is over.
        run = _RUNS.get(type(result))
        if run is not None:
            return run(result, began, served)
        served(began, False)
        return result

    return synchronous


async def _coroutine(run: Coroutine[Any, Any, Any], began: float, served: Served) -> Any:
    failed = True
    try:
        result = await run
        failed = False
        return result
    finally:
        served(began, failed)


def _generator(run: Generator[Any, Any, Any], began: float, served: Served) -> Generator[Any, Any, Any]:
    failed = True
    try:
        result = yield from run
        failed = False
        return result
    except GeneratorExit:
        # The reader went away: that is no fault of the path.
        failed = False
        raise
    finally:
        served(began, failed)


def _async_generator(make: Callable[..., AsyncGenerator[Any, Any]], served: Served) -> Callable[..., Any]:
    """An asynchronous generator has no `yield from`: what it is sent and what is thrown into it is passed on by hand."""

    async def streaming_asynchronously(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        began, failed = _clock(), True
        run = make(*args, **kwargs)
        try:
            step = run.asend(None)
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    failed = False
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    failed = False
                    raise
                except BaseException as error:
                    step = run.athrow(error)
                else:
                    step = run.asend(sent)
        finally:
            try:
                await run.aclose()
            finally:
                served(began, failed)

    return streaming_asynchronously


_RUNS: dict[type, Callable[..., Any]] = {
    CoroutineType: _coroutine,
    GeneratorType: _generator,
    AsyncGeneratorType: lambda run, _, served: _async_generator(lambda: run, served)(),
}
