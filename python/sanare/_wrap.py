"""The fallback: a transparent wrapper, for functions into which the guard cannot be compiled."""

from __future__ import annotations

import sys

from sanare._guard import LOOKS, MISSED, Guard, _own_failure, look_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType
    from typing import Any


def wrap(guard: Guard, function: FunctionType) -> Callable[..., Any]:
    """A wrapper of the same kind, with the function's names, documentation, annotations and `__wrapped__`."""
    make: Callable[[Guard, FunctionType], Any] = {
        "function": _function,
        "generator": _generator,
        "coroutine": _coroutine,
        "async_generator": _async_generator,
    }[guard.kind]
    wrapper = make(guard, function)
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__type_params__"):
        if hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))
    if sys.version_info >= (3, 14):
        wrapper.__annotate__ = function.__annotate__
    else:
        wrapper.__annotations__ = function.__annotations__
    wrapper.__dict__.update(function.__dict__)
    wrapper.__wrapped__ = function
    wrapper.__sanare__ = wrapper.__code__
    result: Callable[..., Any] = wrapper
    return result


def _failed(guard: Guard, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], *, begun: bool) -> Any:
    try:
        from sanare._heal import failed_in_wrapper

        return failed_in_wrapper(guard, sys.exc_info()[1], function, args, kwargs, begun=begun)
    except Exception as trouble:
        return _own_failure(trouble)


async def _failed_async(
    guard: Guard, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], *, begun: bool
) -> Any:
    try:
        from sanare._heal_async import failed_in_wrapper_async

        return await failed_in_wrapper_async(guard, sys.exc_info()[1], function, args, kwargs, begun=begun)
    except Exception as trouble:
        return _own_failure(trouble)


def _look(guard: Guard, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    guard.seen += 1
    if guard.seen in LOOKS and guard.options.get("remember", "shape") != "off":
        try:
            from sanare._call import bind
            from sanare._remember import look

            look(guard, bind(function, args, kwargs), result, generator=guard.kind != "function")
        except Exception as trouble:
            _own_failure(trouble)
    if guard.seen == LOOKS[-1]:
        look_later(guard)


def _function(guard: Guard, function: FunctionType) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except Exception:
            result = _failed(guard, function, args, kwargs, begun=False)
            if result is MISSED:
                raise
            return result
        if guard.seen < LOOKS[-1]:
            _look(guard, function, args, kwargs, result)
        return result

    return wrapper


def _coroutine(guard: Guard, function: FunctionType) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            result = await function(*args, **kwargs)
        except Exception:
            result = await _failed_async(guard, function, args, kwargs, begun=False)
            if result is MISSED:
                raise
            return result
        if guard.seen < LOOKS[-1]:
            _look(guard, function, args, kwargs, result)
        return result

    return wrapper


def _generator(guard: Guard, function: FunctionType) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        try:
            item = next(inner)
        except StopIteration as stop:
            return stop.value
        except Exception:
            healed = _failed(guard, function, args, kwargs, begun=False)
            if healed is MISSED:
                raise
        else:
            try:
                return (yield from _rest(inner, item))
            except Exception:
                _failed(guard, function, args, kwargs, begun=True)
                raise
        return (yield from healed)

    return wrapper


def _rest(inner: Any, item: Any) -> Any:
    """`yield from` for a generator whose first item is already out."""
    while True:
        try:
            sent = yield item
        except GeneratorExit:
            inner.close()
            raise
        except BaseException as thrown:
            try:
                item = inner.throw(thrown)
            except StopIteration as stop:
                return stop.value
        else:
            try:
                item = inner.send(sent)
            except StopIteration as stop:
                return stop.value


def _async_generator(guard: Guard, function: FunctionType) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        begun = False
        item: Any = None
        while True:
            try:
                item = await inner.asend(item)
            except StopAsyncIteration:
                return
            except Exception:
                healed = await _failed_async(guard, function, args, kwargs, begun=begun)
                if healed is MISSED:
                    raise
                inner, item = healed, None
                continue
            while True:
                begun = True
                try:
                    item = yield item
                    break
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as thrown:
                    try:
                        item = await inner.athrow(thrown)
                    except StopAsyncIteration:
                        return

    return wrapper
