"""`sanare.Report`: one frozen object, the same in Python and on the command line, readable at night (C99, C100)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import sanare
from helpers_real import JOB, NEW, OLD, Job

FIELDS = Path(__file__).with_name("report_fields.json")


def kinds(value):
    """Names and JSON kinds of a report's fields, two levels deep."""
    names = {str: "text", bool: "flag", int: "number", float: "number", type(None): "nothing"}
    if isinstance(value, dict):
        return {name: kinds(one) for name, one in sorted(value.items())}
    if isinstance(value, list):
        return [kinds(value[0])] if value and isinstance(value[0], (str, dict)) else []
    return names[type(value)]


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "project")
    made.learn()
    return made


def test_the_schema_is_one_for_python_and_the_command(job):
    code = (
        "import sys, runpy, json, sanare\n"
        "sys.argv = ['job.py', 'export.csv']\n"
        "runpy.run_path('job.py', run_name='__main__')\n"
        "print(sanare.last_report().to_json())\n"
    )
    job.data.write_text(NEW)
    done = job.python(code)
    assert done.returncode == 0, done.stderr
    in_python = json.loads(done.stdout.splitlines()[-1])
    on_the_command_line = json.loads(job.sanare("show", in_python["id"], "--json").stdout)
    assert list(in_python) == list(on_the_command_line) and kinds(in_python) == kinds(on_the_command_line)
    snapshot = kinds(in_python)
    expected = json.loads(FIELDS.read_text())
    assert snapshot == expected, json.dumps(snapshot, indent=1)
    assert in_python["status"] == "closed" and in_python["outcome"] == "healed" and in_python["rerun"] == "done"


WANTED = (
    "id fingerprint status outcome reason summary function path line classification proposer tier confidence unverified diff "
    "attempts gates rerun usage approval delivery created_at closed_at occurrences"
).split()


def test_every_field_of_the_specification_is_there(job):
    job.run(NEW)
    report = job.report()
    assert [name for name in WANTED if name not in report] == []
    attempt = report["attempts"][0]
    assert {"number", "proposer", "candidate", "diff", "gates", "rejected_because", "usage"} <= set(attempt)
    assert attempt["number"] == 1 and len(attempt["candidate"]) == 64 and attempt["diff"] == report["diff"]
    assert report["confidence"] is None and report["unverified"] is False and report["occurrences"] == 1


def test_frozen():
    from sanare._report import Report

    report = Report({"id": "inc_1", "attempts": [{"number": 1}], "summary": "x"})
    for act in (lambda: setattr(report, "id", "y"), lambda: setattr(report, "new", 1), lambda: delattr(report, "id")):
        with pytest.raises(AttributeError):
            act()
    report.attempts.append("more")
    report.attempts[0]["number"] = 7
    report.to_dict()["attempts"].clear()
    assert report.attempts == [{"number": 1}] and report.to_dict() == json.loads(report.to_json())
    assert report == Report(report.to_dict()) and hash(report) == hash(Report(report.to_dict()))
    with pytest.raises(AttributeError, match="no field"):
        report.unheard_of  # noqa: B018


def test_what_a_person_reads_at_night(job):
    job.run(NEW.replace("Betrag", "fee").replace("id", "reference_fee"))
    report = job.report()
    text = job.sanare("show", report["id"]).stdout
    assert report["outcome"] == "refused", report
    for words in ("failed     load in job.py:", "error      KeyError: 'amount'", "because ", "refusal ", "amount: ",
                  "now "):  # fmt: skip
        assert words in text, (words, text)
    assert "for: " in text
    listed = job.sanare("incidents").stdout
    assert report["id"] in listed and "UTC" not in listed and report["reason"] in listed


def test_a_report_for_each_outcome(tmp_path):
    for name, options, data, expected in [
        ("healed", "", NEW, ("closed", "healed", "ok")),
        ("waiting", 'mode="ask"', NEW, ("waiting", "", "")),
        ("dry", 'mode="dry_run"', NEW, ("closed", "refused", "policy")),
        ("observed", 'mode="observe"', NEW, ("closed", "refused", "policy")),
        ("unsafe", 'rerun="never"', NEW, ("applied", "", "rerun_unsafe")),
        ("nothing", "", "x\n1\n", ("closed", "refused", None)),
    ]:
        job = Job(tmp_path / name, options)
        job.learn()
        job.run(data)
        report = job.report()
        status, outcome, reason = expected
        assert (report["status"], report["outcome"]) == (status, outcome), (name, report)
        assert reason is None or report["reason"] == reason, (name, report)
        assert report["next"] or outcome == "", (name, report)
        assert report["id"] in job.sanare("show", report["id"]).stdout
        assert job.sanare("ledger", "verify").returncode == 0


