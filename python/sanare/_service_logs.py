"""Records of `logging` on their way to a service's counts."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_busy = threading.local()


class Counting(logging.Handler):
    """Gives each record as one line: level, logger, message, and the type of its exception. Nothing that it does raises or
    logs."""

    def __init__(self, take: Callable[[str], None], level: int) -> None:
        super().__init__(level)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        # Our own records, and those that a record's own text writes, would go round in a circle.
        if record.name.partition(".")[0] == "sanare" or getattr(_busy, "now", False):
            return
        _busy.now = True
        try:
            line = f"{record.levelname} {record.name}: {record.getMessage()}"
            kind = record.exc_info[0] if record.exc_info else None
            self._take(line if kind is None else f"{line} {kind.__name__}")
        except Exception:
            # A record whose text cannot be made is counted as such a one.
            self._take(f"{record.levelname} {record.name}: a record whose text cannot be made")
        finally:
            _busy.now = False

    def handle(self, record: logging.LogRecord) -> bool:
        try:
            return bool(super().handle(record))
        except Exception:
            return False
