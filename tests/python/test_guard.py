"""The guard inside the code: nothing before the body, the same lines, and the wrapper where it cannot be compiled in."""

from __future__ import annotations

import dis
import inspect
import sys
import textwrap
import traceback

import pytest
import sanare
from sanare._guard import guard_of
from scripted import Scripted

BODIES = {
    "return": """
        def f(a, b=1):
            return a + b
    """,
    "no return": """
        def f(a, b=1):
            if a:
                print(b)
    """,
    "branches": """
        def f(a, b=1):
            for x in a:
                if x > b:
                    return x
                elif x == 3:
                    continue
            else:
                b2 = [y for y in a if y]
            with open(a) as fh:
                data = {k: v for k, v in fh}
            try:
                y = data["k"].strip()
            except KeyError as e:
                y = e
            finally:
                z = 1
            return y, z
    """,
    "docstring": '''
        def f(a, b=1):
            """Doc."""
            while a:
                a2 = a
    ''',
    "lambda inside": """
        def f(a, b=1):
            g = lambda x: x + a
            def h(y):
                return g(y) + b
            return h
    """,
    "multi-line end": """
        def f(a, b=1):
            return g(
                a,
                b,
        )
    """,
    "multi-line string": '''
        def f(a, b=1):
            return """
        at the margin
        """ + a
    ''',
    "annotations": """
        def f(a: "int", b: int = 1) -> "str":
            c: int = a
            return c
    """,
    "coroutine": """
        async def f(a, b=1):
            async with a as c:
                return await c.get(b)
    """,
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before 3.11 a try costs an instruction")
@pytest.mark.parametrize("name", BODIES)
def test_the_good_path_is_the_original_code(name, load):
    text = textwrap.dedent(BODIES[name])
    plain = load(text)
    guarded = load(text)
    sanare.heal(remember="off")(guarded.f)
    before, after = plain.f.__code__, guarded.f.__code__
    assert guard_of(guarded.f) is not None
    # The same instructions; only the numbers of cells move on by the guard's own local variable.
    hot = len(before.co_code) if name != "coroutine" else 8
    assert after.co_code[:hot:2] == before.co_code[:hot:2]
    assert before.co_cellvars or hot == 8 or after.co_code.startswith(before.co_code)
    assert list(after.co_positions())[: hot // 2] == list(before.co_positions())[: hot // 2]
    assert after.co_varnames[: len(before.co_varnames)] == before.co_varnames
    assert (after.co_freevars, after.co_flags, after.co_qualname) == (
        before.co_freevars, before.co_flags, before.co_qualname,
    )  # fmt: skip


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception tables came with 3.11")
def test_recording_is_swapped_away(load):
    module = load(
        """
        import sanare
        @sanare.heal
        def f(a):
            if a:
                return a
        """
    )
    with Scripted() as native:
        codes = []
        for value in (1, 0, 3, 4, 5):
            assert module.f(value) == (value or None)
            codes.append(module.f.__code__)
    assert [look["result"] for look in native.looks] == [1, None, 4]
    assert codes[0] is codes[2] and codes[3] is not codes[2] and codes[4] is codes[3]
    assert "note" not in str(list(dis.get_instructions(module.f))).split("PUSH_EXC_INFO")[0]


def test_rebound_parameters_are_kept(load):
    module = load(
        """
        import sanare
        @sanare.heal
        def f(a, b, *rest, c=0, **more):
            a = a + 1
            del b
            for c in (1, 2):
                pass
            rest, more = 0, 0
            return {}["gone"]
        """
    )
    with Scripted() as native, pytest.raises(KeyError):
        module.f(1, 2, 3, c=4, d=5)
    arguments = {name: value for name, value, _ in native.requests[0]["arguments"]}
    assert arguments == {"a": 1, "b": 2, "c": 4, "rest": (3,), "more": {"d": 5}}
    frame = native.requests[0]["frames"][-1]
    assert frame["function"] == "f" and frame["line"] == 9 and frame["statement"] == 'return {}["gone"]'
    assert set(frame["locals"]) == {"a", "c", "rest", "more"}


def test_mangled_parameters_are_kept(load):
    module = load(
        """
        import sanare
        class A:
            @sanare.heal
            def f(self, __x):
                __x = 2
                raise KeyError(__x)
        """
    )
    with Scripted() as native, pytest.raises(KeyError):
        module.A().f(1)
    assert native.requests[0]["arguments"][1][1] == 1


def _trace(function):
    try:
        function()
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)[2:]
        return [(e.name, e.lineno, getattr(e, "colno", 0), getattr(e, "end_colno", 0), e.line) for e in entries]


def test_tracebacks_are_equal(load):
    text = textwrap.dedent(
        """
        def outer(x):
            def f(a):
                \"\"\"Doc.\"\"\"
                try:
                    return inner(a) + \\
                        inner(a)
                finally:
                    a = 3
            return {}(f)(x)
        def inner(a):
            return [1 / 0 for _ in a]
        """
    )
    plain = load("import sanare\n" + text.format(""))
    healed = load("import sanare\n" + text.format("sanare.heal"))
    with Scripted():
        expected, found = _trace(lambda: plain.outer("x")), _trace(lambda: healed.outer("x"))
    assert len(expected) >= 2
    assert [tuple(entry) for entry in found[1:]] == expected[1:]


FALLBACKS = {
    "no source": 'exec("def f(a):\\n    return a[0]")',
    "sees its locals": "def f(a):\n    a = list(a)\n    locals()\n    return a[0]",
    **({} if sys.version_info >= (3, 13) else {"too deep": "def f(a):\n" + "".join("    " * (i + 1) + "for _ in (1,):\n" for i in range(20)) + "    " * 21
    + "return a[0]"}),
    "lambda": "f = lambda a: a[0]",
    "not the source": 'exec(compile("def f(a):\\n    return a[0]", __file__, "exec"))',
}  # fmt: skip


@pytest.mark.parametrize("name", FALLBACKS)
def test_fallback(name, load):
    module = load("import sanare\n" + FALLBACKS[name] + "\n\nplain = f\nplain.mark = 1\n")
    healed = sanare.heal(module.f)
    assert healed is not module.f and healed.__wrapped__ is module.f and healed.mark == 1
    assert inspect.signature(healed) == inspect.signature(module.f)
    assert (healed.__name__, healed.__qualname__, healed.__module__) == (
        module.f.__name__, module.f.__qualname__, module.f.__module__,
    )  # fmt: skip
    assert healed([7]) == 7
    with Scripted() as native, pytest.raises(IndexError):
        healed([])
    assert len(native.requests) == 1
    with pytest.raises(sanare.SettingsError, match="twice"):
        sanare.heal(healed)


KIND_TESTS = {
    "async def f(a):\n    return a[0]": inspect.iscoroutinefunction,
    "def f(a):\n    yield a[0]": inspect.isgeneratorfunction,
    "async def f(a):\n    yield a[0]": inspect.isasyncgenfunction,
}


@pytest.mark.parametrize("text", KIND_TESTS)
@pytest.mark.parametrize("compiled", [True, False])
def test_kinds_stay(text, compiled, load):
    module = load(text if compiled else f"exec({text!r})")
    healed = sanare.heal(module.f)
    assert (healed is module.f) == compiled
    assert KIND_TESTS[text](healed)


def test_closures_are_told_apart(load):
    module = load(
        """
        import sanare
        def make(key, scale):
            @sanare.heal
            def read(row):
                return row["a"] * scale
            return read
        one, two = make("x", 1), make("y", 10)
        """
    )
    with Scripted(('row["a"]', 'row["b"]')) as native:
        one, two = module.one, module.two
        assert two({"b": 3}) == 30
        assert one({"b": 3}) == 3
        assert module.make("z", 100)({"b": 3}) == 300
        assert len(native.requests) == 1
    assert one.__code__ is two.__code__
    assert one.__closure__ is not two.__closure__


def test_decorating_twice(load):
    module = load("import sanare, functools\ndef f(): pass\n")
    sanare.heal(module.f)
    with pytest.raises(sanare.SettingsError, match="twice"):
        sanare.heal(module.f)


@pytest.mark.parametrize("target", [int, sys, 3, "x"])
def test_not_functions(target):
    with pytest.raises(sanare.SettingsError, match="heal decorates functions"):
        sanare.heal(target)


def test_callables_without_python_code(capfd):
    import functools

    partial = functools.partial(print)
    assert sanare.heal(len) is len and sanare.heal(partial) is partial


def test_no_warning_twice(load, recwarn):
    load('import sanare\n@sanare.heal\ndef f(a):\n    return a is "x" or "\\d"\n')
    ours = [warning for warning in recwarn if "probe_" in str(warning.filename)]
    assert len(ours) <= 2


def test_off(load, monkeypatch):
    module = load("def f(a):\n    return a[0]\n")
    code = module.f.__code__
    assert sanare.heal(mode="off")(module.f) is module.f and module.f.__code__ is code


def test_jit_sees_plain_code_object(load):
    """Somebody else's code in the function stays his: a swap leaves it alone."""
    module = load("import sanare\n@sanare.heal\ndef f(a):\n    return a['a']\n")
    kept = module.f
    other = (lambda a: "other").__code__
    with Scripted(("a['a']", "a['b']")) as native:
        native.before = lambda: setattr(kept, "__code__", other)
        with pytest.raises(KeyError):
            kept({"c": 1})
    assert kept.__code__ is other
