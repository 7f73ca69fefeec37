"""Faults of the data, and of the signals that are to tell of faults."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from fault import Fault
from plant import Plant, rule
from serving import QUALITY, hangs

DIAGNOSTIC = """
[[service.fraud.diagnostic]]
id = "figures"
kinds = ["feature_missing", "data_stale", "signal_missing", "throughput_collapse"]
url = "SERVICE/figures"
"""


def figure(name: str, well: float, ill: float):
    """A figure that a job beside the service reports: it turns ill when the fault begins."""

    def report(plant: Plant) -> None:
        plant.service.observe(name, ill if plant.turned else well)

    return report


def turns(plant: Plant) -> None:
    plant.turned = True


def always(_: Plant) -> bool:
    return True


def few_samples(plant: Plant) -> None:
    at = datetime.fromtimestamp(plant.now, timezone.utc)
    plant.service.quality("accuracy", 0.2 if plant.turned else 0.9, 3, at - timedelta(minutes=5), at)


def data_fault(name: str, signal: str, kind: str, allowed: dict[str, int], ill: float = 0.9) -> Fault:
    figures = figure(signal, 0.0, ill)
    more = rule(signal, signal, kind, "above = 0.2") + DIAGNOSTIC
    return Fault(name, "person", turns, allowed, before=figures, each=figures, more=more, ill=always)


DATA = [
    # Sure by six in ten only: a person is asked, and says nothing.
    data_fault("real drift", "amount_psi", "input_drift", {}),
    Fault(
        "harmless drift",
        "quiet",
        turns,
        more=rule("psi", "amount_psi", "input_drift", "above = 0.2"),
        before=figure("amount_psi", 0.02, 0.12),
        each=figure("amount_psi", 0.02, 0.12),
        minutes=20,
    ),
    Fault("small sample", "quiet", turns, more=QUALITY, before=few_samples, each=few_samples, minutes=20),
    data_fault("renamed feature", "schema_violations", "schema_violation", {}),
    data_fault("missing feature", "empty_share", "feature_missing", {}),
    data_fault("out of range", "out_of_range_share", "schema_violation", {}),
    data_fault("change of unit", "unit_factor", "schema_violation", {}, ill=1000.0),
    data_fault("stale data", "data_age_days", "data_stale", {}, ill=9.0),
]


def silent(plant: Plant) -> None:
    plant.reports = False


def no_number(plant: Plant) -> None:
    plant.reports = False
    for name in ("error_share", "latency_ms", "queue", "answered_a_minute"):
        plant.service.observe(name, float("nan"))


def twice(plant: Plant) -> None:
    """Each reading comes twice, and once more with another value: the first one stands."""
    at = datetime.fromtimestamp(plant.now + 7, timezone.utc)
    for value in (0.0, 0.0, 0.9):
        plant.service.observe("error_share", value, at=at)


def out_of_order(plant: Plant) -> None:
    """Readings of the last minute come in disorder; one of them is bad, as one in five always was."""
    for back in (30, 10, 50, 20, 40):
        at = datetime.fromtimestamp(plant.now - back, timezone.utc)
        plant.service.observe("shuffled", 0.9 if back == 50 else 0.0, at=at)


def hours_late(plant: Plant) -> None:
    """What was bad two hours ago is told now."""
    at = datetime.fromtimestamp(plant.now - 7200, timezone.utc)
    plant.service.observe("error_share", 0.9, at=at)


def hours_late_and_ill(plant: Plant) -> None:
    """It is ill, and good readings of two hours ago go on coming."""
    plant.reports = False
    for name, good in (("error_share", 0.0), ("latency_ms", 1.0)):
        plant.service.observe(name, good, at=datetime.fromtimestamp(plant.now - 7200, timezone.utc))
    plant.service.observe("queue", 3)


def from_the_future(plant: Plant) -> None:
    """It is ill; a sender whose clock is ten minutes ahead says that all is well."""
    at = datetime.fromtimestamp(plant.now + 600, timezone.utc)
    for name, good in (("error_share", 0.0), ("latency_ms", 1.0)):
        plant.service.observe(name, good, at=at)


def comes_and_goes(plant: Plant) -> None:
    """Ill for two minutes of every five, whatever is done."""
    ill = int(plant.now) % 300 < 150
    plant.ill(errors=0.9 if ill else 0.0)


FROM_SOURCE = (
    rule("scraped", "scraped_error_share", "error_rate_high", "above = 0.1")
    + """
[prometheus.main]
url = "SOURCE"
[[service.fraud.query]]
prometheus = "main"
promql = "error_share"
signal = "scraped_error_share"
every = "15s"
"""
)


def source_dies(plant: Plant) -> None:
    assert plant.source is not None
    plant.source.end()


def source_dies_with_the_act(plant: Plant) -> None:
    if plant.acts and not plant.turned:
        plant.turned = True
        source_dies(plant)


def clock_jumps(hours: float):
    def begin(plant: Plant) -> None:
        plant.now += hours * 3600
        plant.ill(errors=0.9)

    return begin


SIGNALS = [
    Fault("no signal", "person", silent, more=DIAGNOSTIC, ill=lambda plant: False),
    Fault("NaN", "person", no_number, each=no_number, more=DIAGNOSTIC, ill=lambda plant: False),
    Fault("doubled readings", "quiet", twice, each=twice, minutes=20),
    Fault(
        "readings out of order",
        "quiet",
        out_of_order,
        each=out_of_order,
        more=rule("shuffled", "shuffled", "error_rate_high", "above = 0.5"),
        minutes=20,
    ),
    Fault("bad readings hours late", "quiet", hours_late, each=hours_late, minutes=20),
    Fault(
        "good readings hours late",
        "healed",
        lambda plant: hangs(plant) or hours_late_and_ill(plant),
        {"restart": 1},
        each=hours_late_and_ill,
    ),
    Fault(
        "good readings of the future",
        "person",
        lambda plant: plant.curse(errors=0.9) or plant.ill(errors=0.9),
        {"restart": 1},
        each=from_the_future,
    ),
    # For five minutes nothing is done: nobody knows how old anything is.
    Fault("clock jumps back", "person", clock_jumps(-2), {}),
    Fault("clock jumps ahead", "healed", clock_jumps(2), {"restart": 1}, minutes=165),
    Fault("source down", "person", source_dies, more=FROM_SOURCE + DIAGNOSTIC, rules=()),
    Fault(
        "source down after the act",
        "person",
        lambda plant: plant.ill(errors=0.5),
        {"restart": 1},
        each=source_dies_with_the_act,
        more=FROM_SOURCE,
        rules=(),
    ),
    Fault("flapping", "person", comes_and_goes, {"restart": 3}, each=comes_and_goes, minutes=90),
]
