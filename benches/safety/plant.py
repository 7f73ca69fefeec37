"""A small service with everything that it needs to fall ill: its process, the keeper that starts it, its users, its healer.

The process is real, and so are its requests; the healer is Sanare's own loop with its own adapters. Its clock is moved by
15 s a pass, which is how often a probe asks by default, so that a quarter of an hour of verification takes seconds. What
was done is read from what the process itself wrote, and whether it is well from what its users get.
"""

from __future__ import annotations

import http.client
import json
import os
import pwd
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import sanare
from neighbour import Neighbour

HERE = Path(__file__).parent
STEP = 15.0
BEGAN = 1_767_225_600.0
# Longer than this, and a user has gone.
PATIENCE = 1.0
SLOW = 0.2

CONFIGURATION = """
[policy]
file = "policy.toml"

[service.fraud]
instances = 3
watch = ["queue"]

[[service.fraud.probe]]
name = "score"
url = "SERVICE/score"
timeout = "1s"
version_pointer = "/version"
instance_pointer = "/instance"
start_pointer = "/start"
load_pointer = "/loaded"

[[service.fraud.probe]]
name = "ping"
role = "ping"
url = "SERVICE/ping"
timeout = "1s"
"""
# A rule for each kind that a number can open.
RULES = {
    "errors": ("error_share", "error_rate_high", "above = 0.1"),
    "slow": ("latency_ms", "latency_high", "above = 150"),
    "memory": ("memory_share", "resource_exhausted", "above = 0.95"),
    "card": ("card_share", "resource_exhausted", "above = 0.95"),
    "files": ("files_share", "resource_exhausted", "above = 0.95"),
    "disk": ("disk_share", "resource_exhausted", "above = 0.95"),
    "throughput": ("answered_a_minute", "throughput_collapse", "below = 2"),
}
TARGETS = """
[service.fraud.target.application]
restart_component = { adapter = "command", argv = [PYTHON, "-I", "-S", HAND, KEEPER, "/restart"], identity = "score", \
idempotent = true, touches = 1, timeout = "3s" }
reload_model = { adapter = "http", url = "SERVICE/reload", identity = "score", idempotent = true, touches = 1, timeout = "3s" }
rollback_model = { adapter = "command", argv = [PYTHON, "-I", "-S", LIVE, KEEPER, "{version}"], undo_argv = [PYTHON, "-I", \
"-S", LIVE, KEEPER, "{version}"], identity = "score", idempotent = true, reversible = true, undo = "move_back", touches = 1, \
timeout = "3s" }
request_retraining = { adapter = "http", url = "KEEPER/retrain", timeout = "3s", idempotent = true }
"""
POLICY = """
version = 1
mode = "MODE"
history_min = 0
always_ask = ["request_redeployment"]
approvals = { approvers = ["ME"], expire = "30m" }
"""
# What people are told by.
TELLING = {"escalation", "approval_asked", "refused", "rolled_back"}


def rule(name: str, signal: str, kind: str, bound: str, more: str = "") -> str:
    return f'[[service.fraud.rule]]\nid = "{name}"\nsignal = "{signal}"\nkind = "{kind}"\n{bound}\nfor = "1m"\n{more}\n'


