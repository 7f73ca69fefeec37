"""`remember = "calls"`: good calls with their values, sealed, and replayed on every candidate (C49, C86); and the looks at
good calls that come again (C48)."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sanare
from model_server import ModelServer, reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

HEAD = 'import sanare\n\n\n@sanare.heal(proposers=["model"], remember="calls")\n'
BODY = "def total(row):\n    return int(row['amount']) - 1\n"
GOOD = "def total(row):\n    return int(row['osszeg'] if 'osszeg' in row else row['amount']) - 1\n"
# Right for every amount that is made up, wrong for what was once passed.
WRONG = "def total(row):\n    return abs(int(row['osszeg'] if 'osszeg' in row else row['amount'])) - 1\n"
MARK = -773312


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")
    yield tmp_path / "state"


def store_of(module: ModuleType) -> Path:
    return Path(str(module.__file__)).parent / ".sanare" / "store.db"


def count(module: ModuleType, table: str = "calls") -> int:
    """Counted in another process: a second SQLite in this one would let go of the store's locks when it closes it."""
    read = f"import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM {table}').fetchone()[0])"
    given = [sys.executable, "-c", read, str(store_of(module))]
    return int(subprocess.run(given, capture_output=True, text=True, timeout=60, check=True).stdout)


def kept(module: ModuleType) -> bytes:
    return b"".join(path.read_bytes() for path in store_of(module).parent.iterdir() if path.is_file())


def ask(module: ModuleType, monkeypatch: pytest.MonkeyPatch, data: Any, *candidates: str) -> tuple[Any, list[str]]:
    with ModelServer(*map(reply, candidates), reply(None)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        try:
            return module.total(data), server.prompts
        except Exception as error:
            return error, server.prompts


def calls_check(place: int = -1) -> dict[str, Any]:
    report = sanare.last_report()
    assert report is not None
    [check] = [one for one in report.attempts[place]["gates"] if one["name"] == "calls"]
    return check


def test_a_candidate_that_changes_what_a_remembered_call_gave_is_refused(load, monkeypatch) -> None:
    module = load(HEAD + BODY)
    assert module.total({"amount": MARK}) == MARK - 1 and module.total({"amount": "7"}) == 6
    assert count(module) == 2
    result, prompts = ask(module, monkeypatch, {"osszeg": "3"}, HEAD[14:] + WRONG, HEAD[14:] + GOOD)
    assert result == 2, (result, sanare.last_report())
    report = sanare.last_report()
    assert report is not None and report.outcome == "healed" and not report.unverified
    assert report.attempts[0]["rejected_because"].startswith("replay/calls: on remembered call"), report.attempts
    assert calls_check()["answer"] == "passed" and "2 of 2" in calls_check()["reason"]
    # Neither sent nor shown nor kept as it was.
    texts = [*prompts, report.to_json(), str(report)]
    assert all(str(MARK) not in text and str(MARK - 1) not in text for text in texts)
    assert str(MARK).encode() not in kept(module)


def test_what_is_not_remembered_cannot_refuse_it(load, monkeypatch) -> None:
    module = load(HEAD.replace(', remember="calls"', "") + BODY)
    assert module.total({"amount": MARK}) == MARK - 1
    assert count(module) == 0
    result, _ = ask(module, monkeypatch, {"osszeg": "3"}, HEAD.replace(', remember="calls"', "")[14:] + WRONG)
    assert isinstance(result, KeyError)
    report = sanare.last_report()
    # Nothing but the symptom speaks for it: a person is asked.
    assert report is not None and report.status == "waiting" and report.unverified
    assert not any(check["name"] == "calls" for check in report.gates)


def test_a_type_and_an_order_are_values_too() -> None:
    from sanare._whole import same

    pairs = [(1, 1.0), (True, 1), ([1], (1,)), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1}, {True}), ("1", b"1"), (1, 2)]
    for one, other in pairs:
        assert not same(one, other) and not same([one], [other]) and same(one, one) and same([other], [other])
    assert same(0.1 + 0.2, 0.3) and not same(0.3, 0.3001) and same(float("nan"), float("nan"))


class Own:
    pass


class Text(str):
    pass


def cyclic() -> list[Any]:
    rows: list[Any] = []
    rows.append(rows)
    return rows


def opened() -> Any:
    return open(__file__, encoding="utf-8")