def test_64_threads_each_get_their_own(project):
    modules = [project.load(JOB % 'mode="observe"', f"probe_thread_{number}") for number in range(64)]
    file = project.folder / "new.csv"
    file.write_text(NEW)
    seen: dict[int, tuple[str, str]] = {}
    barrier = threading.Barrier(64)

    def work(number: int) -> None:
        barrier.wait()
        try:
            modules[number].load(str(file))
        except KeyError as error:
            report = sanare.report(error)
            last = sanare.last_report()
            assert report is not None and last is report
            seen[number] = (report.id, report.path)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({incident for incident, _ in seen.values()}) == 64
    assert all(path == f"probe_thread_{number}.py" for number, (_, path) in seen.items())
    assert sanare.report(ValueError("another")) is None
    assert len(sanare.reports(limit=10)) == 10


def test_a_report_that_no_store_holds(project):
    module = project.load(JOB % "", "probe_no_store")
    (project.folder / ".sanare").mkdir(exist_ok=True)
    (project.folder / ".sanare" / "store.db").write_bytes(b"no store at all" * 100)
    file = project.folder / "new.csv"
    file.write_text(NEW)
    with pytest.raises(KeyError) as caught:
        module.load(str(file))
    report = sanare.report(caught.value)
    assert report is not None and report is sanare.last_report()
    assert report.outcome == "escalated" and "store" in report.summary and report.id == "", report
    assert len(caught.value.__notes__) == 1 if hasattr(caught.value, "__notes__") else True


def test_patches(job):
    import subprocess

    job.file.write_bytes(job.file.read_bytes().replace(b"\n", b"\r\n"))
    subprocess.run(["git", "init", "-q"], cwd=job.folder, check=True)
    base = job.file.read_bytes()
    assert job.run(NEW).returncode == 0
    diff = job.sanare("diff", job.report()["id"])
    patch = job.folder / "fix.patch"
    patch.write_bytes(diff.stdout.encode())
    done = subprocess.run(["git", "apply", "--check", "fix.patch"], cwd=job.folder, capture_output=True, check=False)
    assert done.returncode != 0
    repaired = job.file.read_bytes()
    job.file.write_bytes(base)
    raw = subprocess.run(
        [__import__("sys").executable, "-m", "sanare", "diff", job.report()["id"]],
        cwd=job.folder, env=job.environment(), capture_output=True, check=True,
    ).stdout  # fmt: skip
    patch.write_bytes(raw)
    done = subprocess.run(["git", "apply", "fix.patch"], cwd=job.folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert job.file.read_bytes() == repaired


def test_save_patch_of_any_text_file(project):
    import hashlib
    import subprocess

    text = project.folder / "notes" / "größe.txt"
    text.parent.mkdir()
    text.write_text("one\ntwo", encoding="utf-8")
    patch, sidecar = sanare.save_patch(text, "one\nthree", reason="two was wrong")
    assert text.read_text(encoding="utf-8") == "one\ntwo"
    record = json.loads(Path(sidecar).read_text(encoding="utf-8"))
    assert record["path"] == "notes/größe.txt" and str(project.folder) not in json.dumps(record)
    assert record["base_sha256"] == hashlib.sha256(b"one\ntwo").hexdigest()
    assert record["candidate_sha256"] == hashlib.sha256(b"one\nthree").hexdigest()
    done = subprocess.run(["git", "apply", "--check", patch], cwd=project.folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    text.write_text("other\ntwo", encoding="utf-8")
    done = subprocess.run(["git", "apply", "--check", patch], cwd=project.folder, capture_output=True, check=False)
    assert done.returncode != 0
    for path in ("/etc/hostname", project.folder / "none.txt"):
        with pytest.raises(sanare.Error, match="no file of the project"):
            sanare.save_patch(path, "x", project=project.folder)
    (project.folder / "bytes.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(sanare.Error, match="UTF-8"):
        sanare.save_patch(project.folder / "bytes.bin", "x")


def test_old_input_is_still_right_after_a_heal(job):
    assert job.run(NEW).stdout.strip() == "[3.5, 4.25]"
    assert job.run(OLD).stdout.strip() == "[3.5, 4.25]"


def test_patches_as_files_when_the_owner_wants_them(tmp_path):
    import subprocess

    job = Job(tmp_path / "project", 'mode="ask"', "[git]\npatches = true\n")
    job.learn()
    base = job.file.read_bytes()
    job.run(NEW)
    report = job.report()
    patch = job.folder / ".sanare" / "patches" / f"{report['id']}.patch"
    record = json.loads(patch.with_suffix(".json").read_text())
    assert patch.read_text() == report["diff"] and record["fingerprint"] == report["fingerprint"]
    assert (record["path"], record["function"], record["proposer"]) == ("job.py", "load", "drift")
    assert str(job.folder) not in json.dumps(record)
    subprocess.run(["git", "init", "-q"], cwd=job.folder, check=True)
    for text, fits in ((base, True), (base.replace(b"amount", b"total"), False)):
        job.file.write_bytes(text)
        done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=job.folder, capture_output=True, check=False)
        assert (done.returncode == 0) is fits, done.stderr
