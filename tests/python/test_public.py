"""The public names beside `heal`: capture, listen, keep_logs, drop_logs, settings, forget, request, contract (C12)."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import sanare
from records import records

NAMES = """
heal request capture keep_logs drop_logs Example Report report reports last_report forget settings listen Error
SettingsError HealRequested __version__
""".split()

LOADER = """
import csv, io, sanare
@sanare.heal
def load(text):
    total = 0
    for row in csv.DictReader(io.StringIO(text)):
        total += int(row["amount"])
    return total
"""
OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
NEW = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"


@pytest.fixture(autouse=True)
def _no_logs_kept():
    from sanare import _logs, _settings

    _settings._known.clear()
    yield
    sanare.drop_logs()
    _logs._asked = _logs._told = False


def python(folder: Path, *arguments: str, **more) -> subprocess.CompletedProcess[bytes]:
    here = Path(sanare.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1", **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, timeout=60, **more
    )


def test_the_names_are_all_there_and_typed():
    assert set(NAMES) <= set(sanare.__all__)
    assert sorted(sanare.__all__) == sorted(set(sanare.__all__))
    for name in sanare.__all__:
        assert getattr(sanare, name) is not None
    folder = Path(sanare.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_sanare.pyi").exists()
    text = Path(sanare.__file__).read_text()
    typed = text[text.index("if TYPE_CHECKING:") : text.index("\nelse:")]
    for name in sanare.__all__:
        assert re.search(rf"\b{name}\b", typed), f"{name} has no type"


# capture


def test_capture_records_the_calling_frame(project):
    (project.folder / "sanare.toml").write_text('[evidence]\ntime = "1s"\n')
    module = project.load(
        """
        import sanare
        RATES = {"EUR": 400}
        def work(rows, password="hunter2-and-more"):
            for row in rows:
                total = row * RATES["EUR"]
            return sanare.capture("after the loop")
        """
    )
    identity = module.work([1, 2])
    assert identity.startswith("cap_") and len(identity) == 30
    (record,) = records(project.folder, "captured")
    assert record["label"] == "after the loop" and record["function"] == "work" and record["line"] == 6
    (frame,) = record["frames"]
    assert frame["locals"]["rows"] == [1, 2] and frame["locals"]["total"] == 800 and frame["locals"]["row"] == 2
    assert record["globals"] == {"RATES": {"EUR": 400}}
    assert "hunter2" not in json.dumps(record) and "redacted" in frame["locals"]["password"]
    listed = python(project.folder, "-m", "sanare", "--json", "incidents", "--kind", "capture")
    assert [one["id"] for one in json.loads(listed.stdout)] == [identity]
    assert json.loads(python(project.folder, "-m", "sanare", "--json", "incidents").stdout) == []


def test_capture_writes_a_file_of_its_own(project):
    (project.folder / "sanare.toml").write_text('[capture]\nfolder = "kept/here"\n')
    module = project.load("import sanare\ndef work(label):\n    x = 1\n    return sanare.capture(label)\n")
    identities = [module.work(label) for label in ("../../x", None, "a" * 90, "\0\n")]
    names = sorted(path.name for path in (project.folder / "kept" / "here").iterdir())
    assert len(names) == 4 and not (project.folder.parent / "x.json").exists()
    for name in names:
        assert re.fullmatch(r"\d{8}T\d{6}Z(_[A-Za-z0-9_-]{1,40})?_cap_[0-9A-Z]{26}\.json", name), name
        path = project.folder / "kept" / "here" / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text())["id"] in identities


def test_capture_never_raises_and_runs_nothing_of_the_owners(project, tmp_path, caplog):
    trace = tmp_path / "trace"
    module = project.load(
        f"""
        import sanare
        class Hostile:
            def __getattribute__(self, name):
                open({str(trace)!r}, "a").write(name)
                raise RuntimeError
            def __repr__(self):
                open({str(trace)!r}, "a").write("repr")
                raise RuntimeError
            __str__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __repr__
        def work(label=None):
            hostile = Hostile()
            both = [hostile, hostile]
            return sanare.capture(label)
        """
    )
    assert module.work()
    assert module.work(label=object()) and module.work(label=["no text"])
    assert not trace.exists()
    (project.folder / "sanare.toml").write_text('[capture]\nfolder = "pyproject.toml/no"\n')
    from sanare import _settings

    _settings._known.clear()
    assert module.work("the folder is a file")
    assert "its file could not be written" in caplog.text
    (project.folder / "sanare.toml").write_text("[capture\n")
    assert module.work("broken settings") is None
    assert len(records(project.folder, "captured")) == 4


def test_capture_without_a_store(tmp_path, monkeypatch, caplog):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / ".sanare").write_text("a file where the folder should be")
    monkeypatch.chdir(tmp_path)
    space = {"sanare": sanare}
    exec("def work():\n    x = 1\n    return sanare.capture('x')\n", space)
    assert space["work"]() is None
    assert "nothing was captured" in caplog.text


def test_f42_captures_of_one_moment_are_as_many(project):
    module = project.load("import sanare\ndef work(n):\n    return sanare.capture('same')\n")
    identities = [module.work(n) for n in range(200)]
    assert len(set(identities)) == 200 and sorted(identities) != identities[::-1]
    assert len(records(project.folder, "captured")) == 200


# listen


def test_listeners_are_told_and_their_errors_change_nothing(project, caplog):
    told = []

    def broken(event, about):
        raise RuntimeError("a listener's own trouble")

    stops = [
        sanare.listen(broken, events=("closed", "before_swap", "after_swap")),
        sanare.listen(lambda event, about: told.append((event, about)), events=("before_swap", "after_swap", "closed")),
        sanare.listen(lambda event, about: told.append(("default", about))),
    ]
    module = project.load(LOADER)
    codes = []
    stops.append(sanare.listen(lambda event, about: codes.append(about.__code__), events=("before_swap", "after_swap")))
    try:
        assert (module.load(OLD), module.load(NEW)) == (2000, 2000)
    finally:
        for stop in stops:
            stop()
    assert [event for event, _ in told] == ["before_swap", "after_swap", "closed", "default"]
    assert told[0][1] is module.load and told[1][1] is module.load and codes[0] is not codes[1]
    assert told[2][1] is sanare.last_report() and told[2][1].outcome == "healed"
    assert caplog.text.count("a listener failed: ") == 3
    with pytest.raises(KeyError):
        module.load("a,b\n1,2\n")
    assert len(told) == 4


@pytest.mark.parametrize("events", ["closed", ("close",), (5,), ("closed", "swapped")])
def test_unknown_events_are_refused(events):
    with pytest.raises(sanare.SettingsError, match="hint: "):
        sanare.listen(print, events=events)


def test_a_listener_must_be_callable():
    with pytest.raises(sanare.SettingsError):
        sanare.listen("print")


def test_a_failing_decorated_listener_is_not_healed(project):
    module = project.load(
        LOADER + "\nheard = []\n@sanare.heal\ndef hear(event, report):\n    heard.append(report)\n    return {}['x']\n"
    )
    stop = sanare.listen(module.hear)
    try:
        with pytest.raises(KeyError):
            module.load("a,b\n1,2\n")
    finally:
        stop()
    assert len(module.heard) == 1


# keep_logs


class Loud:
    def __str__(self):
        raise RuntimeError


def test_log_lines_go_into_the_record(project, caplog):
    caplog.set_level(logging.DEBUG)
    sanare.keep_logs(3, level="INFO")
    handlers = len(logging.getLogger().handlers)
    sanare.keep_logs(3)
    assert len(logging.getLogger().handlers) == handlers
    log = logging.getLogger("shop")
    log.debug("too small")
    for number in range(5):
        log.info("line %s", number)
    log.warning("token ghp_%s", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    ring = next(handler for handler in logging.getLogger().handlers if type(handler).__name__ == "Ring")
    ring.handle(logging.LogRecord("shop", logging.ERROR, "", 1, "unprintable %s", (Loud(),), None))
    log.info("x" * 5000)
    logging.getLogger("sanare.heal").warning("our own")
    module = project.load(LOADER)
    with pytest.raises(KeyError):
        module.load("a,b\n1,2\n")
    (record,) = records(project.folder, "evident")
    first, second, third = record["logs"]
    assert first.startswith("WARNING shop: token ") and "a1B2c3" not in first
    assert second == "ERROR shop: <a record whose text could not be made>"
    assert third.startswith("INFO shop: xxx") and len(third) < 360
    sanare.keep_logs(1)
    from sanare import _logs

    assert len(_logs.lines()) == 1
    sanare.drop_logs()
    assert len(logging.getLogger().handlers) == handlers - 1 and _logs.lines() == []


def test_a_root_that_hides_what_was_asked_for_is_told_once(caplog):
    level = logging.getLogger().level
    sanare.keep_logs(5, level="DEBUG")
    sanare.keep_logs(6, level="DEBUG")
    assert logging.getLogger().level == level
    assert caplog.text.count("the root logger hides records below") == 1


@pytest.mark.parametrize(("n", "level"), [(-1, "INFO"), (10_001, "INFO"), (True, "INFO"), ("5", "INFO"), (5, "info")])
def test_keep_logs_is_strict(n, level):
    with pytest.raises(sanare.SettingsError):
        sanare.keep_logs(n, level)


def test_the_settings_can_keep_logs_too(project, caplog):
    (project.folder / "sanare.toml").write_text("[logs]\nkeep = 2\nchars = 40\n[evidence.disk]\nlogs = 1\n")
    caplog.set_level(logging.INFO)
    module = project.load(LOADER)
    assert module.load(OLD) == 2000
    logging.getLogger("shop").info("first")
    logging.getLogger("shop").info("second %s", "y" * 100)
    with pytest.raises(KeyError):
        module.load("a,b\n1,2\n")
    (record,) = records(project.folder, "evident")
    (line,) = record["logs"]
    assert line.startswith("INFO shop: second yyy") and line.count("y") < 40 and "characters>" in line


# settings, forget


def test_settings_say_where_each_value_came_from(project, monkeypatch):
    (project.folder / "sanare.toml").write_text("[heal]\nattempts = 5\nwait = '7s'\n")
    monkeypatch.setenv("SANARE_HEAL_WAIT", "9s")
    monkeypatch.chdir(project.folder)
    found = sanare.settings()
    assert found["heal.attempts"].value == 5 and found["heal.attempts"].origin.endswith("sanare.toml:2")
    assert tuple(found["heal.wait"]) == (9000, "SANARE_HEAL_WAIT")
    assert tuple(found["heal.mode"]) == ("auto", "default")
    module = project.load(LOADER.replace("@sanare.heal", "@sanare.heal(attempts=2, wait=3)"))
    own = sanare.settings(module.load)
    assert tuple(own["heal.attempts"]) == (2, "decorator") and tuple(own["heal.wait"]) == (3000, "decorator")
    with pytest.raises(sanare.SettingsError):
        sanare.settings(len)


def test_settings_raise_with_all_that_is_wrong(project, monkeypatch):
    (project.folder / "sanare.toml").write_text("[heal]\nattempts = 0\nmod = 'auto'\n")
    monkeypatch.setenv("SANARE_HEAL_MOED", "auto")
    monkeypatch.chdir(project.folder)
    with pytest.raises(sanare.SettingsError) as found:
        sanare.settings()
    text = str(found.value)
    assert "heal.attempts" in text and "heal.mod" in text and "SANARE_HEAL_MODE" in text


def test_forget(project, monkeypatch):
    module = project.load(LOADER + "\n@sanare.heal\ndef other(text):\n    return len(text)\n")
    assert sanare.forget(module.load) == 0
    assert module.load(OLD) == 2000 and module.other(OLD)
    assert sanare.forget(module.load) == 1 and sanare.forget(module.load) == 0
    monkeypatch.chdir(project.folder)
    assert sanare.forget() == 1 and sanare.forget() == 0
    with pytest.raises(sanare.SettingsError):
        sanare.forget(print)


@pytest.mark.parametrize("most", [1, 2])
def test_as_many_shapes_are_kept_as_the_settings_say(most, project):
    (project.folder / "sanare.toml").write_text(f"[heal.memory]\nshapes = {most}\n")
    module = project.load("import sanare\n\n\n@sanare.heal\ndef size(rows):\n    return len(rows)\n")
    for rows in ([{"a": 1}], [{"b": 1}], [], [{"c": 1}]):
        module.size(rows)
    assert sanare.forget(module.size) == most


# contract


@dataclasses.dataclass
class Sale:
    customer: str
    amount: int


SCHEMA = {"type": "array", "items": {"type": "object", "required": ["amount"],
          "properties": {"amount": {"type": "integer", "minimum": 100}}}}  # fmt: skip


def many(rows):
    if len(rows) > 50:
        raise ValueError("too many")


ROWS = """
import csv, io, sanare
from test_public import Sale, SCHEMA, many
CONTRACT
def load(text):
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        rows.append({"customer": row["customer"], "amount": int(row["amount"])})
    return rows
