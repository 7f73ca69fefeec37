"""The program's own last log lines, kept for evidence: one handler with a ring buffer on the root logger (C39)."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MARGIN = 1024
_LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_handler: Any = None
_told = False
# What the program itself asked for wins over the settings file.
_asked = False


def keep_logs(n: int, level: str = "INFO") -> None:
    """Keeps the last `n` log records of at least `level` in memory; a failure's record then holds them, redacted.

    Changes no level: what the root logger hides is not seen here either, and a warning says so once.
    """
    from sanare._errors import SettingsError

    global _asked
    if type(n) is not int or not 0 <= n <= 10_000:
        raise SettingsError(f"keep_logs takes a number of records from 0 to 10000, not {n!r:.60}")
    if level not in _LEVELS:
        raise SettingsError(f"keep_logs: the level must be one of {', '.join(_LEVELS)}, not {level!r:.60}")
    _asked = True
    _keep(n, level)


def drop_logs() -> None:
    """Takes the handler away again and forgets what it kept."""
    global _asked
    _asked = True
    _drop()


def settle(settings: dict[str, Any]) -> None:
    """Follows `logs.keep` of the settings, unless the program itself said something else."""
    keep = settings.get("logs.keep", 0)
    if not _asked and keep and (_handler is None or _handler.lines.maxlen != keep):
        _keep(keep, settings.get("logs.level", "INFO"))


def lines() -> list[str]:
    """What is kept, oldest first."""
    return list(_handler.lines) if _handler is not None else []


def _keep(n: int, level: str) -> None:
    if n == 0:
        _drop()
        return
    import logging

    global _handler, _told
    root = logging.getLogger()
    if _handler is None:
        _handler = _make()
        root.addHandler(_handler)
    _handler.setLevel(_LEVELS[level])
    _handler.lines = deque(_handler.lines, n)
    if root.level > _LEVELS[level] and not _told:
        _told = True
        from sanare._log import WARNING, say

        say(WARNING, f"the root logger hides records below {logging.getLevelName(root.level)}: they are not kept")


def _drop() -> None:
    global _handler
    if _handler is not None:
        import logging

        logging.getLogger().removeHandler(_handler)
        _handler = None


def _make() -> Any:
    import logging

    class Ring(logging.Handler):
        """Formats at once: what the arguments of a record say later may be something else."""

        def __init__(self) -> None:
            super().__init__()
            self.lines: deque[str] = deque()

        def emit(self, record: logging.LogRecord) -> None:
            if record.name.partition(".")[0] == "sanare":
                return
            try:
                text = record.getMessage()
            except Exception:
                text = "<a record whose text could not be made>"
            from sanare._settings import longest_line

            self.lines.append(f"{record.levelname} {record.name}: {text[: longest_line() + _MARGIN]}")

        def handle(self, record: logging.LogRecord) -> bool:
            try:
                return bool(super().handle(record))
            except Exception:
                return False

    return Ring()
