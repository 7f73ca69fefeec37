"""The stop switch between real processes under load (S97): two healers act on many services, and a third process stops
them. Every program that an act starts was started before the stop was answered, and runs to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sanare
from records import watches

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads when a process began")

ILL = 14
FLEET = 80
"""So many that those that are ill are no storm."""
TICK = os.sysconf("SC_CLK_TCK")
POLICY = """
version = 1
mode = "auto"
always_ask = []
history_min = 0
windows = { all = { hour = 1000, day = 1000 } }
blast = { share = 1.0, applications_at_once = 1000 }
"""
SERVICE = """
[service.s{number}]
instances = 4
[[service.s{number}.rule]]
id = "answers"
signal = "answers"
kind = "unreachable"
below = 0.5
for = "30s"
[service.s{number}.target.application]
restart_component = {{ adapter = "command", argv = ["/bin/sh", "{act}"], idempotent = true, identity = "ping" }}
[[service.s{number}.probe]]
name = "ping"
url = "http://127.0.0.1:{port}/"
start_pointer = "/start"
"""
ACT = """
begun=$(cut -d' ' -f22 /proc/$$/stat)
echo "begin $begun $SANARE_APPLICATION" >> {acts}
sleep 0.2
echo "end $begun $SANARE_APPLICATION" >> {acts}
"""


class Started(BaseHTTPRequestHandler):
    """A service that tells when it was started, and that a restart does not help."""

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "14")
        self.end_headers()
        self.wfile.write(b'{"start": "1"}')


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Started)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def lines(folder: Path, word: str) -> list[tuple[int, str]]:
    """When programs began, in ticks since the machine did, and for which service."""
    acts = folder / "acts"
    told = [line.split() for line in acts.read_text().splitlines()] if acts.exists() else []
    return [(int(at), service) for kind, at, service in told if kind == word]


@pytest.mark.parametrize("wait_for", [1, 2], ids="after {} acts".format)
def test_no_act_begins_once_a_stop_is_answered(tmp_path: Path, port: int, wait_for: int) -> None:
    act = tmp_path / "act.sh"
    act.write_text(ACT.format(acts=tmp_path / "acts"))
    services = "".join(SERVICE.format(number=number, act=act, port=port) for number in range(FLEET))
    (tmp_path / "sanare.toml").write_text('[policy]\nfile = "policy.toml"\n' + services)
    (tmp_path / "policy.toml").write_text(POLICY)
    person = sanare.Healer(tmp_path / "sanare.toml")
    healers = [
        subprocess.Popen(
            [sys.executable, "-m", "sanare", "--project", str(tmp_path), "run-services"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    try:
        end = time.monotonic() + 60
        # They hear what is told from when they began.
        while not watches(tmp_path / ".sanare" / "store.db"):
            assert time.monotonic() < end and all(healer.poll() is None for healer in healers)
            time.sleep(0.05)
        began = time.time() - 40
        for second in (0, 10, 20, 30):
            at = datetime.fromtimestamp(began + second, timezone.utc).isoformat()
            for number in range(ILL):
                person.observe({"application": f"s{number}", "signal": "answers", "value": 0, "event_time": at})
        while len(lines(tmp_path, "begin")) < wait_for:
            assert time.monotonic() < end and all(healer.poll() is None for healer in healers)
            time.sleep(0.005)
        before = time.monotonic()
        person.stop(reason="they restart each other")
        answered = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        assert time.monotonic() - before < 4
        # Both go on looking, and what had begun comes to its end.
        time.sleep(4)
        assert all(healer.poll() is None for healer in healers)
    finally:
        for healer in healers:
            healer.terminate()
        for healer in healers:
            healer.wait(60)
    begun, ended = lines(tmp_path, "begin"), lines(tmp_path, "end")
    assert wait_for <= len(begun) < ILL, f"{len(begun)} acts: the stop came too late to show anything"
    late = [service for at, service in begun if at * 1_000_000_000 // TICK > answered]
    assert late == []
    assert sorted(begun) == sorted(ended), "an act in progress was not followed to its end"
    assert person.verify_ledger() > 0
