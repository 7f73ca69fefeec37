"""Faults of serving and of the model."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from fault import Fault
from plant import TARGETS, Plant, rule

ONCE = {"restart": 1}
QUALITY = '[[service.fraud.quality]]\nid = "auc"\nsignal = "accuracy"\nbelow = 0.8\n'


def hangs(plant: Plant) -> None:
    plant.keeper.hangs()


def dies_again(plant: Plant) -> None:
    plant.keeper.starts_again = True
    plant.curse(dies=0.1)
    plant.keeper.dies()


def loops(plant: Plant) -> None:
    # The keeper starts it again each minute; what dies as often is a loop.
    if plant.keeper.process is not None and plant.keeper.process.poll() is None and int(plant.now) % 60 == 0:
        plant.keeper.dies()


def burst(plant: Plant) -> None:
    """Two passes of errors, and then none."""
    plant.bursts += 1
    plant.ill(errors=1.0 if plant.bursts <= 2 else 0)


def no_users(plant: Plant) -> None:
    plant.users = 0


def fewer_served(plant: Plant) -> None:
    """Hardly a request gets through to it any more, and those are answered."""
    plant.users = 0 if int(plant.now) % 60 else 1


def two_versions(**traits: float):
    def before(plant: Plant) -> None:
        plant.service.deployed("1")
        plant.healer.run_once()
        plant.healer.mark_good("fraud", "1", "it has served for months")
        plant.artefact("2", **traits)

    return before


def goes_live(plant: Plant) -> None:
    plant.go_live("2")


def labels(plant: Plant, late: float = 0.0) -> None:
    at = datetime.fromtimestamp(plant.now - late, timezone.utc)
    plant.service.quality("accuracy", plant.quality(), 5000, at - timedelta(minutes=5), at)


def damaged(plant: Plant) -> None:
    """What it loaded was damaged on its way: the artefact itself is whole."""
    plant.artefact("1", "{ half")
    plant.restart_by_hand()
    plant.artefact("1")


def says_model(plant: Plant) -> None:
    answer = plant.figures()
    if answer is not None:
        plant.service.observe("model_missing", 0 if answer["model_loaded"] else 1)


def old_model(plant: Plant) -> None:
    plant.service.observe("model_age_days", 90 if plant.turned else 3)


def ages(plant: Plant) -> None:
    plant.turned = True


def known_good_is_bad_too(plant: Plant) -> None:
    plant.artefact("1", errors=0.4)
    plant.go_live("2")


def labels_late(plant: Plant) -> None:
    """Labels of yesterday come now, and they are bad."""
    at = datetime.fromtimestamp(plant.now - 30 * 3600, timezone.utc)
    plant.service.quality("accuracy", 0.3, 5000, at - timedelta(minutes=5), at)
    labels(plant)


def prior_shift(plant: Plant) -> None:
    """More of the predictions say yes, and they are as right as before."""
    plant.service.observe("predicted_psi", 0.15)
    labels(plant)


# The registry's alias is what is rolled back, and the service loads what it names when it is told to.
BY_ALIAS = '[registry.main]\nurl = "REGISTRY"\n' + "\n".join(
    'rollback_model = { adapter = "mlflow", registry = "main", model = "fraud", alias = "champion", then = "reload_model", '
    'served = "score" }'
    if line.startswith("rollback_model")
    else line
    for line in TARGETS.replace("\\\n", "").splitlines()
)


# One alias is one of one: without this line policy asks for each of its moves.
ALONE = "blast = { share = 1.0 }\n"


def moved_meanwhile(moment: str):
    """A bad version is live; and somebody else moves the alias to a sound one at a moment of our own move."""

    def begin(plant: Plant) -> None:
        plant.artefact("3")
        (plant.folder / "rival").write_text(f"{moment} 3")
        plant.go_live("2")

    return begin


def stays_where_others_put_it(plant: Plant) -> None:
    if not (plant.folder / "rival").exists():
        assert (plant.folder / "live").read_text() == "3", "somebody else's move is not written over"
        # Whoever looks at it next is told, whatever becomes of it.
        assert "escalation" in plant.told() or not plant.acts, plant.incidents()


def others_load_it(plant: Plant) -> None:
    """Who moved it lets the service load it, too."""
    stays_where_others_put_it(plant)
    if not (plant.folder / "rival").exists() and not plant.turned:
        plant.turned = True
        plant.go_live("3")


def trained_worse(plant: Plant) -> None:
    """The pipeline makes a new version, and it is worse than the one that is live."""
    if plant.keeper.jobs and not plant.turned:
        plant.turned = True
        plant.artefact("2", quality=0.2)
    labels(plant)


SERVING = [
    Fault("hang", "healed", hangs, ONCE),
    Fault("crash", "healed", lambda plant: plant.keeper.dies(), ONCE),
    Fault("crash loop", "person", dies_again, ONCE, each=loops),
    Fault("half-alive", "healed", lambda plant: plant.ill(errors=1.0), ONCE, rules=()),
    Fault("slow", "healed", lambda plant: plant.ill(slow=0.3), ONCE, rules=("slow", "errors")),
    Fault("burst of 5xx", "quiet", lambda plant: None, each=burst, minutes=15),
    Fault("steady 5xx", "healed", lambda plant: plant.ill(errors=0.5), ONCE),
    Fault("memory leak", "healed", lambda plant: plant.ill(memory=True), ONCE, rules=("memory", "errors")),
    Fault("GPU memory", "healed", lambda plant: plant.ill(card=True), ONCE, rules=("card", "errors")),
    Fault(
        "disk full", "person", lambda plant: plant.curse(disk=0.99) or plant.ill(disk=0.99), rules=("disk", "errors")
    ),
    Fault("handles", "healed", lambda plant: plant.ill(files=True), ONCE, rules=("files", "errors")),
    Fault("throughput collapse", "person", lambda plant: None, each=fewer_served, rules=("throughput", "errors")),
    Fault("no traffic", "quiet", no_users, minutes=20),
]

ROLLBACK = {"rollback 1": 1}
MODEL = [
    Fault(
        "bad by quality",
        "healed",
        goes_live,
        ROLLBACK,
        before=two_versions(quality=0.5),
        more=QUALITY,
        each=labels,
    ),
    Fault("bad by errors", "healed", goes_live, ROLLBACK, before=two_versions(errors=0.5)),
    Fault("bad by latency", "healed", goes_live, ROLLBACK, before=two_versions(slow=0.3), rules=("slow", "errors")),
    Fault(
        "damaged artefact",
        "healed",
        damaged,
        {"reload": 1},
        ill=lambda plant: not (plant.figures() or {}).get("model_loaded"),
        more=rule("loaded", "model_missing", "model_load_failed", "above = 0.5", 'component = "application"'),
        each=says_model,
    ),
    Fault(
        "stale",
        "person",
        ages,
        {"retrain": 1},
        more=rule("age", "model_age_days", "model_stale", "above = 30"),
        before=old_model,
        each=old_model,
        ill=lambda plant: True,
    ),
    Fault(
        "known-good bad too",
        "person",
        known_good_is_bad_too,
        # There, and at most once back.
        {"rollback 1": 1, "rollback 2": 1},
        before=two_versions(errors=0.4),
    ),
    Fault(
        "quality falls without a change",
        "person",
        lambda plant: plant.artefact("1", quality=0.5),
        {"retrain": 1},
        more=QUALITY,
        each=labels,
    ),
    # A person is told; and what the others made live is loaded, because the registry says so.
    Fault(
        "alias moved by others",
        "healed",
        moved_meanwhile("move"),
        {"rollback 1": 1, "reload": 1},
        before=two_versions(errors=0.5),
        each=stays_where_others_put_it,
        targets=BY_ALIAS,
        policy=ALONE,
    ),
    Fault(
        "alias moved by others just before",
        "person",
        moved_meanwhile("tag"),
        before=two_versions(errors=0.5),
        each=others_load_it,
        targets=BY_ALIAS,
        policy=ALONE,
    ),
    Fault(
        "served is not the alias",
        "healed",
        lambda plant: plant.others_move("2"),
        {"reload": 1},
        before=two_versions(),
        ill=lambda plant: plant.served_before != "2",
        targets=BY_ALIAS,
    ),
    Fault(
        "retrained worse",
        "person",
        lambda plant: plant.artefact("1", quality=0.5),
        {"retrain": 1},
        more=QUALITY,
        each=trained_worse,
        approves=True,
    ),
    Fault("labels late", "quiet", lambda plant: None, more=QUALITY, before=labels, each=labels_late, minutes=20),
    Fault(
        "harmless prior shift",
        "quiet",
        lambda plant: None,
        more=QUALITY + rule("outputs", "predicted_psi", "output_drift", "above = 0.2"),
        each=prior_shift,
        minutes=20,
    ),
]
