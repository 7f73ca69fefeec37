"""Real heals for the tests of what a person sees: a small job whose header was renamed, and the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sanare

# Where this very package lies: the wheel that is tested, or a tree on `PYTHONPATH`.
PYTHON = str(Path(sanare.__file__).resolve().parents[1])

JOB = """
import csv
import sanare

@sanare.heal(%s)
def load(path):
    with open(path, newline="") as handle:
        return [float(row["amount"]) for row in csv.DictReader(handle)]

if __name__ == "__main__":
    import sys
    print(load(sys.argv[1]))
"""
OLD = "id,amount\n1,3.5\n2,4.25\n"
NEW = "id,Betrag\n1,3.5\n2,4.25\n"


class Job:
    """A project with one job, run as its own process."""

    def __init__(self, folder: Path, options: str = "", settings: str = "") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "job.py"
        self.file.write_text(JOB % options)
        self.settings = folder / "sanare.toml"
        self.settings.write_text(settings)
        self.data = folder / "export.csv"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SANARE_")}
        return {**kept, "PYTHONPATH": PYTHON, "PYTHONDONTWRITEBYTECODE": "1", **more}

    def run(self, text: str, **more: str) -> subprocess.CompletedProcess[str]:
        self.data.write_text(text)
        command = [sys.executable, str(self.file), str(self.data)]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment(**more), capture_output=True, text=True, timeout=120
        )

    def sanare(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sanare", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment(**more), capture_output=True, text=True, timeout=120
        )

    def python(self, code: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment(**more), capture_output=True, text=True, timeout=120
        )

    def report(self, place: int = 0) -> dict:
        import json

        done = self.sanare("incidents", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        return found[place]

    def learn(self) -> None:
        """A good call of the old shape, so that there is something to compare with."""
        assert self.run(OLD).stdout.strip() == "[3.5, 4.25]"
