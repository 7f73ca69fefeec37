"""What is told of a failure: groups, chains, calls that do not bind, frames, deliberate errors, and where words go."""

from __future__ import annotations

import pytest
import sanare
from scripted import Scripted


def test_groups(load):
    import sys

    if sys.version_info < (3, 11):
        pytest.skip("exception groups came with 3.11")
    module = load(
        """
        import sanare
        @sanare.heal
        def f(kinds):
            errors = []
            for kind in kinds:
                try:
                    raise kind("x")
                except Exception as error:
                    errors.append(error)
            raise ExceptionGroup("several", errors)
        """
    )
    with Scripted() as native:
        for kinds in ([KeyError, KeyError], [KeyError, ValueError]):
            with pytest.raises(Exception, match="several"):
                module.f(kinds)
    assert [request["error"]["group"] for request in native.requests] == ["uniform", "mixed"]


def test_long_chains_are_cut(load):
    module = load("import sanare\n@sanare.heal\ndef f(e):\n    raise e\n")
    error = last = ValueError("0")
    for number in range(1000):
        last.__context__ = ValueError(str(number))
        last = last.__context__
    last.__context__ = error
    with Scripted() as native, pytest.raises(ValueError):
        module.f(error)
    depth, at = 0, native.requests[0]["error"]
    while at is not None:
        depth, at = depth + 1, at["cause"]
    assert depth <= 6


def test_calls_that_do_not_bind(load):
    module = load("import sanare\n@sanare.heal\ndef f(a, *, b=1):\n    return a\nexec('def g(a, *, b=1): return a')\n")
    wrapped = sanare.heal(module.g)
    for call in (lambda f: f(), lambda f: f(1, 2), lambda f: f(1, c=2)):
        with Scripted() as native:
            for function in (module.f, wrapped):
                with pytest.raises(TypeError):
                    call(function)
        assert all(not request["complete"] for request in native.requests)


def test_parameters_with_names_of_secrets(load):
    module = load("import sanare\n@sanare.heal\ndef f(token, key, author, self=1):\n    return key[token]\n")
    with Scripted(("key[token]", "key.get(token, author)")):
        assert module.f("t", {}, "a") == "a"


def test_deepest_frame_and_loop_variable(load):
    module = load(
        """
        import sanare
        def helper(row):
            inner = row["x"] * 2
            return inner["gone"]
        @sanare.heal
        def f(rows):
            for number, row in enumerate(rows):
                helper(row)
        """
    )
    with Scripted() as native, pytest.raises(TypeError):
        module.f([{"x": 21}])
    frames = {frame["function"]: frame for frame in native.requests[0]["frames"]}
    assert frames["f"]["locals"]["number"] == 0 and frames["helper"]["locals"]["inner"] == 42
    assert not any("sanare" in place for place in native.requests[0]["error"]["places"] if "project" not in place)


def test_deliberate(load):
    module = load(
        """
        import sanare, json
        @sanare.heal
        def f(kind):
            if kind == "raise":
                raise ValueError("x")
            if kind == "assert":
                assert kind == "other", "x"
            if kind == "library":
                json.loads("{")
            if kind == "again":
                try:
                    {}["x"]
                except KeyError:
                    raise
            return {}[kind]
        """
    )
    with Scripted() as native:
        for kind in ("raise", "assert", "library", "again", "plain"):
            with pytest.raises((ValueError, AssertionError, KeyError)):
                module.f(kind)
    assert [request["error"]["deliberate"] for request in native.requests] == [True, True, False, False, False]


def test_logger_and_console(load, caplog, capfd):
    module = load("import sanare\n@sanare.heal\ndef f(row):\n    return row['a']\n")
    with Scripted(("row['a']", "row['b']")), caplog.at_level("INFO"):
        assert module.f({"b": 1}) == 1
    records = [record for record in caplog.records if record.name.startswith("sanare")]
    assert [record.levelname for record in records] == ["WARNING"] and "repaired `f`" in records[0].getMessage()
    assert getattr(records[0], "incident.id") == "inc_1"
    assert "sanare" not in capfd.readouterr().err
