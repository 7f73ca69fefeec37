"""One incident goes outward: where a function cannot be repaired the decorated ones that called it are targets, at most
three, on what is left of its budgets (C119)."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sanare
from model_server import ModelServer, reply
from test_flight_breaker import command, steps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
NEW = "customer,amount,date\nAlfa Kft,1200,2026-01-05\nBeta Zrt,800,2026-01-06\n"
HEAD = "import csv\nimport io\nimport sanare\n\n\n"
NUMBER = "@sanare.heal\ndef number(value):\n    return int(value)\n\n\n"
TOTAL = (
    "def total(text):\n    rows = list(csv.reader(io.StringIO(text)))\n"
    "    return sum(number(row[2]) for row in rows[1:])\n"
)
OUTER = "\n\n@sanare.heal\ndef report(text):\n    return {'total': total(text)}\n"
JOB = HEAD + NUMBER + "@sanare.heal\n" + TOTAL + OUTER


def caught(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except Exception as error:
        return error
    pytest.fail("nothing was raised")


def notes(error: BaseException) -> list[str]:
    found: list[str] = []
    at: BaseException | None = error
    while at is not None:
        found += getattr(at, "__notes__", [])
        at = at.__cause__
    return found


def test_the_caller_is_repaired_where_the_called_one_cannot_be(load, caplog) -> None:
    caplog.set_level(logging.INFO, "sanare")
    module = load(JOB)
    assert module.report(OLD) == {"total": 2000}
    assert module.report(NEW) == {"total": 2000} and module.report(OLD) == {"total": 2000}
    text = Path(module.__file__).read_text()
    assert NUMBER in text and OUTER in text and "in_known_order" in text
    counted = steps(module)
    assert counted["opened"] == 1 and counted["continued"] == 1 and counted["closed"] == 2, counted
    report = sanare.last_report()
    assert report is not None and (report.outcome, report.function) == ("healed", "total")
    assert [attempt["rejected_because"] for attempt in report.attempts] == [""]
    shown = command(module, "show", report.id)
    assert shown.returncode == 0 and "total in" in shown.stdout, shown
    # The failure does not rest any more, neither where it was met nor where it was repaired.
    assert "cooldown" not in command(module, "--json", "show", report.id).stdout
    replayed = command(module, "replay", report.id)
    assert replayed.returncode == 0, (replayed.stdout, replayed.stderr)
    reverted = command(module, "revert", report.id)
    assert reverted.returncode == 0, reverted
    again = command(module, "replay", report.id)
    assert again.returncode == 0, "what a person did later is no other decision: " + again.stdout
    assert Path(module.__file__).read_text() == JOB


def test_every_caller_of_a_coroutine_too(load) -> None:
    text = JOB.replace("def ", "async def ").replace("total(text)}", "(await total(text))}")
    text = text.replace("sum(number(row[2]) for row in rows[1:])", "sum([await number(row[2]) for row in rows[1:]])")
    text = text.replace("'total': (await", "'total': (await")
    module = load(text)
    assert asyncio.run(module.report(OLD)) == {"total": 2000}
    assert asyncio.run(module.report(NEW)) == {"total": 2000}
    assert steps(module)["opened"] == 1 and steps(module)["continued"] == 1


def test_threads_that_fail_together_all_get_the_result(load) -> None:
    module = load(JOB)
    module.report(OLD)
    barrier = threading.Barrier(8)
    got: list[Any] = []

    def one() -> None:
        barrier.wait()
        try:
            got.append(module.report(NEW)["total"])
        except Exception as error:
            got.append(error)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == [2000] * 8, got
    assert steps(module)["prepared"] == 1


LOST = "import sanare\n\n\n@sanare.heal%s\ndef f0(rows, depth):\n    return sum(row['amount'] for row in rows)\n"
ROWS = [{"x": 1}, {"x": 2}]


def nested(count: int, options: str = "") -> str:
    text = LOST % options
    for number in range(1, count):
        text += f"\n\n@sanare.heal{options}\ndef f{number}(rows, depth):\n    return f{number - 1}(rows, depth)\n"
    return text


@pytest.mark.parametrize("count", [1, 3, 6])
def test_at_most_three_further_out_and_one_note(count: int, load, caplog) -> None:
    caplog.set_level(logging.INFO, "sanare")
    module = load(nested(count))
    error = caught(lambda: getattr(module, f"f{count - 1}")(ROWS, 0))
    assert type(error) is KeyError and error.__context__ is None
    counted = steps(module)
    assert counted["opened"] == 1 and counted["continued"] == min(count - 1, 3), counted
    report = sanare.report(error)
    assert report is not None and report.function == f"f{min(count - 1, 3)}"
    assert notes(error) == [note for note in notes(error) if report.id in note] and len(notes(error)) == 1
    warned = [line for line in caplog.records if line.name.startswith("sanare") and line.levelno >= logging.WARNING]
    assert len(warned) == 1, [line.getMessage() for line in warned]
    # What failed rests, and nothing goes outward from that.
    again = caught(lambda: getattr(module, f"f{count - 1}")(ROWS, 0))
    assert steps(module) == counted and "cooldown" in sanare.last_report().reason
    assert len(notes(again)) == 1
    # A person lifts the rest of every target.
    assert command(module, "retry", report.id).returncode == 0
    caught(lambda: getattr(module, f"f{count - 1}")(ROWS, 0))
    assert steps(module)["opened"] == 2 and steps(module)["continued"] == 2 * min(count - 1, 3)


def test_recursion_is_one_target(load) -> None:
    body = "    if depth:\n        return f0(rows, depth - 1)\n    return sum("
    module = load(nested(2).replace("    return sum(", body))
    error = caught(lambda: module.f1(ROWS, 10))
    counted = steps(module)
    assert counted["opened"] == 1 and counted["continued"] == 1, counted
    assert len(notes(error)) == 1


def test_what_the_caller_makes_of_the_error_goes_on_too(load) -> None:
    middle = (
        "\n\nclass Wrong(Exception):\n    pass\n\n\n@sanare.heal\ndef middle(rows):\n    try:\n        return f0(rows, 0)\n"
        "    except KeyError as error:\n        raise Wrong('no total') from error\n"
    )
    module = load(nested(1) + middle)
    error = caught(lambda: module.middle(ROWS))
    assert type(error) is module.Wrong and steps(module)["opened"] == 1 and steps(module)["continued"] == 1
    assert len(notes(error)) == 1 and not hasattr(error, "__notes__")


VETOED = [{"refund_amount": 12.5}, {"refund_amount": 3.5}]


def test_a_verdict_about_the_data_ends_it(load) -> None:
    module = load(nested(3))
    assert module.f2([{"amount": 12.5}, {"amount": 3.0}], 0) == 15.5
    error = caught(lambda: module.f2(VETOED, 0))
    report = sanare.report(error)
    assert report is not None and report.reason in ("vetoed", "ambiguous"), report
    assert steps(module)["opened"] == 1 and steps(module)["continued"] == 0


def test_a_failure_that_is_nobodys_fault_stays_where_it_is(load) -> None:
    module = load(
        "import sanare\n\n\n@sanare.heal\ndef inner():\n    raise ConnectionResetError(104, 'reset')\n\n\n"
        "@sanare.heal\ndef outer():\n    return inner()\n"
    )
    caught(module.outer)
    assert steps(module)["opened"] == 1 and steps(module)["continued"] == 0


def test_the_deadline_is_one(load, monkeypatch) -> None:
    from sanare import _outward

    module = load(nested(3, "(deadline=60)"))
    real = _outward.monotonic
    # The function one further out is met a minute later.
    monkeypatch.setattr(_outward, "monotonic", lambda: real() + 61.0)
    error = caught(lambda: module.f2(ROWS, 0))
    assert steps(module)["opened"] == 1 and steps(module)["continued"] == 0
    assert len(notes(error)) == 1


RETRY = """
import sanare
tries = 0
def retry(function):
    def again(rows):
        global tries
        for _ in range(13):
            tries += 1
            try:
                return function(rows, 0)
            except KeyError as error:
                last = error
        raise last
    return again
