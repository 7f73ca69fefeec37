"""The healer against small real servers and programs: probes, requests, commands, Prometheus; and what keeps it quiet."""

from __future__ import annotations

import json
import os
import pwd
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import sanare

ME = pwd.getpwuid(os.getuid()).pw_name
AUTO = 'version = 1\nmode = "auto"\nalways_ask = []\nhistory_min = 0\nblast = { share = 1.0 }\n'


class World:
    """A service on a port, a Prometheus beside it, and the time that both and the healer go by."""

    def __init__(self) -> None:
        self.now = 1_767_225_600.0
        self.ill = False
        self.stubborn = False
        self.started = 1
        self.restarts: list[dict[str, str]] = []
        self.series: list[float] = []
        self.stale = False
        world = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def answer(self, status: int, body: object) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self) -> None:
                parsed = urllib.parse.urlsplit(self.path)
                if parsed.path == "/score":
                    self.answer(500 if world.ill else 200, {"version": "7", "start": str(world.started)})
                    return
                asked = urllib.parse.parse_qs(parsed.query)["query"][0]
                at = world.now - (600 if world.stale else 0)
                value = [at] if asked.startswith("timestamp(") else world.series
                rows = [
                    {"metric": {"job": "fraud"}, "value": [world.now, str(one)]} for one in value[: len(world.series)]
                ]
                self.answer(200, {"status": "success", "data": {"resultType": "vector", "result": rows}})

            def do_POST(self) -> None:
                world.restarts.append(dict(self.headers.items()))
                if not world.stubborn:
                    world.ill = False
                    world.started += 1
                self.answer(200, {})

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def healer(self, folder: Path, configuration: str, policy: str = AUTO) -> sanare.Healer:
        text = '[policy]\nfile = "policy.toml"\n' + configuration.replace("PORT", str(self.port))
        (folder / "sanare.toml").write_text(text)
        (folder / "policy.toml").write_text(policy)
        return sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)

    def minutes(self, healer: sanare.Healer, count: float, each: Any = None) -> None:
        for _ in range(int(count * 12)):
            self.now += 5
            if each is not None:
                each()
            healer.run_once()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.server.shutdown()


PROBED = """
[service.fraud]
instances = 3
[[service.fraud.probe]]
name = "score"
url = "http://127.0.0.1:PORT/score"
start_pointer = "/start"
version_pointer = "/version"
"""
BY_REQUEST = """
[service.fraud.target.application.restart_component]
adapter = "http"
url = "http://127.0.0.1:PORT/restart"
identity = "score"
idempotent = true
"""


def test_a_service_that_nobody_reaches_is_started_again_by_request(world: World, tmp_path: Path) -> None:
    healer = world.healer(tmp_path, PROBED + BY_REQUEST)
    world.minutes(healer, 2)
    assert healer.incidents() == []
    world.ill = True
    world.minutes(healer, 2)
    [incident] = healer.incidents()
    assert (incident["kind"], incident["severity"]) == ("unreachable", "critical")
    assert len(world.restarts) == 1 and world.started == 2
    [key] = [value for name, value in world.restarts[0].items() if name.lower() == "idempotency-key"]
    assert incident["id"] in key
    world.minutes(healer, 15)
    [incident] = healer.incidents()
    assert (incident["outcome"], incident["closed_by"], len(world.restarts)) == ("healed", "action", 1)


def test_a_restart_that_does_not_help_is_not_made_again(world: World, tmp_path: Path) -> None:
    healer = world.healer(tmp_path, PROBED + BY_REQUEST)
    world.ill = world.stubborn = True
    world.minutes(healer, 40)
    [incident] = healer.incidents()
    assert (incident["outcome"], incident["status"], len(world.restarts)) == ("escalated", "handed_over", 1)


def test_a_program_is_told_what_to_do_and_sees_nothing_else(world: World, tmp_path: Path) -> None:
    script = tmp_path / "restart.py"
    told = tmp_path / "told.json"
    script.write_text(
        "import json, os, sys, urllib.request\n"
        f"json.dump([sys.argv[1:], sorted(os.environ)], open({str(told)!r}, 'w'))\n"
        f"urllib.request.urlopen('http://127.0.0.1:{world.port}/restart', data=b'').read()\n"
    )
    target = (
        '[service.fraud.target.application]\nrestart_component = { adapter = "command", identity = "score", '
        f'idempotent = true, argv = ["{sys.executable}", "{script}", "{{application}}", "{{receipt}}"] }}\n'
    )
    healer = world.healer(tmp_path, PROBED + target)
    world.ill = True
    world.minutes(healer, 2)
    arguments, names = json.loads(told.read_text())
    assert arguments[0] == "fraud" and arguments[1].startswith("rct_")
    assert all(name.startswith("SANARE_") or name in {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} for name in names), names
    assert len(world.restarts) == 1


