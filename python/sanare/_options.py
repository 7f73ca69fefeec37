"""The decorator's options, checked while it runs: names, types and limits, each trouble with a hint (C7, C8)."""

from __future__ import annotations

from sanare._errors import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MODES = ("auto", "ask", "dry_run", "observe", "off")
REMEMBER = ("off", "shape", "calls")
RERUN = ("safe", "always", "never")
WRITE = ("file", "memory")
PROPOSERS = ("drift", "model")

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

# Keys of another healer's settings file, which people bring along, and what they are called here (C24).
FORMER = {
    "AI_PROVIDER": "model.provider in sanare.toml",
    "HEALING_AGENT_PROVIDER": "SANARE_MODEL_PROVIDER",
    "HEALING_AGENT_CONFIG_VERSION": "format in sanare.toml",
    "AZURE": "[model] in sanare.toml",
    "OPENAI": "[model] in sanare.toml",
    "ANTHROPIC": "[model] in sanare.toml",
    "OLLAMA": "[model] in sanare.toml",
    "LITELLM": 'model.provider = "compatible" in sanare.toml',
    "MAX_ATTEMPTS": "attempts",
    "DEBUG": "the level of the logger `sanare`",
    "AUTO_FIX": 'mode ("auto" or "ask")',
    "AUTO_SYSCHANGE": "nothing: packages are never installed",
    "SYSTEM_PROMPTS": "heal.model.house_rules in sanare.toml",
    "BACKUP_ENABLED": "nothing: the original is always kept",
    "RESTORE_ON_FAILURE": "nothing: a failed repair is always taken back",
    "SAVE_EXCEPTIONS": "nothing: failures are always recorded",
    "SAVE_AI_FIXES": "nothing: proposals are always recorded",
    "SAVE_GIT_PATCHES": "git.patches in sanare.toml",
    "GIT_MODE": "git.patches in sanare.toml",
    "GIT_PATCH_DIR": "git.patch_folder in sanare.toml",
    "GIT_STAGE": "nothing: the index is never touched",
    "VERIFY_COMMAND": "verify",
    "VERIFY_TIMEOUT_SECONDS": "heal.gates.verify_time in sanare.toml",
    "HEALING_AGENT_CANDIDATE": "SANARE_EVIDENCE_FILE",
    "GITHUB": "[github] in sanare.toml",
    "LOG_BUFFER_SIZE": "logs.keep in sanare.toml",
    "LOG_BUFFER_LEVEL": "logs.level in sanare.toml",
    "LOG_MODE": "log_mode in sanare.toml",
    "CAPTURE_DIR": "capture.folder in sanare.toml",
    "CAPTURE_VALUE_CHARS": "evidence.disk in sanare.toml",
    "EVIDENCE": "[evidence] in sanare.toml",
    "ENVIRONMENT_VARS": "evidence.environment_vars in sanare.toml",
    "REDACT_SECRETS": "nothing: redaction is always on",
    "REDACT_PLACEHOLDER": "nothing: placeholders name their rule",
    "REDACT_EXTRA_PATTERNS": "redaction.extra in sanare.toml",
}


