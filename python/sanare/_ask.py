"""The program's own word that something is wrong: `sanare.request`."""

from __future__ import annotations

from sanare._errors import HealRequested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn


def request(reason: str, details: Mapping[str, Any] | None = None) -> NoReturn:
    """Raises `HealRequested`, which a decorated function takes like any failure of its own (C46)."""
    if type(reason) is not str:
        raise TypeError(f"the reason must be text, not {type(reason).__name__}")
    if not 1 <= len(reason) <= 2000:
        raise ValueError(f"the reason has {len(reason)} characters; from 1 to 2000 are taken")
    if details is not None and not isinstance(details, dict):
        if not hasattr(type(details), "keys"):
            raise TypeError(f"details must be a mapping, not {type(details).__name__}")
        details = dict(details)
    raise HealRequested(reason, details)
