"""A service that reports of itself, and the healer that watches it: `sanare.Service` and `sanare.Healer`.

Reporting costs about a microsecond, never waits and never raises for what comes from production (S14, S15).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import json
import logging
import os
import re
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sanare._errors import Error, NotStarted
from sanare._native import native
from sanare._service_logs import Counting
from sanare._serving import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from typing import Literal, TypeVar

    from sanare._words import Health, ObservationKind

    ActionName = Literal[
        "restart_component", "reload_model", "rollback_model", "request_retraining", "request_redeployment"
    ]
    # Values by the name of their column; a data frame is one.
    Columns = Mapping[str, Iterable[Any]]
    Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("sanare")
# A day: nobody waits longer for an act or for a queue.
_LONGEST = 86_400
_shared: Healer | None = None
_alive: weakref.WeakSet[Healer] = weakref.WeakSet()


class Intent(NamedTuple):
    """What is to be done, exactly. Nothing in it comes from a model, an alert or a request."""

    receipt: str
    action: str
    purpose: str
    """`act`, or `undo`: take it back."""
    application: str
    component: str
    target: str
    from_version: str | None
    to_version: str | None
    """The version that has to be live afterwards; for `undo` the two have changed places."""
    fence: int


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
        """One incident with the steps of its run, by its id or at least six characters of it."""
        found: dict[str, Any] | None = self._ask(self._here().incident, id)
        return found

    def pending_approvals(self) -> list[dict[str, Any]]:
        """Questions that wait for a person."""
        return list(self._ask(self._here().pending_approvals))

    def undelivered(self) -> list[dict[str, Any]]:
        """Messages to people that were tried and that no route has taken yet."""
        return list(self._ask(self._here().undelivered))

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

    def stop(self, application: str | None = None) -> None:
        """Stops all acting, or on one application; when it returns no act begins any more."""
        self._ask(self._here().stop, application)

    def start_again(self, application: str | None = None) -> None:
        """Lifts the stop switch."""
        self._ask(self._here().start_again, application)

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
        times = [None if at is None else _seconds(at) for at in (start, end)]
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
        return dict(self._ask(self._here().replay, application, None if since is None else _seconds(since)))

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

    def report(self, application: str | None = None, *, since: datetime | None = None) -> dict[str, Any]:
        """Figures of what was detected, decided, done and healed; what the records do not carry is absent."""
        here = self._here()
        return dict(self._ask(lambda: here.report(application, None if since is None else _seconds(since))))

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
        healer that begins after it compares with it.
        """
        here = self._here()
        return dict(
            self._ask(here.learn, application, signal, _columns(features), _columns(predictions), model_version)
        )

    def mark_good(self, application: str, version: str, reason: str) -> None:
        """Calls a version known-good, for rollbacks."""
        self._ask(self._here().mark_good, application, version, reason)

    def verify_ledger(self) -> int:
        """The number of records; raises where the chain of records breaks."""
        return int(self._ask(self._here().verify_ledger))


