"""Own output: the program's logging if it has any, else a few lines on standard error. Never standard output."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
_failures = 0


def say(level: int, message: str, *, name: str = "sanare", incident: str = "", mode: str = "auto") -> None:
    """One readable sentence. A program that never loaded `logging` has no handler: it gets the console (C133)."""
    try:
        logging: Any = sys.modules.get("logging")
        logger = logging.getLogger(name) if logging is not None else None
        if mode == "logging" or (mode == "auto" and logger is not None and logger.hasHandlers()):
            if logger is None:
                import logging as loaded

                logger = loaded.getLogger(name)
            if logger.isEnabledFor(level):
                logger.log(level, "%s", message, extra={"incident.id": incident} if incident else None)
            return
        if level >= WARNING and sys.stderr is not None:
            sys.stderr.write(f"sanare: {message}\n")
            sys.stderr.flush()
    except Exception:
        # A closed stream, an odd encoding, a handler that raises: the owner's program goes on.
        try:
            text = f"sanare: {message}\n".encode("ascii", "backslashreplace").decode("ascii")
            sys.stderr.write(text)
        except Exception:
            pass


def own_failure(trouble: BaseException) -> None:
    """Our own trouble: one ERROR line, at most three in a process; payloads never."""
    global _failures
    _failures += 1
    if _failures > 3:
        return
    where = ""
    traceback = trouble.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if f"{_HERE}" in code.co_filename:
            where = f" in {code.co_name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    say(ERROR, f"sanare itself failed ({type(trouble).__name__}{where}); the program goes on with its own error")


_HERE = __file__.rpartition("/")[0].rpartition("\\")[0] or __file__.rpartition("/")[0]
