"""The decorator's options: both limits and one step outside, wrong types, misspelt and former names."""

from __future__ import annotations

import pytest
import sanare

GOOD = {
    "mode": ["auto", "ask", "dry_run", "observe", "off"],
    "heal_on": [KeyError, (KeyError, ValueError)],
    "never": [ValueError],
    "proposers": [["drift"], ("drift", "model"), ["model", "drift"]],
    "remember": ["off", "shape", "calls"],
    "examples": [["a/*.csv"], [sanare.Example([1], returns=2), print]],
    "contract": [dict, len, {"type": "object"}, {"return": int, "row": dict}],
    "about": ["", "x" * 1000],
    "verify": [[["pytest", "-q"]], [["a"]] * 10],
    "rerun": ["safe", "always", "never"],
    "write": ["file", "memory"],
    "attempts": [1, 10],
    "deadline": [0.1, 3600, "100ms", "90s", "2m", "1h"],
    "wait": [0, 3600, "0s", "1h"],
}

BAD = {
    "mode": ["Auto", "False", True, None, ["auto"]],
    "heal_on": ["ValueError", KeyboardInterrupt, BaseException, [KeyError], 3],
    "never": ["ValueError", SystemExit],
    "proposers": ["drift", [], ["drift", "drift"], ["drfit"], {"drift"}],
    "remember": ["shapes", True],
    "examples": ["a/*.csv", [3], [""], ["x"] * 101, print],
    "contract": [3, {"return": 3}, {1: int}],
    "about": [3, "x" * 1001],
    "verify": ["pytest", ["pytest"], [["pytest", 3]], [[]], [["a"]] * 11],
    "rerun": ["saf", False],
    "write": ["disk"],
    "attempts": [0, 11, True, 1.0, "3"],
    "deadline": [0.09, 3600.1, "0s", "61m", "2", "fast", True, None, "1.2.3s"],
    "wait": [-1, 3601, "-1s"],
}

HINTS = {
    "mod": "`mode`",
    "attempt": "`attempts`",
    "re_run": "`rerun`",
    "Mode": "`mode`",
    "AUTO_FIX": "mode",
    "MAX_ATTEMPTS": "attempts",
    "VERIFY_COMMAND": "verify",
    "AUTO_SYSCHANGE": "never installed",
    "GITHUB": "[github]",
    "quite_something_else": "the options are",
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in GOOD for value in GOOD[name]])
def test_good(name, value):
    assert callable(sanare.heal(**{name: value}))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_f15_bad(name, value):
    with pytest.raises(sanare.SettingsError) as found:
        sanare.heal(**{name: value})
    assert f"`{name}`" in str(found.value)


@pytest.mark.parametrize("name", HINTS)
def test_f15_hints(name):
    with pytest.raises(sanare.SettingsError) as found:
        sanare.heal(**{name: 1})
    message, _, hint = str(found.value).partition("\nhint: ")
    assert f"`{name}`" in message and HINTS[name] in hint


def test_a_wrong_word_names_the_nearest():
    with pytest.raises(sanare.SettingsError, match='did you mean "safe"'):
        sanare.heal(rerun="saf")


def test_every_former_name_has_a_hint():
    from sanare._options import FORMER

    for name in FORMER:
        with pytest.raises(sanare.SettingsError, match="hint: "):
            sanare.heal(**{name: 1})


def test_public_names():
    for name in sanare.__all__:
        assert getattr(sanare, name) is not None
    assert set(dir(sanare)) >= set(sanare.__all__)
    with pytest.raises(AttributeError):
        sanare.capture_everything  # noqa: B018


def test_examples_are_checked():
    with pytest.raises(sanare.SettingsError):
        sanare.Example([1])
    with pytest.raises(sanare.SettingsError):
        sanare.Example([1], returns=1, raises=KeyError)
    with pytest.raises(sanare.SettingsError):
        sanare.Example("x", returns=1)
