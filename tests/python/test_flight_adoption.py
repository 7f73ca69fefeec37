"""Accepted repairs are taken over: by processes that run the old code still, and after the old text came back (C117)."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from flight_crew import JOB
from flight_project import Crew, check_got, writing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

HEALED = {"load_sales healed": 1}
RAISED = {"load_sales raised": 1}


def alter(crew: Crew, statement: str) -> None:
    store = sqlite3.connect(crew.folder / ".sanare" / "store.db")
    with store:
        assert store.execute(statement).rowcount == 1
    store.close()


def healed_once(crew: Crew) -> tuple[Path, str]:
    """A project whose first process has healed; the text that it wrote."""
    path = crew.write("job")
    crew.load("job")
    assert check_got(crew.workers[0].ask(go={"load_sales": 1})) == HEALED
    text = path.read_text(encoding="utf-8")
    assert text != JOB
    return path, text


def test_a_process_that_runs_the_old_code_takes_the_repair_over(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 3) as crew:
        path, text = healed_once(crew)
        written = writing(path)
        for worker in crew.workers[1:]:
            assert check_got(worker.ask(go={"load_sales": 1})) == HEALED
        steps = crew.steps("job", "load_sales")
        assert (steps["proposed"], steps["opened"], steps["adopted"], steps["written"]) == (1, 1, 2, 0), steps
        assert writing(path) == written
        # A call that is good by now costs nothing and records nothing.
        assert check_got(crew.workers[1].ask(go={"load_sales": 1})) == HEALED
        assert crew.steps("job", "load_sales") == steps
        crew.verify()


def test_a_deployment_that_brings_the_old_text_back_heals_without_a_proposal(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 1) as crew:
        path, text = healed_once(crew)
        path.write_text(JOB, encoding="utf-8")
        crew.add()
        crew.workers[1].ask(load="job")
        assert check_got(crew.workers[1].ask(go={"load_sales": 1})) == HEALED
        assert path.read_text(encoding="utf-8") == text
        steps = crew.steps("job", "load_sales")
        assert (steps["proposed"], steps["adopted"], steps["written"]) == (1, 1, 1), steps
        crew.verify()


def test_the_old_text_among_other_changes_of_the_file(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 1) as crew:
        path, text = healed_once(crew)
        path.write_text("# A line above.\n" + JOB + "\n\nLATER = 1\n", encoding="utf-8")
        crew.add()
        crew.workers[1].ask(load="job")
        assert check_got(crew.workers[1].ask(go={"load_sales": 1})) == HEALED
        assert path.read_text(encoding="utf-8") == "# A line above.\n" + text + "\n\nLATER = 1\n"
        assert crew.steps("job", "load_sales")["proposed"] == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE receipts SET text = replace(text, 'osszeg', 'customer')",
        "UPDATE receipts SET state = 'done', text = text || char(10) || '    pass'",
        "UPDATE receipts SET code = 'another'",
    ],
)
def test_a_row_that_was_altered_by_hand_is_refused(tmp_path: Path, statement: str) -> None:
    with Crew(tmp_path / "project", 1) as crew:
        path, text = healed_once(crew)
        alter(crew, statement)
        path.write_text(JOB, encoding="utf-8")
        crew.add()
        crew.workers[1].ask(load="job")
        assert check_got(crew.workers[1].ask(go={"load_sales": 1})) == HEALED
        steps = crew.steps("job", "load_sales")
        # Healed the long way, as if there were no such row.
        assert (steps["proposed"], steps["adopted"]) == (2, 0), steps
        assert path.read_text(encoding="utf-8") == text


def test_a_repair_that_was_taken_back_is_not_adopted_even_if_its_row_says_so(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 2) as crew:
        path, _ = healed_once(crew)
        [incident] = {row[0] for row in sqlite3.connect(crew.folder / ".sanare" / "store.db").execute(
            "SELECT incident FROM receipts")}  # fmt: skip
        done = crew.command("revert", incident)
        assert done.returncode == 0, done.stderr
        assert path.read_text(encoding="utf-8") == JOB
        alter(crew, "UPDATE receipts SET state = 'done'")
        crew.workers[1].ask(go={"load_sales": 1})
        assert crew.steps("job", "load_sales")["adopted"] == 0


def test_the_stop_switch_holds(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 2) as crew:
        path, text = healed_once(crew)
        assert crew.command("stop").returncode == 0
        assert check_got(crew.workers[1].ask(go={"load_sales": 1})) == RAISED
        assert crew.steps("job", "load_sales")["adopted"] == 0
        assert path.read_text(encoding="utf-8") == text


def test_an_owner_who_wrote_something_else_is_not_overruled(tmp_path: Path) -> None:
    with Crew(tmp_path / "project", 2) as crew:
        path, text = healed_once(crew)
        own = text.replace("sorted(", "list(")
        path.write_text(own, encoding="utf-8")
        assert check_got(crew.workers[1].ask(go={"load_sales": 1})) == RAISED
        assert crew.steps("job", "load_sales")["adopted"] == 0
        assert path.read_text(encoding="utf-8") == own