NOT_EXACT = {
    "an open file": opened,
    "an object": Own,
    "an object inside": lambda: {"rows": [1, Own()]},
    "a subclass": lambda: Text("a"),
    "a buffer": lambda: bytearray(b"a"),
    "a view": lambda: memoryview(b"a"),
    "itself": cyclic,
    "an iterator": lambda: iter([1]),
    "code": lambda: compile("1", "x", "eval"),
    "a function": lambda: len,
    "too large": lambda: "x" * (1 << 20),
    "too many": lambda: [[] for _ in range(100_001)],
    "too deep": lambda: __import__("functools").reduce(lambda inner, _: [inner], range(150), []),
}


@pytest.mark.parametrize("what", NOT_EXACT)
@pytest.mark.parametrize("where", ["argument", "result"])
def test_what_cannot_be_stored_exactly_is_not_stored(what: str, where: str, load) -> None:
    module = load(
        'import sanare\n@sanare.heal(remember="calls")\ndef give(value, made=None):\n    return made() if made else None\n'
    )
    value = NOT_EXACT[what]()
    if where == "argument":
        module.give(value)
    else:
        module.give(1, lambda: value)
        # The function that made it is none of the plain values: asked for by itself as well.
        from sanare._whole import stored

        assert stored([("value", 1, None)], value, 1 << 20) is None
    assert count(module) == 0 and count(module, "shapes") == 1
    module.give([1, 2.5, "é", b"\0", None, True, (1,), {2}, frozenset({3}), {"a": [1j]}])
    assert count(module) == 1


def test_the_newest_few_are_kept_and_equal_ones_once(load, project) -> None:
    (project.folder / "sanare.toml").write_text('[heal]\nremember = "calls"\n[heal.memory]\ncalls = 2\n')
    module = load("import sanare\n@sanare.heal\ndef f(value):\n    return value\n")
    for value in (1, 1, 1, 1):
        module.f(value)
    assert count(module) == 1
    other = load("import sanare\n@sanare.heal\ndef f(value):\n    return value\n")
    for value in (1, 2, 3, 4):
        other.f(value)
    assert count(module) == 3


def test_without_the_key_the_folder_is_unreadable(load, monkeypatch, state: Path) -> None:
    module = load(HEAD + BODY)
    assert module.total({"amount": MARK}) == MARK - 1
    key = state / "sanare" / "key"
    assert key.stat().st_mode & 0o777 == 0o600 and not str(key).startswith(str(store_of(module).parent.parent))
    key.write_bytes(os.urandom(32))
    # Another process with another key: nothing is replayed, and it is said.
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        f"import sanare, {module.__name__} as job\n"
        "try:\n    job.total({'osszeg': '3'})\nexcept KeyError:\n    pass\n"
        "print(*[c['answer'] + ' ' + c['reason'] for c in sanare.last_report().gates if c['name'] == 'calls'])\n"
    )
    with ModelServer(reply(HEAD[14:] + GOOD)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        folder = str(store_of(module).parent.parent)
        done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, timeout=60)
    assert done.stdout == "skipped no call is remembered\n", (done.stdout, done.stderr)


def test_without_a_place_for_a_key_nothing_is_kept_and_it_is_said(load, project, monkeypatch, caplog) -> None:
    # A folder inside the project would travel with a copy of it.
    monkeypatch.setenv("XDG_STATE_HOME", str(project.folder / "state"))
    module = load(HEAD + BODY)
    assert module.total({"amount": MARK}) == MARK - 1
    assert count(module) == 0 and count(module, "shapes") == 1
    assert "lies inside the project" in caplog.text and str(MARK) not in caplog.text
    assert str(MARK).encode() not in kept(module)


def test_forgotten_is_erased(load, project, monkeypatch) -> None:
    module = load(HEAD + BODY + "\n\n" + HEAD[16:] + BODY.replace("total", "other"))
    module.total({"amount": 1})
    module.other({"amount": 1})
    assert count(module) == 2
    assert sanare.forget(module.total) == 2 and count(module) == 1
    monkeypatch.chdir(project.folder)
    done = subprocess.run([sys.executable, "-m", "sanare", "forget"], capture_output=True, text=True, timeout=60)
    assert "forgot 2 remembered" in done.stdout and count(module) == 0, done
    result, _ = ask(module, monkeypatch, {"osszeg": "3"}, HEAD[14:] + GOOD)
    assert isinstance(result, KeyError) and calls_check()["answer"] == "skipped"


