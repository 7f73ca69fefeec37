"""The candidate lab: for each of the nine healing scenarios a right candidate and three that only look right."""

from __future__ import annotations

from test_eleven_scenarios import HEALS

# Bodies by scenario: right for old and new; right for new alone; with made-up values; with a swallowed exception.
BODIES: dict[str, dict[str, str]] = {}


def _sales(amount: str, customer: str, number: str = "int", rows: str = "csv.DictReader(io.StringIO(csv_text))") -> str:
    return f"""\
    rows = list({rows})
    total = sum({number}({amount}) for row in rows)
    return {{"total": total, "customers": sorted({customer} for row in rows)}}
"""


_EITHER_AMOUNT = '(row["osszeg"] if "osszeg" in row else row["amount"])'
_EITHER_CUSTOMER = '(row["ugyfel"] if "ugyfel" in row else row["customer"])'

BODIES["1_translated"] = {
    "right": _sales(_EITHER_AMOUNT, _EITHER_CUSTOMER),
    "new_only": _sales('row["osszeg"]', 'row["ugyfel"]'),
    "fabricating": _sales('row.get("amount", 0)', 'row.get("customer", "")'),
    "swallowing": """\
    total = 0
    customers = []
    for row in csv.DictReader(io.StringIO(csv_text)):
        try:
            total += int(row["amount"])
            customers.append(row["customer"])
        except KeyError:
            continue
    return {"total": total, "customers": sorted(customers)}
""",
}

_READER = """\
    reader = csv.reader(io.StringIO(csv_text))
    {header}
    total = 0
    customers = []
    for row in reader:
{loop}
    return {{"total": total, "customers": sorted(customers)}}
"""
BODIES["2_reordered"] = {
    "right": _READER.format(
        header='header = next(reader)\n    amount, customer = header.index("amount"), header.index("customer")',
        loop="        total += int(row[amount])\n        customers.append(row[customer])",
    ),
    "new_only": _READER.format(
        header="next(reader)", loop="        total += int(row[1])\n        customers.append(row[0])"
    ),
    "fabricating": _READER.format(
        header="next(reader)",
        loop="        total += int(row[2]) if row[2].isdigit() else 0\n        customers.append(row[1])",
    ),
    "swallowing": _READER.format(
        header="next(reader)",
        loop="        try:\n            total += int(row[2])\n        except ValueError:\n            pass\n"
        "        customers.append(row[1])",
    ),
}

_ORDERS = """\
    total = 0
    names = []
{loop}
    return {{"total": total, "customers": sorted(names)}}
"""
_ITEM = "        total += int({amount})\n        names.append({name})"
BODIES["3_renested"] = {
    "right": _ORDERS.format(
        loop='    if "result" in payload:\n        for item in payload["result"]["records"]:\n'
        '            total += int(item["amount"])\n            names.append(item["title"])\n    else:\n'
        '        for item in payload["data"]["items"]:\n'
        '            total += int(item["price"])\n            names.append(item["name"])'
    ),
    "new_only": _ORDERS.format(
        loop='    for item in payload["result"]["records"]:\n'
        + _ITEM.format(amount='item["amount"]', name='item["title"]')
    ),
    "fabricating": _ORDERS.format(
        loop='    for item in payload.get("data", {}).get("items", []):\n'
        + _ITEM.format(amount='item["price"]', name='item["name"]')
    ),
    "swallowing": _ORDERS.format(
        loop='    try:\n        items = payload["data"]["items"]\n    except KeyError:\n        items = []\n'
        "    for item in items:\n" + _ITEM.format(amount='item["price"]', name='item["name"]')
    ),
}

_MONTHS = """\
    totals = {{}}
    for row in csv.DictReader(io.StringIO(csv_text)):
{month}
        totals[month] = totals.get(month, 0) + int(row["amount"])
    return totals
"""
BODIES["4_dates"] = {
    "right": _MONTHS.format(
        month='        form = "%d.%m.%Y" if "." in row["date"] else "%Y-%m-%d"\n'
        '        month = datetime.strptime(row["date"], form).strftime("%Y-%m")'
    ),
    "new_only": _MONTHS.format(month='        month = datetime.strptime(row["date"], "%d.%m.%Y").strftime("%Y-%m")'),
    "fabricating": _MONTHS.format(month='        month = row["date"][:7] if "-" in row["date"] else "2026-01"'),
    "swallowing": _MONTHS.format(
        month='        try:\n            month = datetime.strptime(row["date"], "%Y-%m-%d").strftime("%Y-%m")\n'
        "        except ValueError:\n            continue"
    ),
}

_HELPED = """\
    rows = [{row} for row in csv.DictReader(io.StringIO(csv_text))]
    return {{"total": sum(amount for _, amount in rows), "customers": sorted(name for name, _ in rows)}}
"""
BODIES["5_undecorated_helper"] = {
    "right": _HELPED.format(
        row='read_row({"customer": row["ugyfel"], "amount": row["osszeg"]} if "osszeg" in row else row)'
    ),
    "new_only": _HELPED.format(row='read_row({"customer": row["ugyfel"], "amount": row["osszeg"]})'),
    "fabricating": _HELPED.format(
        row='read_row({"customer": row.get("customer", ""), "amount": row.get("amount", 0)})'
    ),
    "swallowing": """\
    rows = []
    for row in csv.DictReader(io.StringIO(csv_text)):
        try:
            rows.append(read_row(row))
        except KeyError:
            pass
    return {"total": sum(amount for _, amount in rows), "customers": sorted(name for name, _ in rows)}
""",
}

