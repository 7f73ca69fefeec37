"""The Rust half, loaded when it is needed first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_loaded: Any = None


def native() -> Any:
    """The extension module. Tests put a stand-in in its place."""
    global _loaded
    if _loaded is None:
        from sanare import _sanare

        _loaded = _sanare
    return _loaded
