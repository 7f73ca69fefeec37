"""The door to Rust: values are read without running the owner's code, and a trial's child is shut in."""

from __future__ import annotations

import collections
import os
import threading
import time

import pytest
import sanare
from sanare import _sanare

TOUCHED: list[str] = []


def _touch(*_args, **_kwargs):
    TOUCHED.append("ran")
    raise RuntimeError("the owner's code ran")


HOSTILE = [
    "__repr__", "__str__", "__iter__", "__len__", "__getattr__", "__eq__", "__hash__", "__bool__", "__format__",
    "__getitem__", "__contains__", "__reduce__", "__reduce_ex__", "__sizeof__", "__dir__", "__next__", "__index__",
]  # fmt: skip


def hostile(base, *args):
    names = {name: _touch for name in HOSTILE if name != "__getattr__" or base is object}
    names["trap"] = property(_touch)
    names.update(items=_touch, keys=_touch, get=_touch, encode=_touch, tolist=_touch)
    kind = type("Hostile", (base,), names)
    made = kind(*args)
    if hasattr(made, "__dict__"):
        made.__dict__["own"] = 1
    return made


OPAQUE, CUT = "\0sanare.opaque", "\0sanare.cut"


@pytest.mark.parametrize(
    ("base", "args", "expected"),
    [
        (object, (), {"__class__": (OPAQUE, "test_door.Hostile"), "own": 1}),
        (dict, ({"a": 1},), {"a": 1}),
        (list, ([1, 2],), [1, 2]),
        (tuple, ((1, 2),), [1, 2]),
        (str, ("abc",), "abc"),
        (bytes, (b"abc",), b"abc"),
        (int, (5,), 5),
        (float, (1.5,), 1.5),
    ],
)
def test_nothing_of_the_owners_runs(base, args, expected):
    TOUCHED.clear()
    assert _sanare.plain(hostile(base, *args)) == expected
    assert TOUCHED == []


def test_metaclass_is_not_asked():
    class Meta(type):
        def __getattribute__(cls, name):
            TOUCHED.append(name)
            return type.__getattribute__(cls, name)

    TOUCHED.clear()
    kind = Meta("Odd", (), {})
    value = kind()
    TOUCHED.clear()
    assert _sanare.plain([value]) == [(OPAQUE, "test_door.Odd")]
    assert TOUCHED == []


def test_plain_values():
    value = [None, True, 2, 2.5, "x", b"y", (1, 2), {"a": {1}, 3: None, (1, 2): 0}, frozenset({2, 1})]
    assert _sanare.plain(value) == [
        None, True, 2, 2.5, "x", b"y", [1, 2], {"a": [1], "3": None, "(1, 2)": 0}, [1, 2],
    ]  # fmt: skip
    point = collections.namedtuple("Point", "x y")
    assert _sanare.plain(point(1, [2])) == {"x": 1, "y": [2]}
    assert _sanare.plain(collections.OrderedDict(b=1, a=2)) == {"b": 1, "a": 2}
    assert _sanare.plain(10**30) == (OPAQUE, "int")


def test_cycles_and_shared_parts():
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    assert _sanare.plain(cyclic)["self"][0] == OPAQUE
    shared: list[object] = []
    for _ in range(40):
        shared = [shared, shared]
    before = time.perf_counter()
    _sanare.plain(shared)
    assert time.perf_counter() - before < 0.5


def test_budgets():
    many = [{"a": number} for number in range(1_000_000)]
    before = time.perf_counter()
    read = _sanare.plain(many)
    assert time.perf_counter() - before < 0.5
    assert read[-1] == (CUT, 1_000_000) and len(read) <= 2_001
    assert _sanare.plain("x" * 50_000_000) == (CUT, 50_000_000)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert _sanare.plain(deep)
    while deep:
        deep = deep[0]


def test_tables():
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    mark, columns, rows = _sanare.plain(frame)
    assert mark == "\0sanare.table" and rows == 2
    assert [(name, cells) for name, _, cells in columns] == [("a", [1, 2]), ("b", ["x", "y"])]
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    assert [cells for _, _, cells in _sanare.plain(twice)[1]] == [[1], [2]]
    assert _sanare.plain([numpy.int64(3), numpy.arange(3), frame["a"]]) == [3, [0, 1, 2], [1, 2]]

    class Own(pandas.DataFrame):
        @property
        def columns(self):
            _touch()

    TOUCHED.clear()
    assert _sanare.plain([type("DataFrame", (), {"__module__": "pandas"})()])[0][0] == OPAQUE
    assert TOUCHED == []


