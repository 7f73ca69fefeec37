"""A scripted month with known truth: every figure is exact, and what passes by itself is no act's merit (S115)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import sanare
from test_services import ME

if TYPE_CHECKING:
    from pathlib import Path

BEGAN = 1_767_225_600.0
DAY = 86_400
CONFIGURATION = "[policy]\nfile = 'policy.toml'\n" + "".join(
    f"""
[service.{name}]
instances = 3
mode = "{mode}"
[[service.{name}.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "60s"
"""
    for name, mode in (("fraud", "ask"), ("churn", "ask"))
)
POLICY = f"""
version = 1
mode = "ask"
always_ask = []
history_min = 0
blast = {{ share = 1.0 }}
approvals = {{ approvers = ["{ME}"] }}
"""


class Month:
    """Two services: for `fraud` every act is approved at once, for `churn` when its story says so. Time goes by minute while something is ill, else by day."""

    def __init__(self, folder: Path) -> None:
        (folder / "sanare.toml").write_text(CONFIGURATION)
        (folder / "policy.toml").write_text(POLICY)
        self.now = BEGAN
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.ill = {"fraud": False, "churn": False}
        self.helps, self.restarts = True, 0
        self.services = {name: sanare.Service(name, healer=self.healer) for name in self.ill}
        for name, service in self.services.items():
            service.capability(
                "restart_component",
                lambda _, name=name: self.restart(name),
                idempotent=True,
                probe=lambda: {"start_time": str(self.restarts)},
            )

    def restart(self, name: str) -> None:
        self.restarts += 1
        if self.helps:
            self.ill[name] = False

    def minutes(self, count: int) -> None:
        for _ in range(count):
            self.now += 60
            for name, service in self.services.items():
                service.observe("error_share", 0.5 if self.ill[name] else 0.0)
            self.healer.run_once()
            # For `fraud` somebody is always there, and says yes at once.
            for asked in self.healer.pending_approvals():
                if asked["application"] == "fraud":
                    self.healer.approve(asked["id"], "yes")
                    self.healer.run_once()

    def day(self) -> None:
        """The next day at midnight, and a few minutes in which all is well."""
        self.now = BEGAN + ((self.now - BEGAN) // DAY + 1) * DAY
        self.minutes(8)

    def open(self, name: str) -> str:
        [one] = [one for one in self.healer.incidents() if one["application"] == name and one["status"] == "open"]
        return str(one["id"])

    # What comes over a service, and what becomes of it.

    def healed(self) -> None:
        self.ill["fraud"] = True
        self.minutes(25)

    def fell_ill_again(self) -> None:
        """Healed, and ill again within half an hour: a heal that was none, and one that was."""
        self.healed()
        self.ill["fraud"] = True
        self.minutes(40)
        self.ill["fraud"] = False
        self.minutes(10)

    def not_healed(self) -> None:
        self.helps, self.ill["fraud"] = False, True
        self.minutes(30)
        self.helps, self.ill["fraud"] = True, False
        self.minutes(10)

    def passed(self) -> None:
        self.ill["churn"] = True
        self.minutes(10)
        self.ill["churn"] = False
        self.minutes(10)

    def denied(self) -> None:
        self.ill["churn"] = True
        self.minutes(6)
        self.healer.deny(self.open("churn"), "not now")
        self.minutes(2)
        self.ill["churn"] = False
        self.minutes(10)

    def approved(self) -> None:
        self.ill["churn"] = True
        self.minutes(9)
        self.healer.approve(self.open("churn"), "yes")
        self.minutes(25)

    def false_alarm(self) -> None:
        self.ill["churn"] = True
        self.minutes(5)
        self.healer.close_incident(self.open("churn"), "a test of the alarm", false_alarm=True)
        self.ill["churn"] = False
        self.minutes(10)


# What happens on each day of the month.
DAYS = """
healed passed healed not_healed quiet denied healed healed approved passed quiet false_alarm passed healed
fell_ill_again quiet quiet healed passed healed approved false_alarm not_healed passed denied quiet healed approved quiet quiet
""".split()


def minutes(known: int, median: float, longest: float) -> dict[str, int]:
    return {"known": known, "median_ms": int(median * 60_000), "longest_ms": int(longest * 60_000)}


def test_a_month_whose_truth_is_known(tmp_path: Path) -> None:
    assert len(DAYS) == 30
    month = Month(tmp_path)
    for story in DAYS:
        month.day()
        if story != "quiet":
            getattr(month, story)()
    since = datetime.fromtimestamp(BEGAN, timezone.utc)
    report: dict[str, Any] = month.healer.report(since=since)
    times = {story: DAYS.count(story) for story in DAYS}
    healed, relapsed, failed = times["healed"], times["fell_ill_again"], times["not_healed"]
    passed, denied, approved, false = times["passed"], times["denied"], times["approved"], times["false_alarm"]
    churn, fraud = report["incidents"]

    assert [churn["application"], fraud["application"]] == ["churn", "fraud"]
    counts = [
        "incidents",
        "open",
        "healed",
        "healed_by_itself",
        "undone",
        "escalated",
        "refused",
        "false_heals",
        "false_alarms",
    ]
    all_of_churn = passed + denied + approved + false
    all_of_fraud = healed + relapsed + failed
    assert [churn[name] for name in counts] == [all_of_churn, 0, approved, passed, 0, denied + false, 0, 0, false]
    assert [fraud[name] for name in counts] == [all_of_fraud, 0, healed, 0, 0, relapsed + failed, 0, relapsed, 0]
    assert churn["healed_share"] == approved / all_of_churn
    assert fraud["healed_share"] == healed / all_of_fraud
    # The first bad reading is a minute before the incident, and all else of the loop takes no time of this clock.
    for one, known in ((churn, all_of_churn), (fraud, all_of_fraud)):
        assert one["detect"] == minutes(known, 1, 1)
        assert one["diagnose"] == one["decide"] == minutes(known, 0, 0)
    # Asked in the second minute: a no came in the sixth and a yes in the ninth; what passed, or was closed, had no answer.
    assert churn["wait"] == minutes(denied + approved, 7, 7)
    assert fraud["wait"] == minutes(all_of_fraud, 0, 0)
    # Well from the minute after the act on, and known to be after five good ones: the act came with the next look.
    assert fraud["recover"] == minutes(healed, 6, 6)
    assert churn["recover"] == minutes(approved, 6 + 8, 6 + 8)

    restarts = {one["application"]: one for one in report["acts"]}
    assert [(one["action"], one["kind"]) for one in report["acts"]] == [("restart_component", "error_rate_high")] * 2
    counts = ["begun", "recovered", "failed", "not_known", "undone"]
    # What fell ill again within half an hour was not healed, whatever the window had shown.
    assert [restarts["fraud"][name] for name in counts] == [all_of_fraud, healed, failed + relapsed, 0, 0]
    assert [restarts["churn"][name] for name in counts] == [approved, approved, 0, 0, 0]
    assert month.restarts == all_of_fraud + approved, "and that is what was done"
