"""Faults of a fleet, of those who watch it, and of the healer's own house."""

from __future__ import annotations

import resource

import sanare
from fault import Fault
from plant import Plant
from serving import hangs

# Twenty services that need `fraud`; each has something that could be restarted.
DEPENDENTS = "".join(
    f"""
[service.dependent{number}]
instances = 3
depends_on = ["fraud"]
[[service.dependent{number}.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "1m"
[service.dependent{number}.target.application]
request_retraining = {{ adapter = "http", url = "KEEPER/retrain", idempotent = true }}
restart_component = {{ adapter = "http", url = "KEEPER/dependent", idempotent = true, touches = 1 }}
"""
    for number in range(20)
)


def dependents(plant: Plant, ill: int) -> None:
    if not plant.others:
        plant.others = [sanare.Service(f"dependent{number}", healer=plant.healer) for number in range(20)]
    for number, service in enumerate(plant.others):
        service.observe("error_share", 0.9 if number < ill else 0.0)


def needed_by_twenty(plant: Plant) -> None:
    dependents(plant, 0 if plant.is_well() else 20)


def all_at_once(plant: Plant) -> None:
    dependents(plant, 20 if plant.turned else 0)


def turns(plant: Plant) -> None:
    plant.turned = True


def stop_when_asked(plant: Plant) -> None:
    """The switch is set as soon as anything is under way."""
    if plant.incidents() and not plant.turned:
        plant.turned = True
        plant.healer.stop("fraud")


def breaks(plant: Plant) -> None:
    plant.ill(errors=1.0)


def breaks_policy(plant: Plant) -> None:
    (plant.folder / "policy.toml").write_text('version = 1\nmode = "auto"\nhistory_min = ')
    plant.ill(errors=1.0)


def full(plant: Plant) -> None:
    """Nothing more fits into the store: no file of this process may grow."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    plant.ill(errors=1.0)
    plant.full_until = plant.now + 300


def has_room_later(plant: Plant) -> None:
    if plant.now >= plant.full_until:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        assert plant.acts == [], "what cannot be written down is not done"


def two(plant: Plant) -> None:
    plant.healers.append(plant.new_healer())
    plant.keeper.hangs()


def by_hand_then_yes(plant: Plant) -> None:
    """A person restarts it while the question waits; then another one answers it."""
    [asked, *_] = plant.healer.pending_approvals() or [None]
    if asked is None or plant.turned:
        return
    plant.turned = True
    plant.restart_by_hand()
    plant.healer.approve(asked["id"], "too late", shown=asked["digest"])


FLEET = [
    Fault(
        "dependency with 20 dependents",
        "healed",
        hangs,
        {"restart": 1},
        more=DEPENDENTS,
        each=needed_by_twenty,
        calls={"restart": 1},
    ),
    Fault("storm", "person", turns, {}, more=DEPENDENTS, each=all_at_once, ill=lambda plant: plant.turned, minutes=30),
    Fault("fleet of one", "healed", hangs, {"restart": 1}, approves=True, instances=1),
    Fault("approval expires", "person", breaks, {}, mode="ask", minutes=60),
    Fault("stopped in mid-run", "person", breaks, {}, each=stop_when_asked, mode="ask"),
    Fault("broken policy", "person", breaks_policy, {}),
    Fault("store full", "healed", full, {"restart": 1}, each=has_room_later, refusals=True),
    Fault("two workers", "healed", two, {"restart": 1}),
    Fault("a person acts meanwhile", "person", hangs, {}, each=by_hand_then_yes, mode="ask", minutes=40),
]
