"""A stand-in for the Rust half: a small loop with a scripted repair, for tests of the Python half alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sanare import _native


def fork_plain(prepared: Callable[[str], bytes], folder: str = "") -> bytes:
    """The simplest child: no fences, bytes through a pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            data = prepared(folder)
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(data)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return data


class Scripted:
    """Heals by replacing text: `old` by `new` in the module's source."""

    def __init__(self, *replacements: tuple[str, str], trial: bool = True, rerun: bool = True) -> None:
        self.replacements = list(replacements)
        self.trial = trial
        self.do_rerun = rerun
        self.requests: list[dict[str, Any]] = []
        self.looks: list[dict[str, Any]] = []
        self.outcomes: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.before: Callable[[], None] = lambda: None
        self.number = 0

    def heal(self, request: dict[str, Any], subject: Any) -> dict[str, Any]:
        with self.lock:
            self.requests.append(request)
            self.number += 1
            number = self.number
        self.before()
        report = {
            "id": f"inc_{number}",
            "status": "closed",
            "outcome": "refused",
            "reason": "no_proposer",
            "summary": "",
        }
        if request["origin"] not in ("file", "memory") or request["options"].get("mode") == "observe":
            return {**report, "reason": "no_source", "summary": request["origin"]}
        source = request["source"]
        for old, new in self.replacements:
            source = source.replace(old, new)
        if source == request["source"]:
            return {**report, "summary": "no change"}
        complaint = subject.compiles(source)
        if complaint is not None:
            return {**report, "reason": "gates_failed", "summary": complaint}
        if self.trial:
            for text in (request["source"], source):
                prepared = subject.prepare(text, [None])
                if isinstance(prepared, str):
                    return {**report, "reason": "gates_failed", "summary": prepared}
                self.outcomes += subject.outcome(fork_plain(prepared))
            if self.outcomes[-1]["state"] != "returned":
                return {**report, "reason": "gates_failed", "summary": str(self.outcomes[-1])}
        checks = subject.replay(source)
        if any(check["answer"] == "failed" for check in checks):
            return {**report, "reason": "gates_failed", "summary": str(checks)}
        in_file = request["origin"] == "file" and request["options"].get("write") != "memory"
        if in_file:
            Path(request["path"]).write_text(source, encoding="utf-8")
        trouble = subject.swap(source)
        if trouble is not None:
            return {**report, "reason": "unsupported_target", "summary": trouble}
        rule = request["options"].get("rerun", "safe")
        unsafe = "rerun is never" if rule == "never" else subject.rerun_unsafe() if rule == "safe" else None
        if unsafe is not None:
            return {**report, "status": "applied", "outcome": "", "reason": "rerun_unsafe",
                    "summary": f"repaired, not re-run: {unsafe}"}  # fmt: skip
        failure = subject.rerun()
        if failure is not None:
            subject.unswap(request["source"])
            if in_file:
                Path(request["path"]).write_text(request["source"], encoding="utf-8")
            return {**report, "outcome": "rolled_back", "reason": "rerun_failed", "summary": failure["message"]}
        return {**report, "outcome": "healed", "reason": "ok", "summary": "returned"}

    def remember(self, call: dict[str, Any]) -> None:
        self.looks.append(call)

    @staticmethod
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): Scripted.plain(item) for key, item in list(value.items())[:50]}
        if isinstance(value, (list, tuple)):
            return [Scripted.plain(item) for item in value[:50]]
        return value if isinstance(value, (str, int, float, bool, bytes, type(None))) else ("\0sanare.opaque", "x")

    @staticmethod
    def project_of(path: str) -> tuple[str, str]:
        folder = Path(path).resolve().parent
        for candidate in (folder, *folder.parents):
            if (candidate / "pyproject.toml").exists():
                return str(candidate), candidate.name
        return str(folder), folder.name

    @staticmethod
    def settings(root: str, options: Any = None) -> dict[str, Any]:
        return {}

    @staticmethod
    def in_child(prepared: Callable[[str], bytes], readable: list[str], limits: Any = None) -> bytes:
        return fork_plain(prepared)

    def __enter__(self) -> Scripted:
        self.kept = _native._loaded
        _native._loaded = self
        return self

    def __exit__(self, *_: object) -> None:
        _native._loaded = self.kept
