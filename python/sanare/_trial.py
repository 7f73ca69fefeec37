"""One trial: what the forked child does with a candidate, and the plain data that it sends back.

The child executes nothing of the module. The candidate's text was compiled before the fork; in the child its code is
put behind the living functions, the call is made with the real arguments, and only a verdict leaves: state, digest and
type of the result, whether the arguments changed, and how it failed.
"""

from __future__ import annotations

import os

from sanare import _digest, _state
from sanare._call import Call, spread
from sanare._frames import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType
    from typing import Any


class Trial:
    """Prepared runs of one text. Called in the child, with the private folder that may be written."""

    def __init__(
        self, call: Call, code: CodeType, root: str, runs: Sequence[Sequence[tuple[str, tuple[Any, ...]]] | None]
    ) -> None:
        self.call = call
        self.code = code
        self.root = root
        self.runs = runs
        # Loaded before the fork: the child may find its imports shut in.
        self.marshal: Any = __import__("marshal")
        self.plain: Any = _plain()
        __import__("opcode")
        if call.guard.kind in ("coroutine", "async_generator"):
            __import__("asyncio")

    def __call__(self, folder: str = "") -> bytes:
        """Runs in the child and gives the outcome as bytes."""
        _state.in_child = True
        outcomes = []
        for twins in self.runs:
            # Each run meets the object of a method as the failing call met it.
            own, kept = self._own()
            outcomes.append(self.run(folder, twins))
            if own is not None:
                own.clear()
                own.update(kept)
        data: bytes = self.marshal.dumps(outcomes)
        return data

    def run(self, folder: str, twins: Sequence[tuple[str, tuple[Any, ...]]] | None) -> dict[str, Any]:
        """Runs the candidate in this process. Only for a process that may be thrown away."""
        call = self.call
        for function in [*call.guard.living(), call.function]:
            function.__code__ = self.code
        arguments = dict(call.arguments)
        if twins is not None:
            for name, twin in twins:
                arguments[name] = self._twin(twin, call.arguments.get(name), folder)
        args, kwargs = spread(self.code, arguments)
        if twins is None and call.positional is not None:
            args, kwargs = call.as_passed()
        aside = self._receiver(arguments)
        before = _digest.digest(list(arguments.values()), aside)
        error: BaseException | None = None
        result: Any = None
        try:
            result = self._result(call.function(*args, **kwargs))
        except SystemExit as leaving:
            return {"state": "exited", "detail": f"it left with {leaving.code!r}"[:200]}
        except BaseException as raised:
            error = raised
        outcome: dict[str, Any] = {
            "state": "returned" if error is None else "raised",
            "arguments_changed": _digest.digest(list(arguments.values()), aside) != before,
        }
        if error is None:
            outcome["result_type"] = _digest.type_name(result)
            outcome["result_empty"] = _digest.is_empty(result)
            # On made-up input old and new body must leave the object of a method alike, too.
            whole = result if twins is None or aside is None else (result, aside[0])
            outcome["digest"] = _digest.digest(whole)
            return outcome
        if isinstance(error, PermissionError):
            # The sandbox answers so; whether it was the sandbox is for the parent to judge from both bodies.
            outcome["denied"] = str(error.strerror or "") + (f": {error.filename}" if error.filename else "")
        outcome["failure"] = self._failure(error)
        return outcome

    def _own(self) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The attributes of a method's object, and a copy of them."""
        from sanare._frames import instance_dict

        receiver = self._receiver(self.call.arguments)
        if receiver is None or isinstance(receiver[0], type):
            return None, {}
        own = instance_dict(receiver[0])
        return own, dict(own)

    def _receiver(self, arguments: dict[str, Any]) -> tuple[object, frozenset[str]] | None:
        """The object of a method, and the attributes that its own body sets: those it may set under a repair too."""
        outer, _, _ = self.call.guard.qualname.rpartition(".")
        names = self.call.plain.co_varnames
        if not outer or outer.endswith("<locals>") or not names or names[0] not in arguments:
            return None
        return arguments[names[0]], _stored(self.call.plain)

    def _twin(self, twin: tuple[Any, ...], real: Any, folder: str) -> Any:
        if twin[0] != "file":
            return twin[1]
        path = os.path.join(folder or ".", twin[1])
        with open(path, "wb") as file:
            file.write(twin[2])
        return path if isinstance(real, str) or real is None else type(real)(path)

    def _result(self, value: Any) -> Any:
        """What the owner's caller would get out of it: awaited, or drained to 10,000 items."""
        kind = self.call.guard.kind
        if kind == "coroutine":
            import asyncio

            return _drained(asyncio.run(value))
        if kind == "async_generator":
            import asyncio

            return asyncio.run(_drain_async(value))
        return _drained(value)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        guard = self.call.guard
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self.code:
            traceback = traceback.tb_next
        # The trial runs while the original error is being handled, which makes that one the context of everything here.
        link: BaseException | None = error
        while link is not None:
            if link.__context__ is self.call.error:
                link.__context__ = None
            link = link.__context__
        failure = describe(error, traceback, root=self.root, path=guard.path, qualname=guard.qualname, code=self.code)
        return _plain_failure(failure, self.plain)


def _stored(code: CodeType) -> frozenset[str]:
    """Names of the attributes that the code sets or deletes, on whatever object."""
    from opcode import opmap

    stored = {opmap["STORE_ATTR"], opmap["DELETE_ATTR"]}
    names = set()
    high = 0
    for at in range(0, len(code.co_code), 2):
        operation, argument = code.co_code[at], code.co_code[at + 1] | high
        high = argument << 8 if operation == opmap["EXTENDED_ARG"] else 0
        if operation in stored and argument < len(code.co_names):
            names.add(code.co_names[argument])
    return frozenset(names)


def _plain_failure(failure: dict[str, Any], plain: Any) -> dict[str, Any]:
    failure["args"] = [plain(value) for value in failure["args"]]
    for frame in failure.get("frames", ()):
        frame["locals"] = {name: plain(value) for name, value in frame["locals"].items()}
    if failure["cause"] is not None:
        failure["cause"] = _plain_failure(failure["cause"], plain)
    return failure


def _plain() -> Any:
    from sanare._native import native

    return native().plain


def _drained(value: Any) -> Any:
    """Items of a generator or other one-shot iterator: an error in them is an error of the call."""
    kind = type(value)
    if kind.__module__ in ("builtins", "itertools", "_csv", "csv") and hasattr(kind, "__next__"):
        items = []
        for item in value:
            items.append(item)
            if len(items) >= _digest.ITEMS:
                break
        return (kind.__name__, items)
    return value


async def _drain_async(value: Any) -> Any:
    items = []
    async for item in value:
        items.append(item)
        if len(items) >= _digest.ITEMS:
            break
    return ("async_generator", items)
