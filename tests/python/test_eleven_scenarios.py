"""The eleven drift scenarios (C142): offline, default settings, no key, no network.

A healing case: OLD gives the expected value without an incident; NEW, through the decorated call, gives the expected
value; the file imported afresh gives it for OLD and for NEW. A guard: NEW raises the original error, the file keeps its
bytes, OLD is still right.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import sanare

STANDARD = """\
import csv
import io

import sanare


@sanare.heal
def load_sales(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    total = sum(int(row["amount"]) for row in rows)
    return {"total": total, "customers": sorted(row["customer"] for row in rows)}
"""
STANDARD_OLD = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"
STANDARD_EXPECTED = {"total": 2000, "customers": ["Alfa Kft", "Beta Zrt"]}

REORDERED = """\
import csv
import io

import sanare


@sanare.heal
def load_sales(csv_text):
    reader = csv.reader(io.StringIO(csv_text))
    next(reader)
    total = 0
    customers = []
    for row in reader:
        total += int(row[2])
        customers.append(row[1])
    return {"total": total, "customers": sorted(customers)}
"""

RENESTED = """\
import sanare


@sanare.heal
def summarize_orders(payload):
    total = 0
    names = []
    for item in payload["data"]["items"]:
        total += int(item["price"])
        names.append(item["name"])
    return {"total": total, "customers": sorted(names)}
"""

DATES = """\
import csv
import io
from datetime import datetime

import sanare


@sanare.heal
def monthly_totals(csv_text):
    totals = {}
    for row in csv.DictReader(io.StringIO(csv_text)):
        month = datetime.strptime(row["date"], "%Y-%m-%d").strftime("%Y-%m")
        totals[month] = totals.get(month, 0) + int(row["amount"])
    return totals
"""

UNDECORATED = """\
import csv
import io

import sanare


def read_row(row):
    return row["customer"], int(row["amount"])


@sanare.heal
def load_sales(csv_text):
    rows = [read_row(row) for row in csv.DictReader(io.StringIO(csv_text))]
    return {"total": sum(amount for _, amount in rows), "customers": sorted(name for name, _ in rows)}
"""

WORKBOOK = """\
from datetime import datetime

from openpyxl import load_workbook

import sanare


@sanare.heal
def load_sales(path):
    sheet = load_workbook(path, data_only=True)["Sales"]
    rows = sheet.iter_rows(values_only=True)
    header = next(rows)
    records = [dict(zip(header, row)) for row in rows]
    total = sum(int(record["amount"]) for record in records)
    return {"total": total, "customers": sorted(record["customer"] for record in records)}
"""

GOOD_AND_BAD = """\
import csv
import io

import sanare


@sanare.heal
def load_sales(csv_text):
    total = 0
    rejected = 0
    customers = []
    for row in csv.DictReader(io.StringIO(csv_text)):
        try:
            total += int(row["amount"])
        except (ValueError, TypeError):
            rejected += 1
            continue
        customers.append(row["customer"])
    return {"total": total, "customers": sorted(customers), "rejected": rejected}
"""

DECIMALS = """\
import csv
import io

import sanare


@sanare.heal
def load_sales(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    total = sum(float(row["amount"]) for row in rows)
    return {"total": total, "customers": sorted(row["customer"] for row in rows)}
"""

PAGES = """\
import sanare


@sanare.heal
def summarize_orders(payload):
    total = 0
    names = []
    for item in payload["items"]:
        total += int(item["price"])
        names.append(item["name"])
    return {"total": total, "customers": sorted(names)}
"""

ORDERS_OLD = [{"name": "Alfa Kft", "price": 1200}, {"name": "Beta Zrt", "price": 800}]
ORDERS_NEW = [{"title": "Alfa Kft", "amount": 1200}, {"title": "Beta Zrt", "amount": 800}]
HUNGARIAN = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n"

HEALS: dict[str, tuple[str, str, Any, Any, Any, Any]] = {
    "1_translated": (STANDARD, "load_sales", STANDARD_OLD, STANDARD_EXPECTED, HUNGARIAN, STANDARD_EXPECTED),
    "2_reordered": (
        REORDERED,
        "load_sales",
        STANDARD_OLD,
        STANDARD_EXPECTED,
        "customer,amount,date\nAlfa Kft,1200,2026-01-05\nBeta Zrt,800,2026-01-06\n",
        STANDARD_EXPECTED,
    ),
    "3_renested": (
        RENESTED,
        "summarize_orders",
        {"data": {"items": ORDERS_OLD}},
        STANDARD_EXPECTED,
        {"result": {"records": ORDERS_NEW}},
        STANDARD_EXPECTED,
    ),
    "4_dates": (
        DATES,
        "monthly_totals",
        "date,customer,amount\n2026-01-15,Alfa,1200\n2026-02-16,Beta,800\n",
        {"2026-01": 1200, "2026-02": 800},
        "date,customer,amount\n15.01.2026,Alfa,1200\n16.02.2026,Beta,800\n",
        {"2026-01": 1200, "2026-02": 800},
    ),
    "5_undecorated_helper": (UNDECORATED, "load_sales", STANDARD_OLD, STANDARD_EXPECTED, HUNGARIAN, STANDARD_EXPECTED),
    "6_workbook": (WORKBOOK, "load_sales", "old.xlsx", STANDARD_EXPECTED, "new.xlsx", STANDARD_EXPECTED),
    "7_good_and_bad_rows": (
        GOOD_AND_BAD,
        "load_sales",
        STANDARD_OLD,
        {**STANDARD_EXPECTED, "rejected": 0},
        "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Gamma Bt,N/A\n2026-01-07,Beta Zrt,800\n2026-01-08,Delta Bt,\n",
        {**STANDARD_EXPECTED, "rejected": 2},
    ),
    "8_bom_and_decimals": (
        DECIMALS,
        "load_sales",
        "amount,customer,date\n1200.50,Alfa Kft,2026-01-05\n799.50,Beta Zrt,2026-01-06\n",
        {"total": 2000.0, "customers": ["Alfa Kft", "Beta Zrt"]},
        '\ufeffamount,customer,date\n"1 200,50",Alfa Kft,2026-01-05\n"799,50",Beta Zrt,2026-01-06\n',
        {"total": 2000.0, "customers": ["Alfa Kft", "Beta Zrt"]},
    ),
    "9_pages": (
        PAGES,
        "summarize_orders",
        {"items": ORDERS_OLD},
        STANDARD_EXPECTED,
        {"page_count": 2, "pages": [{"page": 1, "results": ORDERS_NEW[:1]}, {"page": 2, "results": ORDERS_NEW[1:]}]},
        STANDARD_EXPECTED,
    ),
}
WITHOUT_MEMORY = [
    "1_translated",
    "3_renested",
    "4_dates",
    "5_undecorated_helper",
    "7_good_and_bad_rows",
    "8_bom_and_decimals",
    "9_pages",
]
GUARDS = {
    "10_column_gone": "datum,ugyfel\n2026-01-05,Alfa Kft\n2026-01-06,Beta Zrt\n",
    "11_decoy": "datum,ugyfel,rendeles_szam\n2026-01-05,Alfa Kft,5001\n2026-01-06,Beta Zrt,5002\n",
}


def load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def project(tmp_path: Path, source: str) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "shop"\n', encoding="utf-8")
    job = tmp_path / "job.py"
    job.write_text(source, encoding="utf-8")
    return job


def argument(tmp_path: Path, value: Any) -> Any:
    if value not in ("old.xlsx", "new.xlsx"):
        return json.loads(json.dumps(value))
    openpyxl = pytest.importorskip("openpyxl")
    from datetime import datetime

    book = openpyxl.Workbook()
    sheet = book.active
    if value == "old.xlsx":
        sheet.title = "Sales"
        sheet.append(["date", "customer", "amount"])
    else:
        sheet.title = "Ertekesites 2026"
        sheet.append(["Havi jelentes"])
        sheet.append([])
        sheet.append(["datum", "ugyfel", "osszeg"])
    sheet.append([datetime(2026, 1, 15), "Alfa Kft", 1200])
    sheet.append([datetime(2026, 2, 16), "Beta Zrt", 800])
    path = tmp_path / value
    book.save(path)
    return str(path)


def check(tmp_path: Path, name: str, *, remembered: bool) -> None:
    source, function, old, old_expected, new, new_expected = HEALS[name]
    job = project(tmp_path, source)
    module = load(job, f"job_{name}_{remembered}")
    call = getattr(module, function)
    if remembered:
        assert call(argument(tmp_path, old)) == old_expected
        assert call(argument(tmp_path, new)) == new_expected
    report = sanare.last_report()
    assert report is not None and report.outcome == "healed", report
    fresh = getattr(load(job, f"fresh_{name}_{remembered}"), function)
    assert fresh(argument(tmp_path, old)) == old_expected
    assert fresh(argument(tmp_path, new)) == new_expected
    text = job.read_text(encoding="utf-8")
    assert text.count("sanare") == source.count("sanare"), "the repair mentions us"
    if name == "5_undecorated_helper":
        helper = source[source.index("def read_row") : source.index("@sanare.heal")]
        assert helper in text


@pytest.mark.parametrize("name", list(HEALS))
def test_heals(tmp_path: Path, name: str) -> None:
    check(tmp_path, name, remembered=True)


@pytest.mark.parametrize("name", WITHOUT_MEMORY)
def test_heals_on_the_first_call_ever(tmp_path: Path, name: str) -> None:
    check(tmp_path, name, remembered=False)


@pytest.mark.parametrize("name", list(GUARDS))
@pytest.mark.parametrize("remembered", [True, False])
def test_refuses(tmp_path: Path, name: str, remembered: bool) -> None:
    job = project(tmp_path, STANDARD)
    before = job.read_bytes()
    module = load(job, f"guard_{name}_{remembered}")
    if remembered:
        assert module.load_sales(STANDARD_OLD) == STANDARD_EXPECTED
    with pytest.raises(KeyError) as caught:
        module.load_sales(GUARDS[name])
    assert caught.value.args == ("amount",)
    assert job.read_bytes() == before
    assert module.load_sales(STANDARD_OLD) == STANDARD_EXPECTED
    report = sanare.last_report()
    assert report is not None and report.outcome == "refused"
