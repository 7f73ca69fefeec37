"""Kinds of incidents that a service's own words open, and their near misses (S8, S54)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sanare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Plant:
    def __init__(self, folder: Path, configuration: str = "[service.fraud]\n") -> None:
        (folder / "sanare.toml").write_text(configuration)
        self.now = 1_767_225_600.0
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.service = sanare.Service("fraud", healer=self.healer)

    def passes(self, count: int, *each: Callable[[], None]) -> list[str]:
        """What is open after so many turns of ten seconds, in each of which these calls are made."""
        for _ in range(count):
            self.now += 10
            for call in each:
                call()
                self.now += 0.001
            self.healer.run_once()
        return sorted(f"{one['kind']} {one['severity']} {one['condition']}" for one in self.healer.incidents())


def test_a_service_that_has_no_model_says_so_once(tmp_path: Path) -> None:
    plant = Plant(tmp_path)
    assert plant.passes(1, lambda: plant.service.health("model_loaded", "pass")) == []
    assert plant.passes(1, lambda: plant.service.health("model_loaded", "unknown")) == []
    assert plant.passes(1, lambda: plant.service.health("models_loaded", "fail")) == [], "another check, once"
    failed = plant.passes(1, lambda: plant.service.health("model_loaded", "fail", "the artefact is damaged"))
    assert failed == ["model_load_failed critical firing"]
    assert plant.passes(60) == failed, "that it says nothing more is no recovery, and no signal is missed"
    assert plant.passes(1, lambda: plant.service.health("model_loaded", "pass")) == [
        "model_load_failed critical cleared"
    ]


def test_a_model_that_is_loaded_again_and_again_is_no_signal_that_is_missed(tmp_path: Path) -> None:
    plant = Plant(tmp_path)
    plant.passes(30, lambda: plant.service.health("model_loaded", "pass"))
    assert plant.passes(120) == []


def test_data_are_stale_from_their_limit_on(tmp_path: Path) -> None:
    rule = '[[service.fraud.rule]]\nid = "age"\nsignal = "data_age_s"\nkind = "data_stale"\nabove = 3600\nfor = "30s"\n'
    plant = Plant(tmp_path, f"[service.fraud]\n{rule}")
    assert plant.passes(12, lambda: plant.service.observe("data_age_s", 3_600)) == []
    assert plant.passes(12, lambda: plant.service.observe("data_age_s", 3_601)) == ["data_stale medium firing"]


def test_a_check_that_fails_is_not_hidden_by_another_that_passes(tmp_path: Path) -> None:
    plant = Plant(tmp_path)
    database, cache = (
        (lambda: plant.service.health("database", "fail")),
        (lambda: plant.service.health("cache", "pass")),
    )
    assert plant.passes(2, database, cache) == [], "twice is not three times"
    assert plant.passes(1, database, cache) == ["half_alive high firing"]
    assert plant.passes(9, cache) == ["half_alive high firing"], "that the other passes says nothing of it"
    well = plant.passes(3, lambda: plant.service.health("database", "pass"), cache)
    assert well == ["half_alive high cleared"]


def test_two_checks_that_fail_in_turn_are_not_three_failures_of_one(tmp_path: Path) -> None:
    plant = Plant(tmp_path)
    for name, answer in [("a", "fail"), ("b", "fail"), ("a", "pass"), ("b", "pass")] * 3:
        assert plant.passes(1, lambda name=name, answer=answer: plant.service.health(name, answer)) == []  # type: ignore[misc]
