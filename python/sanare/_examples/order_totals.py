"""Sums orders per month from the reply of an order service."""

import json
from datetime import datetime

import sanare


@sanare.heal
def order_totals(path: str) -> dict[str, int]:
    with open(path, encoding="utf-8") as file:
        reply = json.load(file)
    totals: dict[str, int] = {}
    for order in reply["orders"]:
        month = datetime.strptime(order["placed_on"], "%Y-%m-%d").strftime("%Y-%m")
        totals[month] = totals.get(month, 0) + order["quantity"]
    return totals
