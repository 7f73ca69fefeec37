"""Mode ask, and a person's answer: applied exactly as shown, once, or not at all and with the reason (C9, C97, C98)."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from helpers_real import NEW, OLD, Job


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "project", 'mode="ask"')
    made.learn()
    return made


def ask(job):
    """The failing call under mode ask; gives the waiting report."""
    before = job.file.read_text()
    done = job.run(NEW)
    assert done.returncode == 1 and "KeyError: 'amount'" in done.stderr, done.stderr
    assert job.file.read_text() == before
    report = job.report()
    assert report["status"] == "waiting", report
    return report, done


def test_a_waiting_incident_changes_nothing_and_the_note_names_the_proposal(job):
    report, done = ask(job)
    notes = [line for line in done.stderr.splitlines() if f"sanare show {report['id']}" in line]
    assert notes, done.stderr
    if sys.version_info >= (3, 11):
        # Python 3.10 prints no notes: there the log alone says it (C10).
        note = next(line for line in notes if line.startswith("sanare: waiting"))
        assert "Betrag" in note and len(note) <= 200
    assert report["approval"]["state"] == "waiting" and report["approval"]["expires_at"] > report["created_at"]
    listed = job.sanare("incidents", "--status", "waiting").stdout
    assert report["id"] in listed and f"sanare diff {report['id']}" in listed
    shown = job.sanare("show", report["id"]).stdout
    assert f"sanare approve {report['id']}" in shown and "the mode is ask" in shown and "+++ b/job.py" in shown


def test_what_was_shown_is_what_is_applied(job):
    report, _ = ask(job)
    diff = job.sanare("diff", report["id"]).stdout
    done = job.sanare("approve", report["id"], "--reason", "the bank renamed it")
    assert done.returncode == 0, done.stderr
    after = job.report()
    assert after["status"] == "applied" and after["diff"] == diff
    assert after["approval"]["by"] == "person" and after["approval"]["why"] == "the bank renamed it"
    assert after["approval"]["name"] and after["approval"]["state"] == "approved"
    for line in (line for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")):
        assert line[1:] in job.file.read_text()
    # New processes import the repaired file; both shapes are right.
    assert job.run(NEW).stdout.strip() == "[3.5, 4.25]"
    assert job.run(OLD).stdout.strip() == "[3.5, 4.25]"
    assert job.sanare("ledger", "verify").returncode == 0


def test_the_first_call_of_that_shape_confirms_it(job):
    report, _ = ask(job)
    assert job.sanare("approve", report["id"]).returncode == 0
    job.run(OLD)
    assert job.report()["status"] == "applied"
    assert job.run(NEW).returncode == 0
    after = job.report()
    assert (after["status"], after["outcome"]) == ("closed", "healed"), after


def test_twice_is_once(job):
    report, _ = ask(job)
    assert job.sanare("approve", report["id"]).returncode == 0
    text = job.file.read_text()
    for verb in ("approve", "deny"):
        again = job.sanare(verb, report["id"])
        assert again.returncode == 1 and "its repair is applied, answered by" in again.stderr, again.stderr
    assert job.file.read_text() == text


def test_two_at_once_apply_once(job):
    report, _ = ask(job)
    answers = []

    def answer():
        answers.append(job.sanare("approve", report["id"]))

    threads = [threading.Thread(target=answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done.returncode for done in answers) == [0, 1, 1, 1], [done.stderr for done in answers]
    for done in answers:
        assert done.returncode == 0 or "nothing is asked" in done.stderr or "somebody else" in done.stderr, done.stderr
    assert job.sanare("ledger", "verify").returncode == 0
    assert job.run(NEW).stdout.strip() == "[3.5, 4.25]"


def test_a_changed_source_makes_it_void_visibly(job):
    report, _ = ask(job)
    edited = job.file.read_text() + "\n# an edit of the owner's\n"
    job.file.write_text(edited)
    done = job.sanare("approve", report["id"])
    assert done.returncode == 1 and "the file changed" in done.stderr, done.stderr
    assert job.file.read_text() == edited
    after = job.report()
    assert (after["status"], after["reason"]) == ("closed", "source_changed")
    assert after["approval"]["state"] == "voided"
    job.file.write_text(edited.replace("\n# an edit of the owner's\n", ""))
    assert job.sanare("approve", report["id"]).returncode == 1


def test_a_no_closes_it(job):
    report, _ = ask(job)
    before = job.file.read_text()
    done = job.sanare("deny", report["id"], "--reason", "Betrag is gross, amount was net")
    assert done.returncode == 0, done.stderr
    after = job.report()
    assert (after["outcome"], after["reason"]) == ("refused", "denied") and "gross" in after["summary"]
    assert after["approval"]["state"] == "denied"
    assert job.sanare("approve", report["id"]).returncode == 1 and job.file.read_text() == before


def test_the_stop_switch_keeps_it_waiting(job):
    report, _ = ask(job)
    before = job.file.read_text()
    assert job.sanare("stop").returncode == 0
    done = job.sanare("approve", report["id"])
    assert done.returncode == 6 and "stop switch" in done.stderr
    assert job.file.read_text() == before and job.report()["status"] == "waiting"
    assert job.sanare("start").returncode == 0
    assert job.sanare("approve", report["id"]).returncode == 0


def test_a_policy_that_changed_since_makes_it_void(job):
    report, _ = ask(job)
    before = job.file.read_text()
    (job.folder / "policy.toml").write_text('version = 1\nmode = "ask"\n')
    job.settings.write_text('[policy]\nfile = "policy.toml"\n')
    done = job.sanare("approve", report["id"])
    assert done.returncode == 1 and "the policy file changed" in done.stderr, done.stderr
    assert job.file.read_text() == before and job.report()["approval"]["state"] == "voided"


def test_named_approvers(tmp_path):
    job = Job(tmp_path / "project", 'mode="ask"', '[policy]\nfile = "policy.toml"\n')
    policy = job.folder / "policy.toml"
    policy.write_text('version = 1\napprovals = { approvers = ["nobody-of-that-name"] }\n')
    job.learn()
    report, _ = ask(job)
    before = job.file.read_text()
    done = job.sanare("approve", report["id"])
    assert done.returncode == 3 and "may not approve" in done.stderr
    assert job.file.read_text() == before and job.report()["status"] == "waiting"
    # Anybody may say no.
    assert job.sanare("deny", report["id"]).returncode == 0


def test_two_persons(tmp_path):
    job = Job(tmp_path / "project", 'mode="ask"', '[policy]\nfile = "policy.toml"\n')
    (job.folder / "policy.toml").write_text("version = 1\napprovals = { count = 2 }\n")
    job.learn()
    report, _ = ask(job)
    before = job.file.read_text()
    for _ in range(2):
        done = job.sanare("approve", report["id"])
        assert done.returncode == 0 and "1 of 2" in done.stdout, done.stdout
    assert job.file.read_text() == before and job.report()["status"] == "waiting"


def test_from_python(job):
    report, _ = ask(job)
    code = (
        "import sanare\n"
        f"waiting = sanare.reports(status='waiting')\n"
        f"assert [one.id for one in waiting] == [{report['id']!r}]\n"
        "done = sanare.approve(waiting[0], reason='seen')\n"
        "assert done.status == 'applied', done\n"
        "try:\n    sanare.approve(done.id)\nexcept sanare.Error as error:\n    print('again:', error)\n"
        "print(sanare.revert(done).outcome)\n"
    )
    done = job.python(code)
    assert done.returncode == 0, done.stderr
    assert "again: nothing is asked" in done.stdout and "rolled_back" in done.stdout
    assert '"amount"' in job.file.read_text() and "Betrag" not in job.file.read_text()


def test_unknown_and_ambiguous_ids(job):
    assert job.sanare("approve", "inc_00000000000000000000000000").returncode == 4
    ask(job)
    assert job.sanare("deny", "inc_").returncode == 4


def test_dry_run_says_what_would_have_been(tmp_path):
    job = Job(tmp_path / "project", 'mode="dry_run"')
    job.learn()
    before = job.file.read_text()
    assert job.run(NEW).returncode == 1
    report = job.report()
    assert report["outcome"] == "refused" and "would have been applied" in report["summary"], report
    assert report["diff"] and job.file.read_text() == before


def test_replay_decides_the_same_and_takes_another_candidate(job):
    report, _ = ask(job)
    done = job.sanare("replay", report["id"])
    assert done.returncode == 0 and "decided as they were" in done.stdout, done.stdout
    assert "same       waiting ask" in done.stdout
    bad = job.folder / "bad.py"
    bad.write_text("def load(path):\n    try:\n        return [1.0]\n    except Exception:\n        return []\n")
    worse = job.sanare("replay", report["id"], "--candidate", str(bad))
    assert worse.returncode == 6 and "failed" in worse.stdout and "policy: refuse" in worse.stdout, worse.stdout
    assert job.sanare("approve", report["id"]).returncode == 0
    assert job.sanare("replay", report["id"]).returncode == 0


def test_memory_only_cannot_be_approved_from_outside(tmp_path):
    job = Job(tmp_path / "project", 'mode="ask", write="memory"')
    job.learn()
    report, _ = ask(job)
    done = job.sanare("approve", report["id"])
    assert done.returncode == 1 and "memory" in done.stderr, done.stderr


def test_json_answers_are_reports(job):
    report, _ = ask(job)
    done = job.sanare("approve", report["id"], "--json")
    assert json.loads(done.stdout)["id"] == report["id"]
