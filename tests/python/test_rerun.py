"""When a call may run a second time: a table of bodies and arguments, each with the verdict."""

from __future__ import annotations

import io
import queue
import socket
import threading

import pytest
import sanare
from scripted import Scripted

HEAD = """
import collections, copy, csv, datetime, functools, io, json, logging, math, os, re, sqlite3, sys, urllib.request
from decimal import Decimal
from collections import defaultdict, namedtuple
from dataclasses import dataclass
log = []
total_seen = 0
cache = {}
Point = namedtuple("Point", "x y")
@dataclass
class Row:
    a: int = 0
class Ledger:
    def __init__(self, x): log.append(x)
def charge(amount): log.append(amount)
def clean(text): return text.strip().lower()
def parse(text): return [clean(part) for part in text.split(",")]
def deep1(x): return deep2(x)
def deep2(x): return deep3(x)
def deep3(x): return deep4(x)
def deep4(x): return deep5(x)
def deep5(x): return x
class Thing:
    def __init__(self): self.key = "a"; self.seen = 0
    def quiet(self, row): return self.key
    def loud(self, row): self.seen += 1; return self.key
"""

SAFE = {
    "subscript": ("return row['gone']", [{}]),
    "sum": ("total = 0\nfor r in row:\n    total += int(r['gone'])\nreturn total", [[{"a": "1"}]]),
    "csv text": ("rows = list(csv.DictReader(io.StringIO(row)))\nreturn sum(int(r['gone']) for r in rows)", ["a\n1\n"]),
    "csv file": ("with open(row) as f:\n    return [r['gone'] for r in csv.DictReader(f)]", ["PATH"]),
    "json": ("data = json.loads(row)\nout = {}\nfor k, v in data.items():\n    out[k] = v\nreturn out['gone']", ["{}"]),
    "groups": (
        "g = defaultdict(list)\nfor r in row:\n    g[r['a']].append(r)\nreturn g['gone'][0]['x'] or {}['x']",
        [[]],
    ),
    "setdefault": ("g = {}\nfor r in row:\n    g.setdefault(r['a'], []).append(r)\nreturn g['gone']", [[{"a": 1}]]),
    "own list": ("out = []\nfor r in row:\n    out.append(r['gone'])\nreturn out", [[{}]]),
    "own aug": ("out = []\nfor r in row:\n    out += [r]\nreturn {}['gone']", [[{}]]),
    "project functions": ("return parse(row)[99] if False else {}[parse(row)[0]]", ["A,b"]),
    "logging": ("logging.getLogger('x').info('hi')\nreturn {}['gone']", [1]),
    "raise own": ("class E(Exception): pass\nraise KeyError('gone')", [1]),
    "dates": ("d = datetime.datetime.strptime(row, '%Y-%m-%d').date().isoformat()\nreturn {}[d]", ["2020-01-01"]),
    "get request": ("data = urllib.request.urlopen(row).read()\nreturn json.loads(data)", ["file:///nowhere"]),
    "after failing line": ("x = row['gone']\nlog.append(x)\nreturn x", [{}]),
    "dataclass": ("r = Row(a=1)\nr.a = 5\nreturn {}[r.a]", [1]),
    "namedtuple": ("p = Point(1, 2)\nreturn {}[p.x]", [1]),
    "local function": ("def inner(x):\n    return x['gone']\nreturn inner(row)", [{}]),
    "comprehension names": ("return {k: v for k, v in row}['gone']", [[("a", 1)]]),
    "quiet method": ("return row.quiet(row) and {}['gone']", "THING"),
    "regular expression": ("m = re.match('x', row)\nreturn m.group(1) if m else {}['gone']", ["y"]),
    "sorted with lambda": ("return sorted(row, key=lambda r: r['gone'])", [[{}]]),
    "try and finally": ("try:\n    n = 1\n    return row['gone']\nfinally:\n    n = 2", [{}]),
    "context": ("with io.StringIO(row) as f:\n    n = f.read()\nreturn {}[n]", ["x"]),
    "plain object": ("return row.gone", [object()]),
    "walrus": ("if (n := len(row)) >= 0:\n    return {}[n]", [[]]),
}