class Service:
    """A service of this process. Calls fill a queue and return; the healer empties it every second."""

    def __init__(
        self,
        application: str,
        component: str = "application",
        labels: Mapping[str, str] | None = None,
        *,
        healer: Healer | None = None,
        config: str | os.PathLike[str] | None = None,
        strict: bool = False,
    ) -> None:
        if healer is not None and not isinstance(healer, Healer):
            raise TypeError("`healer` is no sanare.Healer")
        self._arguments = (application, component, dict(labels or {}))
        self._healer = healer
        self._config = config
        self._strict = strict
        self._told: set[tuple[str, int]] = set()
        self._capabilities: list[tuple[Any, ...]] = []
        self._process = 0
        self._connect()
        unwatched = self.healer._native.unwatched(application)
        if unwatched is not None:
            _log.warning("nothing watches this service, its readings are only kept: %s", unwatched)

    @property
    def healer(self) -> Healer:
        """The healer that watches it."""
        if self._healer is not None and self._process == os.getpid():
            return self._healer
        return _shared_healer(self._config)

    def _connect(self) -> Any:
        """The client of this process: made anew after a fork, with a healer of its own."""
        healer = self._healer
        if healer is None or (self._process and healer._process != os.getpid()):
            healer = _shared_healer(self._config)
        self._native = healer._here().service(*self._arguments)
        self._process = os.getpid()
        for capability in self._capabilities:
            self._native.capability(*capability)
        return self._native

    def observe(
        self,
        signal: str,
        value: object,
        kind: ObservationKind = "metric",
        unit: str | None = None,
        at: datetime | None = None,
        labels: Mapping[str, str] | None = None,
        id: str | None = None,
    ) -> None:
        """Reports a reading. An illegal name raises; a value that cannot be used is counted, and raises if strict."""
        here = self._native if self._process == os.getpid() else self._connect()
        if kind == "metric" and unit is None and at is None and labels is None and id is None:
            refused = here.observe(signal, value)
        else:
            try:
                when = None if at is None else _seconds(at)
                # What is not a text is refused there, as a label that is none.
                marks = None if labels is None else dict(labels)
                if id is not None:
                    id.encode()
            except Exception as error:
                here.observe(signal, None)
                self._tell(f"`{signal}`: {type(error).__name__} in `at`, `labels` or `id`")
                return
            refused = here.observe(signal, value, kind, unit, when, marks, id)
        if refused is not None:
            self._tell(f"`{signal}`: {refused}")

    def health(self, signal: str, status: Health, detail: str | None = None) -> None:
        """Reports what a check of one's own says."""
        self.observe(signal, status if detail is None else {"status": status, "detail": detail}, "health")

    def quality(
        self,
        signal: str,
        value: float,
        samples: int,
        start: datetime,
        end: datetime,
        *,
        half: float | None = None,
        positives: int | None = None,
        deviation: float | None = None,
    ) -> None:
        """Reports how good predictions were, by labels of a window. It is compared by its 95 % interval: `half` of its
        width, where you know it; else that of a share, of an area under the curve with so many `positives`, or of a mean
        with a `deviation` of one sample, as `form` in the configuration says.
        """
        try:
            window = {"from": start.isoformat(), "to": end.isoformat()}
        except Exception:
            window = {}
        width = {"half": half, "positives": positives, "deviation": deviation}
        told = {name: number for name, number in width.items() if number is not None}
        self.observe(signal, {"value": value, "samples": samples, **window, **told}, "prediction_quality")

    def profile(
        self,
        signal: str,
        profile: Mapping[str, Any] | None = None,
        *,
        features: Columns | None = None,
        predictions: Columns | None = None,
    ) -> None:
        """Counts rows for drift: `features` and `predictions` are columns by name, such as lists, arrays or a data frame.
        The rows stay in this process; every 10,000 of them or every hour their counts are sent. Or reports a `profile`
        that was counted elsewhere.
        """
        if profile is None:
            self._rows(signal, features, predictions)
            return
        try:
            plain: object = dict(profile)
        except Exception:
            plain = None
        self.observe(signal, plain, "drift")

    def prediction(
        self, output: object, features: Mapping[str, object] | None = None, *, signal: str = "predictions"
    ) -> None:
        """Counts one prediction for drift, with the features that it was made from, as `profile` counts rows."""
        outputs = output if isinstance(output, dict) else {"prediction": output}
        columns = _columns(features)
        # What is no mapping of names stays as it is, and is refused.
        row = columns if "" in columns else {name: [value] for name, value in columns.items()}
        self._rows(signal, row, {name: [value] for name, value in outputs.items()})

    def _rows(self, signal: str, features: Columns | None, predictions: Columns | None) -> None:
        here = self._native if self._process == os.getpid() else self._connect()
        refused = here.rows(signal, _columns(features), _columns(predictions))
        if refused is not None:
            self._tell(f"`{signal}`: {refused}")

    def log(self, line: str) -> None:
        """Counts a line that the program logs by the patterns of `[[service.NAME.log]]` that name no file. Of the line
        itself only a masked template is kept.
        """
        here = self._native if self._process == os.getpid() else self._connect()
        refused = here.log(line)
        if refused is not None:
            self._tell(f"a line of a log: {refused}")

    def follow(self, logger: logging.Logger | None = None, level: int = logging.INFO) -> logging.Handler:
        """Counts what a logger handles, the root logger's if none is given, from `level` on. No level is changed; take
        the handler away again with `removeHandler`.
        """
        handler = Counting(self.log, level)
        (logger or logging.getLogger()).addHandler(handler)
        return handler

    def deployed(self, version: str, before: str | None = None) -> None:
        """Reports that a version is live now."""
        value = {"after": version} if before is None else {"after": version, "before": before}
        self.observe("deployed", value, "deployment")

    def serving(self, function: Function) -> Function:
        """Decorates a path that users use: its latency and errors are measured, and every exception passes on."""
        if not callable(function):
            raise TypeError("`serving` decorates a function; put it below `classmethod` and the like")
        path = getattr(function, "__name__", "call")

        def served(began: float, failed: bool) -> None:
            here = self._native if self._process == os.getpid() else self._connect()
            here.served(path, time.perf_counter() - began, failed)

        return measured(function, served)  # type: ignore[return-value]

    def capability(
        self,
        action: ActionName,
        function: Callable[[Intent], object],
        *,
        idempotent: bool = False,
        reversible: bool = False,
        timeout: float = 30.0,
        probe: Callable[[], Mapping[str, str]] | None = None,
        fence: tuple[str, ...] = (),
    ) -> None:
        """Lets the healer call a function of this program. That it returns means done; `sanare.NotStarted` means that
        nothing was begun; anything else that it raises means that nobody knows. `probe` says who answers now, such as
        `{"served_version": "7"}`.
        """
        _plain_function("function", function)
        if probe is not None:
            _plain_function("probe", probe)
        for name, flag in (("idempotent", idempotent), ("reversible", reversible)):
            if not isinstance(flag, bool):
                raise TypeError(f"`{name}` is True or False")
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= _LONGEST:
            raise ValueError(f"`timeout` is a number of seconds, above 0 and up to {_LONGEST}")
        declared = {
            "idempotent": idempotent,
            "reversible": reversible,
            "timeout_ms": int(timeout * 1000),
            "fence": list(fence),
        }
        asked = None if probe is None else functools.partial(_ask_probe, probe)
        capability = (action, functools.partial(_call, function), declared, asked)
        here = self._native if self._process == os.getpid() else self._connect()
        here.capability(*capability)
        self._capabilities.append(capability)

    def stats(self) -> dict[str, int]:
        """What became of the calls: queued, sent, dropped, refused."""
        here = self._native if self._process == os.getpid() else self._connect()
        return dict(here.stats())

    def close(self, timeout: float = 2.0) -> bool:
        """Waits until what is queued is stored, at most so long; whether it is."""
        if self._process != os.getpid():
            return True
        return bool(self._native.flush(min(timeout, _LONGEST)))

    def _tell(self, why: str) -> None:
        if self._strict:
            raise ValueError(why)
        # The place in the owner's program is the one frame that is not ours.
        frame = inspect.currentframe()
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        if place not in self._told:
            self._told.add(place)
            _log.warning("a reading cannot be used (told once for %s:%d): %s", place[0], place[1], why)


