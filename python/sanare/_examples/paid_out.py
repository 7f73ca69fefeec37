"""Totals what was paid out to partners, from the file of the payment provider."""

import csv

import sanare


@sanare.heal
def paid_out(path: str) -> float:
    with open(path, newline="", encoding="utf-8") as file:
        return sum(float(row["amount"]) for row in csv.DictReader(file))
