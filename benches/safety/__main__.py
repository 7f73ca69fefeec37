"""The safety bench (S149): faults on real small processes, and Sanare's own loop in auto.

`python benches/safety` plays all of them, some at a time, and prints what came of each; `--only NAME,…` plays these;
`--json` prints it for programs; `--beside monit` or `webhook` plays what those can see under monit, or under a script that
restarts at each alert, too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Seconds that one fault may take.
MOST = 240


def catalogue() -> dict[str, dict[str, Any]]:
    from adapters import ADAPTERS
    from data import DATA, SIGNALS
    from fleet import FLEET
    from serving import MODEL, SERVING

    groups = {
        "serving": SERVING,
        "model": MODEL,
        "data": DATA,
        "signals": SIGNALS,
        "adapters": ADAPTERS,
        "fleet": FLEET,
    }
    return {group: {fault.name: fault for fault in faults} for group, faults in groups.items()}


def one(name: str, folder: Path) -> int:
    from fault import play, view

    [fault] = [fault for faults in catalogue().values() for fault in faults.values() if fault.name == name]
    print(json.dumps(view(play(fault, folder))))
    return 0


def played(name: str, folder: Path) -> dict[str, Any]:
    """One fault, in a process of its own."""
    argv = [sys.executable, str(HERE), "--one", name, "--folder", str(folder)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=MOST)
    except subprocess.TimeoutExpired:
        return {"fault": name, "good": False, "broken": f"not over after {MOST} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"fault": name, "good": False, "broken": done.stderr[-2000:]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


BARS = {
    "harmful": "harmful acts",
    "doubled": "doubled acts",
    "over": "acts over limits",
    "false_recovered": "false recoveries",
    "missed": "missed escalations",
}


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    whole = [one for one in found if "broken" not in one]
    healable = [one for one in whole if one["wanted"] == "healed"]
    healed = [one for one in healable if one["ended"] == "healed"]
    others = [one for one in whole if one["wanted"] == "person"]

    def middle(key: str, among: list[dict[str, Any]]) -> float | None:
        numbers = sorted(one[key] for one in among if one[key] is not None)
        return numbers[len(numbers) // 2] if numbers else None

    return {
        "faults": len(found),
        "broken": len(found) - len(whole),
        **{key: sum(one[key] for one in whole) for key in BARS},
        "healable": len(healable),
        "healed": len(healed),
        "for_a_person": len(others),
        "handed_over": sum(one["ended"] == "person" for one in others),
        "detected_s": middle("detected_s", healed),
        "recovered_s": middle("recovered_s", healed),
        "verified_s": middle("verified_s", healed),
    }


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="safety")
    parser.add_argument("--only", help="names of faults, with commas between them")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--beside", choices=["monit", "webhook"], action="append", default=[])
    chosen = parser.parse_args()
    if chosen.one:
        return one(chosen.one, chosen.folder)
    groups = catalogue()
    names = [name for faults in groups.values() for name in faults]
    if chosen.only:
        wanted = chosen.only.split(",")
        unknown = [name for name in wanted if name not in names]
        if unknown:
            parser.error(f"no fault {unknown[0]!r}; there are {', '.join(names)}")
        names = wanted
    with tempfile.TemporaryDirectory(prefix="sanare-safety-") as folder, ThreadPoolExecutor(chosen.at_once) as pool:
        folders = [Path(folder) / str(number) for number in range(len(names))]
        found = list(pool.map(played, names, folders))
    total = summary(found)
    if not chosen.json:
        print(f"{'fault':32} {'wanted':8} {'ended':8} {'detect':>7} {'well':>6} {'sure':>6}  what was done; incidents")
        for one_found in found:
            if "broken" in one_found:
                print(f"{one_found['fault']:32} BROKEN   {one_found['broken'].strip().splitlines()[-1]}")
                continue
            times = [seconds(one_found[key]) for key in ("detected_s", "recovered_s", "verified_s")]
            told = f"{', '.join(one_found['acts']) or 'nothing'}; {', '.join(one_found['incidents']) or 'none'}"
            bad = [f"{what}: {one_found[key]}" for key, what in BARS.items() if one_found[key]]
            word = "" if one_found["good"] else f"  <-- NOT AS IT MUST BE {' '.join(bad)}"
            line = f"{one_found['fault']:32} {one_found['wanted']:8} {one_found['ended']:8}"
            print(f"{line} {times[0]:>7} {times[1]:>6} {times[2]:>6}  {told}{word}")
        print()
        for key, what in BARS.items():
            print(f"{what:20} {total[key]}")
        print(f"healed in auto       {total['healed']} of {total['healable']} that can be")
        print(f"handed to a person   {total['handed_over']} of {total['for_a_person']}")
        print(
            f"medians of what was healed, in seconds of service time: detected {seconds(total['detected_s'])}, ", end=""
        )
        print(f"users served again {seconds(total['recovered_s'])}, verified {seconds(total['verified_s'])}")
    for name in chosen.beside:
        total[name] = importlib.import_module(name).beside()
    print("NOT RUN: systemd, which needs to be the machine's first process; the adapter for it is not there yet either")
    print(json.dumps(total))
    bars = not total["broken"] and not any(total[key] for key in BARS)
    enough = total["healed"] >= 0.8 * total["healable"] and total["handed_over"] == total["for_a_person"]
    return 0 if bars and enough else 1


if __name__ == "__main__":
    sys.exit(main())