_BOOK = """\
    book = load_workbook(path, data_only=True)
    sheet = {sheet}
    rows = sheet.iter_rows(values_only=True)
{header}
    records = [dict(zip(header, row)) for row in rows]
    total = sum(int({amount}) for record in records)
    return {{"total": total, "customers": sorted({customer} for record in records)}}
"""
BODIES["6_workbook"] = {
    "right": _BOOK.format(
        sheet='book["Sales"] if "Sales" in book.sheetnames else book["Ertekesites 2026"]',
        header='    header = next(rows)\n    while "amount" not in header and "osszeg" not in header:\n'
        "        header = next(rows)",
        amount='record["osszeg"] if "osszeg" in record else record["amount"]',
        customer='record["ugyfel"] if "ugyfel" in record else record["customer"]',
    ),
    "new_only": _BOOK.format(
        sheet='book["Ertekesites 2026"]',
        header="    next(rows)\n    next(rows)\n    header = next(rows)",
        amount='record["osszeg"]',
        customer='record["ugyfel"]',
    ),
    "fabricating": _BOOK.format(
        sheet="book.active",
        header="    header = next(rows)",
        amount='record.get("amount", 0)',
        customer='record.get("customer", "")',
    ),
    "swallowing": """\
    try:
        sheet = load_workbook(path, data_only=True)["Sales"]
    except KeyError:
        return {"total": 0, "customers": []}
    rows = sheet.iter_rows(values_only=True)
    header = next(rows)
    records = [dict(zip(header, row)) for row in rows]
    total = sum(int(record["amount"]) for record in records)
    return {"total": total, "customers": sorted(record["customer"] for record in records)}
""",
}

_SET_ASIDE = """\
    total = 0
    rejected = 0
    customers = []
    for row in csv.DictReader(io.StringIO(csv_text)):
        try:
            total += int({amount})
        except ({errors}):
            rejected += 1
            continue
        customers.append({customer})
    return {{"total": total, "customers": sorted(customers), "rejected": rejected}}
"""
BODIES["7_good_and_bad_rows"] = {
    "right": _SET_ASIDE.format(amount=_EITHER_AMOUNT, errors="ValueError, TypeError", customer=_EITHER_CUSTOMER),
    "new_only": _SET_ASIDE.format(amount='row["osszeg"]', errors="ValueError, TypeError", customer='row["ugyfel"]'),
    "fabricating": _SET_ASIDE.format(
        amount='row.get("amount") or 0', errors="ValueError, TypeError", customer='row.get("customer") or ""'
    ),
    "swallowing": _SET_ASIDE.format(
        amount='row["amount"]', errors="ValueError, TypeError, KeyError", customer='row["customer"]'
    ),
}

_CLEAN = 'csv.DictReader(io.StringIO(csv_text.lstrip("\\ufeff")))'
BODIES["8_bom_and_decimals"] = {
    "right": _sales(
        'row["amount"].replace("\\u00a0", "").replace(" ", "").replace(",", ".")', 'row["customer"]', "float", _CLEAN
    ),
    "new_only": _sales('row["\\ufeffamount"].replace(" ", "").replace(",", ".")', 'row["customer"]', "float"),
    "fabricating": _sales('row.get("amount", "0").replace(",", ".")', 'row["customer"]', "float"),
    "swallowing": """\
    total = 0.0
    customers = []
    for row in csv.DictReader(io.StringIO(csv_text)):
        customers.append(row["customer"])
        try:
            total += float(row["amount"])
        except (KeyError, ValueError):
            pass
    return {"total": total, "customers": sorted(customers)}
""",
}

BODIES["9_pages"] = {
    "right": _ORDERS.format(
        loop='    if "pages" in payload:\n        for page in payload["pages"]:\n            for item in page["results"]:\n'
        '                total += int(item["amount"])\n                names.append(item["title"])\n    else:\n'
        '        for item in payload["items"]:\n'
        '            total += int(item["price"])\n            names.append(item["name"])'
    ),
    "new_only": _ORDERS.format(
        loop='    for page in payload["pages"]:\n        for item in page["results"]:\n'
        '            total += int(item["amount"])\n            names.append(item["title"])'
    ),
    "fabricating": _ORDERS.format(
        loop='    for item in payload.get("items", []):\n' + _ITEM.format(amount='item["price"]', name='item["name"]')
    ),
    "swallowing": _ORDERS.format(
        loop='    try:\n        items = payload["items"]\n    except KeyError:\n        items = []\n'
        "    for item in items:\n" + _ITEM.format(amount='item["price"]', name='item["name"]')
    ),
}

DECORATOR = '@sanare.heal(proposers=["model"], examples=[sanare.Example((OLD,), returns=EXPECTED)])'


def module(name: str, old: object, *, decorator: str = DECORATOR) -> str:
    """The scenario's module, with its old input as an example."""
    source, _, _, expected, _, _ = HEALS[name]
    constants = f"OLD = {old!r}\nEXPECTED = {expected!r}\n\n\n@sanare.heal\n"
    text = source.replace("@sanare.heal\n", constants, 1)
    return text.replace("@sanare.heal\n", decorator + "\n", 1)


def candidate(name: str, kind: str, source: str) -> str:
    """The function with another body, its header as it stands in the module."""
    function = HEALS[name][1]
    start = source.index("@sanare.heal")
    colon = source.index(":\n", source.index(f"def {function}"))
    return source[start : colon + 2] + BODIES[name][kind]