"""


@pytest.mark.parametrize(
    "contract", ["SCHEMA", "Sale", "many", '{"return": Sale, "text": len}', '{"return": SCHEMA}', '{"return": many}']
)
def test_a_contract_that_holds(contract, project):
    module = project.load(ROWS.replace("CONTRACT", f"@sanare.heal(contract={contract})"))
    assert module.load(OLD) == module.load(NEW), sanare.last_report()
    report = sanare.last_report()
    assert report.outcome == "healed"
    assert ("contract", "passed") in [(gate["name"], gate["answer"]) for gate in report.gates]


@pytest.mark.parametrize(
    "contract", ["dict(SCHEMA, maxItems=1)", '{"return": {"type": "object"}}', "int", '{"text": int}']
)
def test_a_contract_that_is_broken_rejects_the_repair(contract, project):
    module = project.load(ROWS.replace("CONTRACT", f"@sanare.heal(contract={contract})"))
    before = Path(module.__file__).read_bytes()
    assert len(module.load(OLD)) == 2
    with pytest.raises(KeyError) as found:
        module.load(NEW)
    report = sanare.report(found.value)
    assert report.outcome == "refused" and "contract" in report.summary, report
    assert Path(module.__file__).read_bytes() == before


def test_a_schema_that_cannot_be_judged_is_no_pass(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    module = project.load(ROWS.replace("CONTRACT", '@sanare.heal(contract={"type": "array", "contains": {}})'))
    assert len(module.load(OLD)) == 2
    module.load(NEW)
    gates = {gate["name"]: (gate["answer"], gate.get("reason", "")) for gate in sanare.last_report().gates}
    assert gates["contract"][0] == "skipped" and "jsonschema" in gates["contract"][1]


def test_the_own_validator():
    from sanare._contract import Broken, CannotJudge
    from sanare._schema import check

    good = [
        ({"type": "integer"}, 3), ({"type": ["string", "null"]}, None), ({"enum": [1, "a"]}, "a"), ({"const": 1}, 1),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}, "a"), ({"anyOf": [{"type": "null"}, {"minimum": 3}]}, 4),
        ({"properties": {"a": False}}, {}), ({"not": {"type": "string"}}, 1), (True, 5), ({"pattern": "^a"}, "ab"),
        ({"oneOf": [{"minimum": 5}, {"maximum": 1}]}, 7), ({"additionalProperties": {"type": "integer"}}, {"a": 1}),
    ]  # fmt: skip
    broken = [
        ({"type": "integer"}, True), ({"type": "integer"}, 3.5), ({"enum": [1]}, True), ({"const": 0}, False),
        ({"required": ["a"]}, {}), ({"items": {"type": "string"}}, [1]), ({"minItems": 1}, []), ({"maxLength": 1}, "ab"),
        ({"exclusiveMinimum": 3}, 3), ({"additionalProperties": False}, {"a": 1}), (False, 1), ({"not": {}}, 1),
        ({"oneOf": [{}, {}]}, 1), ({"minimum": 3}, float("nan")),
    ]  # fmt: skip
    for schema, value in good:
        check(schema, value)
    for schema, value in broken:
        with pytest.raises(Broken):
            check(schema, value)
    for schema in (
        {"contains": {}},
        {"$ref": "https://example.com/x"},
        {"$ref": "#/no"},
        {"type": "text"},
        {"$ref": "#"},
    ):
        with pytest.raises(CannotJudge):
            check(schema, 1)


# log_mode


QUIET = (
    LOADER
    + f"""
