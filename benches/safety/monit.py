"""The same small service under monit, told to start it again for the same symptom: for what it does beside Sanare.

monit looks each second here, where Sanare's probe looks each 15 s of service time; so its figures are told in looks. It is
configured as its own manual does: three failures in a row, and no more than three starts within twenty looks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from plant import HERE, SLOW, Keeper, ask

LOOKS = 25
RC = """set daemon 1
set pidfile {folder}/monit.pid
set idfile {folder}/monit.id
set statefile {folder}/monit.state
set log {folder}/monit.log
check process model with pidfile {folder}/pid
  start program = "{python} -I -S {hand} {keeper} /restart" with timeout 10 seconds
  stop program = "{python} -I -S {hand} {keeper} /stop" with timeout 10 seconds
  if failed host 127.0.0.1 port {port} protocol http request "/score" with timeout 1 seconds for 3 cycles then restart
  if 3 restarts within 20 cycles then unmonitor
"""


class Beside(NamedTuple):
    name: str
    begin: Callable[[Keeper], object]
    heals: bool
    """Whether a start heals it."""
    wanted: int
    """Starts that are no harm."""
    each: Callable[[Keeper, int], object] = lambda keeper, look: None


def ill(keeper: Keeper, **how: object) -> None:
    ask(keeper.service + "/ill", how, 5)


def cursed(keeper: Keeper, **how: object) -> None:
    keeper.curse(**how)
    ill(keeper, **how)


def badly_kept(manner: str) -> Callable[[Keeper], object]:
    def begin(keeper: Keeper) -> None:
        keeper.manner = manner
        ill(keeper, errors=1.0)

    return begin


def by_hand(keeper: Keeper, look: int) -> None:
    if look == 2:
        keeper.start()


FAULTS = [
    Beside("hang", lambda keeper: keeper.hangs(), True, 1),
    Beside("crash", lambda keeper: keeper.dies(), True, 1),
    Beside("crash loop", lambda keeper: (keeper.curse(dies=1.0), keeper.dies()), False, 1),
    Beside("half-alive", lambda keeper: ill(keeper, errors=1.0), True, 1),
    Beside("slow", lambda keeper: ill(keeper, slow=0.3), True, 1),
    Beside("steady 5xx", lambda keeper: ill(keeper, errors=0.5), True, 1),
    Beside("memory leak", lambda keeper: ill(keeper, memory=True), True, 1),
    Beside("no traffic", lambda keeper: None, False, 0),
    Beside("bad by errors", lambda keeper: cursed(keeper, errors=1.0), False, 0),
    Beside("keeper lies", badly_kept("lies"), False, 1),
    Beside("a person acts meanwhile", lambda keeper: ill(keeper, errors=1.0), True, 1, by_hand),
    Beside("flapping", lambda keeper: None, False, 1, lambda keeper, look: ill(keeper, errors=float(look % 8 < 4))),
]


def ready() -> str | None:
    """Nothing if monit is there; else why not."""
    if shutil.which("monit") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        # Debian's, which is what is compared with; only this bench installs it.
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", "monit"], capture_output=True)
    return None if shutil.which("monit") else "monit is not installed, and cannot be installed here"


def starts(folder: Path) -> int:
    return sum(line.startswith("start") for line in (folder / "truth").read_text().splitlines())


def play(fault: Beside, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    (folder / "artefact-1").write_text("{}")
    (folder / "live").write_text("1")
    keeper = Keeper(folder)
    keeper.start()
    rc = folder / "monitrc"
    hand = HERE / "hand.py"
    rc.write_text(RC.format(folder=folder, python=sys.executable, hand=hand, keeper=keeper.address, port=keeper.port))
    rc.chmod(0o600)
    monit = subprocess.Popen(["monit", "-I", "-c", str(rc)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        fault.begin(keeper)
        before, first = starts(folder), None
        for look in range(LOOKS):
            fault.each(keeper, look)
            time.sleep(1)
            if first is None and (keeper.calls["restart"] or keeper.calls["stop"]):
                first = look + 1
        asked, own = keeper.calls["restart"], starts(folder) - before
        # Fixed by now, or for good not: asked as users would.
        began = time.monotonic()
        answers = [ask(f"{keeper.service}/score?row={row}") for row in range(6)]
        slow = time.monotonic() - began > 6 * SLOW
        log = (folder / "monit.log").read_text() if (folder / "monit.log").exists() else ""
        return {
            "fault": fault.name,
            "first_look": first,
            "asked": asked,
            "starts": own,
            "well": not slow and all(answer is not None for answer in answers),
            "gave_up": "unmonitor" in log,
            "too_many": max(0, asked - fault.wanted),
            "heals": fault.heals,
        }
    finally:
        monit.terminate()
        monit.wait()
        keeper.end()


def beside() -> dict[str, Any]:
    why = ready()
    if why is not None:
        print(f"\nNOT RUN: {why}; its figures are not shown")
        return {"not_run": why}
    print("\nbeside it, monit (three failures in a row: restart; three restarts within twenty looks: give up)")
    print(f"{'fault':28} {'first act':>10} {'starts asked':>13} {'well':>6}  {'more than help':>14}")
    with tempfile.TemporaryDirectory(prefix="sanare-monit-") as folder, ThreadPoolExecutor(len(FAULTS)) as pool:
        found = list(pool.map(lambda fault: play(fault, Path(folder) / fault.name.replace(" ", "-")), FAULTS))
    for one in found:
        first = "never" if one["first_look"] is None else f"look {one['first_look']}"
        told = " and gave up" if one["gave_up"] else ""
        print(f"{one['fault']:28} {first:>10} {one['asked']:>13} {one['well']!s:>6}  {one['too_many']:>14}{told}")
    healed = sum(one["well"] for one in found if one["heals"])
    total = {
        "healed": healed,
        "healable": sum(one["heals"] for one in found),
        "more_than_help": sum(one["too_many"] for one in found),
        # It tells of an event by mail and verifies nothing: whether an act helped is for the next look.
        "verified": 0,
    }
    print(
        f"monit: {total['healed']} of {total['healable']} well again, {total['more_than_help']} starts that could not help"
    )
    return total


if __name__ == "__main__":
    beside()
