"""The same small service under an alert and a script that starts it again at each alert, as a webhook executor does.

The alert fires after three failures in a row and is told again every five looks while it goes on, until a look passes: how an
alert manager is set up by its manual, with a look a second. The script asks nothing and keeps nothing: it restarts.
"""

from __future__ import annotations

import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from monit import FAULTS, LOOKS, Beside, starts
from plant import SLOW, Keeper, ask

FAILURES, AGAIN = 3, 5


class Executor:
    """What gets the alerts."""

    def __init__(self, keeper: Keeper) -> None:
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                ask(keeper.address + "/restart", {}, 10)
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def play(fault: Beside, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    (folder / "artefact-1").write_text("{}")
    (folder / "live").write_text("1")
    keeper = Keeper(folder)
    keeper.start()
    executor = Executor(keeper)
    told: list[threading.Thread] = []
    try:
        fault.begin(keeper)
        before, first, failures = starts(folder), None, 0
        for look in range(LOOKS):
            fault.each(keeper, look)
            time.sleep(1)
            failures = 0 if ask(keeper.service + "/score") is not None else failures + 1
            if failures >= FAILURES and (failures - FAILURES) % AGAIN == 0:
                first = look + 1 if first is None else first
                told.append(threading.Thread(target=ask, args=(executor.address, {"status": "firing"}, 15)))
                told[-1].start()
        for one in told:
            one.join()
        asked, own = keeper.calls["restart"], starts(folder) - before
        began = time.monotonic()
        answers = [ask(f"{keeper.service}/score?row={row}") for row in range(6)]
        slow = time.monotonic() - began > 6 * SLOW
        return {
            "fault": fault.name,
            "first_look": first,
            "asked": asked,
            "starts": own,
            "well": not slow and all(answer is not None for answer in answers),
            "too_many": max(0, asked - fault.wanted),
            "heals": fault.heals,
        }
    finally:
        executor.end()
        keeper.end()


def beside() -> dict[str, Any]:
    print(f"\nbeside it, a webhook executor (an alert after {FAILURES} failures, again every {AGAIN} looks: restart)")
    print(f"{'fault':28} {'first act':>10} {'starts asked':>13} {'well':>6}  {'more than help':>14}")
    with tempfile.TemporaryDirectory(prefix="sanare-webhook-") as folder, ThreadPoolExecutor(len(FAULTS)) as pool:
        found = list(pool.map(lambda fault: play(fault, Path(folder) / fault.name.replace(" ", "-")), FAULTS))
    for one in found:
        first = "never" if one["first_look"] is None else f"look {one['first_look']}"
        print(f"{one['fault']:28} {first:>10} {one['asked']:>13} {one['well']!s:>6}  {one['too_many']:>14}")
    total = {
        "healed": sum(one["well"] for one in found if one["heals"]),
        "healable": sum(one["heals"] for one in found),
        "more_than_help": sum(one["too_many"] for one in found),
        "verified": 0,
    }
    said = f"{total['healed']} of {total['healable']} well again, {total['more_than_help']} starts that could not help"
    print(f"webhook executor: {said}")
    return total


if __name__ == "__main__":
    beside()
