"""A small model service. Version 2 of its model was trained on another unit of money, and fails on half of the requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import sanare

# A logistic model would do the same; what matters is that one version is good and one is not.
MODELS: dict[str, dict[str, float]] = {
    "1": {"amount": 0.002, "night": 0.3},
    "2": {"amount_in_cents": 0.00002, "night": 0.3},
}


class Model:
    """The model that is live."""

    def __init__(self, version: str) -> None:
        self.version = version

    def score(self, transaction: dict[str, float]) -> float:
        weights = MODELS[self.version]
        return min(1.0, sum(weight * transaction[name] for name, weight in weights.items()))


def serve(service: sanare.Service, version: str) -> tuple[Model, Callable[[dict[str, float]], float]]:
    """The service: what its users call, and what Sanare may do to it."""
    model = Model(version)
    service.deployed(version)

    @service.serving
    def score(transaction: dict[str, float]) -> float:
        return model.score(transaction)

    def roll_back(intent: sanare.Intent) -> None:
        assert intent.to_version is not None
        model.version = intent.to_version

    def who_answers() -> dict[str, Any]:
        return {"served_version": model.version}

    service.capability("rollback_model", roll_back, idempotent=True, reversible=True, probe=who_answers)
    return model, score


def requests() -> list[dict[str, float]]:
    """Ten requests: half of the callers send the amount in cents as well."""
    plain = [{"amount": 20.0 * number, "night": float(number % 2)} for number in range(5)]
    both = [{**request, "amount_in_cents": request["amount"] * 100} for request in plain]
    return plain + both