UNSAFE = {
    "list iterator": ("return next(row)['gone']", [lambda: iter([{}])], "iterator"),
    "generator": ("return [r['gone'] for r in row]", [lambda: ({} for _ in range(2))], "iterator"),
    "iterator inside": ("return row['rows'] and {}['gone']", [lambda: {"rows": iter([1])}], "iterator"),
    "map": ("return list(row)[0]['gone']", [lambda: map(dict, [[]])], "iterator"),
    "open file": ("return json.load(row)['gone']", [lambda: io.StringIO("{}")], "cannot be read"),
    "bytes file": ("return row.read() and {}['gone']", [lambda: io.BytesIO(b"{}")], "cannot be read"),
    "queue": ("return row.get() and {}['gone']", [lambda: (q := queue.Queue(), q.put(1))[0]], "Queue"),
    "lock": ("return {}['gone']", [threading.Lock], "lock"),
    "socket": ("return {}['gone']", [socket.socket], "socket"),
    "accumulator": ("row.append(1)\nreturn {}['gone']", [list], "did not create"),
    "assigns into argument": ("row['n'] = 1\nreturn row['gone']", [dict], "did not create"),
    "deletes from argument": ("del row['n']\nreturn row['gone']", [lambda: {"n": 1}], "did not create"),
    "changes rows": ("for r in row:\n    r['n'] = 1\nreturn {}['gone']", [lambda: [{}]], "did not create"),
    "augmented alias": ("out = row\nout += [1]\nreturn {}['gone']", [list], "did not create"),
    "augmented parameter": ("row += [1]\nreturn {}['gone']", [list], "did not create"),
    "pop in loop": ("while row:\n    row.pop()['gone']", [lambda: [{}]], "did not create"),
    "alias by unpacking": ("a, b = row, 1\na.append(1)\nreturn {}['gone']", [list], "did not create"),
    "global log": ("log.append(1)\nreturn row['gone']", [dict], "did not create"),
    "global name": ("global total_seen\ntotal_seen += 1\nreturn row['gone']", [dict], "not its own"),
    "global cache": ("cache[1] = 2\nreturn row['gone']", [dict], "did not create"),
    "charge": ("charge(5)\nreturn row['gone']", [dict], "charge"),
    "print": ("print('x')\nreturn row['gone']", [dict], "print"),
    "writes a file": ("open('/dev/null', 'w').close()\nreturn row['gone']", [dict], "open"),
    "mode unknown": ("mode = 'r'\nopen('/dev/null', mode).close()\nreturn row['gone']", [dict], "open"),
    "post": ("urllib.request.urlopen(row, b'x')", [lambda: "file:///nowhere"], "sends data"),
    "database": ("c = sqlite3.connect(':memory:')\nc.execute('insert')\nreturn {}['gone']", [dict], "sqlite3"),
    "system": ("os.system('true')\nreturn row['gone']", [dict], "system"),
    "constructor with effect": ("Ledger(1)\nreturn row['gone']", [dict], "Ledger"),
    "loud method": ("return row.loud(row) and {}['gone']", "THING", "loud"),
    "too deep": ("return {}[deep1(1)]", [dict], "too deep"),
    "unknown method": ("row.fire()\nreturn {}['gone']", [lambda: type("X", (), {"fire": lambda s: 1})()], "fire"),
    "environment": ("os.environ['X_SANARE'] = '1'\nreturn row['gone']", [dict], "did not create"),
    "setattr": ("setattr(sys, 'x_sanare', 1)\nreturn row['gone']", [dict], "setattr"),
    "in a handler": (
        "try:\n    return row['gone']\nexcept KeyError:\n    log.append(1)\n    raise",
        [dict],
        "did not create",
    ),
    "in a finally": ("try:\n    return row['gone']\nfinally:\n    log.append(1)", [dict], "did not create"),
    "later in the loop": ("for r in row:\n    r['a']\n    log.append(r)", [lambda: [{"a": 1}, {}]], "did not create"),
    "callback": ("list(map(charge, [1]))\nreturn row['gone']", [dict], "charge"),
    "key function": ("sorted([1], key=charge)\nreturn row['gone']", [dict], "charge"),
    "in place": ("row.drop(columns='x', inplace=True)\nreturn {}['gone']", [dict], "in place"),
    "inner with effect": ("def inner():\n    log.append(1)\ninner()\nreturn row['gone']", [dict], "did not create"),
    "exec": ("exec('1')\nreturn row['gone']", [dict], "exec"),
    "unknown callable": ("f = row['f']\nf()\nreturn row['gone']", [lambda: {"f": lambda: 1}], "f"),
}


def _module(load, body):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return load(f"{HEAD}import sanare\n@sanare.heal\ndef f(row):\n{lines}")


def _verdict(load, body, argument):
    """Why the call that fails may not run again, or None."""
    from sanare._call import Call

    module = _module(load, body)
    verdicts = []

    class Judge(Scripted):
        def heal(self, request, subject):
            verdicts.append(subject.rerun_unsafe())
            return super().heal(request, subject)

    with Judge():
        with pytest.raises(BaseException):  # noqa: B017
            module.f(argument)
    assert Call and len(verdicts) == 1, "the call did not come to a heal"
    return verdicts[0]


@pytest.mark.parametrize("name", SAFE)
def test_safe(name, load, tmp_path):
    body, arguments = SAFE[name]
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    argument = str(path) if arguments == ["PATH"] else None if arguments == "THING" else arguments[0]
    if arguments == "THING":
        argument = load(HEAD).Thing()
    assert _verdict(load, body, argument) is None


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe(name, load):
    body, arguments, word = UNSAFE[name]
    argument = load(HEAD).Thing() if arguments == "THING" else arguments[0]()
    why = _verdict(load, body, argument)
    assert why is not None and word.lower() in why.lower()


def test_never_twice(load):
    """The whole way: a repair is applied, the charge is not made again, the original error leaves with its reason."""
    module = load(
        """
        import sanare
        log = []
        @sanare.heal
        def f(row):
            log.append("charged")
            return row["a"]
        """
    )
    with Scripted(('row["a"]', 'row["b"]')), pytest.raises(KeyError) as found:
        module.f({"b": 1})
    assert module.log == ["charged"]
    assert "repaired, not re-run: `log.append` changes what it did not create" in found.value.__notes__[0]
    assert module.f({"b": 2}) == 2


def test_always_obeys(load):
    module = load(
        """
        import sanare
        log = []
        @sanare.heal(rerun="always")
        def f(row):
            log.append("charged")
            return row["a"]
        """
    )
    with Scripted(('row["a"]', 'row["b"]')):
        assert module.f({"b": 1}) == 1
    assert module.log == ["charged", "charged"]


def test_never_option(load):
    module = load("import sanare\n@sanare.heal(rerun='never')\ndef f(row):\n    return row['a']\n")
    with Scripted(("row['a']", "row['b']")), pytest.raises(KeyError):
        module.f({"b": 1})
    assert module.f({"b": 1}) == 1


def test_data_file_has_no_word_twice_with_two_meanings():
    from sanare._rerun import effects

    lists = effects()
    # `write` and `seek` change; nothing that changes may be called harmless, but for names that tables share with lists.
    assert lists["mutator"] & lists["method"] == set()
    assert sanare is not None
