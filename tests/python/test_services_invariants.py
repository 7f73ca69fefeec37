"""The ten invariants of service healing, as far as they show in Python: shrinking, and what failed is kept under the target
folder (S148). Rust tries ten thousand cases of each; these twins try 2,000, or as many as `HYPOTHESIS_CASES` says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import sanare

pytest.importorskip("hypothesis", reason="property tests need hypothesis, which is installed for the first interpreter")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

KEPT = DirectoryBasedExampleDatabase(Path(__file__).parents[2] / "target" / "hypothesis")
MANY = settings(
    max_examples=int(os.environ.get("HYPOTHESIS_CASES", "2000")),
    deadline=None,
    database=KEPT,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

VERDICTS = ["permit", "ask", "refuse"]
APPLICATION_ACTIONS = [
    "restart_component",
    "reload_model",
    "rollback_model",
    "request_retraining",
    "request_redeployment",
]
ACTIONS = [*APPLICATION_ACTIONS, "run_diagnostic", "escalate", "no_action"]


@pytest.fixture(scope="module")
def healer(tmp_path_factory: pytest.TempPathFactory) -> sanare.Healer:
    folder = tmp_path_factory.mktemp("invariants")
    (folder / "sanare.toml").write_text('[policy]\nfile = "policy.toml"\n[service.fraud]\n')
    (folder / "policy.toml").write_text('version = 1\nmode = "auto"\nalways_ask = []\nhistory_min = 0\n')
    return sanare.Healer.from_config(folder / "sanare.toml")


def cases(**fixed: Any) -> st.SearchStrategy[dict[str, Any]]:
    parts = {
        "application": st.just("fraud"),
        "kind": st.sampled_from(["unreachable", "latency_high", "quality_low", "model_stale"]),
        "severity": st.sampled_from(["low", "medium", "high", "critical"]),
        "action": st.sampled_from(ACTIONS),
        "origin": st.sampled_from(["rules", "model", "fallback", "person"]),
        "mode": st.sampled_from(["observe", "dry_run", "ask", "auto"]),
        "confidence": st.floats(0, 1),
        "verified_attempts": st.integers(0, 20),
        "cited": st.integers(0, 8),
        "attempts": st.integers(0, 5),
        "cooldown_left_ms": st.integers(0, 10_000),
        **{
            flag: st.booleans()
            for flag in (
                "stopped",
                "tried",
                "in_storm",
                "chronic",
                "flapping",
                "fenced",
                "idempotent",
                "verifiable",
                "reversible",
            )
        },
    }
    parts.update({name: st.just(value) for name, value in fixed.items()})
    return st.fixed_dictionaries({"application": parts.pop("application")}, optional=parts).map(
        lambda case: {**case, **fixed}
    )


@MANY
@given(case=cases(origin="fallback"), action=st.sampled_from(APPLICATION_ACTIONS))
def test_invariant_2_a_fallback_is_never_permitted(healer: sanare.Healer, case: dict[str, Any], action: str) -> None:
    assert healer.explain({**case, "action": action, "confidence": 1.0})["verdict"] != "permit"


@MANY
@given(case=cases())
def test_invariant_9_a_verdict_is_a_function_of_its_case_and_the_strictest_of_its_rules(
    healer: sanare.Healer, case: dict[str, Any]
) -> None:
    told = healer.explain(case)
    assert told == healer.explain(dict(reversed(case.items())))
    said = [rule["verdict"] for rule in told["rules"] if rule["verdict"] is not None]
    assert told["verdict"] == max(said, key=VERDICTS.index, default="permit")


# Written in parts, so that no scanner takes this file for one that holds secrets.
# No letter comes twice: what hardly varies is no key, and is left alone on purpose.
def _mixed(letters: str, length: int) -> st.SearchStrategy[str]:
    return st.permutations(letters).map(lambda mixed: "".join(mixed[:length]))


LETTERS = _mixed("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
SECRETS = st.one_of(
    LETTERS.map(lambda tail: ("AK" + "IA" + tail, tail)),
    _mixed("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 36).map(
        lambda tail: ("gh" + "p_" + tail, tail)
    ),
    LETTERS.map(lambda tail: (f"https://bot:{tail}@example.com/x", tail)),
)


@MANY
@given(secret=SECRETS, around=st.text(" abc.,:\n", max_size=20), place=st.integers(0, 4))
def test_invariant_5_no_secret_is_in_what_is_redacted(secret: tuple[str, str], around: str, place: int) -> None:
    whole, tail = secret
    text = f"{around} {whole} {around}"
    given_data: Any = [text, {"a": text}, {"a": [1, {"b": text}]}, [[text]], {text: 1}][place]
    assert tail not in json.dumps(sanare.redact(given_data))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
FIELDS = [
    "application",
    "component",
    "signal",
    "kind",
    "value",
    "unit",
    "event_time",
    "source_id",
    "labels",
    "trust",
    "flags",
]


@MANY
@given(change=st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1, max_size=3))
def test_invariant_10_any_reading_is_taken_or_refused_by_its_field(
    healer: sanare.Healer, change: dict[str, Any]
) -> None:
    # A value that is always wrong: nothing of thousands of cases need be written to the disk.
    reading = {"application": "fraud", "signal": "p99", "unit": "a unit that is far too long", "value": 1.5, **change}
    if "unit" in change:
        reading["component"] = ""
    with pytest.raises(sanare.Error) as refused:
        healer.observe(reading)
    assert 0 < len(str(refused.value)) < 1_000


@MANY
@given(
    change=st.dictionaries(
        st.sampled_from(["kind", "action", "origin", "mode", "confidence", "blast", "counts", "x"]), JSON, max_size=3
    )
)
def test_invariant_10_any_made_up_case_has_a_verdict_or_is_refused(
    healer: sanare.Healer, change: dict[str, Any]
) -> None:
    try:
        assert healer.explain({"application": "fraud", **change})["verdict"] in VERDICTS
    except sanare.Error as error:
        assert 0 < len(str(error)) < 1_000
