"""Each kind of the closed table has one thing that opens it and one that nearly does (S8). What the rules agent then proposes is
compared with the same table in `crates/sanare-core/src/service/rules/tests.rs`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import pytest
import sanare
from sanare._words import Health, IncidentKind
from test_services_data import House, rows, scores

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = tuple[int, dict[str, Any]]
START = 1_767_225_600.0
DAY = 86_400
TURN = 15
GONE: Answer = (404, {"error_code": "RESOURCE_DOES_NOT_EXIST"})


class Scene:
    """A service, its registry and what it needs, on a port; and the time of all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.turn = folder, START, 0
        # What the paths answer: a status and a body.
        self.alias: Answer = (200, {"model_version": {"version": "1"}})
        self.answers: dict[str, Answer] = {"/score": (200, {"version": "1", "start": "1"})}
        self.answers |= {"/ping": (200, {}), "/features": (200, {})}
        scene = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_GET(self) -> None:
                parsed = urllib.parse.urlsplit(self.path)
                if parsed.path.endswith("/registered-models/alias"):
                    status, body = scene.alias
                elif parsed.path.endswith("/model-versions/get"):
                    told = {"version": "1", "status": "READY", "creation_timestamp": int((START - DAY) * 1_000)}
                    asked = urllib.parse.parse_qs(parsed.query)["version"][0]
                    status, body = {"1": (200, {"model_version": told})}.get(asked, GONE)
                else:
                    status, body = scene.answers[parsed.path]
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def watch(self, configuration: str, *names: str) -> None:
        text = configuration.replace("PORT", str(self.server.server_address[1]))
        (self.folder / "sanare.toml").write_text(text)
        self.healer = sanare.Healer(self.folder / "sanare.toml", clock=lambda: self.now)
        self.services = [sanare.Service(name, healer=self.healer) for name in names or ("fraud",)]

    def turns(self, count: int, each: Callable[[int], object] = lambda turn: None) -> None:
        for _ in range(count):
            self.now += TURN
            self.turn += 1
            each(self.turn)
            self.healer.run_once()

    def kinds(self) -> set[str]:
        return {one["kind"] for one in self.healer.incidents()}


class Pair(NamedTuple):
    """What opens a kind and what nearly does. Each gives back the kinds that are open."""

    opens: Callable[[Scene], set[str]]
    nearly: Callable[[Scene], set[str]]
    # What the near miss opens in its place.
    instead: set[str] = set()