def distance(one: str, other: str, limit: int) -> int:
    """Edits between two words (a swap of neighbours is one), or `limit + 1` when it is more than `limit`."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, right in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def nearest(word: str, known: tuple[str, ...]) -> str:
    """The known word that was probably meant, or nothing."""
    bare = word.lower().replace("_", "")
    ranked = sorted((distance(bare, name.replace("_", ""), 2), name) for name in known)
    return ranked[0][1] if ranked and ranked[0][0] <= 2 else ""


def check(given: dict[str, Any]) -> dict[str, Any]:
    """The options as they are kept: durations in seconds, sequences as tuples. Anything else raises."""
    kept: dict[str, Any] = {}
    for name, value in given.items():
        checker = CHECKS.get(name)
        if checker is None:
            raise SettingsError(f"heal has no option `{name}`{_hint_for(name)}")
        kept[name] = checker(name, value)
    return kept


def _hint_for(name: str) -> str:
    former = FORMER.get(name.upper())
    if former is not None and name.lower() not in CHECKS:
        return f"\nhint: it is {former} here" if not former.startswith("nothing") else f"\nhint: {former}"
    near = nearest(name, tuple(CHECKS))
    return f"\nhint: did you mean `{near}`?" if near else f"\nhint: the options are {', '.join(CHECKS)}"


def _wrong(name: str, value: object, wanted: str, hint: str = "") -> SettingsError:
    shown = repr(value) if type(value) in (int, float, bool, str, type(None)) else f"a {type(value).__name__}"
    if len(shown) > 60:
        shown = f"a {type(value).__name__} of {len(shown)} characters"
    return SettingsError(f"option `{name}` must be {wanted}, not {shown}" + (f"\nhint: {hint}" if hint else ""))


def _choice(words: tuple[str, ...]) -> Callable[[str, Any], str]:
    def choose(name: str, value: Any) -> str:
        if type(value) is str and value in words:
            return value
        near = nearest(value, words) if type(value) is str else ""
        raise _wrong(
            name, value, "one of " + ", ".join(f'"{word}"' for word in words), near and f'did you mean "{near}"?'
        )

    return choose


def _classes(name: str, value: Any) -> tuple[type[Exception], ...]:
    classes = value if type(value) is tuple else (value,)
    for one in classes:
        if not isinstance(one, type):
            raise _wrong(name, value, "an exception class or a tuple of them", "give the class itself, without quotes")
        if not issubclass(one, Exception):
            raise SettingsError(f"option `{name}` takes only subclasses of Exception: `{one.__name__}` is never healed")
    return classes


def _proposers(name: str, value: Any) -> tuple[str, ...]:
    if type(value) not in (list, tuple):
        raise _wrong(name, value, "a list", f'write ["{value}"]' if value in PROPOSERS else "")
    for one in value:
        if type(one) is not str or one not in PROPOSERS:
            near = nearest(one, PROPOSERS) if type(one) is str else ""
            raise _wrong(name, one, 'a list of "drift" and "model"', near and f'did you mean "{near}"?')
    if len(set(value)) != len(value) or not value:
        raise SettingsError(f"option `{name}` must name each proposer once, and at least one")
    return tuple(value)


def _examples(name: str, value: Any) -> tuple[Any, ...]:
    if type(value) not in (list, tuple):
        raise _wrong(
            name, value, "a list", "write it as a list of one" if type(value) is str or callable(value) else ""
        )
    if len(value) > 100:
        raise SettingsError(f"option `{name}` holds {len(value)} examples; at most 100 are taken")
    for one in value:
        if not (type(one) is str and one) and not callable(one) and type(one).__name__ != "Example":
            raise _wrong(name, one, "a list of path patterns, sanare.Example objects or callables")
    return tuple(value)


def _contract(name: str, value: Any) -> Any:
    parts = value.items() if isinstance(value, dict) else [("return", value)]
    from sanare._contract import is_schema

    schema = isinstance(value, dict) and is_schema(value)
    for key, one in [] if schema else parts:
        if type(key) is not str:
            raise SettingsError(f"option `{name}` maps parameter names to validators; `{key!r}` is no name")
        if not (callable(one) or isinstance(one, dict) or hasattr(one, "validate_python")):
            raise _wrong(name, one, "a validator: a class, a JSON Schema or a callable that raises")
    return value


def _about(name: str, value: Any) -> str:
    if type(value) is not str:
        raise _wrong(name, value, "text")
    if len(value) > 1000:
        raise SettingsError(f"option `{name}` has {len(value)} characters; at most 1000 are taken")
    return value


def _verify(name: str, value: Any) -> tuple[tuple[str, ...], ...]:
    if type(value) not in (list, tuple):
        raise _wrong(name, value, "a list of argument lists", 'write [["pytest", "-q"]]')
    for command in value:
        if type(command) not in (list, tuple) or not command or any(type(part) is not str for part in command):
            raise _wrong(name, command, "a list of argument lists", 'each command is a list such as ["pytest", "-q"]')
    if len(value) > 10:
        raise SettingsError(f"option `{name}` holds {len(value)} commands; at most 10 are taken")
    return tuple(tuple(command) for command in value)


def _attempts(name: str, value: Any) -> int:
    if type(value) is not int:
        raise _wrong(name, value, "an integer from 1 to 10")
    if not 1 <= value <= 10:
        raise _wrong(name, value, "from 1 to 10")
    return value


def _duration(least: float, most: float, limits: str) -> Callable[[str, Any], float]:
    def seconds(name: str, value: Any) -> float:
        if type(value) in (int, float):
            amount = float(value)
        elif type(value) is str:
            text = value.strip()
            unit = text.lstrip("0123456789.")
            number = text[: len(text) - len(unit)]
            if unit not in _UNITS or not number or number.count(".") > 1 or number == ".":
                raise _wrong(name, value, "a number of seconds or a text with a unit", 'write "90s", "2m" or 90')
            amount = float(number) * _UNITS[unit]
        else:
            raise _wrong(name, value, "a number of seconds or a text with a unit", 'write "90s", "2m" or 90')
        if not least <= amount <= most:
            raise _wrong(name, value, f"from {limits}")
        return amount

    return seconds


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "mode": _choice(MODES),
    "heal_on": _classes,
    "never": _classes,
    "proposers": _proposers,
    "remember": _choice(REMEMBER),
    "examples": _examples,
    "contract": _contract,
    "about": _about,
    "verify": _verify,
    "rerun": _choice(RERUN),
    "write": _choice(WRITE),
    "attempts": _attempts,
    "deadline": _duration(0.1, 3600.0, "0.1 s to 1 h"),
    "wait": _duration(0.0, 3600.0, "0 s to 1 h"),
}
