"""The failing program as the Rust half sees it: compile, try, swap, run again (the port `Subject`)."""

from __future__ import annotations

import os
import sys

from sanare import _project, _swap
from sanare._call import Call
from sanare._source import FUTURE_FLAGS, find_running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sanare._trial import Trial


class Subject:
    """One failing call, asked by Rust through these methods; answers are plain data."""

    # Whether the caller went away meanwhile: the heal is then abandoned at its next turn.
    abandoned = False

    def __init__(self, call: Call) -> None:
        self.call = call
        path = call.guard.path
        self.root = _project.root_of(_project.standing_for(path))
        self.first_line = call.guard.current.co_firstlineno
        self.swapped: _swap.Swapped | None = None
        self.has_result = False
        # The file's lines as they were at the failure: what may run again is judged by the body that ran.
        self.texts: dict[str, list[str]] = {}
        self.unsafe: str | None = None
        self.judged = False
        self.denied = ""
        self.milliseconds = 20_000
        self.result: Any = None
        # Something that must leave at once, such as Ctrl-C during the re-run.
        self.interrupted: BaseException | None = None

    def about(self, request: dict[str, Any]) -> None:
        """Takes from the request where the function stands in the source of today."""
        self.first_line = request["first_line"] or self.first_line
        if request["source"] and request["first_line"]:
            # Lines as the running code counts them, where the file has moved on since.
            lines = request["source"].split("\n")
            moved = request["first_line"] - self.call.plain.co_firstlineno
            self.texts = {self.call.guard.path: lines[moved:] if moved > 0 else [""] * -moved + lines}

    def ran_from(self, source: str) -> None:
        """Takes the module text that the failing code was made from, where the file holds another one by now. Nothing
        is believed: the running code must be in it."""
        from sanare._compile import _Quiet

        guard, plain = self.call.guard, self.call.plain
        try:
            with _Quiet(guard.path):
                module: Any = compile(source, guard.path, "exec", plain.co_flags & FUTURE_FLAGS, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return
        found = find_running(module, guard.qualname, plain)
        if found is None:
            return
        lines = source.split("\n")
        shift = plain.co_firstlineno - found.co_firstlineno
        self.texts = {guard.path: [""] * shift + lines if shift > 0 else lines[-shift:]}

    def compiles(self, source: str) -> str | None:
        """The running interpreter's complaint about a module's text, or None."""
        from sanare._compile import _Quiet

        try:
            with _Quiet(self.call.guard.path):
                compile(source, self.call.guard.path, "exec", dont_inherit=True)
        except SyntaxError as trouble:
            return f"line {trouble.lineno}: {trouble.msg}"
        except (ValueError, RecursionError, MemoryError) as trouble:
            return str(trouble)
        return None

    def prepare(self, source: str, runs: Sequence[Sequence[tuple[str, tuple[Any, ...]]] | None]) -> Trial | str:
        """Runs of the target as this text has it, to be made in the child one after the other; or why there can be
        none. Each is with the real arguments (None) or with these."""
        if not self.call.complete:
            return "the arguments of the call are not all known"
        if self.call.guard.kind in ("coroutine", "async_generator") and _owns_loop(self.call):
            return "an argument belongs to the running event loop"
        code = _swap.code_in(source, self.call.guard, self.first_line)
        if isinstance(code, str):
            return code
        # Not before there is a candidate: most failures of a model's making never come so far.
        from sanare._trial import Trial

        return Trial(self.call, code, self.root, runs)

    def fresh(self, source: str, runs: Sequence[Any]) -> Any:
        """The same for a fresh interpreter: what it is told, or why it cannot be (C89)."""
        from sanare._fresh import request

        return request(self, source, runs)

    def holds_gpu(self) -> bool:
        """Whether a fork would lack what this process holds on a graphics processor (C89)."""
        from sanare._gpu import holds_context

        return holds_context()

    def outcome(self, data: bytes) -> Any:
        """What a child sent back."""
        import marshal

        outcome: Any = marshal.loads(data)
        for one in outcome if isinstance(outcome, list) else [outcome]:
            self.denied = self.denied or str(one.get("denied", ""))
        return outcome

    def readable(self) -> list[str]:
        """What a trial may read: code, the interpreter, and the files that the call names."""
        from sanare._request import file_of

        paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, self.root}
        paths.update(entry or os.getcwd() for entry in sys.path)
        paths.update(path for path in map(file_of, self.call.arguments.values()) if path)
        return sorted(path for path in paths if os.path.exists(path))

    def replay(self, source: str, milliseconds: int = 20_000, calls: list[bytes] | None = None) -> list[dict[str, Any]]:
        """Checks of remembered calls (None: not wanted), examples and contracts, each in a child that may take so long."""
        from sanare._replay import replay

        self.milliseconds = milliseconds
        return replay(self, source, calls)

    def swap(self, source: str) -> str | None:
        """Puts the repaired code behind the running functions; the answer says why not."""
        done = _swap.swap(self.call.guard, source, self.first_line)
        if isinstance(done, str):
            return done
        self.swapped = done
        return None

    def unswap(self, source: str | None = None) -> None:
        """Puts the old code back."""
        if self.swapped is not None:
            _swap.unswap(self.call.guard, self.swapped, source)
            self.swapped = None

    def moment(self, name: str) -> None:
        """Told at every turn of the loop, in its order; nothing that happens here changes it."""
        if name in ("before_swap", "after_swap"):
            from sanare._listen import is_awaited, tell

            if is_awaited(name):
                for function in self.call.guard.living():
                    tell(name, function)

    def judge(self) -> None:
        """Judges once whether the call may run again."""
        if not self.judged:
            from sanare._rerun import unsafe_because

            self.judged = True
            self.unsafe = unsafe_because(self.call, self.texts)

    def rerun_unsafe(self) -> str | None:
        """Why the owner's call may not run a second time, or None."""
        self.judge()
        if self.unsafe is None and self.denied:
            return f"the trial was denied an effect ({self.denied})"
        return self.unsafe

    def rerun(self) -> dict[str, Any] | None:
        """The owner's call once more, for real. None: it returned, and the result is kept here."""
        if self.call.begun:
            return self._not_run("items were given out already")
        if not self.call.complete:
            return self._not_run("the arguments of the call are not all known")
        try:
            args, kwargs = self.call.as_passed()
            self.result = self._first(self.call.function(*args, **kwargs))
            self.judge_result()
            self.has_result = True
            return None
        except Exception as raised:
            return self._failed(raised)
        except BaseException as leaving:
            self.interrupted = leaving
            return self._not_run("the program was told to stop")

    def judge_result(self) -> None:
        """Raises when what the re-run gave breaks the contract: then the repair is none (C51)."""
        from sanare import _contract

        contract = _contract.of_call(self.call)
        if contract is None or self.call.guard.kind not in ("function", "coroutine"):
            return
        wanted = _contract.parts(contract).get("return")
        if wanted is not None:
            try:
                _contract.judge(wanted, self.result)
            except _contract.CannotJudge:
                # The gate said so and a person was asked.
                return

    def _first(self, value: Any) -> Any:
        """A generator's call returns before anything ran: its first item is what says whether it works."""
        if self.call.guard.kind != "generator":
            return value
        from sanare._wrap import _rest

        try:
            item = next(value)
        except StopIteration as stop:
            return _nothing(stop.value)
        return _rest(value, item)

    def _failed(self, error: BaseException) -> dict[str, Any]:
        from sanare._frames import describe

        guard = self.call.guard
        traceback = error.__traceback__
        code = next((one for one in guard.codes), guard.current)
        while traceback is not None and not any(traceback.tb_frame.f_code is one for one in guard.codes):
            traceback = traceback.tb_next
        if traceback is not None:
            code = traceback.tb_frame.f_code
        return describe(error, traceback, root=self.root, path=guard.path, qualname=guard.qualname, code=code)

    def _not_run(self, why: str) -> dict[str, Any]:
        from sanare._errors import Error

        return self._failed(Error(why))

    def members(self, dotted: list[str]) -> dict[str, bool]:
        """Which of these members exist in the running interpreter. Of what is not loaded, only modules of the standard
        library are: the successor of a removed name may stand in one that nobody has asked for yet."""
        from sanare._compile import _Quiet

        # A library may warn of a member when it is looked at; nobody but us looked.
        with _Quiet(__name__):
            return {name: _exists(name) for name in dotted}

    def versions(self, distributions: list[str]) -> dict[str, str]:
        """Versions of installed distributions, from their metadata."""
        from importlib import metadata

        found = {}
        for name in distributions:
            try:
                found[name] = metadata.version(name)
            except Exception:
                continue
        return found


def _nothing(value: Any) -> Any:
    """A generator that is over at once, with this return value."""
    return value
    yield


def _module(name: str) -> Any:
    module = sys.modules.get(name)
    if module is None and name.partition(".")[0] in sys.stdlib_module_names:
        try:
            __import__(name)
        except Exception:
            return None
        module = sys.modules.get(name)
    return module


def _exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for size in range(len(parts) - 1, 0, -1):
        module = _module(".".join(parts[:size]))
        if module is None:
            continue
        value: Any = module
        for part in parts[size:]:
            try:
                value = getattr(value, part)
            except Exception:
                return False
        return True
    return dotted in sys.modules


def _owns_loop(call: Call) -> bool:
    for value in call.arguments.values():
        module = type(value).__module__
        if module.partition(".")[0] in ("asyncio", "_asyncio", "uvloop", "aiohttp"):
            return True
    return False
