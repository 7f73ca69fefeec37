"""Fields that only look alike: who takes one for the other, and who finds the real renames.

    python look_alikes.py sanare|payload_heal|difflib

Every item is a field that the code reads, a record as it was, and a record as it is now. In a trap the field is gone and
something else stands there: whoever gives a value for it is wrong. In a rename the field is there under another name. The
records come as lists of dictionaries, which is what all three can read. `difflib` stands for plain fuzzy matching: the
closest name above its own default cutoff. Prints one JSON object with counts and the time for one item.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

# Field that is read, name that stands there now, a value then, a value now.
TRAPS: list[tuple[str, str, Any, Any]] = [
    ("amount", "refund_amount", 120, 15),
    ("amount", "tax_amount", 120, 24),
    ("amount", "amount_previous", 120, 80),
    ("amount", "discount_amount", 120, 5),
    ("price", "price_cents", 12, 1250),
    ("price", "list_price", 12, 18),
    ("active", "is_not_active", True, False),
    ("start_date", "end_date", "2026-01-05", "2026-02-05"),
    ("min_temp", "max_temp", 3, 21),
    ("buyer_name", "seller_name", "Alfa", "Beta"),
    ("debit", "credit", 40, 75),
    ("created_at", "updated_at", "2026-01-05", "2026-03-01"),
    ("billing_city", "shipping_city", "Oslo", "Rome"),
    ("gross_weight", "net_weight", 120, 110),
    ("daily_cases", "cumulative_cases", 12, 4810),
    ("order_count", "order_id", 3, 90417),
    ("duration_s", "duration_ms", 14, 14250),
    ("paid", "unpaid", 100, 35),
    ("birth_date", "death_date", "1931-04-01", "1999-09-09"),
    ("first_name", "last_name", "Anna", "Kovacs"),
    ("estimated_cost", "actual_cost", 500, 612),
    ("distance_km", "distance_miles", 42, 26),
]
RENAMES: list[tuple[str, str, Any, Any]] = [
    ("order_id", "orderId", 1001, 1002),
    ("customer_name", "Customer Name", "Alfa", "Beta"),
    ("unit_price", "unit-price", 12, 15),
    ("amount", "Betrag", 120, 130),
    ("customer", "ugyfel", "Alfa", "Beta"),
    ("quantity", "cantidad", 3, 4),
    ("delivery_date", "DELIVERY_DATE", "2026-01-05", "2026-02-05"),
    ("city", "ville", "Oslo", "Rome"),
    ("postal_code", "postalCode", "0150", "0160"),
    ("total_weight", "weight_total", 120, 110),
]
OTHER = ("reference", "R-77", "R-81")


def main() -> None:
    ask = {"sanare": sanare, "payload_heal": payload_heal, "difflib": fuzzy}[sys.argv[1]]
    logging.disable(logging.CRITICAL)
    counts = {"traps": len(TRAPS), "wrong": 0, "renames": len(RENAMES), "found": 0}
    millis: list[float] = []
    for number, (field, there, then, now) in enumerate([*TRAPS, *RENAMES]):
        old = {field: then, OTHER[0]: OTHER[1]}
        new = {there: now, OTHER[0]: OTHER[2]}
        begun = perf_counter()
        gives = ask(number, field, old, new)
        millis.append((perf_counter() - begun) * 1e3)
        if gives is None:
            continue
        if number < len(TRAPS) or gives != [now]:
            counts["wrong"] += 1
        else:
            counts["found"] += 1
    print(json.dumps({**counts, "ms": [median(millis), *quantiles(millis)[::2]]}))


def sanare(number: int, field: str, old: dict[str, Any], new: dict[str, Any]) -> list[Any] | None:
    """A decorated function in a project of its own; the first call worked."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    (folder / "pyproject.toml").write_text('[project]\nname = "bench"\n')
    name = f"job_{number}"
    path = folder / f"{name}.py"
    path.write_text(f"import sanare\n\n\n@sanare.heal\ndef job(rows):\n    return [row[{field!r}] for row in rows]\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    module.job([old])
    try:
        return list(module.job([new]))
    except KeyError:
        return None


def payload_heal(number: int, field: str, old: dict[str, Any], new: dict[str, Any]) -> list[Any] | None:
    """A model with the field and its type, no language model behind it."""
    from payload_heal import HealableModel, HealConfig
    from pydantic import ValidationError, create_model

    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    kinds: Any = {field: (type(old[field]), ...), OTHER[0]: (str, ...)}
    model = create_model(f"Model{number}", __base__=HealableModel, **kinds)
    model.heal_config = HealConfig(enable_ai=False, lockfile_path=folder / "lock.json")
    try:
        return [getattr(model.model_validate(new), field)]
    except (ValidationError, ValueError):
        return None


def fuzzy(number: int, field: str, old: dict[str, Any], new: dict[str, Any]) -> list[Any] | None:
    from difflib import get_close_matches

    close = get_close_matches(field, list(new), n=1)
    return [new[close[0]]] if close else None


if __name__ == "__main__":
    main()
