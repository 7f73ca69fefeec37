"""The failure path of `async def`: captured in the loop's thread, healed in a worker, run again in the caller's task.

The worker drives the heal and asks, through a mailbox, for what only the task itself can do: awaiting the owner's call
once more, in its own context (C114).
"""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident, start_new_thread
from time import monotonic

from sanare import _flight, _outward, _state
from sanare._call import Call, call_in, call_in_wrapper
from sanare._guard import MISSED, Guard
from sanare._heal import _leave_note, concerns, conclude, is_over, marked, was_repaired
from sanare._subject import Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, FunctionType
    from typing import Any

# Under a loop that is not asyncio's nothing may be waited for long (C114).
FOREIGN = 1.0


async def failed_async(guard: Guard, error: BaseException | None, frame: FrameType) -> Any:
    """What the guard of a coroutine or asynchronous generator asks."""
    if error is None or not concerns(guard, error):
        return MISSED
    return await heal(call_in(guard, error, frame))


async def failed_in_wrapper_async(
    guard: Guard,
    error: BaseException | None,
    function: FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    begun: bool,
) -> Any:
    """The same for a wrapper."""
    if error is None or not concerns(guard, error):
        return MISSED
    call = call_in_wrapper(guard, error, function, args, kwargs)
    call.begun = begun
    return await heal(call)


class Mailbox:
    """Messages from a worker thread to the one coroutine that waits for them."""

    def __init__(self) -> None:
        self.loop = _running_loop()
        self.messages: list[tuple[str, Any]] = []
        self.lock = allocate_lock()
        self.waiter: Any = None
        # Held while there is nothing to take: what a foreign loop's thread waits on.
        self.empty = allocate_lock()
        self.empty.acquire()

    def put(self, kind: str, content: Any) -> None:
        """From the worker: leaves a message and wakes the coroutine."""
        with self.lock:
            self.messages.append((kind, content))
            waiter, self.waiter = self.waiter, None
        if waiter is not None:
            try:
                self.loop.call_soon_threadsafe(_wake, waiter)
            except RuntimeError:
                pass  # The loop is closed: nobody waits any more.
        elif self.loop is None and self.empty.locked():
            self.empty.release()

    async def take(self) -> tuple[str, Any]:
        """From the coroutine: the next message."""
        while True:
            with self.lock:
                if self.messages:
                    return self.messages.pop(0)
                if self.loop is not None:
                    self.waiter = self.loop.create_future()
            if self.loop is not None:
                await self.waiter
            else:
                self.empty.acquire()


def _wake(waiter: Any) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _running_loop() -> Any:
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class AsyncSubject(Subject):
    """The same program, whose call can only be run again by its own task."""

    def __init__(self, call: Call, mailbox: Mailbox) -> None:
        super().__init__(call)
        self.mailbox = mailbox
        self.answered = allocate_lock()
        self.answered.acquire()
        self.answer: dict[str, Any] | None = None

    def rerun(self) -> dict[str, Any] | None:
        """Asks the task to run the call, and waits for what comes of it."""
        if self.call.begun:
            return self._not_run("items were given out already")
        if not self.call.complete:
            return self._not_run("the arguments of the call are not all known")
        if self.abandoned:
            return self._not_run("the call was cancelled")
        self.mailbox.put("rerun", None)
        self.answered.acquire()
        return self.answer

    async def rerun_here(self) -> None:
        """In the task: the owner's call once more."""
        try:
            args, kwargs = self.call.as_passed()
            value = self.call.function(*args, **kwargs)
            self.result = await self._first_async(value)
            self.judge_result()
            self.has_result = True
            self.answer = None
        except Exception as raised:
            self.answer = self._failed(raised)
        except BaseException:
            self.answer = self._not_run("the call was cancelled")
            raise
        finally:
            self.answered.release()

    async def _first_async(self, value: Any) -> Any:
        if self.call.guard.kind != "async_generator":
            return await value
        try:
            item = await value.__anext__()
        except StopAsyncIteration:
            return _nothing()
        return _rest_async(value, item)

    def abandon(self) -> None:
        """The task was cancelled: whatever the worker still asks is answered with no."""
        self.abandoned = True
        if self.answered.locked():
            self.answer = self._not_run("the call was cancelled")
            self.answered.release()


async def _nothing() -> Any:
    return
    yield


