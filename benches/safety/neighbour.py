"""Processes that stand beside the service: its model registry, and what keeps its figures."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path


class Neighbour:
    """One of them."""

    def __init__(self, script: Path, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        argv = [sys.executable, "-I", "-S", str(script), str(self.port), str(folder)]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None, script
                time.sleep(0.02)
        raise AssertionError(f"{script.name} did not start")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
