"""Twenty changes that the offline engine refuses: of four scripted candidates each only the right one is ever accepted."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import sanare
from model_cases import BAD, CASES, Case
from model_server import ModelServer, reply
from test_eleven_scenarios import load, project

BOTH = "@sanare.heal(examples=[sanare.Example((OLD,), returns=EXPECTED)])"
MODEL = '@sanare.heal(proposers=["model"], examples=[sanare.Example((OLD,), returns=EXPECTED)])'
each = pytest.mark.parametrize("name", list(CASES))


class Job:
    """One case in a project of its own."""

    def __init__(self, folder: Path, name: str, decorator: str) -> None:
        self.case: Case = CASES[name]
        self.decorator = decorator
        self.path = project(folder, self.case.source(decorator))
        self.before = self.path.read_bytes()
        self.name = f"{name}_{folder.name}"
        self.call = load(self.path, f"job_{self.name}").job

    def candidate(self, kind: str) -> str:
        return self.case.source(self.decorator, getattr(self.case, kind))

    def works(self, call: Any = None) -> None:
        assert (call or self.call)(copy.deepcopy(self.case.old)) == self.case.old_expected

    def fails(self) -> None:
        with pytest.raises(Exception) as caught:
            self.call(copy.deepcopy(self.case.new))
        assert not isinstance(caught.value, sanare.Error), caught.value

    def is_as_before(self) -> None:
        assert self.path.read_bytes() == self.before
        self.works()


def ask(monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")
    monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)


def rejections() -> list[str]:
    report = sanare.last_report()
    assert report is not None
    return [attempt["rejected_because"] for attempt in report.attempts]


@each
def test_the_engine_alone_refuses(tmp_path: Path, name: str) -> None:
    job = Job(tmp_path, name, BOTH)
    job.works()
    job.fails()
    report = sanare.last_report()
    assert report is not None and report.outcome == "refused", report
    job.is_as_before()


@each
def test_the_right_one_is_accepted(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path, name, MODEL)
    job.works()
    with ModelServer(reply(job.candidate("right"))) as server:
        ask(monkeypatch, server)
        assert job.call(copy.deepcopy(job.case.new)) == job.case.new_expected, rejections()
        assert len(server.requests) == 1
    report = sanare.last_report()
    assert report is not None and (report.outcome, report.proposer) == ("healed", "model")
    fresh = load(job.path, f"fresh_{job.name}").job
    job.works(fresh)
    assert fresh(copy.deepcopy(job.case.new)) == job.case.new_expected


@each
def test_after_a_refusal_of_the_engine_it_is_accepted_or_a_person_is_asked(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(tmp_path, name, BOTH)
    job.works()
    with ModelServer(reply(job.candidate("right"))) as server:
        ask(monkeypatch, server)
        if job.case.waits:
            job.fails()
        else:
            assert job.call(copy.deepcopy(job.case.new)) == job.case.new_expected, rejections()
    report = sanare.last_report()
    assert report is not None and report.proposer == "model", report
    assert rejections()[-1] == ""
    if job.case.waits:
        assert report.status == "waiting", report
        job.is_as_before()
    else:
        assert report.outcome == "healed", report


@pytest.mark.parametrize("kind", BAD)
@each
def test_a_bad_one_is_never_accepted(tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path, name, MODEL)
    job.works()
    with ModelServer(reply(job.candidate(kind))) as server:
        ask(monkeypatch, server)
        job.fails()
        assert len(server.requests) == 3
    report = sanare.last_report()
    assert report is not None and (report.outcome, report.reason) == ("refused", "gates_failed"), report
    first = rejections()[0]
    assert "/" in first.partition(":")[0], first
    job.is_as_before()


@pytest.mark.parametrize("kind", BAD)
@each
def test_what_was_refused_is_told_and_the_right_one_follows(
    tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(tmp_path, name, MODEL)
    job.works()
    with ModelServer(reply(job.candidate(kind)), reply(job.candidate("right"))) as server:
        ask(monkeypatch, server)
        assert job.call(copy.deepcopy(job.case.new)) == job.case.new_expected, rejections()
        check = rejections()[0].partition(":")[0]
        assert f'"rejected_by":"{check}"' in server.prompts[1], check
    assert rejections()[1] == ""
