"""`sanare demo --services`: a model service goes bad, and is rolled back once a person agrees. Its clock runs fast."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from sanare._demo import EXAMPLES, Paint, piped
from sanare._healer import Healer
from sanare._service import Service

EXAMPLE = EXAMPLES / "model_service"
# Seconds between two looks, as the demo's clock runs.
STEP = 5


class Story:
    """The service, its requests and its healer, on a clock that the demo moves."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_767_225_600.0
        self.began = self.now
        self.healer = Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.service = Service("fraud", healer=self.healer)
        spec = importlib.util.spec_from_file_location("model_service", EXAMPLE / "model_service.py")
        assert spec is not None and spec.loader is not None
        example: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        self.requests = example.requests()
        self.model, self.score = example.serve(self.service, "1")

    def minutes(self, count: float) -> None:
        """Minutes pass, with traffic."""
        for _ in range(int(count * 60 / STEP)):
            self.now += STEP
            for request in self.requests:
                try:
                    self.score(request)
                except KeyError:
                    pass
            self.healer.run_once()

    def until(self, wanted: Any, most: int = 40) -> None:
        """Minutes pass until something is so."""
        end = self.now + most * 60
        while not wanted() and self.now < end:
            self.minutes(STEP / 60)

    def clock(self) -> str:
        passed = int(self.now - self.began)
        return f"{passed // 60:3d}:{passed % 60:02d}"


def main() -> int:
    """Plays the story in a fresh folder that stays. 0 if all went as it must."""
    paint = Paint(sys.stdout)
    for name in [name for name in os.environ if name.startswith("SANARE_")]:
        del os.environ[name]
    logging.getLogger("sanare").addHandler(logging.NullHandler())
    folder = Path(tempfile.mkdtemp(prefix="sanare-demo-services-"))
    shutil.copy(EXAMPLE / "sanare.toml", folder)
    policy = (EXAMPLE / "policy.toml").read_text(encoding="utf-8")
    (folder / "policy.toml").write_text(policy.replace("PERSON", _person()), encoding="utf-8")
    print(f"A model service in {folder}. No network, no key, no server; its clock runs fast.")
    story = Story(folder)

    def tell(text: str) -> None:
        print(f"  {story.clock()}  {text}")

    story.minutes(10)
    tell("version 1 serves; nothing is wrong, nobody is told")
    story.healer.mark_good("fraud", "1", "it has served for months")
    tell("a person calls it known-good")
    story.model.version = "2"
    story.service.deployed("2")
    tell("version 2 goes live: half of its requests fail")
    story.until(lambda: story.healer.incidents())
    incident = story.healer.incidents()[0]
    tell(paint.bold(f"incident: {incident['kind']}, {incident['severity']}"))
    story.until(lambda: story.healer.pending_approvals(), 5)
    asked = story.healer.pending_approvals()[0]
    versions = asked["params"]["rollback"]
    tell(f"proposed: {asked['action']} from {versions['from_version']} to {versions['to_version']}")
    for reason in asked["reasons"]:
        tell(f"  asks, because {reason}")
    story.healer.approve(asked["id"], "the demo says yes", shown=asked["digest"])
    tell("a person says yes: sanare approve " + asked["id"][:12])
    story.until(lambda: story.model.version == "1", 5)
    tell("version 1 serves again; one good minute is no recovery, so it is watched")
    story.until(lambda: story.healer.incidents()[0]["outcome"] is not None)
    ended = story.healer.incidents()[0]
    tell(paint.good(f"{ended['outcome']}, by {ended['closed_by']}"))
    records = story.healer.verify_ledger()
    print()
    print(paint.bold("The records"))
    print(f"  {records} records, and their chain holds")
    print(f"  sanare --project {folder} incidents")
    print(f"  sanare --project {folder} incident show {ended['id']}")
    print(f"  Remove {folder} when you have seen enough.")
    if (ended["outcome"], ended["closed_by"], story.model.version) != ("healed", "action", "1"):
        print("\nNot as it must be", file=sys.stderr)
        return 1
    return 0


def _person() -> str:
    """The account that runs this, as approvers are named."""
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


if __name__ == "__main__":
    sys.exit(piped(main))
