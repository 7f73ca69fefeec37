"""A job that is followed outlives its healer: killed while it runs, the next one goes on, and nothing is asked for twice."""

from __future__ import annotations

import json
import os
import pwd
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL")

CONFIGURATION = """
[policy]
file = "policy.toml"
[[service.fraud.rule]]
id = "age"
signal = "age"
kind = "model_stale"
above = 30
[service.fraud.target.application.request_retraining]
adapter = "command"
argv = {train}
job = {{ argv = {state}, done = ["succeeded"], failed = ["cancelled"], cancel_argv = {cancel} }}
"""
# What is asked the process answers itself.
POLICY = f"""
version = 1
mode = "auto"
always_ask = []
history_min = 0
approvals = {{ approvers = ["{pwd.getpwuid(os.getuid()).pw_name}"] }}
"""
# One line a call in the log of its purpose; `kill_at` names the call at which the healer is killed.
PIPELINE = """\
import os
import signal
import sys

os.chdir(sys.argv[1])
purpose = sys.argv[2]
with open(purpose, "a") as log:
    log.write("called\\n")
if purpose == "train":
    print("job-9")
if purpose == "state":
    print(open("says").read())
if purpose == "cancel":
    open("says", "w").write("cancelled")
if os.path.exists("kill_at") and open("kill_at").read() == purpose:
    os.remove("kill_at")
    os.kill(int(open("pid").read()), signal.SIGKILL)
"""
LIFE = """\
import json
import os
import sys
from pathlib import Path

import sanare

minutes, reason = int(sys.argv[1]), sys.argv[2]
Path("pid").write_text(str(os.getpid()))
now = float(Path("now").read_text())
healer = sanare.Healer("sanare.toml", clock=lambda: now)
service = sanare.Service("fraud", healer=healer)
if reason:
    (open_one,) = healer.incidents()
    healer.undo(open_one["id"], reason)
for _ in range(minutes):
    now += 60
    Path("now").write_text(str(now))
    service.observe("age", 90)
    healer.run_once()
    for one in healer.pending_approvals():
        healer.approve(one["id"], "yes", shown=one["digest"])
incidents = [healer.incident(one["id"]) for one in healer.incidents()]
print(json.dumps({"incidents": incidents, "records": healer.verify_ledger()}))
"""


class Plant:
    """A folder with a pipeline that trains for as long as `says` holds `running`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pipeline.py").write_text(PIPELINE)
        (folder / "life.py").write_text(LIFE)
        (folder / "policy.toml").write_text(POLICY)
        (folder / "now").write_text("1767225600")
        self.says("running")
        call = [sys.executable, "-I", "-S", str(folder / "pipeline.py"), str(folder)]
        of = {name: json.dumps([*call, name, "{job}"]) for name in ("state", "cancel")}
        (folder / "sanare.toml").write_text(CONFIGURATION.format(train=json.dumps([*call, "train"]), **of))

    def says(self, state: str) -> None:
        (self.folder / "says").write_text(state)

    def calls(self, purpose: str) -> int:
        log = self.folder / purpose
        return len(log.read_text().splitlines()) if log.exists() else 0

    def states(self) -> list[str]:
        """Of every receipt, in the order in which they were written."""
        with closing(sqlite3.connect(self.folder / ".sanare" / "store.db")) as store:
            return [state for (state,) in store.execute("select state from service_receipts order by number")]

    def life(self, minutes: int, *, undo: str = "", kill_at: str = "") -> Any:
        if kill_at:
            (self.folder / "kill_at").write_text(kill_at)
        done = subprocess.run(
            [sys.executable, "life.py", str(minutes), undo],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if kill_at else 0), done.stderr
        return None if kill_at else json.loads(done.stdout)


@pytest.mark.parametrize("kill_at", ["train", "state"])
def test_a_job_is_followed_by_whoever_comes_after_a_kill(tmp_path: Path, kill_at: str) -> None:
    plant = Plant(tmp_path)
    plant.life(10, kill_at=kill_at)
    asked = plant.calls("state")
    (incident,) = plant.life(10)["incidents"]
    if kill_at == "train":
        # The answer with the job's name died with whoever asked: nobody knows, so a person is told, and nothing is asked again.
        assert plant.calls("train") == 1
        assert plant.states() == ["unknown"] and incident["outcome"] == "escalated", incident
        return
    assert plant.calls("train") == 1, "no second request"
    assert plant.calls("state") > asked > 0, "it is followed on"
    assert plant.states() == ["started"], incident
    plant.says("succeeded\n43")
    plant.life(3)
    assert plant.calls("train") == 1
    assert plant.states() == ["done"]


def test_a_job_that_runs_is_cancelled_once_over_a_kill(tmp_path: Path) -> None:
    plant = Plant(tmp_path)
    plant.life(3)
    plant.life(3, undo="the wrong data", kill_at="cancel")
    assert (plant.calls("train"), plant.calls("cancel")) == (1, 1)
    (incident,) = plant.life(10)["incidents"]
    assert (plant.calls("train"), plant.calls("cancel")) == (1, 1), "it is not asked to end a second time"
    assert incident["outcome"] == "rolled_back", incident
    assert plant.states() == ["undone", "done"]
