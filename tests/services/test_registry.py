"""What a real MLflow registry names is told at all times: moved by us and by hand, to a version that is not there, deleted, and
across an outage that opens nothing but what is said of the registry itself (S29)."""

from __future__ import annotations

import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mlflow", reason="NOT RUN: MLflow is not installed here, so no real registry is asked")

from test_rollback import AUTO, Plant, Registry  # noqa: E402


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    registry = Registry(tmp_path_factory.mktemp("mlflow"))
    registry.start()
    yield registry
    registry.kill()


def names(plant: Plant) -> list[tuple[Any, Any, Any]]:
    return [(one["version"], one["exists"], one["status"]) for one in plant.healer.registry_history("fraud")]


def test_the_history_of_an_alias_is_complete_and_an_outage_says_nothing_of_it(
    registry: Registry, tmp_path: Path
) -> None:
    plant = Plant(tmp_path, registry, AUTO)
    model = plant.model
    run = registry.ask("POST", "/runs/create", {"experiment_id": "0", "start_time": 1})["run"]["info"]["run_id"]
    made = registry.ask("POST", "/model-versions/create", {"name": model, "source": "s3://models/4", "run_id": run})
    assert made["model_version"]["version"] == "4"
    # By us: version 2 is bad and rolled back.
    plant.go_bad()
    plant.until(lambda: plant.incident["outcome"])
    assert (plant.incident["outcome"], registry.live(model)) == ("healed", "1")
    plant.minutes(2)
    moved = [one["moved_by"] for one in plant.healer.model_history("fraud")]
    assert moved[-1] == "sanare" and "others" in moved, moved
    ours = plant.healer.registry_history("fraud")
    assert [one["version"] for one in ours if one["tags"] == {}][:2] == ["1", "2"]
    assert ours[-1]["version"] == "1" and ours[-1]["tags"]["sanare.incident"] == plant.incident["id"], ours
    before = len(ours)
    # By hand: to one that a run made, and tagged.
    registry.ask("POST", "/model-versions/set-tag", {"name": model, "version": "4", "key": "owner", "value": "ann"})
    registry.move(model, "4")
    plant.reload()
    plant.minutes(3)
    [by_hand] = plant.healer.registry_history("fraud")[before:]
    assert (by_hand["version"], by_hand["tags"], by_hand["run"], by_hand["status"]) == (
        "4",
        {"owner": "ann"},
        run,
        "READY",
    )
    assert plant.healer.model_history("fraud")[-1]["version"] == "4"
    assert plant.healer.model_history("fraud")[-1]["moved_by"] == "others"
    # To a version that is not there: MLflow refuses it, and nothing has moved.
    with pytest.raises(urllib.error.HTTPError):
        registry.move(model, "99")
    plant.minutes(3)
    assert len(plant.healer.registry_history("fraud")) == before + 1
    # The server is killed and comes back: nothing is said of the alias, and only the registry's signal is missed.
    known = {one["id"] for one in plant.healer.incidents()}
    registry.kill()
    plant.minutes(10)
    opened = [one["kind"] for one in plant.healer.incidents() if one["id"] not in known]
    assert opened == ["signal_missing"], opened
    assert len(plant.healer.registry_history("fraud")) == before + 1
    registry.start()
    plant.minutes(5)
    assert [one["condition"] for one in plant.healer.incidents() if one["id"] not in known] == ["cleared"]
    assert len(plant.healer.registry_history("fraud")) == before + 1
    # The version that it names is deleted, then the alias.
    registry.ask("DELETE", "/model-versions/delete", {"name": model, "version": "4"})
    plant.minutes(2)
    registry.move(model, "3")
    plant.minutes(2)
    registry.ask("DELETE", "/registered-models/alias", {"name": model, "alias": "champion"})
    plant.minutes(2)
    told = names(plant)[before + 1 :]
    assert told[-2:] == [("3", True, "READY"), (None, None, None)], told
    # MLflow takes an alias away with its version.
    assert told[:-2] == [(None, None, None)], told
    assert plant.healer.verify_ledger() > 10
