"""Every kind of function heals: file, running function, result; and an unhealed failure leaves as it came."""

from __future__ import annotations

import asyncio
import pickle
import traceback

import pytest
from scripted import Scripted

HEAD = "import sanare\n"

KINDS = {
    "function": (
        """
        @sanare.heal
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "options": (
        """
        @sanare.heal(mode="auto", attempts=2)
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "empty options": (
        """
        @sanare.heal()
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "called": (
        """
        def load(row):
            return row["a"]
        load = sanare.heal(load)
        """,
        lambda m: m.load({"b": 7}),
    ),
    "aliased": (
        """
        from sanare import heal as mend
        @mend
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "module alias": (
        """
        import sanare as s
        @s.heal
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "docstring and defaults": (
        '''
        @sanare.heal
        def load(row, *, scale=1, **more):
            """Reads."""
            row = dict(row)
            return row["a"] * scale
        ''',
        lambda m: m.load({"b": 7}, extra=1),
    ),
    "method": (
        """
        class Loader:
            def __init__(self):
                self.row = {"b": 7}
            @sanare.heal
            def load(self):
                return self.row["a"]
        """,
        lambda m: m.Loader().load(),
    ),
    "super and private names": (
        """
        class Base:
            def get(self, row):
                return row
        class Loader(Base):
            __key = "b"
            @sanare.heal
            def get(self, row):
                key = self.__key
                row = super().get(row)
                return row["a"]
        """,
        lambda m: m.Loader().get({"b": 7}),
    ),
    "staticmethod inside": (
        """
        class Loader:
            @staticmethod
            @sanare.heal
            def load(row):
                return row["a"]
        """,
        lambda m: m.Loader.load({"b": 7}),
    ),
    "staticmethod outside": (
        """
        class Loader:
            @sanare.heal
            @staticmethod
            def load(row):
                return row["a"]
        """,
        lambda m: m.Loader.load({"b": 7}),
    ),
    "classmethod inside": (
        """
        class Loader:
            @classmethod
            @sanare.heal
            def load(cls, row):
                return row["a"]
        """,
        lambda m: m.Loader.load({"b": 7}),
    ),
    "classmethod outside": (
        """
        class Loader:
            @sanare.heal
            @classmethod
            def load(cls, row):
                return row["a"]
        """,
        lambda m: m.Loader().load({"b": 7}),
    ),
    "property": (
        """
        class Loader:
            row = {"b": 7}
            @sanare.heal
            @property
            def value(self):
                return self.row["a"]
        """,
        lambda m: m.Loader().value,
    ),
    "property inside": (
        """
        class Loader:
            row = {"b": 7}
            @property
            @sanare.heal
            def value(self):
                return self.row["a"]
        """,
        lambda m: m.Loader().value,
    ),
    "closure": (
        """
        def outer(factor):
            @sanare.heal
            def load(row):
                return row["a"] * factor
            return load
        """,
        lambda m: m.outer(1)({"b": 7}),
    ),
    "generator": (
        """
        @sanare.heal
        def load(row):
            yield row["a"]
        """,
        lambda m: next(m.load({"b": 7})),
    ),
    "coroutine": (
        """
        @sanare.heal
        async def load(row):
            return row["a"]
        """,
        lambda m: asyncio.run(m.load({"b": 7})),
    ),
    "async generator": (
        """
        @sanare.heal
        async def load(row):
            yield row["a"]
        """,
        lambda m: asyncio.run(_first(m.load({"b": 7}))),
    ),
    "wrapper (sees its locals)": (
        """
        @sanare.heal
        def load(row):
            row = dict(row)
            assert set(locals()) == {"row"}
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "under a wrapping decorator": (
        """
        import functools
        def twice(function):
            @functools.wraps(function)
            def inner(*args):
                return function(*args)
            return inner
        @twice
        @sanare.heal
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "above a wrapping decorator": (
        """
        import functools
        def twice(function):
            @functools.wraps(function)
            def inner(*args):
                return function(*args)
            return inner
        @sanare.heal
        @twice
        def load(row):
            return row["a"]
        """,
        lambda m: m.load({"b": 7}),
    ),
    "above a cache": (
        """
        import functools
        @sanare.heal
        @functools.lru_cache
        def load(row=None):
            row = {"b": 7}
            return row["a"]
        """,
        lambda m: m.load(),
    ),
}


async def _first(items):
    async for item in items:
        return item


@pytest.mark.parametrize("kind", KINDS)
def test_heals(kind, load):
    text, call = KINDS[kind]
    module = load(HEAD + _dedent(text))
    with Scripted(('row["a"]', 'row["b"]')) as native:
        assert call(module) == 7
        assert len(native.requests) == 1
        # Every later call runs the repaired code, with no second heal.
        assert call(module) == 7
        assert len(native.requests) == 1
    assert 'row["b"]' in open(module.__file__).read()


@pytest.mark.parametrize("kind", KINDS)
def test_unhealed_failure_leaves_as_it_came(kind, load):
    text, call = KINDS[kind]
    plain = load(_dedent(text).replace("sanare.heal", "_same").replace("mend", "_same").replace("s.heal", "_same")
                 .replace("from sanare import heal as _same", "").replace("import sanare as s", "")
                 .join(["def _same(f=None, /, **o):\n    return f if f is not None else _same\n", ""]))  # fmt: skip
    module = load(HEAD + _dedent(text))
    with Scripted() as native:
        with pytest.raises(KeyError) as expected:
            call(plain)
        with pytest.raises(KeyError) as found:
            call(module)
    assert len(native.requests) == 1
    assert native.requests[0]["error"]["class"] == "KeyError"
    assert _names(found.value) == _names(expected.value)
    assert found.value.__cause__ is None and found.value.args == ("a",)
    assert len(found.value.__notes__) == 1


def _names(error):
    """Functions of the project's frames in the traceback, with the text of the line."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.name, frame.line) for frame in frames if "probe_" in frame.filename]


def _dedent(text):
    import textwrap

    return textwrap.dedent(text)


def test_same_object_names_and_signature(load):
    module = load(
        HEAD
        + _dedent(
            '''
            def plain(a, b: int = 2, *args, c, d=4, **kw) -> str:
                """Doc."""
                return a
            def decorated(a, b: int = 2, *args, c, d=4, **kw) -> str:
                """Doc."""
                return a
            same = decorated
            decorated = sanare.heal(decorated)
            '''
        )
    )
    import inspect

    assert module.decorated is module.same
    assert inspect.signature(module.decorated) == inspect.signature(module.plain)
    assert module.decorated.__doc__ == "Doc."
    assert module.decorated.__annotations__ == module.plain.__annotations__
    assert pickle.loads(pickle.dumps(module.decorated)) is module.decorated
    assert inspect.getsource(module.decorated).startswith("def decorated")
    assert module.decorated(1, c=3) == 1


def test_every_reference_heals(load, project):
    module = load(
        HEAD
        + _dedent(
            """
            count = 0
            count += 1
            @sanare.heal
            def load(row):
                return row["a"]
            class Loader:
                @sanare.heal
                def get(self, line):
                    return line["a"]
            """
        )
    )
    taken, instance, kind = module.load, module.Loader(), module.Loader
    bound = instance.get
    with Scripted(('row["a"]', 'row["b"]')):
        assert module.load({"b": 1}) == 1
    with Scripted(('line["a"]', 'line["b"]')):
        assert module.Loader().get({"b": 2}) == 2
        assert taken({"b": 3}) == 3
        assert bound({"b": 4}) == 4
    assert module.count == 1 and module.Loader is kind and isinstance(instance, module.Loader)
    assert pickle.loads(pickle.dumps(instance)).__class__ is kind


def test_failed_rerun_restores_everything(load):
    module = load(HEAD + _dedent(KINDS["function"][0]))
    before, text = module.load.__code__, open(module.__file__).read()
    with Scripted(('row["a"]', 'row["b"] if len(row) > 5 else row["c"]'), trial=False) as native:
        with pytest.raises(KeyError) as found:
            module.load({"b": 7})
    assert found.value.args == ("a",)
    assert len(native.requests) == 1
    assert module.load.__code__ is before
    assert open(module.__file__).read() == text
    assert "rolled_back" in found.value.__notes__[0]
