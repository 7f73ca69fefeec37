"""Sanare heals running Python programs: it finds the cause, proves the smallest repair, applies it, writes it all down.

Importing this module and decorating functions cost next to nothing: everything else is loaded when a function fails.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeVar, overload

    from sanare._ask import request as request
    from sanare._capture import capture as capture
    from sanare._errors import Error as Error
    from sanare._errors import HealRequested as HealRequested
    from sanare._errors import NotStarted as NotStarted
    from sanare._errors import SettingsError as SettingsError
    from sanare._example import Example as Example
    from sanare._forget import forget as forget
    from sanare._healer import Healer as Healer
    from sanare._listen import listen as listen
    from sanare._logs import drop_logs as drop_logs
    from sanare._logs import keep_logs as keep_logs
    from sanare._person import approve as approve
    from sanare._person import deny as deny
    from sanare._person import revert as revert
    from sanare._person import save_patch as save_patch
    from sanare._redact import redact as redact
    from sanare._report import (
        Report as Report,
    )
    from sanare._report import (
        last_report as last_report,
    )
    from sanare._report import (
        report as report,
    )
    from sanare._report import (
        reports as reports,
    )
    from sanare._service import Intent as Intent
    from sanare._service import Service as Service
    from sanare._settings import settings as settings

    Target = TypeVar("Target")
    Mode = Literal["auto", "ask", "dry_run", "observe", "off"]

    __version__: str

    @overload
    def heal(target: Target, /, **options: Any) -> Target: ...
    @overload
    def heal(
        *,
        mode: Mode = ...,
        heal_on: type[BaseException] | tuple[type[BaseException], ...] = ...,
        never: type[BaseException] | tuple[type[BaseException], ...] = ...,
        proposers: Sequence[Literal["drift", "model"]] = ...,
        remember: Literal["off", "shape", "calls"] = ...,
        examples: Iterable[str | Example | Callable[..., Any]] = ...,
        contract: object | Mapping[str, object] = ...,
        about: str = ...,
        verify: Sequence[Sequence[str]] = ...,
        rerun: Literal["safe", "always", "never"] = ...,
        write: Literal["file", "memory"] = ...,
        attempts: int = ...,
        deadline: float | str = ...,
        wait: float | str = ...,
    ) -> Callable[[Target], Target]: ...
    def heal(target: Any = ..., /, **options: Any) -> Any: ...

else:

    def heal(*target, **options):
        """Decorates a function so that it is healed when it fails; with options alone, gives the decorator."""
        from sanare._decorate import heal

        return heal(target, options)


__all__ = [
    "Error",
    "Example",
    "HealRequested",
    "Healer",
    "Intent",
    "NotStarted",
    "Report",
    "Service",
    "SettingsError",
    "__version__",
    "approve",
    "capture",
    "deny",
    "drop_logs",
    "forget",
    "heal",
    "keep_logs",
    "last_report",
    "listen",
    "redact",
    "report",
    "reports",
    "request",
    "revert",
    "save_patch",
    "settings",
]

# Where the names that are not loaded at import come from.
_LATER = {
    "Error": "_errors",
    "Example": "_example",
    "HealRequested": "_errors",
    "Healer": "_healer",
    "Intent": "_service",
    "NotStarted": "_errors",
    "Report": "_report",
    "Service": "_service",
    "SettingsError": "_errors",
    "approve": "_person",
    "capture": "_capture",
    "deny": "_person",
    "drop_logs": "_logs",
    "forget": "_forget",
    "keep_logs": "_logs",
    "last_report": "_report",
    "listen": "_listen",
    "redact": "_redact",
    "report": "_report",
    "reports": "_report",
    "request": "_ask",
    "revert": "_person",
    "save_patch": "_person",
    "settings": "_settings",
}


def __getattr__(name: str) -> object:
    place = _LATER.get(name)
    if place is None and name != "__version__":
        raise AttributeError(f"module 'sanare' has no attribute {name!r}")
    module = __import__(f"sanare.{place or '_sanare'}", None, None, [name])
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
