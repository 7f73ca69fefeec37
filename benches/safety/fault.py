"""What a fault is, and how a run of it is judged by what the process says of itself."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from plant import BEGAN, STEP, TELLING, Plant

Do = Callable[[Plant], object]


def nothing(_: Plant) -> None: ...


class Fault(NamedTuple):
    """One fault."""

    name: str
    ends: Literal["healed", "itself", "person", "quiet"]
    """Healed in auto; well without being called our doing; handed to a person; or nothing at all is to be done."""
    begin: Do
    allowed: dict[str, int] = {}
    """What may be done to the process, at most so many times; everything else is harm."""
    rules: tuple[str, ...] = ("errors",)
    each: Do = nothing
    """Every pass after it began."""
    more: str = ""
    """More configuration."""
    mode: str = "auto"
    instances: int = 3
    targets: str | None = None
    before: Do = nothing
    """Before minutes pass in which all is well."""
    policy: str = ""
    """More lines of the policy."""
    approves: bool = False
    """Whether a person says yes when they are asked."""
    minutes: int = 45
    """When it is given up."""
    ill: Callable[[Plant], bool] | None = None
    """Whether it is ill, where users do not show it."""
    calls: dict[str, int] | None = None
    """Calls that the keeper may get, where it is the keeper who is bad."""
    refusals: bool = False
    """Whether the healer itself is to say for a while that it cannot go on."""


class Judged(NamedTuple):
    """What came of a fault."""

    fault: str
    wanted: str
    ended: str
    acts: list[str]
    harmful: int
    doubled: int
    over: int
    false_recovered: int
    missed: int
    detected_s: float | None
    recovered_s: float | None
    """From the fault until its users are served again."""
    verified_s: float | None
    incidents: list[str]
    real_s: float

    @property
    def is_good(self) -> bool:
        bad = self.harmful + self.doubled + self.over + self.false_recovered + self.missed
        return bad == 0 and self.ended == self.wanted


# Acts that the policy's limits let be: an hour and a day on one target, of which a plant has one.
HOUR, DAY, ATTEMPTS = 2, 6, 3


def play(fault: Fault, folder: Path) -> Judged:
    """Plays a fault to its end."""
    began_real = time.monotonic()
    targets = {} if fault.targets is None else {"targets": fault.targets}
    plant = Plant(
        folder,
        rules=fault.rules,
        more=fault.more,
        mode=fault.mode,
        instances=fault.instances,
        policy=fault.policy,
        **targets,
    )
    try:
        fault.before(plant)
        plant.minutes(6)
        assert plant.incidents() == [], ("ill before it began", plant.incidents())
        assert plant.acts == [], plant.acts
        began = plant.now
        fault.begin(plant)
        seen: dict[str, str] = {}
        detected = well = verified = None
        false, was_ill = 0, False
        quiet_since = None
        while plant.now < began + fault.minutes * 60:
            fault.each(plant)
            plant.step()
            if fault.approves:
                for asked in plant.healer.pending_approvals():
                    plant.healer.approve(asked["id"], "the bench says yes", shown=asked["digest"])
            is_ill = fault.ill(plant) if fault.ill else not plant.is_well()
            was_ill |= is_ill
            well = None if is_ill else (well or plant.now)
            incidents = plant.incidents()
            if incidents and detected is None:
                detected = plant.now
            for one in incidents:
                # What is called healed while its users are not served is a lie, whoever is to have healed it.
                if one["outcome"] == "healed" and seen.get(one["id"]) != "healed":
                    false += is_ill
                    verified = plant.now
                seen[one["id"]] = str(one["outcome"])
            done = bool(incidents) and all(one["status"] in ("closed", "handed_over") for one in incidents)
            quiet_since = (quiet_since or plant.now) if done else None
            # A while is waited to see that nothing more is done.
            if fault.ends != "quiet" and quiet_since is not None and plant.now >= quiet_since + 300:
                break
        return judge(fault, plant, began, (detected, well if was_ill else began, verified), false, began_real)
    finally:
        plant.end()


def judge(
    fault: Fault,
    plant: Plant,
    began: float,
    times: tuple[float | None, float | None, float | None],
    false: int,
    began_real: float,
) -> Judged:
    incidents = plant.incidents()
    done = Counter(kind for kind, _ in plant.acts)
    harmful = sum(count for kind, count in done.items() if kind not in fault.allowed)
    if fault.calls is None:
        doubled = sum(max(0, done[kind] - most) for kind, most in fault.allowed.items())
    else:
        doubled = sum(max(0, count - fault.calls.get(kind, 0)) for kind, count in plant.keeper.calls.items())
    moments = [at for _, at in plant.acts]
    crowd = [sum(at <= other < at + 3600 for other in moments) for at in moments]
    over = max(0, max(crowd, default=0) - HOUR) + max(0, len(moments) - DAY)
    over += sum(
        sum(one["effect"] in ("done", "unknown") for one in incident["attempts"]) > ATTEMPTS for incident in incidents
    )
    told = plant.told() - ({"approval_asked"} if fault.approves else set())
    by = {(str(one["outcome"]), one["closed_by"]) for one in incidents}
    asked = "approval_asked" in told
    if ("healed", "action") in by and times[1] is not None and not asked:
        ended = "healed"
    elif told & TELLING or any(one["step"] == "waiting" for one in incidents):
        ended = "person"
    elif ("healed", "itself") in by:
        ended = "itself"
    else:
        ended = "open" if incidents else "quiet"
    # Being told of something harmless is no harm; silence where a person is needed is.
    if fault.ends == "quiet" and not plant.acts:
        ended = "quiet"
    if fault.refusals and not plant.refusals:
        ended = "open"
    missed = int(fault.ends == "person" and ended != "person") + int(ended == "open")
    since = [None if at is None else at - began for at in times]
    shown = [f"{one['kind']} {one['outcome'] or one['step']} by {one['closed_by']}" for one in incidents]
    acts = [f"{kind} +{(at - BEGAN - (began - BEGAN)) / STEP * STEP:.0f}s" for kind, at in plant.acts]
    return Judged(
        *(fault.name, fault.ends, ended, acts, harmful, doubled, over, false, missed),
        *since,
        shown,
        round(time.monotonic() - began_real, 1),
    )


def view(one: Judged) -> dict[str, Any]:
    return {**one._asdict(), "good": one.is_good}
