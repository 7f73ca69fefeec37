"""The modules that the cases of this folder repair. `# base NAME TARGET` begins each."""
# base sales load
import csv
import io
import logging
import os
from datetime import date
from decimal import Decimal

log = logging.getLogger(__name__)
KNOWN = ("paid", "open")
CACHE = {}


def heal(fn):
    return fn


def upload(rows):
    import requests
    requests.post("https://api.example.org/rows", json=rows)


def clean(text):
    return text.strip()


@heal
def load(path, encoding="utf-8"):
    """Rows of the export: id, amount, day, state."""
    rows = []
    seen = set()
    with open(path, encoding=encoding, newline="") as fh:
        for rec in csv.DictReader(fh):
            if rec["id"] in seen:
                raise ValueError(f"double id {rec['id']}")
            seen.add(rec["id"])
            amount = Decimal(rec["amount"])
            if amount < 0:
                raise ValueError(f"negative amount in {rec['id']}")
            state = rec["state"]
            assert state in KNOWN, state
            rows.append({"id": rec["id"], "amount": amount, "day": date.fromisoformat(rec["day"]), "state": state})
    return rows
# base total total
import csv
import io


def total(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    total = sum(int(row["amount"]) for row in rows)
    return {"total": total, "customers": sorted(row["customer"] for row in rows)}
# base feed Feed.items
import json
import logging

logger = logging.getLogger("feed")


class Feed:
    limit = 10

    def __init__(self, name, session):
        self.name = name
        self.session = session
        self.cache = {}

    def fetch(self, page):
        return self.session.get(f"https://api.example.org/{self.name}/{page}").json()

    def purge(self):
        import shutil
        shutil.rmtree("/var/cache/feed")

    def items(self, text, *, strict=True):
        """Items of a page."""
        doc = json.loads(text)
        out = []
        for entry in doc["items"]:
            if strict and "price" not in entry:
                raise KeyError("price")
            out.append({"name": entry["name"], "price": float(entry["price"]), "tags": entry["tags"]})
        return out
# base stamp stamp
from datetime import datetime


def stamp(value):
    """A time from its text."""
    text = value.strip()
    if not text:
        raise ValueError("no time")
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
# base frame frame
import pandas as pd
import numpy as np


def frame(path):
    df = pd.read_csv(path)
    df["day"] = pd.to_datetime(df["day"])
    totals = df.groupby("shop")["amount"].sum()
    return totals.to_dict()
# base fetch fetch
import requests


def fetch(url, token):
    reply = requests.get(url, headers={"X-Token": token}, timeout=10)
    reply.raise_for_status()
    doc = reply.json()
    return [entry["name"] for entry in doc["data"]]
# base lines lines
import re

ENTRY = re.compile(r"(\w+)=(\d+)")


def lines(handle):
    """Yields name and number of each line."""
    for line in handle:
        found = ENTRY.match(line)
        if found is None:
            raise ValueError(f"no entry: {line!r}")
        yield found.group(1), int(found.group(2))
# base inner make.<locals>.inner
def make(scale, offset):
    names = {}

    def inner(row):
        value = float(row["value"]) * scale
        names[row["name"]] = value
        return value

    return inner
# base report report
import json
from pathlib import Path


def report(rows, target):
    """Writes the report and gives its size."""
    doc = [{"name": row["name"], "size": int(row["size"])} for row in rows]
    text = json.dumps(doc)
    with open(target, "w", encoding="utf-8") as fh:
        fh.write(text)
    return len(text)
# base coro coro
import asyncio


async def coro(client, ident):
    reply = await client.get(ident)
    data = reply["data"]
    return {"id": data["id"], "owner": data["owner"]["login"]}
# base rates rates
import xml.etree.ElementTree as ET


def rates(text):
    root = ET.fromstring(text)
    out = {}
    for node in root.findall("rate"):
        code = node.attrib["code"]
        if code in out:
            raise ValueError(code)
        out[code] = float(node.text)
    return out
# base tolerant tolerant
import csv
import logging

log = logging.getLogger(__name__)


def tolerant(path):
    good = []
    bad = 0
    with open(path, newline="") as fh:
        for rec in csv.DictReader(fh):
            try:
                good.append((rec["name"], int(rec["count"])))
            except ValueError:
                bad += 1
                continue
            if rec["name"] == "":
                raise ValueError("no name")
    log.info("%d bad", bad)
    return good
# base stock stock
SIGN = {"in": 1, "out": -1}


def depth(folder):
    return 1 + max((depth(inner) for inner in folder["folders"]), default=0)


def stock(doc):
    left = {}
    for move in doc["moves"]:
        sign = SIGN[move["kind"]]
        hours, minutes = move["took"].split(":")
        left[move["article"]] = left.get(move["article"], 0) + sign * int(move["pieces"])
        left["minutes"] = left.get("minutes", 0) + int(hours) * 60 + int(minutes)
    left["depth"] = depth(doc["store"])
    return left
