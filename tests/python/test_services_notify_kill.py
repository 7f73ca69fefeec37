"""The courier is killed in the middle: who receives and knows ids has each message once, in its order, and none is lost.

A process of its own brings messages of many incidents to a receiver, which kills it (SIGKILL) as it wants: when a message
comes in, once it is kept and not answered, once it is answered. Or the courier is killed at a moment of its own clock. The next
process goes on from the same folder, until nothing is left to bring.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL")

RUNS = int(os.environ.get("SERVICE_KILL_RUNS", "1"))
# Few enough services that it is no storm; each falls ill in three ways, minutes apart, so that each is told by itself.
SERVICES, WAYS = 3, [("error_rate_high", "errors", 1), ("latency_high", "slow", 4), ("data_stale", "age", 7)]
MESSAGES = SERVICES * len(WAYS)
LIFE = """\
import json
import os
import signal
import sys
from pathlib import Path

import sanare

story, kill = sys.argv[1], int(sys.argv[2])
Path("pid").write_text(str(os.getpid()))
now, asked = float(Path("now").read_text()), 0


def clock():
    global asked
    asked += 1
    if asked == kill:
        os.kill(os.getpid(), signal.SIGKILL)
    return now


def minutes(count):
    global now
    for _ in range(count):
        now += 60
        Path("soon").write_text(str(now))
        os.replace("soon", "now")
        for one in services:
            for signal in ("errors", "slow", "age"):
                one.observe(signal, 0.5)
        healer.run_once()


healer = sanare.Healer("sanare.toml", clock=clock)
services = [sanare.Service(f"s{number}", healer=healer) for number in range(SERVICES)]
minutes(3 if story == "ill" else 30)
if story == "on":
    print(json.dumps({"asked": asked, "undelivered": healer.undelivered(), "records": healer.verify_ledger()}))
""".replace("SERVICES", str(SERVICES))


class Receiver:
    """Keeps what it gets, by its id; and kills whoever brings it, when it is told to."""

    def __init__(self) -> None:
        self.pid = Path()
        self.kill: tuple[int, str] | None = None
        self.came = 0
        self.kept: dict[str, dict[str, Any]] = {}
        self.bodies: list[tuple[str, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.came += 1
                self.dies("before")
                message = json.loads(body)
                assert self.headers["idempotency-key"] == message["id"]
                receiver.bodies.append((message["id"], body))
                receiver.kept.setdefault(message["id"], message)
                self.dies("kept")
                try:
                    self.send_response(200)
                    self.send_header("content-length", "0")
                    self.end_headers()
                except OSError:
                    return
                self.dies("answered")

            def dies(self, moment: str) -> None:
                if receiver.kill == (receiver.came, moment):
                    receiver.kill = None
                    os.kill(int(receiver.pid.read_text()), signal.SIGKILL)
                    if moment == "before":
                        raise ConnectionError("it was not kept")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/told"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()


def begin(folder: Path, url: str) -> Path:
    folder.mkdir(parents=True)
    text = f'[[notify]]\nname = "ops"\nurl = "{url}"\n'
    for number in range(SERVICES):
        text += f"[service.s{number}]\n"
        for kind, name, minutes in WAYS:
            text += f'[[service.s{number}.rule]]\nid = "{name}"\nsignal = "{name}"\nkind = "{kind}"\n'
            text += f'above = 0.1\nfor = "{minutes}m"\n'
    (folder / "sanare.toml").write_text(text)
    (folder / "now").write_text("1767225600")
    (folder / "life.py").write_text(LIFE)
    return folder


def live(folder: Path, story: str, kill: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "life.py", story, str(kill)], cwd=folder, capture_output=True, text=True, timeout=120
    )


def play(folder: Path, receiver: Receiver, kills: list[tuple[int, str]]) -> int:
    """One run: who brings the so manieth message dies at that moment, one after the other; how often one died."""
    begin(folder, receiver.url)
    receiver.pid, receiver.came, receiver.kept, receiver.bodies = folder / "pid", 0, {}, []
    died = 0
    for count, moment in kills:
        if moment == "clock":
            done = live(folder, "on", count)
        else:
            receiver.kill = (receiver.came + count, moment)
            done = live(folder, "on")
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        died += done.returncode == -signal.SIGKILL
    receiver.kill = None
    done = live(folder, "on")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    with closing(sqlite3.connect(folder / ".sanare" / "store.db")) as store:
        made = [row[0] for row in store.execute("select key from service_outbox order by rowid")]
    about = (kills, receiver.bodies)
    assert len(made) >= MESSAGES, about
    assert sorted(receiver.kept) == sorted(made), ("lost, or never made", about)
    assert told["undelivered"] == [], about
    # Under one id always the same; and no more often than somebody died on it.
    assert len(receiver.bodies) <= len(made) + died, about
    for key, body in receiver.bodies:
        assert json.loads(body) == receiver.kept[key], "another text under the same id"
    for incident in {message["incident"] for message in receiver.kept.values()}:
        kept = [key for key, message in receiver.kept.items() if message["incident"] == incident]
        assert kept == [key for key in made if key in kept], "in their order"
    return died


def test_killed_at_each_message(receiver: Receiver, tmp_path: Path) -> None:
    died = runs = 0
    for count in range(1, MESSAGES + 1) if RUNS > 1 else (1, 4, MESSAGES):
        for moment in ("before", "kept", "answered"):
            died += play(tmp_path / f"{count}-{moment}", receiver, [(count, moment)])
            runs += 1
    print(f"{runs} runs, {died} kills, none lost, none twice under another id")
    assert died >= runs - 1, "a kill that did not come is no test"


def test_killed_again_and_again(receiver: Receiver, tmp_path: Path) -> None:
    chance = random.Random(153)
    died = 0
    for number in range(2 * RUNS):
        moments = [(chance.randint(1, 3), chance.choice(["before", "kept", "answered"])) for _ in range(4)]
        moments += [(chance.randint(10, 200), "clock") for _ in range(3)]
        chance.shuffle(moments)
        died += play(tmp_path / str(number), receiver, moments)
    print(f"{2 * RUNS} runs, {died} kills")
    assert died >= 4 * RUNS