async def _rest_async(inner: Any, item: Any) -> Any:
    while True:
        try:
            sent = yield item
        except GeneratorExit:
            await inner.aclose()
            raise
        except BaseException as thrown:
            try:
                item = await inner.athrow(thrown)
            except StopAsyncIteration:
                return
        else:
            try:
                item = await inner.asend(sent)
            except StopAsyncIteration:
                return


class Resumed:
    """A repaired asynchronous generator, driven from inside the guarded one, item by item."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def sent(self, value: Any) -> Any:
        """The next item after this was sent in; MISSED when there is none."""
        try:
            return await self.inner.asend(value)
        except StopAsyncIteration:
            return MISSED

    async def thrown(self, error: BaseException) -> Any:
        """The next item after this was thrown in."""
        if isinstance(error, GeneratorExit):
            await self.inner.aclose()
            raise error
        try:
            return await self.inner.athrow(error)
        except StopAsyncIteration:
            return MISSED


async def heal(call: Call) -> Any:
    """Heals, or waits for the heal of the same function that is going on, without holding up the loop."""
    guard = call.guard
    key = (type(call.error), call.line(), call.code)
    end = monotonic() + guard.options.get("wait", 30.0)
    while True:
        flight, leads = _flight.enter(guard, key)
        if leads:
            break
        if flight.key != key and is_over(call):
            return MISSED
        if not await _over(guard, flight, _flight.time_left(end)):
            _leave_note(call, {"status": "open", "summary": "another call is healing this failure"})
            return MISSED
        if was_repaired(call):
            return await _adopt(call)
        if flight.key == key and not flight.abandoned:
            if flight.report:
                _leave_note(call, flight.report)
            return MISSED
    if was_repaired(call):
        _flight.leave(guard, flight)
        return await _adopt(call)
    if is_over(call):
        _flight.leave(guard, flight)
        return MISSED
    return await _lead(call, flight)


async def _over(guard: Guard, flight: _flight.Flight, seconds: float) -> bool:
    """Waits for another heal; the loop goes on meanwhile."""
    mailbox = Mailbox()
    if mailbox.loop is None:
        return flight.wait(min(seconds, FOREIGN))
    with guard.lock:
        if guard.flight is not flight:
            return True
        flight.callbacks.append(lambda: mailbox.put("over", None))
    timer = mailbox.loop.call_later(max(0.0, seconds), mailbox.put, "late", None)
    try:
        kind, _ = await mailbox.take()
    finally:
        timer.cancel()
    return kind == "over"


async def _lead(call: Call, flight: _flight.Flight) -> Any:
    from sanare import _request

    guard = call.guard
    mailbox = Mailbox()
    subject = AsyncSubject(call, mailbox)
    started = False
    began = monotonic()
    try:
        request = _request.build(call)
        request["continues"] = _outward.request_of(guard, marked(call.error))
        if mailbox.loop is None:
            request["options"].update(deadline=FOREIGN, proposers=["drift"])
        subject.about(request)
        start_new_thread(_work, (guard, flight, request, subject))
        started = True
        while True:
            kind, content = await mailbox.take()
            if kind == "rerun":
                await subject.rerun_here()
            elif kind == "failed":
                raise content
            else:
                return conclude(call, subject, content, began)
    except BaseException:
        subject.abandon()
        raise
    finally:
        if not started:
            _flight.leave(guard, flight)


def _work(guard: Guard, flight: _flight.Flight, request: dict[str, Any], subject: AsyncSubject) -> None:
    """In the worker: the heal. The flight ends here, so that it lasts as long as anything may still be changed."""
    from sanare._native import native

    ident = get_ident()
    _state.busy.add(ident)
    try:
        report = native().heal(request, subject)
        flight.report = report
        flight.abandoned = subject.abandoned
        answer: tuple[str, Any] = ("done", report)
    except BaseException as trouble:
        answer = ("failed", trouble if isinstance(trouble, Exception) else RuntimeError(type(trouble).__name__))
    finally:
        _state.busy.discard(ident)
        _flight.leave(guard, flight)
    subject.mailbox.put(*answer)


async def _adopt(call: Call) -> Any:
    """Runs the call under the repair that another call got accepted meanwhile."""
    subject = AsyncSubject(call, Mailbox())
    rule = call.guard.options.get("rerun", "safe")
    why = "rerun is never" if rule == "never" else subject.rerun_unsafe() if rule == "safe" else None
    if why is None:
        await subject.rerun_here()
        if subject.has_result:
            return subject.result
        why = "the repaired function failed on this call too"
    _leave_note(call, {"status": "applied", "summary": f"repaired, not re-run: {why}"})
    return MISSED