import json
print(json.dumps({{"total": load({NEW!r})}}))
"""
)
LOGGING = (
    "import logging, sys\nlogging.basicConfig(format='LOG %(levelname)s %(name)s %(message)s', stream=sys.stderr)\n"
)


@pytest.mark.parametrize(
    ("mode", "logging_first", "expected"),
    [
        ("auto", False, b"sanare: repaired"),
        ("auto", True, b"LOG WARNING sanare.heal repaired"),
        ("console", True, b"sanare: repaired"),
        ("logging", True, b"LOG WARNING sanare.heal repaired"),
        # Python's own handler of last resort prints it: the program asked for its logger.
        ("logging", False, b"repaired"),
    ],
)
def test_f43_narration_follows_log_mode(mode, logging_first, expected, tmp_path):
    (tmp_path / "sanare.toml").write_text(f'log_mode = "{mode}"\n')
    (tmp_path / "job.py").write_text((LOGGING if logging_first else "") + QUIET)
    done = python(tmp_path, "job.py")
    assert json.loads(done.stdout) == {"total": 2000}, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith(expected), done.stderr


@pytest.mark.parametrize("how", ["ascii", "closed", "none", "full"])
def test_f43_standard_error_that_cannot_take_it(how, tmp_path):
    (tmp_path / "sanare.toml").write_text('log_mode = "console"\n')
    head = {"closed": "import sys\nsys.stderr.close()\n", "none": "import sys\nsys.stderr = None\n"}.get(how, "")
    if how == "full" and os.path.exists("/dev/full"):
        head = "import sys\nsys.stderr = open('/dev/full', 'w')\n"
    (tmp_path / "j\u00f6b.py").write_text(head + QUIET, encoding="utf-8")
    done = python(tmp_path, "j\u00f6b.py", env={"PYTHONIOENCODING": "ascii"} if how == "ascii" else {})
    assert json.loads(done.stdout) == {"total": 2000}, done.stderr


def test_a_handler_that_raises_is_survived(project):
    class Broken(logging.Handler):
        def handle(self, record):
            raise RuntimeError

    handler = Broken()
    logging.getLogger("sanare").addHandler(handler)
    try:
        module = project.load(LOADER)
        assert (module.load(OLD), module.load(NEW)) == (2000, 2000)
    finally:
        logging.getLogger("sanare").removeHandler(handler)
