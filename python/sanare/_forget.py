"""Forgetting what was remembered of good calls (C49)."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def forget(target: Any = None) -> int:
    """Forgets what is remembered of a decorated function, or of the whole project that the working folder lies in.

    The answer says how many shapes there were. Records of incidents stay.
    """
    from sanare._native import native
    from sanare._project import root_of, standing_for
    from sanare._settings import guard_behind

    if target is None:
        return int(native().forget(root_of(os.path.join(os.getcwd(), "_"))))
    guard = guard_behind(target)
    path = standing_for(guard.path)
    return int(native().forget(root_of(path), path, guard.qualname))
