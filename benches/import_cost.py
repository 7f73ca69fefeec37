"""What an import costs over the bare interpreter: processor time and resident memory, of fresh processes.

    python import_cost.py ROUNDS PYTHON_WITH_SANARE PYTHON_WITH_PEER

The candidates take turns, so that a busy moment of the machine hits all of them. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from statistics import median, quantiles

DECORATE = "\n\n@{0}\ndef one(a, b):\n    return a\n"
BODIES = {
    "bare": ("", 0),
    "sanare": ("import sanare", 0),
    "sanare and one function": ("import sanare" + DECORATE.format("sanare.heal"), 0),
    "bare (peer's venv)": ("", 1),
    "healing_agent": ("import healing_agent", 1),
    "healing_agent and one function": (
        "from healing_agent import healing_agent" + DECORATE.format("healing_agent"),
        1,
    ),
}
# The child's own words on its memory: what the parent is told of a child counts the parent's pages too.
TELL = "\nimport sys\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0], len(sys.modules))\n"


def run(python: str, script: str, home: str) -> tuple[float, float, int]:
    """Processor milliseconds, resident MiB and number of modules of one process."""
    reader, writer = os.pipe()
    environment = {"HOME": home, "PATH": os.environ.get("PATH", ""), "HEALING_AGENT_PROVIDER": "ollama"}
    actions = [(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_CLOSE, reader)]
    child = os.posix_spawn(python, [python, "-I", script], environment, file_actions=actions)
    os.close(writer)
    with os.fdopen(reader) as output:
        told = output.read().split("\n")
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{python} {script} failed")
    kilobytes, modules = next(line for line in reversed(told) if line).split()
    return (usage.ru_utime + usage.ru_stime) * 1000, int(kilobytes) / 1024, int(modules)


def main() -> None:
    rounds, pythons = int(sys.argv[1]), sys.argv[2:4]
    with tempfile.TemporaryDirectory() as home:
        scripts = {}
        for number, (name, (body, which)) in enumerate(BODIES.items()):
            if which < len(pythons):
                scripts[name] = (pythons[which], os.path.join(home, f"case{number}.py"))
                with open(scripts[name][1], "w", encoding="utf-8") as file:
                    file.write(body + TELL)
        samples: dict[str, list[tuple[float, float, int]]] = {name: [] for name in scripts}
        for number in range(rounds + 2):
            for name, (python, script) in scripts.items():
                sample = run(python, script, home)
                if number >= 2:  # The first two fill the caches.
                    samples[name].append(sample)
    print(json.dumps({name: summary(rows) for name, rows in samples.items()}))


def summary(rows: list[tuple[float, float, int]]) -> dict[str, object]:
    cpu, memory = [row[0] for row in rows], [row[1] for row in rows]
    return {
        "cpu_ms": [median(cpu), *quantiles(cpu)[::2]],
        "rss_mib": [median(memory), *quantiles(memory)[::2]],
        "modules": rows[-1][2],
        "runs": len(rows),
    }


if __name__ == "__main__":
    main()
