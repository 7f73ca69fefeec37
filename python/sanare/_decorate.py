"""What `sanare.heal` does with what it is given: functions, methods, descriptors, and what cannot be healed (C5)."""

from __future__ import annotations

import os
import sys

from sanare._guard import guard_function, guard_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any


def _probe() -> None: ...


_Function: type[FunctionType] = type(_probe)
_Method = type(_Function.__get__(_probe, 1))
_Module = type(sys)

# Read once, at import: `SANARE_HEAL_MODE=off` gives back the functions themselves.
_OFF = os.environ.get("SANARE_HEAL_MODE", "").strip().lower() == "off"


def heal(targets: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The one target decorated, or the decorator when only options were given."""
    if len(targets) > 1:
        raise TypeError(f"heal takes one function, not {len(targets)}")
    if options:
        from sanare._options import check

        options = check(options)
    if not targets:
        return lambda function: decorate(function, options)
    return decorate(targets[0], options)


def decorate(target: Any, options: dict[str, Any]) -> Any:
    """`target` with a guard in it. The same object wherever that is possible."""
    kind = type(target)
    if kind is _Function:
        return _function(target, options)
    if kind is staticmethod or kind is classmethod:
        return _rebuilt(target, decorate(target.__func__, options), options)
    if kind is property or issubclass(kind, property):
        return _property(target, options)
    if kind is _Method:
        guarded = _function(target.__func__, options)
        return target if guarded is target.__func__ else _Method(guarded, target.__self__)
    if isinstance(target, type):
        raise _settings_error(f"heal decorates functions, not classes: `{target.__name__}`", "decorate its methods")
    if isinstance(target, _Module):
        raise _settings_error(f"heal decorates functions, not modules: `{target.__name__}`", "decorate its functions")
    inner = _innermost(target)
    if inner is not None:
        # An object that a decorator below ours made (a cache, a command): the function inside it is the one to heal,
        # and every caller goes on using this very object.
        _inner(inner, options)
        return target
    func = getattr(target, "func", None)
    if kind.__name__ == "cached_property" and type(func) is _Function:
        guarded = _function(func, options)
        if guarded is not func:
            target.func = guarded
        return target
    if callable(target):
        from sanare._log import WARNING, say

        name = getattr(target, "__name__", None) or kind.__name__
        say(WARNING, f"`{name}` has no Python code of its own and is left as it is")
        return target
    raise _settings_error(f"heal decorates functions, not {kind.__name__} objects", "")


def _function(function: FunctionType, options: dict[str, Any]) -> Any:
    if guard_of(function) is not None or _in_wrapper(function):
        raise _settings_error(f"`{function.__qualname__}` is decorated twice", "one `heal` is enough")
    if _OFF or options.get("mode") == "off":
        return function
    inner = _innermost(function)
    if inner is not None and inner is not function:
        # A decorator below ours replaced the function: its wrapper is not what a repair may change (C101).
        if _inner(inner, options):
            return function
    if function.__name__ == "<lambda>" or function.__code__.co_name == "<lambda>":
        from sanare._guard import Guard
        from sanare._wrap import wrap

        guard = Guard(function, {**options, "mode": "observe"})
        guard.unguardable = "a lambda is only observed"
        guard.adopt(function)
        return wrap(guard, function)
    return guard_function(function, options)


def _inner(inner: FunctionType, options: dict[str, Any]) -> bool:
    """Guards the function inside another decorator's object in place; False where only a wrapper would do."""
    if guard_of(inner) is not None or _in_wrapper(inner):
        raise _settings_error(f"`{inner.__qualname__}` is decorated twice", "one `heal` is enough")
    if _OFF or options.get("mode") == "off":
        return True
    return guard_function(inner, options) is inner


def _innermost(target: Any) -> FunctionType | None:
    """The function at the end of the `__wrapped__` chain, read from the instance dictionaries alone."""
    seen = 0
    found = None
    while seen < 32:
        seen += 1
        try:
            target = object.__getattribute__(target, "__dict__").get("__wrapped__")
        except AttributeError:
            break
        if target is None:
            break
        if type(target) is _Function:
            found = target
    return found


def _in_wrapper(function: FunctionType) -> bool:
    return function.__dict__.get("__sanare__") is function.__code__


def _rebuilt(old: Any, guarded: Any, options: dict[str, Any]) -> Any:
    return old if guarded is old.__func__ else type(old)(guarded)


def _property(old: Any, options: dict[str, Any]) -> Any:
    parts = [old.fget, old.fset, old.fdel]
    guarded = [_function(part, options) if type(part) is _Function else part for part in parts]
    if all(new is part for new, part in zip(guarded, parts)):
        return old
    return type(old)(*guarded, old.__doc__)


def _settings_error(message: str, hint: str) -> Exception:
    from sanare._errors import SettingsError

    return SettingsError(message + (f"\nhint: {hint}" if hint else ""))