def _mapping(value: Mapping[str, Any]) -> dict[str, Any]:
    if not hasattr(type(value), "keys"):
        raise TypeError(f"a mapping is needed, and no {type(value).__name__}")
    return dict(value)


def _plain_function(name: str, function: object) -> None:
    if not callable(function):
        raise TypeError(f"`{name}` is no function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(
            f"`{name}` is called from a thread and not awaited: lend a plain function that ends when it is done"
        )


def _matcher(name: str, wanted: object) -> tuple[str, str, list[str]]:
    if isinstance(wanted, re.Pattern):
        if not isinstance(wanted.pattern, str) or wanted.flags & ~re.UNICODE:
            raise Error(f"`{name}`: a pattern of text without flags")
        return name, "~", [wanted.pattern]
    texts = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    if not all(isinstance(text, str) for text in texts):
        raise Error(f"`{name}` is compared with a text, a list of texts or a compiled pattern")
    return name, "=", [str(text) for text in texts]


def _columns(table: object) -> dict[str, Any]:
    """Columns by name, of a mapping or a data frame; what is neither is refused where columns are read."""
    if table is None:
        return {}
    if type(table) is dict:
        return table
    try:
        return dict(table.items())  # type: ignore[attr-defined]
    except Exception:
        return {"": type(table).__name__}


def _seconds(at: datetime) -> float:
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at.timestamp()


def _call(function: Callable[[Intent], object], plain: dict[str, Any]) -> str:
    """Calls the owner's function with an intent; gives `done`, `not_started`, or the type of what it raised."""
    params = plain["params"]
    versions = params.get("rollback", {}) if isinstance(params, dict) else {}
    before, after = versions.get("from_version"), versions.get("to_version")
    purpose = plain["key"]["purpose"]
    if purpose == "undo":
        before, after = after, before
    intent = Intent(
        receipt=plain["receipt_id"],
        action=plain["key"]["action"],
        purpose=purpose,
        application=plain["application"],
        component=plain["component"],
        target=plain["target"],
        from_version=before,
        to_version=after,
        fence=plain["fence"],
    )
    try:
        answer = function(intent)
        if inspect.iscoroutine(answer):
            # Nobody awaits it: nothing of it has run.
            answer.close()
            return "not_started"
    except NotStarted:
        return "not_started"
    except BaseException as error:
        return type(error).__name__
    return "done"


def _ask_probe(probe: Callable[[], Mapping[str, str]]) -> dict[str, str] | None:
    try:
        return {str(mark): str(value) for mark, value in probe().items()}
    except Exception:
        return None


def _shared_healer(config: str | os.PathLike[str] | None) -> Healer:
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
