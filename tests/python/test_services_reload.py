"""The configuration read again, through the wheel and by a signal to the running command (S139)."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
import sanare
from records import watches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIGURATION = """
[service.fraud]
instances = 3
[[service.fraud.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "30s"
"""


def test_what_changed_is_told_and_what_is_wrong_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sanare.toml"
    file.write_text(CONFIGURATION)
    healer = sanare.Healer(file)
    assert healer.reload() == []
    file.write_text(CONFIGURATION.replace("0.1", "0.2"))
    assert healer.reload() == [{"key": "services.fraud.rules.0.bound.above", "from": 0.1, "to": 0.2}]
    for bad, said in [
        (CONFIGURATION[:-10], "sanare.toml:"),
        (CONFIGURATION.replace("above", "abve"), "did you mean `above`"),
        ("", "names no service any more"),
    ]:
        file.write_text(bad)
        with pytest.raises(sanare.Error, match=re.escape(said)):
            healer.reload()
    file.unlink()
    with pytest.raises(sanare.Error, match="cannot be read"):
        healer.reload()
    file.write_text(CONFIGURATION.replace("0.1", "0.2"))
    assert healer.reload() == []
    assert healer.verify_ledger() == 5, "one change and four that were refused"


class Running:
    """`sanare run-services`, and the lines that it says."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "sanare", "--project", str(folder), "run-services"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()
        # It has read its file once it keeps what it has detected.
        end = time.monotonic() + 60
        while not watches(folder / ".sanare" / "store.db"):
            assert time.monotonic() < end and self.process.poll() is None
            time.sleep(0.05)

    def listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.put(line)

    def hears(self, pattern: str) -> None:
        heard = ""
        while not re.search(pattern, heard):
            heard += self.lines.get(timeout=20)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "sanare.toml").write_text(CONFIGURATION)
    running = Running(tmp_path)
    yield running
    running.process.kill()
    running.process.wait()


def test_a_running_command_reads_it_again(running: Running, tmp_path: Path) -> None:
    file = tmp_path / "sanare.toml"
    # The file alone: it says so before any signal is sent, so that the signal is heard by whoever listens for it.
    file.write_text(CONFIGURATION.replace("0.1", "0.2"))
    running.hears(r"read again, changed: services\.fraud\.rules\.0\.bound\.above")
    os.kill(running.process.pid, signal.SIGHUP)
    running.hears("read again: nothing has changed")
    file.write_text(CONFIGURATION.replace("above", "abve"))
    running.hears("(?s)stays as it was: .*did you mean `above`")
    file.write_text(CONFIGURATION.replace("instances = 3", "instances = 4"))
    running.hears(r"changed: services\.fraud\.instances, services\.fraud\.rules\.0\.bound\.above")
    assert running.process.poll() is None
