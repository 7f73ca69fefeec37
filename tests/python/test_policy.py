"""The owner's policy file through the real thing: it can only make stricter, and a broken one refuses everything."""

from __future__ import annotations

import json

import pytest
from helpers_real import NEW, Job

SETTINGS = '[policy]\nfile = "policy.toml"\n'


@pytest.fixture
def make(tmp_path):
    def make(policy, settings=SETTINGS, options=""):
        job = Job(tmp_path / "project", options, settings)
        if policy is not None:
            (job.folder / "policy.toml").write_text(policy)
        job.learn()
        return job

    return make


def rule(when, verdict="ask", reason=""):
    return f'version = 1\n[[rule]]\nid = "own"\nwhen = {{ {when} }}\nverdict = "{verdict}"\nreason = "{reason}"\n'


def test_a_rule_asks_with_its_reason(make):
    job = make(rule('path = ["job.py"], function = ["load"], gates_passed = ["replay"]', reason="jobs need a look"))
    before = job.file.read_text()
    job.run(NEW)
    report = job.report()
    assert report["status"] == "waiting" and "jobs need a look" in report["summary"], report
    assert job.file.read_text() == before
    explained = job.sanare("policy", "explain", report["id"]).stdout
    assert "verdict: ask" in explained and "own: jobs need a look" in explained
    assert "to be permitted:" in explained and "-        stop_switch" in explained


def test_a_rule_that_does_not_fire_changes_nothing(make):
    job = make(
        rule('path = ["other/**"]', "refuse")
        + '[[rule]]\nid = "night"\nwhen = { environment = ["production"] }\nverdict = "refuse"\n'
    )
    assert job.run(NEW).returncode == 0
    assert job.report()["outcome"] == "healed"


def test_the_environment_is_named_by_the_owner(make):
    job = make(rule('environment = ["production"]', "refuse", "not here"))
    before = job.file.read_text()
    assert job.run(NEW, SANARE_ENVIRONMENT="production").returncode == 1
    report = job.report()
    assert (report["outcome"], report["reason"]) == ("refused", "policy") and "not here" in report["summary"]
    assert job.file.read_text() == before


@pytest.mark.parametrize(
    "text", ["", "version = 1\nmode = ", "version = 1\nmod = 1\n", "version = 9\n", 'version = 1\nmode = "off"\n', None]
)
def test_a_broken_file_refuses_everything(make, text):
    job = make(text)
    before = job.file.read_text()
    assert job.run(NEW).returncode == 1
    report = job.report()
    assert (report["outcome"], report["reason"]) == ("refused", "policy"), report
    assert "the policy file cannot be used" in report["summary"] and report["attempts"] == []
    assert job.file.read_text() == before


def test_the_stricter_mode_wins(make):
    job = make('version = 1\nmode = "dry_run"\n[application."x"]\nmode = "auto"\n')
    before = job.file.read_text()
    assert job.run(NEW).returncode == 1
    assert "dry run" in job.report()["summary"] and job.file.read_text() == before


def test_cases(make, tmp_path):
    job = make(rule('path = ["billing/**"], changed_lines_over = 10', "refuse", "too much at once"))
    cases = job.folder / "cases.toml"
    cases.write_text(
        """
[[case]]
name = "small"
path = "billing/invoice.py"
changed_lines = 10
verdict = "permit"

[[case]]
name = "large"
path = "billing/invoice.py"
changed_lines = 11
verdict = "refuse"
rules = ["own"]

[[case]]
name = "a model alone"
proposer = "model"
verdict = "ask"
rules = ["model_without_oracle"]
"""
    )
    done = job.sanare("policy", "test", str(cases))
    assert done.returncode == 0 and "3 cases, 0 differences" in done.stdout, (done.stdout, done.stderr)
    cases.write_text(cases.read_text().replace("changed_lines = 11", "changed_lines = 9"))
    done = job.sanare("policy", "test", str(cases))
    assert done.returncode == 1 and "large: expected refuse, got permit" in done.stdout
    for text, words in [
        ("", "line 1"),
        (
            '[[case]]\nverdict = "ask"\n\n[[case]]\nverdict = "ask"\nrules = ["unheard-of"]\n',
            "line 4: there is no rule",
        ),
        ('[[case]]\nverdict = "perhaps"\n', "no verdict"),
        ('[[case]]\nverdict = "ask"\ngates = { trail = "passed" }\n', "no gate `trail`"),
        ('[[case]]\nverdct = "ask"\n', "line"),
    ]:
        cases.write_text(text)
        done = job.sanare("policy", "test", str(cases))
        assert done.returncode == 2 and words in done.stderr, (text, done.stderr)


def test_history_under_a_new_file(make):
    job = make("version = 1\n")
    assert job.run(NEW).returncode == 0
    same = job.sanare("policy", "test", "--history", "1d")
    assert same.returncode == 0 and "1 cases, 0 differences" in same.stdout, (same.stdout, same.stderr)
    other = job.folder / "stricter.toml"
    other.write_text(rule('path = ["**"]', "ask"))
    done = job.sanare("policy", "test", "--history", "1d", "--policy", str(other))
    assert done.returncode == 1 and "was permit, would be ask (own)" in done.stdout, done.stdout
    assert job.sanare("policy", "test", "--history", "soon").returncode == 2


def test_explain_as_data(make):
    job = make(rule('path = ["job.py"]'))
    job.run(NEW)
    explained = json.loads(job.sanare("policy", "explain", job.report()["id"], "--json").stdout)
    assert explained["verdict"] == "ask" and explained["rules"][0]["rule"] == "own"