# ---------------------------------------------------------------- the child


def ask(work, milliseconds=3000):
    return _sanare.in_child(lambda folder: work(folder), [os.getcwd()], {"milliseconds": milliseconds})


linux = pytest.mark.skipif(os.uname().sysname != "Linux", reason="the sandbox is Linux's")


def _isolated():
    return isinstance(ask(lambda folder: b"x"), bytes)


needs_isolation = pytest.mark.skipif(not _isolated(), reason="no isolation on this machine")


@needs_isolation
def test_the_child_answers():
    value = {"deep": [1]}
    assert ask(lambda folder: repr(value).encode()) == b"{'deep': [1]}"
    assert not _zombies()


def _zombies():
    try:
        pid, _ = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return pid != 0


def _denied(call):
    def work(folder):
        try:
            call(folder)
        except (PermissionError, OSError, RuntimeError) as error:
            return f"denied {type(error).__name__}".encode()
        return b"done"

    return work


def _open(path, mode):
    with open(path, mode) as file:
        return file.read() if mode == "rb" else file.write(b"x")


def _socket(folder):
    import socket

    socket.socket()


def _fork(folder):
    if os.fork() == 0:
        os._exit(0)


@needs_isolation
@pytest.mark.parametrize(
    "call",
    [
        lambda folder: _open("/etc/passwd", "rb"),
        lambda folder: _open(os.path.expanduser("~/.ssh/id_rsa"), "rb"),
        lambda folder: _open(__file__, "ab"),
        lambda folder: _open("/tmp/sanare-probe", "wb"),
        lambda folder: os.unlink(__file__),
        _socket,
        _fork,
        lambda folder: os.execv("/bin/true", ["true"]),
        lambda folder: os.kill(os.getppid(), 0),
    ],
)
def test_the_child_is_denied(call):
    answer = ask(_denied(call))
    assert isinstance(answer, bytes) and answer.startswith(b"denied"), answer
    assert os.path.exists(__file__) and not os.path.exists("/tmp/sanare-probe")


@needs_isolation
def test_the_child_may_write_its_folder():
    def work(folder):
        path = os.path.join(folder, "x")
        _open(path, "wb")
        return _open(path, "rb")

    assert ask(work) == b"x"


ENDS = {
    "exits": (lambda folder: os._exit(3), "Exited", "code 3"),
    "leaves": (lambda folder: (_ for _ in ()).throw(SystemExit(3)), "Crashed", ""),
    "loops": (lambda folder: sum(1 for _ in iter(int, 1)), "TimedOut", ""),
    "sleeps": (lambda folder: time.sleep(60), "TimedOut", ""),
    "allocates": (lambda folder: bytes([len(bytearray(10 << 30)) % 2]), "MemoryLimit", ""),
    "crashes": (lambda folder: os.abort(), "Crashed", "signal"),
    "answers nothing": (lambda folder: None, "Crashed", ""),
}


@needs_isolation
@pytest.mark.parametrize("name", ENDS)
def test_the_child_is_ended(name):
    work, state, word = ENDS[name]
    before = time.perf_counter()
    answer = ask(work, 1000)
    assert time.perf_counter() - before < 3
    assert answer[0] == state and word in answer[1], answer
    assert not _zombies()


@needs_isolation
def test_other_threads_go_on_and_no_warning(recwarn):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.01):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    ask(lambda folder: time.sleep(60), 600)
    stop.set()
    thread.join()
    assert len(ticks) > 10
    assert not [warning for warning in recwarn if "fork" in str(warning.message)]


@needs_isolation
def test_interrupt_during_a_trial():
    import signal

    def raise_it(*_):
        raise KeyboardInterrupt

    kept = signal.signal(signal.SIGALRM, raise_it)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        before = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            ask(lambda folder: time.sleep(60), 10_000)
        assert time.perf_counter() - before < 2
    finally:
        signal.signal(signal.SIGALRM, kept)
    assert not _zombies()


@needs_isolation
def test_trial_speed():
    times = []
    for _ in range(20):
        before = time.perf_counter()
        ask(lambda folder: b"x")
        times.append(time.perf_counter() - before)
    assert sorted(times)[10] < 0.25


def test_version():
    assert sanare.__version__ == _sanare.__version__
