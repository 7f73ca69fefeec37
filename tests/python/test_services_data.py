"""Rows of a model service against what its model was made from: drift, types and ranges, and what stays in the process
(S43 to S46)."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sanare

if TYPE_CHECKING:
    from collections.abc import Callable

DRIFT = """
[service.fraud]
[[service.fraud.drift]]
signal = "rows"
reference = "rows.json"
"""
CITIES = ["Bern", "Genf", "Chur", "Visp"]
HOUR = 3_600


def rows(count: int = 600, seed: int = 1, **changed: Callable[[int, random.Random], Any]) -> dict[str, list[Any]]:
    """Rows of three features as in the training, or changed ones."""
    chance = random.Random(seed)
    usual: dict[str, Callable[[int, random.Random], Any]] = {
        "amount": lambda _, chance: chance.gauss(100, 15),
        "height": lambda _, chance: chance.uniform(1.5, 2.0),
        "city": lambda _, chance: chance.choice(CITIES[:3]),
    }
    return {name: [make(place, chance) for place in range(count)] for name, make in {**usual, **changed}.items()}


def scores(count: int = 600, seed: int = 2, shift: float = 0.0) -> dict[str, list[float]]:
    chance = random.Random(seed)
    return {"score": [chance.random() * 0.5 + shift for _ in range(count)]}


class House:
    """A service with a learned reference, on a clock that the test moves."""

    def __init__(self, folder: Path, more: str = "", model_version: str | None = None) -> None:
        (folder / "sanare.toml").write_text(DRIFT + more)
        self.folder, self.now = folder, 1_767_225_600.0
        train = rows(4_000, 7)
        learned = self.healer().learn("fraud", "rows", train, scores(4_000, 8), model_version=model_version)
        assert (learned["version"], learned["rows"], learned["columns"]) == (1, 4_000, 4)
        self.watcher = self.healer()
        self.service = sanare.Service("fraud", healer=self.watcher)

    def healer(self) -> sanare.Healer:
        return sanare.Healer(self.folder / "sanare.toml", clock=lambda: self.now)

    def hour(self, features: Any, predictions: Any = None) -> None:
        self.service.profile("rows", features=features, predictions=predictions)
        self.watcher.run_once()
        self.now += HOUR
        self.watcher.run_once()

    def hours(self, count: int, **changed: Any) -> None:
        for seed in range(count):
            self.hour(rows(seed=seed + 10, **changed), scores(seed=seed + 10))

    def told(self) -> list[str]:
        """What is open: kind, severity, and the columns that its summary names."""
        found = []
        for one in self.watcher.incidents():
            about = one["summary"].split(": ")[-1]
            found.append(f"{one['kind']} {one['severity']} {one['condition']} {about}")
        return sorted(found)


def test_rows_as_in_the_training_open_nothing(tmp_path: Path) -> None:
    house = House(tmp_path, 'important = ["amount"]\nschema = "reference"\n')
    house.hours(6)
    assert house.told() == []
    assert house.service.stats()["refused"] == 0


def test_an_important_feature_that_drifts_twice_opens_one_incident_and_clears(tmp_path: Path) -> None:
    house = House(tmp_path, 'important = ["amount"]\n')
    house.hours(2)
    house.hour(rows(amount=lambda _, chance: chance.gauss(130, 15)), scores())
    assert house.told() == [], "once is not twice in a row"
    house.hours(2, amount=lambda _, chance: chance.gauss(130, 15))
    assert house.told() == ["input_drift medium firing amount"]
    house.hours(3)
    assert [one.split()[2] for one in house.told()] == ["cleared"]


def test_drift_that_no_rule_calls_important_is_low(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.hours(3, amount=lambda _, chance: chance.gauss(160, 15), city=lambda *_: "Bern")
    assert house.told() == ["input_drift low firing amount, city"], "two of three columns are many"


def test_predictions_that_drift_are_an_incident_of_their_own(tmp_path: Path) -> None:
    house = House(tmp_path, 'important = ["amount"]\n')
    for seed in range(3):
        house.hour(rows(seed=seed), scores(seed=seed, shift=0.3))
    assert house.told() == ["output_drift medium firing score"]


@pytest.mark.parametrize(
    ("count", "changed"),
    [
        (8, {"amount": lambda *_: 1e9}),
        (199, {"amount": lambda *_: 1e9}),
        (600, {"amount": lambda *_: None}),
        (600, {"amount": lambda _, chance: chance.gauss(100.15, 15)}),
    ],
    ids=["8 rows", "199 rows", "all null", "shifted by 0.01 spreads"],
)
def test_what_says_nothing_opens_nothing(tmp_path: Path, count: int, changed: Any) -> None:
    house = House(tmp_path, 'important = ["amount"]\n')
    for seed in range(4):
        house.hour(rows(count, seed, **changed), scores(count, seed))
    assert house.told() == []


FIELD = Path(__file__).parents[2] / "scenarios" / "field"
OF_PROFILES = [path for path in sorted(FIELD.glob("*.md")) if "```profiles\n" in path.read_text()]


@pytest.mark.parametrize("path", OF_PROFILES, ids=lambda path: path.stem)
def test_scenarios_from_the_field(tmp_path: Path, path: Path) -> None:
    text = path.read_text()
    played, wanted = (text.split(f"```{kind}\n")[1].split("\n```")[0].split("\n--\n") for kind in ("profiles", "text"))
    for number, (profiles, told) in enumerate(zip(played, wanted, strict=True)):
        (tmp_path / str(number)).mkdir()
        house = House(tmp_path / str(number), 'important = ["amount"]\n')
        for seed, line in enumerate(profiles.splitlines()):
            count, amount = line.split()
            house.hour(rows(int(count), seed, amount=lambda *_, amount=amount: float(amount)), scores(int(count), seed))
        assert "\n".join(house.told() or ["nothing is told"]) == told


def test_there_are_scenarios_of_profiles() -> None:
    assert [path.stem for path in OF_PROFILES] == ["waiting-drift_on_eight_rows"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"height": lambda _, chance: str(chance.uniform(1.5, 2.0))}, ["schema_violation high height (another type in 100.0 %)"]),
        ({"height": lambda _, chance: chance.uniform(150, 200)}, ["schema_violation high height (out of range in 100.0 %, probably another unit: times 100)"]),
        ({"height": lambda _, chance: chance.uniform(1.5, 2.0) * 3.28084}, ["schema_violation high height (out of range in 100.0 %)"]),
        ({"height": lambda *_: None}, ["feature_missing high height (empty in 100.0 %)"]),
        ({"city": lambda place, _: "Visp" if place % 200 == 0 else CITIES[place % 3]}, []),
        ({"city": lambda place, _: "Visp" if place % 20 == 0 else CITIES[place % 3]}, ["schema_violation high city (unknown words in 5.0 %)"]),
    ],
    ids=["numbers as text", "metres as centimetres", "metres as feet", "all null", "0.5 % new words", "5 % new words"],
)  # fmt: skip
def test_types_and_ranges(tmp_path: Path, changed: Any, told: list[str]) -> None:
    house = House(tmp_path, 'schema = "reference"\n')
    house.hours(3, **changed)
    found = [one for one in house.watcher.incidents() if one["kind"] != "input_drift"]
    assert [f"{one['kind']} {one['severity']} {one['summary'].split(': ', 2)[2]}" for one in found] == told


def test_a_feature_that_is_renamed_is_missing(tmp_path: Path) -> None:
    house = House(tmp_path, 'schema = "reference"\n')
    for seed in range(3):
        table = rows(seed=seed)
        table["size"] = table.pop("height")
        house.hour(table, scores(seed=seed))
    assert house.told() == ["feature_missing high firing height (absent)"]


def test_single_columns_have_expectations_of_their_own(tmp_path: Path) -> None:
    column = "[service.fraud.drift.column.amount]\nmin = -1000\nmax = 1000\n"
    house = House(tmp_path, column)
    house.hours(
        3, height=lambda *_: 99.0, amount=lambda place, chance: 999 if place % 20 == 0 else chance.gauss(100, 15)
    )
    assert [one for one in house.told() if "schema" in one] == [], "nothing is expected of the other column"
    house.hours(3, amount=lambda place, chance: 1_001 if place % 20 == 0 else chance.gauss(100, 15))
    assert [one for one in house.told() if "schema" in one] == [
        "schema_violation high firing amount (out of range in 5.0 %)"
    ]
    (tmp_path / "sanare.toml").write_text(DRIFT + column.replace("1000", "2000"))
    with pytest.raises(sanare.Error, match=r"sanare.toml:3: .*learn the reference again"):
        house.healer()


def test_ten_thousand_rows_are_a_profile_without_an_hour(tmp_path: Path) -> None:
    house = House(tmp_path, 'important = ["amount"]\n')
    for seed in range(4):
        house.service.profile("rows", features=rows(5_000, seed), predictions=scores(5_000, seed))
        before = house.service.stats()["sent"]
        house.watcher.run_once()
        assert house.service.stats()["sent"] - before == seed % 2


def test_rows_that_are_not_sent_are_told_and_enough_of_them_are_sent_at_the_end(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.service.profile("rows", features=rows(150))
    house.watcher.run_once()
    assert house.service.stats()["rows"] == 150
    house.service.close(0)
    assert house.service.stats()["rows"] == 150, "at the end they are not sent, and that is told"
    house.service.profile("rows", features=rows(150))
    assert house.service.stats()["rows"] == 300
    house.service.close(0)
    stats = house.service.stats()
    assert (stats["rows"], stats["queued"]) == (0, 1), stats


def test_single_predictions_are_rows(tmp_path: Path) -> None:
    more = '[[service.fraud.drift]]\nsignal = "predictions"\nreference = "predictions.json"\nimportant = ["amount"]\n'
    (tmp_path / "sanare.toml").write_text("[service.fraud]\n" + more)
    now = 1_767_225_600.0
    chance = random.Random(3)
    train = {"amount": [chance.gauss(100, 15) for _ in range(1_000)]}
    sanare.Healer(tmp_path / "sanare.toml").learn(
        "fraud", "predictions", train, {"prediction": [chance.random() for _ in range(1_000)]}
    )
    healer = sanare.Healer(tmp_path / "sanare.toml", clock=lambda: now)
    service = sanare.Service("fraud", healer=healer)
    for _ in range(3):
        for _ in range(300):
            service.prediction(chance.random() / 4, {"amount": chance.gauss(100, 15), "unknown": object()})
        healer.run_once()
        now += HOUR
        healer.run_once()
    assert [one["kind"] for one in healer.incidents()] == ["output_drift"]
    assert service.stats()["refused"] == 0


def test_no_value_of_a_row_leaves_the_process(tmp_path: Path) -> None:
    house = House(tmp_path, 'important = ["amount"]\n')
    secret = "Anna-Karenina-4711"
    for _ in range(2):
        house.hour(rows(city=lambda *_: secret), scores())
    watched = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "store.db" for path in watched)
    assert any(path.name == "profile.key" and path.stat().st_mode & 0o077 == 0 for path in watched)
    for path in watched:
        data = path.read_bytes()
        assert secret.encode() not in data, path
        assert path.name == "sanare.toml" or not any(city.encode() in data for city in CITIES), path


def test_what_no_reference_knows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(tmp_path, model_version="7")
    service = sanare.Service("fraud", healer=house.watcher, strict=True)
    sketch = json.loads((tmp_path / "rows.json").read_text())["profile"]
    service.profile("rows", sketch)
    with pytest.raises(ValueError, match="no reference of this signal"):
        service.profile("other", features=rows())
    with pytest.raises(ValueError, match="it is not the reference that is known here"):
        service.profile("rows", {**sketch, "reference": "stolen"})
    with pytest.raises(ValueError, match="it is not the reference that is known here"):
        service.profile("rows", {**sketch, "reference_version": 2})
    for broken in [{**sketch, "rows": 1}, {"reference": "rows"}, {**sketch, "columns": sketch["columns"] * 200}]:
        with pytest.raises(ValueError, match="`value`"):
            service.profile("rows", broken)
    # Another version is live than the one that the reference is bound to.
    service.deployed("7")
    service.profile("rows", features=rows())
    service.deployed("8")
    with pytest.raises(ValueError, match="8 is live, and the reference is of 7"):
        service.profile("rows", features=rows())
    # Whoever counts needs the key that it was learned with.
    (tmp_path / "sanare.toml").write_text(DRIFT + 'key = { env = "PROFILE_KEY" }\n')
    for key, why in [(None, "`PROFILE_KEY` is not set"), ("another", "learned with another key")]:
        if key is not None:
            monkeypatch.setenv("PROFILE_KEY", key)
        other = sanare.Service("fraud", healer=house.healer(), strict=True)
        with pytest.raises(ValueError, match=why):
            other.profile("rows", features=rows())


def test_a_reference_is_a_file_that_was_learned(tmp_path: Path) -> None:
    house = House(tmp_path)
    good = (tmp_path / "rows.json").read_text()
    for bad in [
        "",
        "{}",
        "[1]",
        good.replace('"format":1', '"format":2'),
        good[:-1],
        good.replace('"rows":4000', '"rows":1'),
    ]:
        (tmp_path / "rows.json").write_text(bad)
        with pytest.raises(sanare.Error, match=r"sanare.toml:3: .*rows.json"):
            house.healer()
    (tmp_path / "rows.json").write_text(good)
    healer = house.healer()
    with pytest.raises(sanare.Error, match="are 199; a reference needs 200"):
        healer.learn("fraud", "rows", rows(199))
    with pytest.raises(sanare.Error, match="different numbers of rows"):
        healer.learn("fraud", "rows", {"a": [1] * 300, "b": [1] * 299})
    for bad_table in ["rows", 5, {"a": "text"}, {"a": 5}, {1: [1]}]:
        with pytest.raises(sanare.Error):
            healer.learn("fraud", "rows", bad_table)  # type: ignore[arg-type]
    with pytest.raises(sanare.Error, match=r"there is no \[\[service.fraud.drift\]\] with the signal `other`"):
        healer.learn("fraud", "other", rows())
    assert (tmp_path / "rows.json").read_text() == good, "what was refused changed nothing"
    assert healer.learn("fraud", "rows", rows(300))["version"] == 2
    with pytest.raises(sanare.Error, match="important`: is `weight`; the reference has no such column"):
        House(tmp_path, 'important = ["weight"]\n')


def test_a_reference_that_is_learned_later_is_taken_by_a_reload(tmp_path: Path) -> None:
    (tmp_path / "sanare.toml").write_text(DRIFT + 'important = ["amount"]\nschema = "reference"\n')
    house = House.__new__(House)
    house.folder, house.now = tmp_path, 1_767_225_600.0
    house.watcher = house.healer()
    house.service = sanare.Service("fraud", healer=house.watcher)
    key = "services.fraud.references.rows"
    wide: dict[str, Any] = {"amount": lambda _, chance: chance.gauss(160, 15)}
    house.hours(3, **wide)
    assert (house.told(), house.service.stats()["refused"]) == ([], 3), "nothing to compare with"
    house.watcher.learn("fraud", "rows", rows(4_000, 7), scores(4_000, 8))
    assert house.watcher.reload() == [{"key": key, "from": None, "to": 1}]
    assert house.watcher.reload() == []
    house.hours(3, **wide)
    drifted = [one for one in house.told() if one.startswith("input_drift")]
    assert drifted == ["input_drift medium firing amount"], house.told()
    assert house.service.stats()["refused"] == 3
    # What is usual now is another thing; rows that were on their way against the reference before are given up, and told.
    house.service.profile("rows", features=rows(**wide))
    house.watcher.run_once()
    house.service.profile("rows", features=rows(**wide))
    house.watcher.learn("fraud", "rows", rows(4_000, 7, **wide), scores(4_000, 8))
    assert house.watcher.reload() == [{"key": key, "from": 1, "to": 2}]
    house.service.profile("rows", features=rows(**wide))
    house.watcher.run_once()
    assert (house.service.stats()["refused"], house.service.stats()["rows"]) == (6, 0)
    house.hours(3, **wide)
    assert {one.split()[2] for one in house.told()} == {"cleared"}, house.told()
    # A file that is none leaves everything as it was.
    good = (tmp_path / "rows.json").read_text()
    (tmp_path / "rows.json").write_text(good[:-1])
    with pytest.raises(sanare.Error, match=r"rows.json"):
        house.watcher.reload()
    (tmp_path / "rows.json").unlink()
    assert house.watcher.reload() == [{"key": key, "from": 2, "to": None}]
    house.hours(1)
    assert house.service.stats()["refused"] == 7


class Rude:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __float__ = __str__  # type: ignore[assignment]


def test_odd_values_of_production_are_counted_and_never_raise(tmp_path: Path) -> None:
    house = House(tmp_path)
    odd: list[Any] = [
        None,
        float("nan"),
        float("inf"),
        Decimal("1.5"),
        1j,
        "x" * 10_000_000,
        Rude(),
        [1],
        True,
        10**400,
        "\ud800",
    ]
    house.hour({"amount": odd, "city": odd})
    for bad in ["rows", 5, {"amount": "text"}, {1: [1]}, {"a": [1], "b": [1, 2]}, {"a": (1 / 0 for _ in [1])}]:
        house.service.profile("rows", features=bad)  # type: ignore[arg-type]
        house.service.prediction(0.5, bad if isinstance(bad, str) else {"amount": bad}, signal="rows")
    house.service.profile("rows", features={f"c{number}": [1] for number in range(501)})
    assert house.service.stats()["refused"] == 8


def test_a_quality_is_judged_by_its_interval(tmp_path: Path) -> None:
    bound = '[service.fraud]\n[[service.fraud.quality]]\nid = "auc"\nsignal = "auc"\nbelow = 0.8\nform = "auc"\n'
    (tmp_path / "sanare.toml").write_text(bound)
    now = 1_767_225_600.0
    healer = sanare.Healer(tmp_path / "sanare.toml", clock=lambda: now)
    service = sanare.Service("fraud", healer=healer)

    def tell(window: int, value: float, samples: int = 1_000, **width: Any) -> int:
        nonlocal now
        now += 60
        start = datetime.fromtimestamp(1_767_225_600 + window * HOUR, timezone.utc)
        service.quality("auc", value, samples, start, start + timedelta(hours=1), **width)
        healer.run_once()
        return len(healer.incidents())

    assert tell(1, 0.79, half=0.05) == 0
    assert tell(2, 0.10, 1) == 0, "one sample"
    assert tell(3, 0.10, positives=1_000) == 0, "one class only"
    assert tell(4, 0.10) == 0, "nobody knows how many are positive"
    assert tell(5, 0.85, positives=400) == 0
    assert tell(-720, 0.10, positives=400) == 0, "labels of 30 days ago correct history"
    assert tell(6, 0.70, half=0.02) == 1
    assert healer.incidents()[0]["kind"] == "quality_low"
    assert service.stats()["refused"] == 0
