"""What came of a failure, for the program that had it: one frozen object, whatever the outcome (C99)."""

from __future__ import annotations

from contextvars import ContextVar

from sanare._errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEPT = 200
_STATUSES = (
    "open",
    "waiting",
    "applied",
    "closed",
    "healed",
    "rolled_back",
    "escalated",
    "refused",
    "observed",
    "dry_run",
)
_reports: dict[str, Report] = {}
_last: ContextVar[Report | None] = ContextVar("sanare_last_report", default=None)


class Report:
    """The result of one incident. Fields are read like attributes; `to_dict()` gives all of them."""

    __slots__ = ("_fields",)
    _fields: dict[str, Any]

    def __init__(self, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        fields: dict[str, Any] = object.__getattribute__(self, "_fields")
        try:
            value = fields[name]
        except KeyError:
            raise AttributeError(f"this report has no field {name!r}") from None
        return _copy(value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a report cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a report cannot be changed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields.get("id"))

    def __dir__(self) -> list[str]:
        return sorted([*self._fields, "to_dict", "to_json"])

    def to_dict(self) -> dict[str, Any]:
        """All fields, as plain data of the caller's own."""
        fields: dict[str, Any] = _copy(self._fields)
        return fields

    def to_json(self) -> str:
        """The same as JSON."""
        import json

        return json.dumps(self._fields, ensure_ascii=False)

    def __str__(self) -> str:
        """What `sanare show` prints: what failed, what was tried, what to do now."""
        from sanare._native import native

        render = getattr(native(), "report_text", None)
        text: str = render(self.to_json()) if render is not None else ""
        return text or self._line()

    def _line(self) -> str:
        fields = self._fields
        word = fields.get("outcome") or fields.get("status") or ""
        return f"{word}: {fields.get('summary', '')} ({fields.get('id', '')})"

    def __repr__(self) -> str:
        return f"<sanare.Report {self._line()}>"


def _copy(value: Any) -> Any:
    """Plain data once more, so that nobody can change a report through what it holds."""
    if type(value) is dict:
        return {name: _copy(one) for name, one in value.items()}
    if type(value) is list:
        return [_copy(one) for one in value]
    return value


def keep(fields: dict[str, Any], key: str) -> Report:
    """Keeps a report for `sanare.report(error)`, under what the error is marked with, and for `last_report()`: the last 200
    of this process."""
    kept = Report(fields)
    _last.set(kept)
    if key:
        while len(_reports) >= _KEPT:
            _reports.pop(next(iter(_reports)), None)
        _reports[key] = kept
    return kept


def report(error: BaseException) -> Report | None:
    """The report behind an exception, or None."""
    from sanare._heal import marked

    return _reports.get(marked(error))


def last_report() -> Report | None:
    """The report of the last failure in this context: of this thread, or of this task."""
    return _last.get()


def reports(*, status: str | None = None, limit: int = 50) -> list[Report]:
    """The newest reports, newest first: those of the store of each project that this process knows, the one of the
    working folder included, and those of this process that no store has. `status` may be an outcome as well."""
    from sanare._native import native
    from sanare._project import roots

    _look_at(status, limit)
    found: dict[str, Report] = {}
    read = getattr(native(), "reports", None)
    for root in roots() if read is not None else []:
        fields = read(root, status, limit) if read is not None else []
        if type(fields) is list:
            found.update((str(one["id"]), _kept_or_new(one)) for one in fields)
    for key, kept in list(_reports.items()):
        fields = kept._fields
        if status is None or status in (fields.get("status"), fields.get("outcome")):
            found.setdefault(key, kept)
    # One without a time has no record: it is of this very process.
    newest = sorted(
        found.values(), key=lambda one: (one._fields.get("created_at") or float("inf"), one._fields.get("id", ""))
    )
    return newest[::-1][:limit]


def _look_at(status: object, limit: object) -> None:
    if status is not None and (not isinstance(status, str) or status not in _STATUSES):
        raise Error(f"`status` is {_said(status)}: it is None, or one of {', '.join(_STATUSES)}")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 2**31:
        raise Error(f"`limit` is {_said(limit)}: it is a whole number of reports, from 0")


def _said(value: object) -> str:
    """A value of the caller's, for a message."""
    plain = isinstance(value, (str, int, float, bytes)) or value is None
    return repr(value)[:80] if plain else f"a {type(value).__name__}"


def _kept_or_new(fields: dict[str, Any]) -> Report:
    """The report that this process keeps, if the incident stands as it did then."""
    kept = _reports.get(str(fields["id"]))
    stands = ("status", "outcome", "reason", "closed_at")
    if kept is not None and all(kept._fields.get(name) == fields.get(name) for name in stands):
        return kept
    return Report(fields)


def note_of(fields: dict[str, Any]) -> str:
    """The note for the exception: outcome, reason, and where the record is. At most 200 characters."""
    text = fields.get("note")
    if type(text) is not str or not text:
        word = fields.get("outcome") or fields.get("status") or "open"
        why = fields.get("summary") or fields.get("reason") or ""
        if word == "waiting" and not why:
            why = "a repair waits for a person"
        text = f"sanare: {word}: {why}"
        if fields.get("id"):
            tail = f"; sanare show {fields['id']}"
            text = text[: 200 - len(tail)] + tail
    return " ".join(text.split())[:200]
