"""Faults of what acts: keepers that lie, hang, act late or not at all, and targets that are not what they were."""

from __future__ import annotations

from fault import Fault
from plant import TARGETS, Plant
from serving import two_versions

CALLED = {"restart": 1}


def badly_kept(manner: str, ill: str = "errors"):
    def begin(plant: Plant) -> None:
        plant.keeper.manner = manner
        plant.ill(**{ill: 0.9})

    return begin


def gone(plant: Plant) -> None:
    """The program that restarts it is not there any more when it is needed."""
    plant.program.unlink()
    plant.ill(errors=0.9)


def many_answer(plant: Plant) -> None:
    # Behind one address there are many, and another one answers each time.
    plant.ill(errors=0.9, many=True)


def probe_down(plant: Plant) -> None:
    """It answers its users with errors; and nothing says which process it is, before or after."""
    plant.curse(unknown=True)
    plant.ill(errors=0.9, unknown=True)


def no_way_back(plant: Plant) -> None:
    """The version before is worse still, and once it is live the keeper does nothing more."""
    plant.artefact("1", errors=0.9)
    plant.go_live("2")


def refuses_the_way_back(plant: Plant) -> None:
    if any(kind == "rollback 1" for kind, _ in plant.acts):
        plant.keeper.manner = "refuses"


FENCED = TARGETS.replace(
    'restart_component = { adapter = "command",',
    'restart_component = { fence = ["instance", "start_time"], adapter = "command",',
)
BY_WHO = TARGETS.replace('identity = "score"', 'identity = "who"')
WHO = """
[[service.fraud.probe]]
name = "who"
role = "ping"
url = "SERVICE/who"
timeout = "1s"
version_pointer = "/version"
start_pointer = "/start"
load_pointer = "/loaded"
"""
PROGRAM = TARGETS.replace('argv = [PYTHON, "-I", "-S", HAND, KEEPER, "/restart"]', "argv = [PROGRAM]")

ADAPTERS = [
    Fault("keeper lies", "person", badly_kept("lies"), {}, calls=CALLED),
    Fault("keeper hangs", "person", badly_kept("hangs"), {}, calls=CALLED),
    Fault("keeper acts late", "person", badly_kept("late"), {"restart": 1}, calls=CALLED),
    Fault("keeper acts twice", "healed", badly_kept("twice"), {"restart": 2}, calls=CALLED),
    Fault("wrong target answers", "person", many_answer, {}, targets=FENCED),
    # What surely changed nothing may come once more (S12).
    Fault("keeper refuses", "person", badly_kept("refuses"), {}, calls={"restart": 2}),
    Fault("half done", "person", badly_kept("half"), {}, calls=CALLED),
    Fault("precondition gone", "person", gone, {}, targets=PROGRAM),
    Fault(
        "undo fails",
        "person",
        no_way_back,
        {"rollback 1": 1},
        before=two_versions(errors=0.4),
        each=refuses_the_way_back,
        calls={"live": 2},
    ),
    # It may be started again, and is well; that it was our doing is not said.
    Fault("identity probe down", "itself", probe_down, CALLED, more=WHO, targets=BY_WHO),
]
