"""The healer that watches services: `sanare.Healer`, and the one of this process."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sanare._errors import Error
from sanare._native import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from typing import Literal

    from sanare._service import Service

    ActionName = Literal[
        "restart_component", "reload_model", "rollback_model", "request_retraining", "request_redeployment"
    ]
    ExportKind = Literal["observation", "minute", "incident", "snapshot", "receipt", "approval"]
    # Values by the name of their column; a data frame is one.
    Columns = Mapping[str, Iterable[Any]]

_shared: Healer | None = None
_alive: weakref.WeakSet[Healer] = weakref.WeakSet()


class Healer:
    """Watches and heals the services of one configuration, in this process."""

    def __init__(
        self,
        config: str | os.PathLike[str] | None = None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if clock is not None and not callable(clock):
            raise Error("`clock` is no function: it gives the seconds since 1970")
        try:
            self._native = native().NativeHealer(None if config is None else os.fspath(config), os.getcwd(), clock)
        except Exception as error:
            raise Error(str(error)) from None
        self._process = os.getpid()
        self._config, self._clock = config, clock
        _alive.add(self)

    @classmethod
    def from_config(cls, path: str | os.PathLike[str] | None = None) -> Healer:
        """The healer of a configuration: the file given, else `SANARE_CONFIG`, `sanare.toml` here, the user's own."""
        return cls(path)

    def _here(self) -> Any:
        if self._process != os.getpid():
            raise Error("this healer was made before a fork: make one in this process")
        return self._native

    def _ask(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return operation(*arguments)
        except Exception as error:
            # A wrong type, a name that is none, a number that is too large: all of them are this one error.
            raise Error(str(error)) from None

    def service(self, application: str, component: str = "application", **options: Any) -> Service:
        """A client for a service of this process."""
        from sanare._service import Service

        return Service(application, component, healer=self, **options)

    def run_once(self) -> dict[str, int]:
        """Takes what is queued, asks what is due, detects, and lets every run that is due go on."""
        return dict(self._ask(self._here().run_once))

    def run(self) -> None:
        """Goes on until `close()`."""
        self._ask(self._here().run)

    def start(self) -> None:
        """Runs on a thread of its own."""
        self._ask(self._here().start)

    def close(self) -> None:
        """Ends `run` after its pass; detection is kept, so that another process goes on with it at once."""
        if self._process == os.getpid():
            self._native.close()
            # What could not be kept is found again in what is stored.
            with contextlib.suppress(Exception):
                if not self._native.is_running():
                    self._native.rest()

    def incidents(self, limit: int = 100) -> list[dict[str, Any]]:
        """The newest incidents."""
        return list(self._ask(self._here().incidents, limit))

    def incident(self, id: str) -> dict[str, Any] | None:
        """One incident with the steps of its run, by its id or at least six characters of it.

        `story` tells each step in words, with what is not offered and why; `next` are the commands for a person, where it
        was handed over.
        """
        found: dict[str, Any] | None = self._ask(self._here().incident, id)
        return found

    def pending_approvals(self) -> list[dict[str, Any]]:
        """Questions that wait for a person."""
        return list(self._ask(self._here().pending_approvals))

    def undelivered(self) -> list[dict[str, Any]]:
        """Messages to people that were tried and that no route has taken yet."""
        return list(self._ask(self._here().undelivered))

    def intake(self) -> list[dict[str, Any]]:
        """What came in by each door of each service, and what became of it."""
        return list(self._ask(self._here().intake))

    def approve(self, id: str, comment: str = "", *, shown: str | None = None) -> str:
        """Says yes, as the account that runs this process. `shown` is the `digest` of what was looked at."""
        return str(self._ask(self._here().answer, id, True, comment, shown))

    def deny(self, id: str, comment: str = "", *, shown: str | None = None) -> str:
        """Says no."""
        return str(self._ask(self._here().answer, id, False, comment, shown))

    def propose(self, incident: str, action: ActionName, reason: str) -> None:
        """Proposes an action: policy judges it like any other, and somebody else approves it."""
        self._ask(self._here().propose, incident, action, reason)

    def acknowledge(self, incident: str) -> None:
        """Notes that the account that runs this process has seen it: nobody else need be told."""
        self._ask(self._here().person, "acknowledge", incident)

    def hold(self, incident: str) -> None:
        """Holds an incident: nothing is begun."""
        self._ask(self._here().person, "hold", incident)

    def release(self, incident: str) -> None:
        """Lets a held incident go on."""
        self._ask(self._here().person, "release", incident)

    def retry(self, incident: str) -> None:
        """Begins anew with one that was handed over."""
        self._ask(self._here().person, "retry", incident)

    def undo(self, incident: str, reason: str) -> None:
        """Lets the last act of an incident be taken back; the healer that runs does it."""
        self._ask(self._here().person, "undo", incident, reason)

    def close_incident(self, incident: str, reason: str, *, false_alarm: bool = False) -> None:
        """Closes an incident, whatever fires; of one that is closed it can still be said that it was a false alarm."""
        self._ask(self._here().person, "false_alarm" if false_alarm else "close", incident, reason)

    def settle(self, receipt: str, state: Literal["done", "failed", "undone"], reason: str) -> None:
        """Says what came of an act of which nobody knew; its target is free again."""
        self._ask(self._here().settle, receipt, state, reason)

    def stop(self, application: str | None = None, reason: str = "") -> None:
        """Stops all acting, or on one application; when it returns no act begins any more."""
        self._ask(self._here().stop, application, reason)

    def start_again(self, application: str | None = None, *, reason: str) -> None:
        """Lifts the stop switch: one of the approvers, with the reason, which is in the ledger before it is lifted."""
        self._ask(self._here().start_again, application, reason)

    def silence(
        self,
        reason: str,
        *,
        seconds: float | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        everything: bool = False,
        **matchers: str | re.Pattern[str] | list[str] | Mapping[str, str | re.Pattern[str] | list[str]],
    ) -> dict[str, Any]:
        """Silences incidents: they are recorded, nothing is begun and nobody is told.

        All matchers have to hold: `application`, `component`, `kind`, `severity`, and `label` with a mapping. A text or
        a list is compared as it is, a compiled pattern has to cover the whole. Without a matcher say `everything=True`.
        """
        compared = []
        for name, wanted in matchers.items():
            if name == "label" and isinstance(wanted, Mapping):
                compared += [_matcher(f"label.{key}", one) for key, one in wanted.items()]
            else:
                compared.append(_matcher(name, wanted))
        times = [None if at is None else seconds_of(at) for at in (start, end)]
        silence = self._here().silence
        return dict(self._ask(silence, compared, everything, reason, seconds, *times))

    def silences(self) -> list[dict[str, Any]]:
        """Silences that are on or still to come."""
        return list(self._ask(self._here().silences))

    def end_silence(self, id: str) -> dict[str, Any]:
        """Ends a silence now: what still fires goes on with fresh evidence."""
        return dict(self._ask(self._here().end_silence, id))

    def lift_storm(self, application: str | None = None) -> None:
        """Lets runs go on although many services are ill at once: of one service, or of all."""
        self._ask(self._here().lift_storm, application)

    def replay(self, application: str | None = None, *, since: datetime | None = None) -> dict[str, Any]:
        """What these detectors would have opened in what was recorded. Nothing is stored, told or done."""
        return dict(self._ask(self._here().replay, application, None if since is None else seconds_of(since)))

    def reload(self) -> list[dict[str, Any]]:
        """Reads the configuration again: checked whole, then swapped, or left as it was with an error. What changed."""
        return list(self._ask(self._here().reload))

    def explain(self, case: Mapping[str, Any] | str) -> dict[str, Any]:
        """What policy says of a case, or now of the last proposal of an incident, and every rule's part in it."""
        here = self._here()
        if isinstance(case, str):
            return dict(self._ask(here.explain_incident, case))
        return dict(self._ask(lambda: here.explain(json.dumps(_mapping(case)))))

    def observe(self, reading: Mapping[str, Any]) -> dict[str, Any]:
        """Takes a reading of any service of the configuration: `application`, `signal`, `value`, and perhaps `kind`,
        `component`, `unit`, `event_time` (RFC 3339), `source_id`, `labels`. It is on the disk when this returns."""
        here = self._here()
        return dict(self._ask(lambda: here.observe(json.dumps(_mapping(reading)))))

    def targets(self, *, online: bool = False) -> list[dict[str, Any]]:
        """Everything that acts touch, with what is declared of it; `online` asks each how it is now."""
        return list(self._ask(self._here().targets, online))

    def model_history(self, application: str) -> list[dict[str, Any]]:
        """Which version was live when, and what is known of each."""
        return list(self._ask(self._here().model_history, application))

    def registry_history(self, application: str) -> list[dict[str, Any]]:
        """What the registry told of the model, each time that it told something else."""
        return list(self._ask(self._here().registry_history, application))

    def report(self, application: str | None = None, *, since: datetime | None = None) -> dict[str, Any]:
        """Figures of what was detected, decided, done and healed; what the records do not carry is absent."""
        here = self._here()
        return dict(self._ask(lambda: here.report(application, None if since is None else seconds_of(since))))

    def export(
        self,
        application: str | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Iterable[ExportKind] = (),
    ) -> Iterator[dict[str, Any]]:
        """What is kept, redacted as it is stored, a line at a time: readings, minutes, incidents, snapshots, receipts and
        approvals, or only these `kinds`. The first line says what it is of, the last (`end`) how many were between: without
        it the export is not whole. That it was asked for is in the ledger before the first.
        """
        here = self._here()

        def begin() -> Any:
            return here.export(
                application,
                None if since is None else seconds_of(since),
                None if until is None else seconds_of(until),
                list(kinds),
            )

        return self._pages(self._ask(begin))

    def _pages(self, export: Any) -> Iterator[dict[str, Any]]:
        while page := self._ask(export.page):
            yield from page

    def obstacles(self) -> list[dict[str, Any]]:
        """What will never be done by itself, and why."""
        return list(self._ask(self._here().obstacles))

    def learn(
        self,
        application: str,
        signal: str,
        features: Columns,
        predictions: Columns | None = None,
        *,
        model_version: str | None = None,
    ) -> dict[str, Any]:
        """Learns the reference of a signal's profiles from rows, such as those of the training, and writes its file. A
        healer that begins after it, or is reloaded, compares with it.
        """
        here = self._here()
        return dict(self._ask(here.learn, application, signal, columns(features), columns(predictions), model_version))

    def mark_good(self, application: str, version: str, reason: str) -> None:
        """Calls a version known-good, for rollbacks."""
        self._ask(self._here().mark_good, application, version, reason)

    def verify_ledger(self) -> int:
        """The number of records; raises where the chain of records breaks."""
        return int(self._ask(self._here().verify_ledger))


def _mapping(value: Mapping[str, Any]) -> dict[str, Any]:
    if not hasattr(type(value), "keys"):
        raise TypeError(f"a mapping is needed, and no {type(value).__name__}")
    return dict(value)


def _matcher(name: str, wanted: object) -> tuple[str, str, list[str]]:
    if isinstance(wanted, re.Pattern):
        if not isinstance(wanted.pattern, str) or wanted.flags & ~re.UNICODE:
            raise Error(f"`{name}`: a pattern of text without flags")
        return name, "~", [wanted.pattern]
    texts = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    if not all(isinstance(text, str) for text in texts):
        raise Error(f"`{name}` is compared with a text, a list of texts or a compiled pattern")
    return name, "=", [str(text) for text in texts]


def columns(table: object) -> dict[str, Any]:
    """Columns by name, of a mapping or a data frame; what is neither is refused where columns are read."""
    if table is None:
        return {}
    if type(table) is dict:
        return table
    try:
        return dict(table.items())  # type: ignore[attr-defined]
    except Exception:
        return {"": type(table).__name__}


def seconds_of(at: datetime) -> float:
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at.timestamp()


def shared_healer(config: str | os.PathLike[str] | None) -> Healer:
    """The healer of this process, running on a thread of its own; the first one who asks says by which file."""
    global _shared
    if _shared is not None and _shared._process == os.getpid() and config is not None and _shared._config is not None:
        first, second = os.path.realpath(_shared._config), os.path.realpath(config)
        if first != second:
            raise Error(
                f"this process has a healer already, by {first!s}: for {second!s} make a sanare.Healer and give it as `healer`"
            )
    if _shared is None or _shared._process != os.getpid():
        _shared = Healer(config)
        _shared.start()
    return _shared


def _leave() -> None:
    """At the end of the program what is queued is stored, within two seconds."""
    healer = _shared
    if healer is not None and healer._process == os.getpid():
        end = time.monotonic() + 2.0
        healer._native.close()
        while healer._native.is_running() and time.monotonic() < end:
            time.sleep(0.01)


atexit.register(_leave)