"""


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_calls_of_a_model_are_at_most_the_attempts(attempts: int, load, monkeypatch) -> None:
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")
    options = f"(attempts={attempts}, proposers=['model'])"
    text = nested(3, options).replace("import sanare\n", RETRY, 1)
    module = load(text + "\n\n@retry\n@sanare.heal" + options + "\ndef top(rows, depth):\n    return f2(rows, depth)\n")
    # A candidate that no gate lets through, and then nothing: for every target of the incident.
    answers = [reply(f"@sanare.heal{options}\ndef f0(rows, depth):\n    return 0\n"), reply(None)]
    with ModelServer(*answers) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        error = caught(lambda: module.top(ROWS))
        assert module.tries == 13 and type(error) is KeyError
        assert len(server.requests) <= attempts, len(server.requests)
    counted = steps(module)
    assert counted["opened"] == 1 and counted["proposed"] <= attempts, counted
    assert len(notes(error)) == 1


def test_an_outer_function_that_nobody_decorated_is_no_target(load) -> None:
    module: ModuleType = load(nested(1) + "\n\ndef outer(rows):\n    return f0(rows, 0)\n")
    before = Path(str(module.__file__)).read_text()
    caught(lambda: module.outer(ROWS))
    assert steps(module)["opened"] == 1 and steps(module)["continued"] == 0
    assert Path(str(module.__file__)).read_text() == before
