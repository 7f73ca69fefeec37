"""The effective settings as Python needs them: asked of Rust, kept for a moment, never a reason for a call to stop."""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Setting(tuple):  # type: ignore[type-arg]
    """A value and where it came from: `decorator`, a variable's name, `file:line`, or `default`."""

    __slots__ = ()

    def __new__(cls, value: Any, origin: str) -> Setting:
        return super().__new__(cls, (value, origin))

    @property
    def value(self) -> Any:
        """The value as it is kept: durations in milliseconds, sizes in bytes."""
        return self[0]

    @property
    def origin(self) -> str:
        """Where it came from."""
        return str(self[1])


# Project folders with what Rust said of them, and until when that is not asked again.
_known: dict[str, tuple[float, dict[str, Any]]] = {}
_FRESH = 1.0


def of_project(root: str) -> dict[str, Any]:
    """Key to value. Empty while the settings are broken: then nothing is done that they might have forbidden."""
    kept = _known.get(root)
    now = monotonic()
    if kept is not None and kept[0] > now:
        return kept[1]
    from sanare._native import native

    values: dict[str, Any] = {}
    try:
        rows = native().settings(root)
        if type(rows) is dict:
            values = {path: value for path, (value, _) in rows.items()}
    except Exception:
        pass
    if len(_known) > 50:
        _known.clear()
    _known[root] = (now + _FRESH, values)
    return values


def longest_line() -> int:
    """The most characters of a log line that any project seen so far wants."""
    return max([300, *(int(values.get("logs.chars", 0)) for _, values in list(_known.values()))])


def settings(target: Any = None) -> dict[str, Setting]:
    """Every key of the settings with its value and where it came from (C20).

    Without an argument those of the project that the working folder lies in; with a decorated function those that hold
    for it, its own options included. Durations are in milliseconds, sizes in bytes. Raises `SettingsError` with all that
    is wrong at once.
    """
    import os

    from sanare._errors import SettingsError
    from sanare._native import native
    from sanare._project import root_of, standing_for

    options: dict[str, Any] = {}
    path = os.path.join(os.getcwd(), "_")
    if target is not None:
        guard = guard_behind(target)
        from sanare._request import options_of

        options, path = options_of(guard.options), standing_for(guard.path)
    rows = native().settings(root_of(path), options)
    if type(rows) is list:
        raise SettingsError("\n".join(rows))
    return {key: Setting(*row) for key, row in rows.items()}


def guard_behind(target: Any) -> Any:
    """The guard of a decorated function, method, property or wrapper; `SettingsError` when there is none."""
    from sanare._errors import SettingsError
    from sanare._guard import guard_of

    seen: list[Any] = [target]
    while seen and len(seen) < 64:
        one = seen.pop(0)
        if one is None:
            continue
        own = getattr(one, "__dict__", None) or {}
        if hasattr(one, "__code__"):
            guard = guard_of(one) or _wrapped(one)
            if guard is not None:
                return guard
        seen.extend(getattr(one, name, None) for name in ("__func__", "fget", "fset", "fdel", "func"))
        seen.append(own.get("__wrapped__") if hasattr(own, "get") else None)
    raise SettingsError("this is no function that `heal` decorated")


def _wrapped(function: Any) -> Any:
    """The guard that a wrapper keeps in its closure."""
    from sanare._guard import Guard

    for cell in function.__closure__ or ():
        try:
            if type(cell.cell_contents) is Guard:
                return cell.cell_contents
        except ValueError:
            continue
    return None