def ruled(
    kind: str, bound: str, ill: float, well: float, lasts: int = 60, signal: str = "reading", more: str = ""
) -> Pair:
    """A rule's bound and its time: over it for as long opens, at it does not, and neither does over it for less."""
    text = f'[service.fraud]\n[[service.fraud.rule]]\nid = "r"\nsignal = "{signal}"\nkind = "{kind}"\n{bound}\nfor = "{lasts}s"\n'

    def played(scene: Scene, over: int) -> set[str]:
        scene.watch(text)
        long = lasts // TURN + 2

        def each(turn: int) -> None:
            over_it = 4 < turn <= 4 + over
            scene.services[0].observe(signal, ill if over_it else well, **({"kind": more} if more else {}))  # type: ignore[arg-type]

        scene.turns(long + 8, each)
        return scene.kinds()

    return Pair(lambda scene: played(scene, lasts // TURN + 2), lambda scene: played(scene, lasts // TURN - 1))


def probed(*failing: str, role: str = "serving", ping: bool = False) -> Callable[[str], Callable[[Scene], set[str]]]:
    """What the probes answer, a letter a turn: `+` passes, `-` fails."""
    text = f'[service.fraud]\n[[service.fraud.probe]]\nname = "score"\nurl = "http://127.0.0.1:PORT/score"\nrole = "{role}"\n'
    if ping:
        text += '[[service.fraud.probe]]\nname = "ping"\nrole = "ping"\nurl = "http://127.0.0.1:PORT/ping"\n'

    def play(answers: str) -> Callable[[Scene], set[str]]:
        def played(scene: Scene) -> set[str]:
            scene.watch(text)

            def each(turn: int) -> None:
                fails = turn > 4 and answers[(turn - 5) % len(answers)] == "-"
                for path in failing:
                    scene.answers[path] = (500 if fails else 200, {})

            scene.turns(4 + len(answers), each)
            return scene.kinds()

        return played

    return play


def starts(*turns: int) -> Callable[[Scene], set[str]]:
    """The process is seen with another start time from each of these turns on."""

    def played(scene: Scene) -> set[str]:
        scene.watch(
            '[service.fraud]\n[[service.fraud.probe]]\nname = "score"\nurl = "http://127.0.0.1:PORT/score"\nstart_pointer = "/start"\n'
        )

        def each(turn: int) -> None:
            scene.answers["/score"] = (200, {"start": str(sum(turn >= one for one in turns))})

        scene.turns(60, each)
        return scene.kinds()

    return played


def loaded(answer: Health) -> Callable[[Scene], set[str]]:
    def played(scene: Scene) -> set[str]:
        scene.watch("[service.fraud]\n")
        scene.turns(2, lambda _: scene.services[0].health("model_loaded", answer))
        return scene.kinds()

    return played


def registry(served: str, age: int) -> Callable[[Scene], set[str]]:
    """A registry whose version 1 is a day old, a service that serves this, and a limit of so many hours."""

    def played(scene: Scene) -> set[str]:
        scene.answers["/score"] = (200, {"version": served})
        scene.watch(
            '[service.fraud]\n[[service.fraud.probe]]\nname = "score"\nurl = "http://127.0.0.1:PORT/score"\n'
            'version_pointer = "/version"\n[service.fraud.model]\nregistry = "main"\nmodel = "fraud"\nalias = "champion"\n'
            f'served = "score"\nmax_age = "{age}h"\n[registry.main]\nurl = "http://127.0.0.1:PORT"\n'
        )
        scene.turns(30)
        return scene.kinds()

    return played


def quality(value: float, half: float) -> Callable[[Scene], set[str]]:
    def played(scene: Scene) -> set[str]:
        scene.watch(
            '[service.fraud]\n[[service.fraud.quality]]\nid = "auc"\nsignal = "auc"\nbelow = 0.8\nform = "auc"\n'
        )
        start = datetime.fromtimestamp(START - 3_600, timezone.utc)
        scene.turns(
            1, lambda _: scene.services[0].quality("auc", value, 900, start, start + timedelta(hours=1), half=half)
        )
        return scene.kinds()

    return played


def profiles(*, score: float = 0.0, schema: bool = False, **changed: Any) -> Callable[[Scene], set[str]]:
    def played(scene: Scene) -> set[str]:
        house = House(scene.folder, 'schema = "reference"\n' if schema else 'important = ["amount"]\n')
        for seed in range(3):
            house.hour(rows(seed=seed, **changed), scores(seed=seed, shift=score))
        return {one["kind"] for one in house.watcher.incidents()}

    return played


def silent(turns: int) -> Callable[[Scene], set[str]]:
    """A watched signal that comes every quarter of a minute stays away for so many turns."""

    def played(scene: Scene) -> set[str]:
        scene.watch('[service.fraud]\nwatch = ["requests"]\n')
        scene.turns(30, lambda _: scene.services[0].observe("requests", 1))
        scene.turns(turns)
        return scene.kinds()

    return played


def failing(count: int) -> Callable[[Scene], set[str]]:
    """So many of six services fail at once."""

    def played(scene: Scene) -> set[str]:
        rule = '[service.{0}]\n[[service.{0}.rule]]\nid = "e"\nsignal = "e"\nkind = "error_rate_high"\nabove = 0.1\nfor = "30s"\n'
        names = [f"s{number}" for number in range(6)]
        scene.watch("".join(rule.format(name) for name in names), *names)

        def told(_: int) -> None:
            for place, one in enumerate(scene.services):
                one.observe("e", 0.9 if place < count else 0)

        scene.turns(8, told)
        return scene.kinds() - {"error_rate_high"}

    return played


def function(data: str) -> Callable[[Scene], set[str]]:
    """A function under care that is given this; whatever fails in it is in the list of the services' incidents' own store."""

    def played(scene: Scene) -> set[str]:
        (scene.folder / "job.py").write_text(
            "import sanare\n@sanare.heal(mode='observe')\ndef job(row):\n    try:\n        return row['amount']\n"
            "    except TypeError:\n        return None\n"
        )
        run = [sys.executable, "-c", f"import job\njob.job({data})"]
        subprocess.run(run, cwd=scene.folder, capture_output=True, timeout=60, check=False)
        listed = [sys.executable, "-m", "sanare", "--project", str(scene.folder), "--json", "incidents"]
        done = subprocess.run(listed, capture_output=True, text=True, timeout=60, check=False)
        told = json.loads(done.stdout) if done.returncode == 0 else []
        return {"code_exception" for one in told if one["function"] == "job"}

    return played


serving = probed("/score")
half = probed("/score", ping=True)
dependency = probed("/score", role="dependency")

KINDS: dict[str, Pair] = {
    "unreachable": Pair(serving("---"), serving("--+--+--+")),
    "half_alive": Pair(half("---"), half("--+--+--+")),
    "crash_loop": Pair(starts(5, 20, 44), starts(5, 20, 46)),
    "error_rate_high": ruled("error_rate_high", "above = 0.1", 0.11, 0.1),
    "latency_high": ruled("latency_high", "above = 500", 501, 500),
    "throughput_collapse": ruled("throughput_collapse", "below = 20", 19, 20, lasts=300),
    "resource_exhausted": ruled("resource_exhausted", "above = 0.95", 0.96, 0.95, more="resource"),
    "model_load_failed": Pair(loaded("fail"), loaded("unknown")),
    "wrong_model_version": Pair(registry("2", 48), registry("1", 48)),
    "quality_low": Pair(quality(0.70, 0.02), quality(0.79, 0.05)),
    "estimated_quality_low": ruled("estimated_quality_low", "below = 0.8", 0.79, 0.8),
    "input_drift": Pair(
        profiles(amount=lambda _, chance: chance.gauss(130, 15)),
        profiles(amount=lambda _, chance: chance.gauss(100.15, 15)),
    ),
    "output_drift": Pair(profiles(score=0.3), profiles(score=0.001)),
    "schema_violation": Pair(
        profiles(schema=True, height=lambda place, chance: -1.0 if place % 20 == 0 else chance.uniform(1.5, 2.0)),
        profiles(schema=True, height=lambda place, chance: -1.0 if place % 200 == 0 else chance.uniform(1.5, 2.0)),
    ),
    "feature_missing": Pair(
        profiles(schema=True, height=lambda place, chance: None if place % 10 == 0 else chance.uniform(1.5, 2.0)),
        profiles(schema=True, height=lambda place, chance: None if place % 25 == 0 else chance.uniform(1.5, 2.0)),
        instead={"schema_violation"},
    ),
    "model_stale": Pair(registry("1", 24), registry("1", 25)),
    "data_stale": ruled("data_stale", "above = 3600", 3_601, 3_600, signal="data_age_s"),
    "dependency_down": Pair(dependency("---"), dependency("--+--+--+")),
    "signal_missing": Pair(silent(12), silent(5)),
    "code_exception": Pair(function("{}"), function("None")),
    "storm": Pair(failing(4), failing(3)),
}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.server.shutdown()


def test_every_kind_is_in_the_table() -> None:
    # What no mapping names comes through doors for outside alerts alone, and those come with the server.
    assert {*KINDS, "unclassified"} == set(get_args(IncidentKind))


@pytest.mark.parametrize("kind", KINDS)
def test_what_opens_it(scene: Scene, kind: str) -> None:
    assert KINDS[kind].opens(scene) == {kind}


@pytest.mark.parametrize("kind", KINDS)
def test_what_nearly_opens_it(scene: Scene, kind: str) -> None:
    assert KINDS[kind].nearly(scene) == KINDS[kind].instead


@pytest.mark.parametrize("kind", ["code_exception", "storm"])
def test_no_rule_opens_what_has_its_own_door(tmp_path: Path, kind: str) -> None:
    rule = f'[service.fraud]\n[[service.fraud.rule]]\nid = "r"\nsignal = "s"\nkind = "{kind}"\nabove = 1\n'
    (tmp_path / "sanare.toml").write_text(rule)
    with pytest.raises(sanare.Error, match=r"sanare.toml:5: .*no rule opens such an incident"):
        sanare.Healer(tmp_path / "sanare.toml")