PULLED = """
[prometheus.main]
url = "http://127.0.0.1:PORT"
[service.fraud]
[[service.fraud.query]]
prometheus = "main"
promql = "latency"
signal = "latency_p99_ms"
[[service.fraud.rule]]
id = "p99"
signal = "latency_p99_ms"
kind = "latency_high"
above = 500
for = "1m"
"""


def test_numbers_are_pulled_and_a_stale_one_proves_nothing(world: World, tmp_path: Path) -> None:
    healer = world.healer(tmp_path, PULLED)
    world.series = [100.0]
    world.minutes(healer, 3)
    assert healer.incidents() == []
    world.series = [900.0]
    world.minutes(healer, 3)
    assert [incident["kind"] for incident in healer.incidents()] == ["latency_high"]


def test_a_series_that_is_gone_is_missed(world: World, tmp_path: Path) -> None:
    healer = world.healer(tmp_path, PULLED)
    world.series = [100.0]
    world.minutes(healer, 15)
    world.series = []
    world.minutes(healer, 6)
    assert [incident["kind"] for incident in healer.incidents()] == ["signal_missing"]


def test_a_stale_sample_is_no_sign_of_illness_or_life(world: World, tmp_path: Path) -> None:
    healer = world.healer(tmp_path, PULLED)
    world.series, world.stale = [900.0], True
    world.minutes(healer, 3)
    assert healer.incidents() == []


def test_what_a_cause_explains_waits_for_it(world: World, tmp_path: Path) -> None:
    rule = '[[service.fraud.rule]]\nid = "slow"\nsignal = "p99"\nkind = "latency_high"\nabove = 5\nfor = "30s"\n'
    healer = world.healer(tmp_path, PROBED + rule, AUTO.replace('"auto"', '"observe"'))
    service = sanare.Service("fraud", healer=healer)
    world.ill = True
    world.minutes(healer, 2, lambda: service.observe("p99", 900 if world.ill else 1))
    by_kind = {incident["kind"]: incident for incident in healer.incidents()}
    assert by_kind["latency_high"]["inhibited_by"] == by_kind["unreachable"]["id"]
    assert by_kind["unreachable"]["inhibited_by"] is None
    world.ill = False
    world.minutes(healer, 2, lambda: service.observe("p99", 900))
    by_kind = {incident["kind"]: incident for incident in healer.incidents()}
    assert by_kind["latency_high"]["inhibited_by"] is None, "its cause has cleared"


@pytest.mark.parametrize(("ill", "calls"), [(3, 3), (5, 0)])
def test_too_many_at_once_are_left_to_people(world: World, tmp_path: Path, ill: int, calls: int) -> None:
    names = [f"s{number}" for number in range(6)]
    rule = '[service.{0}]\ninstances = 3\n[[service.{0}.rule]]\nid = "e"\nsignal = "e"\nkind = "error_rate_high"\nabove = 0.1\nfor = "30s"\n'
    policy = AUTO.replace("share = 1.0", "share = 1.0, applications_at_once = 9")
    healer = world.healer(tmp_path, "".join(rule.format(name) for name in names), policy)
    services = [sanare.Service(name, healer=healer) for name in names]
    called: list[str] = []
    for name, service in zip(names, services):
        service.capability(
            "restart_component",
            lambda intent: called.append(intent.application),
            idempotent=True,
            probe=lambda name=name: {"start_time": str(called.count(name))},
        )

    def each() -> None:
        for place, service in enumerate(services):
            service.observe("e", 0.9 if place < ill else 0.0)

    world.minutes(healer, 3, each)
    assert len([one for one in healer.incidents() if one["kind"] != "storm"]) == ill, "beside the storm itself"
    assert len(called) == calls, called


def test_a_dependency_that_is_down_is_nobody_elses_fault(world: World, tmp_path: Path) -> None:
    dependency = PROBED.replace('name = "score"', 'name = "score"\nrole = "dependency"')
    healer = world.healer(tmp_path, dependency + BY_REQUEST)
    world.ill = True
    world.minutes(healer, 5)
    assert [incident["kind"] for incident in healer.incidents()] == ["dependency_down"]
    assert world.restarts == []


def test_in_observe_nothing_is_called(world: World, tmp_path: Path) -> None:
    healer = world.healer(tmp_path, PROBED.replace("instances = 3", 'instances = 3\nmode = "observe"') + BY_REQUEST)
    world.ill = True
    world.minutes(healer, 5)
    assert len(healer.incidents()) == 1 and world.restarts == []