CLOCK = "def total(row):\n    return int(row['amount']) + row.setdefault('calls', 0) * 0 + next(COUNT)\n"


def test_what_the_old_body_does_not_give_again_says_nothing(load, monkeypatch) -> None:
    head = HEAD.replace("import sanare\n", "import itertools\nimport sanare\n\nCOUNT = itertools.count()\n")
    body = "def total(row):\n    return int(row['amount']) + next(COUNT) * 0 + len(str(COUNT))\n"
    module = load(head + body)
    assert module.total({"amount": 5}) == 5 + len("count(1)")
    for _ in range(10):
        next(module.COUNT)
    candidate = head[head.index("@") :] + body.replace(
        "row['amount']", "row['osszeg'] if 'osszeg' in row else row['amount']"
    )
    result, _ = ask(module, monkeypatch, {"osszeg": "3"}, candidate)
    assert isinstance(result, KeyError), result
    assert calls_check()["answer"] == "skipped" and "old body" in calls_check()["reason"]


def test_a_file_is_remembered_with_its_content(load, tmp_path, monkeypatch) -> None:
    body = "def total(path):\n    with open(path) as file:\n        return int(file.read().split('=')[1])\n"
    module = load(HEAD + body)
    data = tmp_path / "a.txt"
    data.write_text("amount=-5")
    assert module.total(str(data)) == -5 and module.total(data) == -5
    data.write_text("amount:3")
    head = HEAD[14:]
    new = "file.read().replace(':', '=').split('=')[1])"
    wrong = head + body.replace("int(file.read().split('=')[1])", "abs(int(" + new + ")")
    right = head + body.replace("int(file.read().split('=')[1])", "int(" + new)
    result, prompts = ask(module, monkeypatch, str(data), wrong, right)
    assert result == 3, (result, sanare.last_report())
    report = sanare.last_report()
    assert report is not None and report.attempts[0]["rejected_because"].startswith("replay/calls"), report.attempts
    assert calls_check()["answer"] == "passed"
    assert b"amount=-5" not in kept(module)


def test_coroutines_too(load, monkeypatch) -> None:
    import asyncio

    module = load(HEAD + "async " + BODY)
    assert asyncio.run(module.total({"amount": MARK})) == MARK - 1
    assert count(module) == 1
    with ModelServer(reply(HEAD[14:] + "async " + WRONG), reply(HEAD[14:] + "async " + GOOD)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert asyncio.run(module.total({"osszeg": "3"})) == 2
    report = sanare.last_report()
    assert report is None or "replay/calls" in report.attempts[0]["rejected_because"]


@pytest.mark.parametrize("form", ["compiled", "wrapper"])
def test_good_calls_are_looked_at_again_after_a_while(form: str, load, project) -> None:
    (project.folder / "sanare.toml").write_text('[heal.memory]\nrefresh = "1s"\n')
    text = "import sanare\n@sanare.heal\ndef f(value):\n    return value\n"
    if form == "wrapper":
        namespace: dict[str, Any] = {"__name__": "probe_made", "__file__": str(project.folder / "made.py")}
        code = compile(text.replace("@sanare.heal\n", ""), str(project.folder / "made.py"), "exec")
        exec(code, namespace)
        f = sanare.heal(namespace["f"])
    else:
        module = load(text)
        f = module.f
    before = f.__code__
    began = time.monotonic()
    for value in (1, 1, 1, 1, {"other": 1}, {"other": 1}):
        f(value)
    from sanare import _refresh

    assert len(_refresh._due) >= 1
    settled = f.__code__
    gc.collect()
    if time.monotonic() - began < 1:  # A machine that is busy may have needed longer than that.
        assert f.__code__ is settled, "looked at again too early"
    time.sleep(1.1)
    gc.collect()
    if form == "compiled":
        assert f.__code__ is before and settled is not before
    store = project.folder / ".sanare" / "store.db"
    seen = ModuleType("probe_seen")
    seen.__file__ = str(project.folder / "x.py")
    had = count(seen, "shapes")
    assert store.exists() and had == 1
    for _ in range(4):
        f({"other": 1})
    assert count(seen, "shapes") == 2
    if form == "compiled":
        assert f.__code__ is settled