def ask(url: str, body: object = None, timeout: float = PATIENCE) -> dict[str, Any] | None:
    """What is answered with 200 in time; nothing for anything else."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=timeout) as answer:
            found = json.loads(answer.read())
            return found if isinstance(found, dict) else None
    except (OSError, http.client.HTTPException, ValueError):
        return None


class Keeper:
    """Starts the process, starts it again when it is asked, and may be a bad keeper."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.service = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.calls: Counter[str] = Counter()
        self.jobs = 0
        self.manner = "obeys"
        """`obeys`, `lies`, `hangs`, `late`, `twice`, `refuses`, `half`."""
        self.starts_again = False
        """Whether a process that ended is started by itself, as a service manager does."""
        self.own_starts = 0
        self.lock = threading.RLock()
        self.threads: list[threading.Thread] = []
        keeper = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                status = keeper.told(self.path)
                try:
                    self.send_response(status)
                    self.send_header("content-length", "2")
                    self.end_headers()
                    self.wfile.write(b"{}")
                except OSError:
                    pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self, path: str) -> int:
        self.calls[path.split("/")[1]] += 1
        if path == "/stop":
            self.stop()
            return 200
        if path == "/retrain":
            self.jobs += 1
            return 200
        match self.manner:
            case "lies":
                return 200
            case "refuses":
                return 409
            case "hangs":
                time.sleep(8)
                return 500
            case "late":
                # Whoever asked has given up by then; it is done all the same.
                late = threading.Thread(target=lambda: (time.sleep(5), self.do(path)))
                self.threads.append(late)
                late.start()
                time.sleep(8)
                return 500
            case "half":
                self.stop()
                return 500
            case "twice":
                self.do(path)
        self.do(path)
        return 200

    def do(self, path: str) -> None:
        if path.startswith("/live/"):
            (self.folder / "live").write_text(path.removeprefix("/live/"))
            ask(self.service + "/reload", {}, 5)
        else:
            self.start()

    def start(self) -> None:
        with self.lock:
            self.stop()
            argv = [sys.executable, "-I", "-S", str(HERE / "model_service.py"), str(self.port), str(self.folder)]
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
            (self.folder / "pid").write_text(str(self.process.pid))
            end = time.monotonic() + 20
            while time.monotonic() < end:
                if ask(self.service + "/ping", timeout=2) is not None or self.process.poll() is not None:
                    return
                time.sleep(0.02)
            raise AssertionError("the service did not start")

    def stop(self) -> None:
        with self.lock:
            if self.process is not None:
                self.process.kill()
                self.process.wait()
                self.process = None

    def look(self) -> None:
        """What a service manager does by itself."""
        with self.lock:
            if self.starts_again and self.process is not None and self.process.poll() is not None:
                self.own_starts += 1
                self.start()

    def hangs(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def dies(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def curse(self, **how: object) -> None:
        (self.folder / "curse").write_text(json.dumps(how))

    def end(self) -> None:
        for late in self.threads:
            late.join()
        self.stop()
        self.server.shutdown()
        self.server.server_close()


class Plant:
    """The service with its keeper, its users and its healer, and what became of them so far."""

    def __init__(
        self,
        folder: Path,
        *,
        rules: tuple[str, ...],
        more: str = "",
        mode: str = "auto",
        targets: str = TARGETS,
        instances: int = 3,
        policy: str = "",
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.artefact("1")
        (folder / "live").write_text("1")
        self.keeper = Keeper(folder)
        self.keeper.start()
        self.keeper.own_starts += 1
        # A script of the owner's that is told a version: the keeper makes it live.
        (folder / "live.py").write_text((HERE / "hand.py").read_text().replace("sys.argv[2]", '"/live/" + sys.argv[2]'))
        self.program = folder / "restart"
        """A program that restarts it, without an argument."""
        hand = f"{sys.executable} -I -S {HERE / 'hand.py'} {self.keeper.address} /restart"
        self.program.write_text(f"#!/bin/sh\nexec {hand}\n")
        self.program.chmod(0o755)
        text = CONFIGURATION.replace("instances = 3", f"instances = {instances}")
        text += "".join(rule(name, *RULES[name]) for name in rules) + more + targets
        self.registry = Neighbour(HERE / "registry.py", folder) if "REGISTRY" in text else None
        (folder / "scraped").write_text(f"{BEGAN} 0.0")
        self.source = Neighbour(HERE / "source.py", folder) if "SOURCE" in text else None
        for name, value in {
            "SERVICE": self.keeper.service,
            "PYTHON": json.dumps(sys.executable),
            "HAND": json.dumps(str(HERE / "hand.py")),
            "PROGRAM": json.dumps(str(self.program)),
            "LIVE": json.dumps(str(folder / "live.py")),
            "REGISTRY": self.registry.address if self.registry else "",
            "SOURCE": self.source.address if self.source else "",
        }.items():
            text = text.replace(name, value)
        text = text.replace(", KEEPER,", f", {json.dumps(self.keeper.address)},").replace("KEEPER", self.keeper.address)
        (folder / "sanare.toml").write_text(text)
        me = pwd.getpwuid(os.getuid()).pw_name
        (folder / "policy.toml").write_text(POLICY.replace("MODE", mode).replace("ME", me) + policy)
        self.now = BEGAN
        self.reports = True
        """Whether the process's own readings are reported."""
        self.users = 4
        """Requests of users a pass."""
        self.truth_read = self.moves_read = 0
        self.served_before = "1"
        self.acts: list[tuple[str, float]] = []
        """What was done to the process, by what it says itself, and when."""
        self.by_hand: Counter[str] = Counter()
        """What persons did, and this bench for them."""
        self.refusals = 0
        """Passes in which the healer said that it could not go on."""
        self.turned = False
        """Whether the fault is there, where it is not the process that has it."""
        self.rows = 0
        self.minds_latency = "slow" in rules
        self.bursts = 0
        self.full_until = 0.0
        self.answered = [self.users] * 4
        self.others: list[sanare.Service] = []
        """Other services of the same configuration."""
        self.healers = [self.new_healer()]
        self.service = sanare.Service("fraud", healer=self.healers[0])

    def new_healer(self) -> sanare.Healer:
        return sanare.Healer(self.folder / "sanare.toml", clock=lambda: self.now)

    @property
    def healer(self) -> sanare.Healer:
        return self.healers[0]

    def artefact(self, version: str, text: str | None = None, **traits: float) -> None:
        (self.folder / f"artefact-{version}").write_text(json.dumps(traits) if text is None else text)

    def go_live(self, version: str) -> None:
        """Its owner makes another version live."""
        (self.folder / "live").write_text(version)
        self.by_hand["load"] += 1
        ask(self.keeper.service + "/reload", {}, 5)
        self.service.deployed(version)

    def others_move(self, version: str) -> None:
        """Somebody else moves the registry's alias; the service is not told."""
        assert self.registry is not None
        assert ask(f"{self.registry.address}/others/{version}", {}, 5) is not None

    def ill(self, **how: object) -> None:
        assert ask(self.keeper.service + "/ill", how, 5) is not None

    def curse(self, **how: object) -> None:
        self.keeper.curse(**how)

    def restart_by_hand(self) -> None:
        self.keeper.own_starts += 1
        self.keeper.start()

    def use(self) -> tuple[int, int, float]:
        """What users get: requests, failures, and how long the slowest took, in milliseconds."""
        failed, slowest = 0, 0.0
        for _ in range(self.users):
            began = time.perf_counter()
            failed += self.row() is None
            slowest = max(slowest, (time.perf_counter() - began) * 1000)
            # One who got nothing in time tells the others.
            if slowest >= PATIENCE * 1000:
                return self.users, self.users, slowest
        return self.users, failed, slowest

    def row(self) -> dict[str, Any] | None:
        """What a user gets for the next input."""
        self.rows += 1
        return ask(f"{self.keeper.service}/score?row={self.rows}")

    def is_well(self) -> bool:
        """Whether users are served: the truth, asked of the process at this moment."""
        for _ in range(6):
            began = time.perf_counter()
            answer = self.row()
            slow = time.perf_counter() - began > SLOW
            if answer is not None and slow and self.minds_latency:
                # A machine under load is slow once; an ill service always.
                time.sleep(0.05)
                began = time.perf_counter()
                answer = self.row()
                slow = time.perf_counter() - began > SLOW
            if answer is None or (slow and self.minds_latency):
                return False
        figures = ask(self.keeper.service + "/figures") or {}
        full = [figures.get(name, 1) > 0.95 for name in ("memory_share", "card_share", "files_share", "disk_share")]
        return not any(full) and self.quality() >= 0.8

    def quality(self) -> float:
        """How good the served model is, by its artefact."""
        answer = ask(self.keeper.service + "/score") or {}
        path = self.folder / f"artefact-{answer.get('version')}"
        try:
            return float(json.loads(path.read_text()).get("quality", 0.9))
        except (OSError, ValueError):
            return 0.0

    def report(self) -> None:
        """The process's figures, as an agent beside it reports them."""
        requests, failed, slowest = self.use()
        if requests:
            (self.folder / "scraped").write_text(f"{self.now} {failed / requests}")
        if not self.reports:
            return
        if requests:
            self.service.observe("error_share", failed / requests)
            # In steps, so that the noise of a busy machine is none of the service's.
            self.service.observe("latency_ms", 50 * (1 + slowest // 50))
        self.answered = [*self.answered[-3:], requests - failed]
        self.service.observe("answered_a_minute", sum(self.answered))
        self.service.observe("queue", 3)
        figures = ask(self.keeper.service + "/figures")
        for name in ("memory_share", "card_share", "files_share", "disk_share"):
            if figures is not None:
                self.service.observe(name, figures[name])

    def step(self) -> None:
        """A quarter of a minute."""
        self.now += STEP
        self.keeper.look()
        self.report()
        for healer in self.healers:
            try:
                healer.run_once()
            except sanare.Error:
                # A store that fails is a reason to do nothing; whoever runs the healer is told so.
                self.refusals += 1
        self.read_truth()

    def minutes(self, count: float) -> None:
        for _ in range(int(count * 60 / STEP)):
            self.step()

    def figures(self) -> dict[str, Any] | None:
        return ask(self.keeper.service + "/figures")

    def read_truth(self) -> None:
        truth = self.folder / "truth"
        # A process that has just been started has not written yet.
        lines = truth.read_text().splitlines() if truth.is_file() else []
        moves = self.folder / "registry-truth"
        moved = moves.read_text().splitlines() if moves.is_file() else []
        ours = [line.split()[1] for line in moved[self.moves_read :] if line.endswith(" sanare")]
        self.moves_read = len(moved)
        self.acts += [(f"rollback {version}", self.now) for version in ours]
        for line in lines[self.truth_read :]:
            word, _, rest = line.partition(" ")
            if word == "start":
                if self.keeper.own_starts > 0:
                    self.keeper.own_starts -= 1
                else:
                    self.acts.append(("restart", self.now))
                self.by_hand["load"] += 1
            elif word == "load" or word == "damaged":
                if self.by_hand["load"] > 0:
                    self.by_hand["load"] -= 1
                elif not self.registry and self.acts[-1:] == [("reload", self.now)] and rest != self.served_before:
                    self.acts[-1] = (f"rollback {rest}", self.now)
                self.served_before = rest
            elif word == "reload" and self.by_hand["load"] == 0:
                if ours:
                    # How the service learns of the alias that was moved: one act.
                    ours.pop()
                else:
                    self.acts.append(("reload", self.now))
        self.truth_read = len(lines)
        jobs = [one for one in self.acts if one[0] == "retrain"]
        self.acts += [("retrain", self.now)] * (self.keeper.jobs - len(jobs))

    def told(self) -> set[str]:
        """What people were told, by kind."""
        with closing(sqlite3.connect(f"file:{self.folder}/.sanare/store.db?mode=ro", uri=True)) as store:
            return {row[0] for row in store.execute("select kind from service_outbox")}

    def incidents(self) -> list[dict[str, Any]]:
        return self.healer.incidents()

    def end(self) -> None:
        for healer in self.healers:
            healer.close()
        for neighbour in (self.registry, self.source):
            if neighbour is not None:
                neighbour.end()
        self.keeper.end()
