"""The exceptions that Sanare raises by itself. Failures of the owner's functions leave as they are."""

from __future__ import annotations


class Error(Exception):
    """Base of Sanare's own exceptions."""


class SettingsError(Error):
    """An option or a setting that cannot be taken as it stands; the text says which, and what was probably meant."""


class HealRequested(Error):
    """Raised by `sanare.request`: the program itself says that something is wrong."""

    def __init__(self, reason: str, details: dict[str, object] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details if details is not None else {}


class NotStarted(Error):
    """Raised by a capability: surely nothing was begun."""
