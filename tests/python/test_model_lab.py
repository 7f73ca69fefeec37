"""The candidate lab (C143): of four scripted candidates only the right one is accepted, each refusal names its check,
and the next attempt is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sanare
from model_lab import BODIES, candidate, module
from model_server import ModelServer, reply
from test_eleven_scenarios import GUARDS, HEALS, STANDARD_EXPECTED, STANDARD_OLD, argument, load, project

BAD = ("new_only", "fabricating", "swallowing")


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")


def prepare(tmp_path: Path, name: str) -> tuple[Path, Any, Any, Any, str]:
    old = argument(tmp_path, HEALS[name][2])
    new = argument(tmp_path, HEALS[name][4])
    source = module(name, old)
    job = project(tmp_path, source)
    return job, load(job, f"lab_{name}_{tmp_path.name}"), old, new, source


@pytest.mark.parametrize("name", list(BODIES))
def test_f35_the_right_candidate_is_accepted_with_one_call(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, loaded, old, new, source = prepare(tmp_path, name)
    function, expected = HEALS[name][1], HEALS[name][5]
    with ModelServer(reply(candidate(name, "right", source))) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert getattr(loaded, function)(old) == HEALS[name][3]
        assert getattr(loaded, function)(new) == expected, sanare.last_report()
        assert len(server.requests) == 1
    report = sanare.last_report()
    assert report is not None and (report.outcome, report.proposer) == ("healed", "model")
    assert report.usage["calls"] == 1
    fresh = load(job, f"fresh_{name}_{tmp_path.name}")
    assert getattr(fresh, function)(argument(tmp_path, HEALS[name][2])) == HEALS[name][3]
    assert getattr(fresh, function)(argument(tmp_path, HEALS[name][4])) == expected


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", list(BODIES))
def test_a_bad_candidate_is_refused_by_name_and_the_next_is_told(
    tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, loaded, old, new, source = prepare(tmp_path, name)
    # What worked is remembered: without it a reader by position is replayed on headers that nobody knows.
    assert getattr(loaded, HEALS[name][1])(old) == HEALS[name][3]
    bad, good = candidate(name, kind, source), candidate(name, "right", source)
    with ModelServer(reply(bad), reply(good)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert getattr(loaded, HEALS[name][1])(new) == HEALS[name][5], str(sanare.last_report())
        assert len(server.requests) == 2, [attempt["rejected_because"] for attempt in sanare.last_report().attempts]
        told = server.prompts[1]
    report = sanare.last_report()
    assert report is not None and report.outcome == "healed"
    because = report.attempts[0]["rejected_because"]
    check = because.partition(":")[0]
    assert "/" in check, because
    assert json.dumps({"rejected_by": check})[1:-1].replace(" ", "") in told.replace(" ", ""), told
    assert report.attempts[1]["rejected_because"] == ""


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", list(BODIES))
def test_f02_bad_candidates_alone_change_nothing(
    tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, loaded, old, new, source = prepare(tmp_path, name)
    assert getattr(loaded, HEALS[name][1])(old) == HEALS[name][3]
    before = job.read_bytes()
    with ModelServer(reply(candidate(name, kind, source))) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(Exception):  # noqa: B017 - each scenario has its own original error
            getattr(loaded, HEALS[name][1])(new)
        assert len(server.requests) == 3
    assert job.read_bytes() == before
    assert getattr(loaded, HEALS[name][1])(old) == HEALS[name][3]


@pytest.mark.parametrize("kind", ["fabricating", "swallowing"])
@pytest.mark.parametrize("guard", list(GUARDS))
def test_where_the_data_lacks_it_nothing_is_made_up(
    tmp_path: Path, guard: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, loaded, _, _, source = prepare(tmp_path, "1_translated")
    assert loaded.load_sales(STANDARD_OLD) == STANDARD_EXPECTED
    before = job.read_bytes()
    with ModelServer(reply(candidate("1_translated", kind, source))) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError) as caught:
            loaded.load_sales(GUARDS[guard])
        assert len(server.requests) == 3
    assert caught.value.args == ("amount",)
    assert job.read_bytes() == before
    assert sanare.last_report().outcome == "refused"
