"""A service that reports of itself: `sanare.Service`.

Reporting costs about a microsecond, never waits and never raises for what comes from production (S14, S15).
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sanare._errors import NotStarted
from sanare._healer import Healer, columns, seconds_of, shared_healer
from sanare._service_logs import Counting
from sanare._serving import measured

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import TypeVar

    from sanare._healer import ActionName, Columns
    from sanare._words import Health, ObservationKind

    Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("sanare")
# A day: nobody waits longer for an act or for a queue.
_LONGEST = 86_400


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
        return shared_healer(self._config)

    def _connect(self) -> Any:
        """The client of this process: made anew after a fork, with a healer of its own."""
        healer = self._healer
        if healer is None or (self._process and healer._process != os.getpid()):
            healer = shared_healer(self._config)
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
                when = None if at is None else seconds_of(at)
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
        named = columns(features)
        # What is no mapping of names stays as it is, and is refused.
        row = named if "" in named else {name: [value] for name, value in named.items()}
        self._rows(signal, row, {name: [value] for name, value in outputs.items()})

    def _rows(self, signal: str, features: Columns | None, predictions: Columns | None) -> None:
        here = self._native if self._process == os.getpid() else self._connect()
        refused = here.rows(signal, columns(features), columns(predictions))
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
        """What became of the calls: queued, sent, dropped, refused; and `rows` that are gathered for profiles, not sent yet."""
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


def _plain_function(name: str, function: object) -> None:
    if not callable(function):
        raise TypeError(f"`{name}` is no function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(
            f"`{name}` is called from a thread and not awaited: lend a plain function that ends when it is done"
        )


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
