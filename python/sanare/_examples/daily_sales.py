"""Adds up one day's sales from the CSV file that the shop exports at night."""

import csv

import sanare


@sanare.heal
def daily_sales(path: str) -> dict[str, float]:
    totals: dict[str, float] = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            customer = row["customer"]
            totals[customer] = totals.get(customer, 0.0) + float(row["amount"])
    return totals
