"""Crash matrix of services: the healer's process is killed around every record and every act; the next one goes on.

Each run heals a bad version in a process of its own and kills it (SIGKILL): right before and after every record of the
ledger, while it looks at the target, before, during and after the act, or at a moment of chance. Then another process goes
on from the same folder. Afterwards an act that is not idempotent has had at most one effect, the incident has ended, nothing
is left unsettled that nobody was told of, the ledger verifies, and what is called healed serves the other version.
SERVICE_KILL_RUNS is how much of the matrix is played; from 4 on, all of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL")

RUNS = int(os.environ.get("SERVICE_KILL_RUNS", "1"))
ME = pwd.getpwuid(os.getuid()).pw_name
# An act that is neither idempotent nor fenced asks all the same: then the process itself says yes.
POLICY = f"""
version = 1
mode = "auto"
always_ask = []
history_min = 0
blast = {{ share = 1.0 }}
approvals = {{ approvers = ["{ME}"] }}
"""
CONFIGURATION = """
[policy]
file = "policy.toml"
[service.fraud]
instances = 3
[[service.fraud.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "60s"
[[service.fraud.rule]]
id = "slow"
signal = "latency"
kind = "latency_high"
above = 500
for = "10m"
"""
COMMAND = """
[[service.fraud.probe]]
name = "score"
url = "{url}"
version_pointer = "/served"
[service.fraud.target.application]
rollback_model = {{ adapter = "command", argv = {argv}, undo_argv = {argv}, idempotent = {idempotent}, reversible = true, \
undo = "move_back", identity = "score" }}
"""
HTTP = """
[[service.fraud.probe]]
name = "score"
url = "{url}"
version_pointer = "/served"
[service.fraud.target.application.rollback_model]
adapter = "http"
url = "{url}"
body = '{{ "version": "{{version}}" }}'
idempotent = {idempotent}
identity = "score"
"""
MLFLOW = """
[registry.main]
url = "http://127.0.0.1:{port}"
[[service.fraud.probe]]
name = "score"
url = "{url}"
version_pointer = "/served"
[service.fraud.target.application]
rollback_model = {{ adapter = "mlflow", registry = "main", model = "{model}", alias = "champion", served = "score" }}
"""

# The act: one line of a log, on the disk when it returns. With the healer's process it may be killed at a moment of it.
ACT = """\
import fcntl
import os
import signal
import sys
import time


def act(version, purpose, kill):
    if kill == f"{purpose} before":
        os.kill(int(open("pid").read()), signal.SIGKILL)
        return
    busy = os.open("busy", os.O_RDWR | os.O_CREAT)
    fcntl.flock(busy, fcntl.LOCK_SH)
    if kill == f"{purpose} late":
        # What the program began outlives it and the healer, and has its effect when all is over.
        if os.fork():
            os.kill(int(open("pid").read()), signal.SIGKILL)
            return
        while not os.path.exists("go"):
            time.sleep(0.01)
    log = os.open("acts", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, f"{version}\\n".encode())
    if kill == f"{purpose} during":
        os.kill(int(open("pid").read()), signal.SIGKILL)
    os.fsync(log)
    if kill == f"{purpose} after":
        os.kill(int(open("pid").read()), signal.SIGKILL)
    os.close(busy)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    purpose, kill = os.environ["SANARE_PURPOSE"], ""
    if os.path.exists("kill_act"):
        with open("kill_act") as file:
            kill = file.read()
    if kill.startswith(purpose):
        os.remove("kill_act")
    act(sys.argv[2], purpose, kill)
"""

LIFE = """\
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import sanare
from act import act

story, adapter, idempotent, fenced, worse, kill = json.loads(sys.argv[1])
Path("pid").write_text(str(os.getpid()))
now = float(Path("now").read_text())
seen, heads = Counter(), []


def moment(name):
    seen[name] += 1
    if kill == f"{name} {seen[name]}":
        os.kill(os.getpid(), signal.SIGKILL)


def clock():
    moment("clock")
    head = Path(".sanare/store.db.head")
    stored = head.read_text() if story == "whole" and head.exists() else ""
    if not heads or heads[-1][1] != stored:
        heads.append((seen["clock"], stored))
    return now


def served():
    return Path("acts").read_text().split()[-1] if os.path.exists("acts") else "2"


def probe():
    moment("probe")
    return {"served_version": served()}


def minutes(count, bad):
    global now
    for _ in range(count):
        now += 60
        Path("soon").write_text(str(now))
        os.replace("soon", "now")
        service.observe("latency", 400 if worse and served() == "1" and bad else 100)
        service.observe("error_share", 0.5 if bad and served() == "2" else 0.01)
        healer.run_once()
        for one in healer.pending_approvals():
            moment("answer")
            healer.approve(one["id"], "yes", shown=one["digest"])
            moment("answered")
        incidents = healer.incidents()
        if incidents and all(one["status"] == "closed" for one in incidents):
            return


healer = sanare.Healer("sanare.toml", clock=clock)
service = sanare.Service("fraud", healer=healer)
if adapter == "callback":
    service.capability(
        "rollback_model",
        lambda intent: act(intent.to_version, intent.purpose, kill),
        idempotent=idempotent,
        reversible=True,
        fence=("served_version",) if fenced else (),
        probe=probe,
    )
if story == "well":
    service.deployed("1")
    minutes(5, bad=False)
    healer.mark_good("fraud", "1", "it has served for months")
    service.deployed("2")
    minutes(1, bad=False)
else:
    found = [healer.incident(one["id"])["steps"] for one in healer.incidents()]
    minutes(60, bad=True)
    # What has ended has ended.
    for _ in range(4):
        minutes(1, bad=True)
    incidents = [healer.incident(one["id"]) for one in healer.incidents()]
    told = {"found": found, "incidents": incidents, "records": healer.verify_ledger(), "heads": heads, "seen": seen}
    print(json.dumps(told))
"""


API = "/api/2.0/mlflow/"
# The version that each makes live.
LIVE = {"act": "1", "undo": "2"}


class Case(NamedTuple):
    adapter: str
    idempotent: bool
    fenced: bool = False
    worse: bool = False
    """The act makes something else worse, and is taken back."""

    @property
    def wanted(self) -> list[str]:
        """The versions that are made live."""
        return ["1", "2"] if self.worse else ["1"]

    @property
    def well(self) -> str:
        return "rolled_back" if self.worse else "healed"


CASES = [
    Case("callback", idempotent=False),
    Case("command", idempotent=False),
    Case("callback", idempotent=True),
    Case("command", idempotent=True),
    Case("http", idempotent=False),
    Case("http", idempotent=True),
    Case("callback", idempotent=False, fenced=True),
    Case("callback", idempotent=False, fenced=True, worse=True),
    Case("command", idempotent=False, worse=True),
    Case("mlflow", idempotent=True, fenced=True),
    Case("mlflow", idempotent=True, fenced=True, worse=True),
]
ACTS = {
    "callback": ["before", "during", "after"],
    "command": ["before", "during", "after", "late"],
    "http": ["before", "during", "after", "late"],
    # Its tag, its one write, and the first look at what came of it.
    "mlflow": ["tag", "before", "during", "after", "look", "late"],
}


class Plant:
    """Folders in which a version has just gone bad, each with a service that says which version it serves."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.number = 0
        self.base = folder / "base"
        self.base.mkdir()
        (self.base / "act.py").write_text(ACT)
        (self.base / "life.py").write_text(LIFE)
        (self.base / "now").write_text("1767225600")
        self.configure(self.base, CASES[0])
        done = self.life(self.base, "well", CASES[0])
        assert done.returncode == 0, done.stderr

    def configure(self, folder: Path, case: Case) -> None:
        text = CONFIGURATION
        if case.adapter == "command":
            argv = [sys.executable, "-I", "-S", str(folder / "act.py"), str(folder), "{version}"]
            url = f"http://127.0.0.1:{self.port}/{folder.name}"
            text += COMMAND.format(url=url, argv=json.dumps(argv), idempotent=str(case.idempotent).lower())
        if case.adapter == "http":
            url = f"http://127.0.0.1:{self.port}/{folder.name}"
            text += HTTP.format(url=url, idempotent=str(case.idempotent).lower())
        if case.adapter == "mlflow":
            url = f"http://127.0.0.1:{self.port}/{folder.name}"
            text += MLFLOW.format(url=url, port=self.port, model=folder.name)
        (folder / "sanare.toml").write_text(text)
        (folder / "policy.toml").write_text(POLICY)

    def new(self, case: Case) -> Path:
        self.number += 1
        folder = self.folder / f"run{self.number}"
        shutil.copytree(self.base, folder)
        self.configure(folder, case)
        return folder

    def start(self, folder: Path, story: str, case: Case, kill: str = "") -> subprocess.Popen[str]:
        if kill.startswith(("act ", "undo ")) and case.adapter != "callback":
            (folder / "kill_act").write_text(kill)
        arguments = json.dumps([story, *case, kill])
        return subprocess.Popen(
            [sys.executable, "life.py", arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def life(self, folder: Path, story: str, case: Case, kill: str = "") -> subprocess.CompletedProcess[str]:
        with self.start(folder, story, case, kill) as process:
            said, complained = process.communicate(timeout=120)
        return subprocess.CompletedProcess([], process.returncode, said, complained)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    folder = tmp_path_factory.mktemp("kill")

    def dies(ours: Path, kill: str) -> None:
        """Whoever asks is killed, if it is to be at this moment."""
        at = ours / "kill_act"
        if at.exists() and at.read_text() == kill:
            at.unlink()
            os.kill(int((ours / "pid").read_text()), signal.SIGKILL)

    class Serves(BaseHTTPRequestHandler):
        def answer(self, status: int, told: object) -> None:
            body = json.dumps(told).encode()
            try:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass

        def do_GET(self) -> None:
            """What a service serves, and what the registry says; there a model has the name of its folder."""
            asked = urlsplit(self.path)
            of = {name: values[0] for name, values in parse_qs(asked.query).items()}
            if not asked.path.startswith(API):
                done = log_of(folder / asked.path[1:])
                return self.answer(200, {"served": done[-1] if done else "2"})
            ours = folder / of["name"]
            version = of.get("version") or (log_of(ours) or ["2"])[-1]
            if "version" not in of:
                for purpose in ("act", "undo"):
                    if log_of(ours)[-1:] == [LIVE[purpose]]:
                        dies(ours, f"{purpose} look")
            return self.answer(200, {"model_version": {"version": version, "status": "READY"}})

        def do_POST(self) -> None:
            """An act: whoever asked is killed at a moment of it."""
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            ours = folder / (asked["name"] if self.path.startswith(API) else self.path[1:])
            version = asked["version"]
            purpose = "act" if version == LIVE["act"] else "undo"
            if self.path.endswith("/set-tag"):
                dies(ours, f"{purpose} tag")
                return self.answer(200, {})
            at = ours / "kill_act"
            kill = at.read_text() if at.exists() else ""
            with (ours / "busy").open("a") as busy:
                fcntl.flock(busy, fcntl.LOCK_SH)
                dies(ours, f"{purpose} before")
                dies(ours, f"{purpose} late")
                while kill == f"{purpose} late" and not (ours / "go").exists():
                    time.sleep(0.01)
                if kill != f"{purpose} before":
                    with (ours / "acts").open("a") as log:
                        log.write(f"{version}\n")
                dies(ours, f"{purpose} during")
                dies(ours, f"{purpose} after")
            return self.answer(200, {})

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Serves) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Plant(folder, server.server_port)
        server.shutdown()


class Found(NamedTuple):
    """What was found after a run."""

    kills: int
    effects: list[str]
    """The versions that were made live, in turn."""
    outcome: str | None
    steps: list[str]
    """What the ledger held when the first process was dead."""


def play(plant: Plant, case: Case, kills: list[str | float]) -> Found:
    """One run: a process for each kill, one more to the end, and everything that has to hold then."""
    folder = plant.new(case)
    about = (case, kills, str(folder))
    killed = 0
    for kill in kills:
        if isinstance(kill, str):
            done = plant.life(folder, "on", case, kill)
            code = done.returncode
            assert code in (0, -signal.SIGKILL), (about, done.stderr)
        else:
            with plant.start(folder, "on", case) as process:
                try:
                    process.communicate(timeout=kill)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                code = process.returncode
        killed += code == -signal.SIGKILL
    done = plant.life(folder, "on", case)
    assert done.returncode == 0, (about, done.stderr)
    told = json.loads(done.stdout)
    effects = effects_of(folder)
    check(folder, case, told, effects, killed, about)
    return Found(killed, effects, told["incidents"][-1]["outcome"], told["found"][-1] if told["found"] else [])


def effects_of(folder: Path) -> list[str]:
    """The log, once nobody writes it any more."""
    (folder / "go").touch()
    with (folder / "busy").open("w") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
    return log_of(folder)


def log_of(folder: Path) -> list[str]:
    log = folder / "acts"
    return log.read_text().split() if log.exists() else []


def check(folder: Path, case: Case, told: dict[str, Any], effects: list[str], killed: int, about: object) -> None:
    assert effects.count("1") <= (1 + killed if case.idempotent else 1), ("doubled", effects, about)
    assert effects.count("2") <= 1, ("taken back twice", effects, about)
    assert told["incidents"], ("lost", about)
    with closing(sqlite3.connect(folder / ".sanare" / "store.db")) as store:
        receipts = store.execute("select incident, state from service_receipts").fetchall()
        escalated = {row[0] for row in store.execute("select incident from service_outbox where kind = 'escalation'")}
    for incident in told["incidents"]:
        outcome = incident["outcome"]
        # An act that was taken back leaves the symptom: that is a new incident, without an act of its own.
        first = incident is told["incidents"][-1]
        allowed = (case.well, "escalated") if first else ("escalated", None)
        assert outcome in allowed, ("lost", incident, about)
        assert outcome != "escalated" or incident["id"] in escalated, ("nobody was told", incident, about)
        # The symptom lives as long as the version does: nothing else heals it.
        assert outcome != case.well or effects[-1:] == case.wanted[-1:], ("not so", effects, incident, about)
        assert all(receipt["effect"] != "done" or effects for receipt in incident["attempts"]), (incident, about)
        # Nothing but an act of which nobody knows is a reason to give up here.
        assert not (first and outcome == "escalated") or (incident["id"], "unknown") in receipts, (
            "given up",
            incident,
            about,
        )
    for owner, state in receipts:
        assert state in ("done", "failed", "undone") or (state == "unknown" and owner in escalated), (
            "unsettled",
            state,
            about,
        )


def play_all(plant: Plant, runs: list[tuple[Case, list[str | float]]]) -> list[Found]:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda run: play(plant, *run), runs))
    outcomes = Counter(one.outcome for one in found)
    doubled = [
        case.idempotent for (case, _), one in zip(runs, found, strict=True) if len(set(one.effects)) < len(one.effects)
    ]
    print(
        f"{len(found)} runs, {sum(one.kills for one in found)} kills, {sum(len(one.effects) for one in found)} effects, "
        f"{doubled.count(False)} doubled ({doubled.count(True)} that may be), {outcomes[None]} lost: {dict(outcomes)}"
    )
    return found


class Whole(NamedTuple):
    """A run that nobody kills."""

    turns: list[str]
    """Right before and right after each record."""
    moments: list[str]
    """Every other moment at which it can be killed."""
    steps: list[str]


def whole(plant: Plant, case: Case) -> Whole:
    folder = plant.new(case)
    done = plant.life(folder, "whole", case)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    [incident] = told["incidents"]
    closed_by = None if case.worse else "action"
    assert (incident["outcome"], incident["closed_by"], effects_of(folder)) == (case.well, closed_by, case.wanted)
    turns = [f"clock {call + after}" for call, _ in told["heads"][1:] for after in (-1, 0)]
    moments = [f"clock {call}" for call in range(1, told["heads"][-1][0])]
    moments += [
        f"{name} {call + 1}" for name, calls in told["seen"].items() if name != "clock" for call in range(calls)
    ]
    return Whole(turns, moments, incident["steps"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_killed_at_every_turn(plant: Plant, case: Case) -> None:
    life = whole(plant, case)
    purposes = ["act", "undo"] if case.worse else ["act"]
    acts = [f"{purpose} {moment}" for purpose in purposes for moment in ACTS[case.adapter]]
    if case.adapter == "mlflow" and case.worse:
        # What lands when all is over moves a registry that compares nothing: that one is played where nothing follows.
        acts.remove("act late")
    rest = [moment for moment in life.moments if moment not in life.turns]
    number = CASES.index(case)
    if RUNS < 4:
        rest = random.Random(number).sample(rest, RUNS)
        if number:
            life = life._replace(turns=life.turns[number % 4 :: 4])
    runs: list[tuple[Case, list[str | float]]] = [(case, [kill]) for kill in life.turns + acts + rest]
    found = play_all(plant, runs)
    assert all(one.kills == 1 for one in found), "a kill that did not come is no test"
    for (_, kills), one in zip(runs, found, strict=True):
        # Where the version shows what became of the act, or it may be done again, no person is needed.
        late = str(kills[0]).endswith(" late")
        known = one.effects == case.wanted and not late
        # An act that may be done again is; what is taken back is taken back once.
        known |= case.idempotent and not case.worse
        assert not late or one.effects, "what is late comes all the same"
        assert one.outcome == (case.well if known else "escalated"), (case, kills, one)
    if not number:
        reached = {one.steps[-1] for one in found if one.steps}
        # What one transaction records together has one last record.
        assert reached >= set(life.steps) - {"effect", "condition", "verified"}, (reached, life.steps)


def test_killed_twice(plant: Plant) -> None:
    chance = random.Random(150)
    runs: list[tuple[Case, list[str | float]]] = []
    for case in CASES[:6]:
        for moment in ACTS[case.adapter]:
            # The second one dies while it finds out what the first one did.
            runs += [(case, [f"act {moment}", f"clock {chance.randint(5, 40)}"]) for _ in range(RUNS)]
        runs += [(case, [f"clock {chance.randint(1, 120)}", f"clock {chance.randint(1, 60)}"]) for _ in range(RUNS)]
    for case in (case for case in CASES if case.worse):
        runs += [(case, ["act after", f"undo {moment}"]) for moment in ACTS[case.adapter][1:]]
    for moment in ACTS["mlflow"]:
        # The second one dies in the act that the first one had begun, and while it looks.
        runs += [(CASES[9], [f"act {moment}", f"act {second}"]) for second in ("tag", "before", "during", "look")]
        runs += [(CASES[9], [f"act {moment}", f"clock {chance.randint(5, 40)}"]) for _ in range(RUNS)]
    found = play_all(plant, runs)
    assert sum(one.kills == 2 for one in found) > len(found) // 2


def test_killed_at_a_moment_of_chance(plant: Plant) -> None:
    chance = random.Random(151)
    play_all(plant, [(CASES[number % 7], [chance.uniform(0.1, 0.5)]) for number in range(5 * RUNS)])
