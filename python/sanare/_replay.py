"""Gate 6 on the Python side: remembered calls, examples and contracts, each in a child of its own (C49 to C51, C86)."""

from __future__ import annotations

import glob
import os

from sanare import _contract as _contract_of
from sanare import _digest, _state
from sanare._example import _NOT_GIVEN, Example
from sanare._trial import _drained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType
    from typing import Any

    from sanare._subject import Subject


class Probe:
    """One question to a candidate, asked in the child: a callable that gets the candidate function."""

    def __init__(self, subject: Subject, code: CodeType, question: Callable[[Any], Any]) -> None:
        self.subject = subject
        self.code = code
        self.question = question
        self.marshal: Any = __import__("marshal")
        # The folder that the child may write, once it runs.
        self.folder = ""

    def __call__(self, folder: str = "") -> bytes:
        """Runs in the child."""
        _state.in_child = True
        self.folder = folder
        call = self.subject.call
        for function in [*call.guard.living(), call.function]:
            function.__code__ = self.code
        answer: dict[str, Any]
        try:
            answer = {"state": "returned", "answer": self.question(call.function)}
        except Exception as error:
            from sanare._frames import dotted, message_of

            answer = {"state": "raised", "answer": f"{dotted(type(error))}: {message_of(error)[:500]}"}
        data: bytes = self.marshal.dumps(answer)
        return data


def replay(subject: Subject, source: str, calls: list[bytes] | None = None) -> list[dict[str, Any]]:
    """The checks of one candidate, in order; the first that fails ends it."""
    from sanare import _swap

    options = subject.call.guard.options
    examples = options.get("examples", ())
    contract = _contract_of.of_call(subject.call)
    if not examples and contract is None and calls is None:
        return []
    code = _swap.code_in(source, subject.call.guard, subject.first_line)
    if isinstance(code, str):
        return [_check("examples", "failed", code)]
    checks: list[dict[str, Any]] = []
    if contract is not None:
        checks.append(_contract(subject, code, contract))
    if calls is not None and not (checks and checks[-1]["answer"] == "failed"):
        checks.append(_calls(subject, code, calls))
    for example in examples:
        if checks and checks[-1]["answer"] == "failed":
            break
        checks.extend(_example(subject, code, example))
    return checks


def _check(name: str, answer: str, reason: str = "") -> dict[str, Any]:
    return {"gate": "trial" if name == "contract" else "replay", "name": name, "answer": answer, "reason": reason}


def _ask(
    subject: Subject,
    code: CodeType,
    question: Callable[[Any], Any],
    values: Iterable[Any] = (),
    *,
    folder: bool = False,
) -> tuple[str, Any]:
    """State and answer of one question; `skipped` where there is no child to ask. Files that the values name may be
    read, like those of the call itself."""
    from sanare import _settings
    from sanare._native import native
    from sanare._request import file_of

    isolation = _settings.of_project(subject.root).get("heal.gates.isolation", "auto")
    if isolation in ("fresh", "none"):
        return "skipped", f"asked in a fork alone, and heal.gates.isolation is {isolation}"
    named = [path for path in map(file_of, values) if path]
    probe = Probe(subject, code, question)
    if folder:
        asked = question
        probe.question = lambda function: asked((function, probe.folder))
    answer = native().in_child(probe, [*subject.readable(), *named], {"milliseconds": subject.milliseconds})
    if isinstance(answer, bytes):
        outcome = subject.outcome(answer)
        return str(outcome["state"]), outcome["answer"]
    state, detail = answer
    return ("skipped" if state in ("NoIsolation", "CannotRun") else "failed"), f"{state}: {detail}"


def _contract(subject: Subject, code: CodeType, contract: Any) -> dict[str, Any]:
    call = subject.call
    mapping = _contract_of.parts(contract)

    def question(function: Any) -> Any:
        try:
            for name, one in mapping.items():
                if name != "return" and name in call.arguments:
                    _contract_of.judge(one, call.arguments[name])
            args, kwargs = call.as_passed()
            if "return" in mapping:
                _contract_of.judge(mapping["return"], function(*args, **kwargs))
        except _contract_of.CannotJudge as why:
            return str(why)
        return ""

    state, answer = _ask(subject, code, question)
    if state == "returned":
        return _check("contract", "skipped" if answer else "passed", str(answer))
    return _check("contract", "skipped" if state == "skipped" else "failed", str(answer))


def _calls(subject: Subject, code: CodeType, calls: list[bytes]) -> dict[str, Any]:
    """Remembered calls once more: a candidate that gives anything else on one is refused. What the old body gives
    another result on by now (it read the clock, or a file that moved on) says nothing. No value leaves the child."""
    from sanare import _whole
    from sanare._call import spread

    kept = [data for data in calls if _whole.read(data) is not None]
    if not kept:
        return _check("calls", "skipped", "no call is remembered")
    if subject.call.guard.kind == "coroutine":
        # Loaded before the fork: the child may find its imports shut in.
        __import__("asyncio")

    def question(given: Any) -> Any:
        function, folder = given
        return [_again(function, folder, data) for data in kept]

    def _again(function: Any, folder: str, data: bytes) -> str:
        parts, result = _whole.read(data) or ([], None)
        arguments = {}
        for name, form, value in parts:
            if form == "file":
                base, content = value
                value = os.path.join(folder or ".", base)
                with open(value, "wb") as file:
                    file.write(content)
                real = subject.call.arguments.get(name)
                if real is not None and type(real) is not str:
                    value = type(real)(value)
            arguments[name] = value
        try:
            args, kwargs = spread(function.__code__, arguments)
            given = function(*args, **kwargs)
            if subject.call.guard.kind == "coroutine":
                import asyncio

                given = asyncio.run(given)
        except Exception as error:
            return f"raises {type(error).__name__}"
        return "" if _whole.same(given, result) else "gives another result"

    state, before = _ask(subject, subject.call.guard.current, question, folder=True)
    if state != "returned":
        return _check("calls", "skipped", f"the old body could not be asked: {state}")
    good = [place for place, answer in enumerate(before) if answer == ""]
    if not good:
        return _check("calls", "skipped", "the old body does not give again what it gave on the remembered calls")
    kept = [kept[place] for place in good]
    state, after = _ask(subject, code, question, folder=True)
    if state == "skipped":
        return _check("calls", "skipped", str(after))
    if state != "returned":
        return _check("calls", "failed", f"on remembered calls the candidate ends the trial: {state}")
    wrong = [(place, answer) for place, answer in enumerate(after, 1) if answer]
    if wrong:
        place, answer = wrong[0]
        return _check("calls", "failed", f"on remembered call {place} of {len(kept)} the candidate {answer}")
    return _check("calls", "passed", f"{len(kept)} of {len(calls)} remembered calls give what they gave")


def _example(subject: Subject, code: CodeType, example: Any) -> list[dict[str, Any]]:
    if isinstance(example, Example):
        return [_one_example(subject, code, example)]
    if type(example) is str:
        return _files(subject, code, example)
    name = getattr(example, "__name__", "example")
    state, answer = _ask(subject, code, lambda function: str(example(function) and ""))
    return [_verdict(state, answer, name, state == "returned")]


def _verdict(state: str, answer: Any, name: str, good: bool) -> dict[str, Any]:
    if state == "skipped":
        return _check("examples", "skipped", f"{name}: {answer}")
    return _check("examples", "passed" if good else "failed", name if good else f"{name}: {answer}")


def _one_example(subject: Subject, code: CodeType, example: Example) -> dict[str, Any]:
    def question(function: Any) -> Any:
        try:
            result = _drained(function(*example.args, **example.kwargs))
        except Exception as error:
            if example.raises is not None and isinstance(error, example.raises):
                return ""
            raise
        if example.raises is not None:
            return f"it does not raise {example.raises.__name__}"
        if example.returns is not _NOT_GIVEN and not _equal(result, example.returns):
            return "another result"
        return ""

    state, answer = _ask(subject, code, question, [*example.args, *example.kwargs.values()])
    return _verdict(state, answer, repr(example), state == "returned" and answer == "")


def _files(subject: Subject, code: CodeType, pattern: str) -> list[dict[str, Any]]:
    paths = sorted(
        glob.glob(pattern if os.path.isabs(pattern) else os.path.join(subject.root, pattern), recursive=True)
    )
    paths = [path for path in paths if os.path.isfile(path) and not path.endswith(".expected.json")][:100]
    if not paths:
        return [_check("examples", "failed", f"the pattern `{pattern}` matches nothing")]
    return [_one_file(subject, code, path) for path in paths]


def _one_file(subject: Subject, code: CodeType, path: str) -> dict[str, Any]:
    name = os.path.basename(path)

    def question(function: Any) -> Any:
        return _digest.digest(_drained(function(path)))

    expected_path = path + ".expected.json"
    if os.path.isfile(expected_path):
        import json

        with open(expected_path, encoding="utf-8") as file:
            expected = json.load(file)

        def same(function: Any) -> str:
            return "" if _equal(function(path), expected) else "another result"

        state, answer = _ask(subject, code, same, [path])
        return _verdict(state, answer, name, state == "returned" and answer == "")
    before_state, before = _ask(subject, subject.call.guard.current, question, [path])
    if before_state != "returned":
        return _check("examples", "skipped", f"{name}: the old body does not return on it")
    state, answer = _ask(subject, code, question, [path])
    good = state == "returned" and answer == before
    return _verdict(state, answer if state != "returned" else "another result", name, good)


def _equal(one: Any, other: Any) -> bool:
    """Equality in which floats may differ by rounding alone (1e-12 relative)."""
    if isinstance(one, float) and isinstance(other, (int, float)) and not isinstance(other, bool):
        return one == other or abs(one - other) <= 1e-12 * max(abs(one), abs(other)) or (one != one and other != other)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_equal(left, right) for left, right in zip(one, other))
    return _digest.digest(one) == _digest.digest(other) or bool(one == other)
