"""Twenty changes of data that the offline engine refuses, each with a right candidate and three that only look right.

Every function takes one argument. `new_only` reads the new form and loses the old one; `fabricating` makes up what is not
there; `swallowing` lets the failure or the rows disappear. `waits` marks the cases in which the engine says that meaning
is at stake: there a model's repair that passed every gate still waits for a person.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One change; the bodies are written without their indentation."""

    head: str
    body: str
    old: Any
    old_expected: Any
    new: Any
    new_expected: Any
    right: str
    new_only: str
    fabricating: str
    swallowing: str
    about: str = ""
    waits: bool = False

    def source(self, decorator: str, body: str | None = None) -> str:
        """The module, or with `body` the candidate."""
        lines = textwrap.indent(textwrap.dedent(self.body if body is None else body).strip("\n"), "    ")
        about = f'    """{self.about}"""\n' if self.about else ""
        function = f"{decorator}\ndef job(data):\n{about}{lines}\n"
        if body is not None:
            return function
        head = textwrap.dedent(self.head).strip("\n")
        example = f"OLD = {self.old!r}\nEXPECTED = {self.old_expected!r}\n"
        return f"import sanare\n{head}\n\n{example}\n\n{function}"


CSV = "import csv\nimport io"
CASES: dict[str, Case] = {}


def sheet(*lines: str) -> str:
    return "\n".join(lines) + "\n"


CASES["value_of_a_list_renamed"] = Case(
    head=CSV + '\n\nSIGN = {"Inbound": 1, "Outbound": -1}',
    about="Stock per article; a Write-off takes away like an Outbound.",
    body="""
    stock = {}
    for row in csv.DictReader(io.StringIO(data)):
        sign = SIGN[row["Movement"]]
        stock[row["Article"]] = stock.get(row["Article"], 0) + sign * int(row["Pieces"])
    return stock
    """,
    old=sheet("Article,Movement,Pieces", "Bolt,Inbound,40", "Nut,Inbound,25", "Bolt,Outbound,15"),
    old_expected={"Bolt": 25, "Nut": 25},
    new=sheet("Article,Movement,Pieces", "Bolt,Inbound,60", "Nut,Inbound,35", "Bolt,Write-off,12", "Nut,Write-off,7"),
    new_expected={"Bolt": 48, "Nut": 28},
    right="""
    stock = {}
    signs = {**SIGN, "Write-off": -1}
    for row in csv.DictReader(io.StringIO(data)):
        sign = signs[row["Movement"]]
        stock[row["Article"]] = stock.get(row["Article"], 0) + sign * int(row["Pieces"])
    return stock
    """,
    new_only="""
    stock = {}
    signs = {"Inbound": 1, "Write-off": -1}
    for row in csv.DictReader(io.StringIO(data)):
        sign = signs[row["Movement"]]
        stock[row["Article"]] = stock.get(row["Article"], 0) + sign * int(row["Pieces"])
    return stock
    """,
    fabricating="""
    stock = {}
    for row in csv.DictReader(io.StringIO(data)):
        sign = SIGN.get(row["Movement"], 0)
        stock[row["Article"]] = stock.get(row["Article"], 0) + sign * int(row["Pieces"])
    return stock
    """,
    swallowing="""
    stock = {}
    for row in csv.DictReader(io.StringIO(data)):
        if row["Movement"] not in SIGN:
            continue
        sign = SIGN[row["Movement"]]
        stock[row["Article"]] = stock.get(row["Article"], 0) + sign * int(row["Pieces"])
    return stock
    """,
)

CASES["deeper_than_the_stack"] = Case(
    head="""
    def size(parents, at=0):
        return at + 1 + sum(size(parents, child) for child, parent in enumerate(parents, start=1) if parent == at)
    """,
    about="Bytes of a tree of folders; each number says in which folder the next one lies.",
    body="""
    return {"bytes": size(data), "folders": len(data) + 1}
    """,
    old=[0, 0, 1, 1],
    old_expected={"bytes": 15, "folders": 5},
    new=list(range(1200)),
    new_expected={"bytes": 721801, "folders": 1201},
    right="""
    total = 0
    waiting = [0]
    while waiting:
        at = waiting.pop()
        total += at + 1
        waiting.extend(child for child, parent in enumerate(data, start=1) if parent == at)
    return {"bytes": total, "folders": len(data) + 1}
    """,
    new_only="""
    total = at = 0
    while at in data:
        total += at + 1
        at = data.index(at) + 1
    return {"bytes": total + at + 1, "folders": len(data) + 1}
    """,
    fabricating="""
    try:
        total = size(data)
    except RecursionError:
        total = len(data) * data[0]
    return {"bytes": total, "folders": len(data) + 1}
    """,
    swallowing="""
    try:
        total = size(data)
    except RecursionError:
        total = size(data[:100])
    return {"bytes": total, "folders": len(data) + 1}
    """,
)

CASES["pages_by_token"] = Case(
    head="""
    PLACES = ["Oslo", "Bergen", "Hamar", "Bodo", "Molde"]


    def page_of(mode, params):
        if mode == "numbered":
            at = params.get("offset", 0)
            return {"found": [{"place": name} for name in PLACES[at : at + 2]], "count": len(PLACES)}
        at = int(params.get("cursor", "c0")[1:])
        page = {"found": [{"place": name} for name in PLACES[at : at + 2]], "more": at + 2 < len(PLACES)}
        return {**page, "cursor": f"c{at + 2}"} if page["more"] else page
    """,
    body="""
    places = []
    while True:
        page = page_of(data, {"offset": len(places)})
        places += [entry["place"] for entry in page["found"]]
        if len(places) >= page["count"]:
            return places
    """,
    old="numbered",
    old_expected=["Oslo", "Bergen", "Hamar", "Bodo", "Molde"],
    new="by_cursor",
    new_expected=["Oslo", "Bergen", "Hamar", "Bodo", "Molde"],
    right="""
    places = []
    params = {"offset": 0}
    while True:
        page = page_of(data, params)
        places += [entry["place"] for entry in page["found"]]
        if "count" in page:
            if len(places) >= page["count"]:
                return places
            params = {"offset": len(places)}
        elif page["more"]:
            params = {"cursor": page["cursor"]}
        else:
            return places
    """,
    new_only="""
    places = []
    params = {"cursor": "c0"}
    while True:
        page = page_of(data, params)
        places += [entry["place"] for entry in page["found"]]
        if not page["more"]:
            return places
        params = {"cursor": page["cursor"]}
    """,
    fabricating="""
    places = []
    while True:
        page = page_of(data, {"offset": len(places)})
        places += [entry["place"] for entry in page["found"]]
        if len(places) >= page.get("count", 2):
            return places
    """,
    swallowing="""
    places = []
    while True:
        page = page_of(data, {"offset": len(places)})
        places += [entry["place"] for entry in page["found"]]
        if "count" not in page or len(places) >= page["count"]:
            return places
    """,
)

CASES["name_that_nobody_knows"] = Case(
    head=CSV,
    body="""
    loads = {}
    for row in csv.DictReader(io.StringIO(data)):
        loads[row["hall"]] = loads.get(row["hall"], 0) + float(row["payload"])
    return loads
    """,
    old=sheet("hall,payload,gate", "North,12.5,4", "South,7.25,2", "North,3.5,1"),
    old_expected={"North": 16.0, "South": 7.25},
    new=sheet("hall,zk_17,gate", "North,10.5,3", "South,8.5,2", "East,4.25,1"),
    new_expected={"North": 10.5, "South": 8.5, "East": 4.25},
    right="""
    loads = {}
    for row in csv.DictReader(io.StringIO(data)):
        payload = row["payload"] if "payload" in row else row["zk_17"]
        loads[row["hall"]] = loads.get(row["hall"], 0) + float(payload)
    return loads
    """,
    new_only="""
    loads = {}
    for row in csv.DictReader(io.StringIO(data)):
        loads[row["hall"]] = loads.get(row["hall"], 0) + float(row["zk_17"])
    return loads
    """,
    fabricating="""
    loads = {}
    for row in csv.DictReader(io.StringIO(data)):
        row = {**{"payload": "0"}, **row}
        loads[row["hall"]] = loads.get(row["hall"], 0) + float(row["payload"])
    return loads
    """,
    swallowing="""
    loads = {}
    for row in csv.DictReader(io.StringIO(data)):
        if "payload" in row:
            loads[row["hall"]] = loads.get(row["hall"], 0) + float(row["payload"])
    return loads
    """,
)

CASES["qualifier_added"] = Case(
    head=CSV,
    waits=True,
    body="""
    rows = list(csv.DictReader(io.StringIO(data)))
    return {"amount": sum(int(row["amount"]) for row in rows), "rows": len(rows)}
    """,
    old=sheet("order,amount", "A1,120", "A2,80"),
    old_expected={"amount": 200, "rows": 2},
    new=sheet("order,gross_amount", "B1,130", "B2,95", "B3,60"),
    new_expected={"amount": 285, "rows": 3},
    right="""
    rows = list(csv.DictReader(io.StringIO(data)))
    name = "gross_amount" if rows and "gross_amount" in rows[0] else "amount"
    return {"amount": sum(int(row[name]) for row in rows), "rows": len(rows)}
    """,
    new_only="""
    rows = list(csv.DictReader(io.StringIO(data)))
    return {"amount": sum(int(row["gross_amount"]) for row in rows), "rows": len(rows)}
    """,
    fabricating="""
    rows = list(csv.DictReader(io.StringIO(data)))
    return {"amount": sum(int(row.get("amount") or 0) for row in rows), "rows": len(rows)}
    """,
    swallowing="""
    rows = list(csv.DictReader(io.StringIO(data)))
    return {"amount": sum(int(row["amount"]) for row in rows if "amount" in row), "rows": len(rows)}
    """,
)

CASES["keyed_by_path"] = Case(
    head="",
    waits=True,
    body="""
    found = {}
    for name, entry in data["modules"].items():
        found[name] = entry["release"]
    return dict(sorted(found.items()))
    """,
    old={"modules": {"pump": {"release": "1.4"}, "valve": {"release": "2.0"}}},
    old_expected={"pump": "1.4", "valve": "2.0"},
    new={"tree": {"": {"owner": "plant"}, "lib/pump": {"release": "1.7"}, "lib/valve": {"release": "2.2"}}},
    new_expected={"pump": "1.7", "valve": "2.2"},
    right="""
    found = {}
    if "modules" in data:
        for name, entry in data["modules"].items():
            found[name] = entry["release"]
    else:
        for path, entry in data["tree"].items():
            # The entry without a path is the project itself.
            if path:
                found[path.removeprefix("lib/")] = entry["release"]
    return dict(sorted(found.items()))
    """,
    new_only="""
    found = {}
    for path, entry in data["tree"].items():
        if path:
            found[path.removeprefix("lib/")] = entry["release"]
    return dict(sorted(found.items()))
    """,
    fabricating="""
    found = {}
    for name, entry in (data.get("modules") or data["tree"]).items():
        found[name] = entry.get("release", "0.0")
    return dict(sorted(found.items()))
    """,
    swallowing="""
    found = {}
    for name, entry in data.get("modules", {}).items():
        found[name] = entry["release"]
    return dict(sorted(found.items()))
    """,
)

CASES["hundredths_in_a_time"] = Case(
    head="",
    body="""
    times = {}
    for line in data["finish"]:
        minutes, seconds = line["time"].split(":")
        times[line["team"]] = int(minutes) * 60 + int(seconds)
    return times
    """,
    old={"finish": [{"team": "Lynx", "time": "27:31"}, {"team": "Otter", "time": "28:04"}]},
    old_expected={"Lynx": 1651, "Otter": 1684},
    new={"finish": [{"team": "Otter", "time": "33:55'11"}, {"team": "Lynx", "time": "34:01'50"}]},
    new_expected={"Otter": 2035.11, "Lynx": 2041.5},
    right="""
    times = {}
    for line in data["finish"]:
        minutes, seconds = line["time"].split(":")
        if "'" in seconds:
            seconds, hundredths = seconds.split("'")
            times[line["team"]] = int(minutes) * 60 + int(seconds) + int(hundredths) / 100
        else:
            times[line["team"]] = int(minutes) * 60 + int(seconds)
    return times
    """,
    new_only="""
    times = {}
    for line in data["finish"]:
        minutes, seconds = line["time"].split(":")
        seconds, hundredths = seconds.split("'")
        times[line["team"]] = int(minutes) * 60 + int(seconds) + int(hundredths) / 100
    return times
    """,
    fabricating="""
    times = {}
    for line in data["finish"]:
        minutes, seconds = line["time"].split(":")
        times[line["team"]] = int(minutes) * 60 + (int(seconds) if seconds.isdigit() else 30)
    return times
    """,
    swallowing="""
    times = {}
    for line in data["finish"]:
        minutes, seconds = line["time"].split(":")
        try:
            times[line["team"]] = int(minutes) * 60 + int(seconds)
        except ValueError:
            times[line["team"]] = int(minutes) * 60
    return times
    """,
)

CASES["two_columns_could_be_it"] = Case(
    head=CSV + "\nfrom datetime import datetime",
    waits=True,
    about="Calls at night, by the time of the call.",
    body="""
    night = {}
    for row in csv.DictReader(io.StringIO(data)):
        when = datetime.strptime(row["Date"] + " " + row["Time"], "%d.%m.%Y %H:%M")
        if when.hour >= 22 or when.hour < 6:
            night[row["Ward"]] = night.get(row["Ward"], 0) + 1
    return night
    """,
    old=sheet("Date,Time,Ward", "19.01.2026,14:00,Harbour", "20.01.2026,23:45,Mill", "21.01.2026,03:10,Mill"),
    old_expected={"Mill": 2},
    new=sheet(
        "Call Datetime,Report Datetime,Ward",
        "2026-06-01 23:10,2026-06-02 09:00,Harbour",
        "2026-06-02 12:00,2026-06-02 23:00,Mill",
        "2026-06-03 05:59,2026-06-03 10:30,Harbour",
    ),
    new_expected={"Harbour": 2},
    right="""
    night = {}
    for row in csv.DictReader(io.StringIO(data)):
        if "Date" in row:
            when = datetime.strptime(row["Date"] + " " + row["Time"], "%d.%m.%Y %H:%M")
        else:
            when = datetime.strptime(row["Call Datetime"], "%Y-%m-%d %H:%M")
        if when.hour >= 22 or when.hour < 6:
            night[row["Ward"]] = night.get(row["Ward"], 0) + 1
    return night
    """,
    new_only="""
    night = {}
    for row in csv.DictReader(io.StringIO(data)):
        when = datetime.strptime(row["Call Datetime"], "%Y-%m-%d %H:%M")
        if when.hour >= 22 or when.hour < 6:
            night[row["Ward"]] = night.get(row["Ward"], 0) + 1
    return night
    """,
    fabricating="""
    night = {}
    for row in csv.DictReader(io.StringIO(data)):
        clock = row["Time"] if "Time" in row else "23:00"
        when = datetime.strptime(row.get("Date", "01.01.2026") + " " + clock, "%d.%m.%Y %H:%M")
        if when.hour >= 22 or when.hour < 6:
            night[row["Ward"]] = night.get(row["Ward"], 0) + 1
    return night
    """,
    swallowing="""
    night = {}
    for row in csv.DictReader(io.StringIO(data)):
        try:
            when = datetime.strptime(row["Date"] + " " + row["Time"], "%d.%m.%Y %H:%M")
        except KeyError:
            continue
        if when.hour >= 22 or when.hour < 6:
            night[row["Ward"]] = night.get(row["Ward"], 0) + 1
    return night
    """,
)

CASES["milliseconds_for_seconds"] = Case(
    head="",
    waits=True,
    about="Longest and mean duration, in seconds.",
    body="""
    times = [run["duration"] for run in data["runs"]]
    return {"longest": max(times), "mean": sum(times) / len(times)}
    """,
    old={"runs": [{"id": "r1", "duration": 12.5}, {"id": "r2", "duration": 17.5}]},
    old_expected={"longest": 17.5, "mean": 15.0},
    new={"runs": [{"id": "r7", "duration_ms": 14500}, {"id": "r8", "duration_ms": 19500}]},
    new_expected={"longest": 19.5, "mean": 17.0},
    right="""
    times = [run["duration"] if "duration" in run else run["duration_ms"] / 1000 for run in data["runs"]]
    return {"longest": max(times), "mean": sum(times) / len(times)}
    """,
    new_only="""
    times = [run["duration_ms"] / 1000 for run in data["runs"]]
    return {"longest": max(times), "mean": sum(times) / len(times)}
    """,
    fabricating="""
    times = [run.setdefault("duration", 15.0) for run in data["runs"]]
    return {"longest": max(times), "mean": sum(times) / len(times)}
    """,
    swallowing="""
    times = [run["duration"] for run in data["runs"] if run.get("duration") is not None] or [0.0]
    return {"longest": max(times), "mean": sum(times) / len(times)}
    """,
)

CASES["a_state_for_a_flag"] = Case(
    head="",
    about="Names of the accounts that may log in; a locked account may not.",
    waits=True,
    body="""
    return sorted(account["name"] for account in data["accounts"] if account["may_log_in"])
    """,
    old={"accounts": [{"name": "Ann", "may_log_in": True}, {"name": "Bo", "may_log_in": False}]},
    old_expected=["Ann"],
    new={
        "accounts": [
            {"name": "Cy", "state": "open"},
            {"name": "Di", "state": "locked"},
            {"name": "Ed", "state": "open"},
        ]
    },
    new_expected=["Cy", "Ed"],
    right="""
    def may_log_in(account):
        if "may_log_in" in account:
            return account["may_log_in"]
        if account["state"] not in ("open", "locked"):
            raise KeyError(f"no rule for the state {account['state']!r}")
        return account["state"] == "open"

    return sorted(account["name"] for account in data["accounts"] if may_log_in(account))
    """,
    new_only="""
    return sorted(account["name"] for account in data["accounts"] if account["state"] == "open")
    """,
    fabricating="""
    return sorted(account["name"] for account in data["accounts"] if account.get("may_log_in", True))
    """,
    swallowing="""
    return sorted(account["name"] for account in data["accounts"] if "may_log_in" in account and account["may_log_in"])
    """,
)

CASES["point_as_a_pair"] = Case(
    head="",
    waits=True,
    body="""
    spots = data["spots"]
    return {"north": max(spot["lat"] for spot in spots), "east": max(spot["lon"] for spot in spots)}
    """,
    old={"spots": [{"lat": 59.91, "lon": 10.75}, {"lat": 60.39, "lon": 5.32}]},
    old_expected={"north": 60.39, "east": 10.75},
    new={"spots": [{"at": [10.41, 63.43]}, {"at": [18.95, 69.65]}]},
    new_expected={"north": 69.65, "east": 18.95},
    right="""
    spots = data["spots"]
    # The pair is written as longitude, latitude.
    points = [(spot["lat"], spot["lon"]) if "lat" in spot else (spot["at"][1], spot["at"][0]) for spot in spots]
    return {"north": max(point[0] for point in points), "east": max(point[1] for point in points)}
    """,
    new_only="""
    spots = data["spots"]
    return {"north": max(spot["at"][1] for spot in spots), "east": max(spot["at"][0] for spot in spots)}
    """,
    fabricating="""
    spots = data["spots"]
    return {
        "north": max((spot["lat"] for spot in spots if "lat" in spot), default=0.0),
        "east": max((spot["lon"] for spot in spots if "lon" in spot), default=0.0),
    }
    """,
    swallowing="""
    spots = data["spots"]
    try:
        return {"north": max(spot["lat"] for spot in spots), "east": max(spot["lon"] for spot in spots)}
    except KeyError:
        return {}
    """,
)

CASES["list_for_a_text"] = Case(
    head="from collections import Counter",
    body="""
    counts = Counter()
    for note in data["notes"]:
        counts.update(note["labels"].split(";"))
    return dict(counts)
    """,
    old={"notes": [{"labels": "wet;cold"}, {"labels": "cold"}]},
    old_expected={"wet": 1, "cold": 2},
    new={"notes": [{"labels": [{"text": "dry"}, {"text": "warm"}]}, {"labels": [{"text": "warm"}]}]},
    new_expected={"dry": 1, "warm": 2},
    right="""
    counts = Counter()
    for note in data["notes"]:
        labels = note["labels"]
        counts.update(labels.split(";") if isinstance(labels, str) else [label["text"] for label in labels])
    return dict(counts)
    """,
    new_only="""
    counts = Counter()
    for note in data["notes"]:
        counts.update([label["text"] for label in note["labels"]])
    return dict(counts)
    """,
    fabricating="""
    counts = Counter()
    for note in data["notes"]:
        labels = note["labels"]
        counts.update(labels.split(";") if isinstance(labels, str) else ["unknown"])
    return dict(counts)
    """,
    swallowing="""
    counts = Counter()
    for note in data["notes"]:
        try:
            counts.update(note["labels"].split(";"))
        except AttributeError:
            pass
    return dict(counts)
    """,
)

CASES["a_week_written_otherwise"] = Case(
    head=CSV,
    body="""
    hours = {}
    for row in csv.DictReader(io.StringIO(data)):
        year, week = row["week"].split("-W")
        hours[(int(year), int(week))] = int(row["hours"])
    return [hours[key] for key in sorted(hours)]
    """,
    old=sheet("week,hours", "2026-W02,38", "2025-W51,40", "2026-W01,16"),
    old_expected=[40, 16, 38],
    new=sheet("week,hours", "KW 7/2026,35", "KW 6/2026,39", "KW 51/2025,41"),
    new_expected=[41, 39, 35],
    right="""
    hours = {}
    for row in csv.DictReader(io.StringIO(data)):
        if row["week"].startswith("KW "):
            week, year = row["week"].removeprefix("KW ").split("/")
        else:
            year, week = row["week"].split("-W")
        hours[(int(year), int(week))] = int(row["hours"])
    return [hours[key] for key in sorted(hours)]
    """,
    new_only="""
    hours = {}
    for row in csv.DictReader(io.StringIO(data)):
        week, year = row["week"].removeprefix("KW ").split("/")
        hours[(int(year), int(week))] = int(row["hours"])
    return [hours[key] for key in sorted(hours)]
    """,
    fabricating="""
    hours = {}
    for number, row in enumerate(csv.DictReader(io.StringIO(data)), start=1):
        year, week = row["week"].split("-W") if "-W" in row["week"] else ("2026", number)
        hours[(int(year), int(week))] = int(row["hours"])
    return [hours[key] for key in sorted(hours)]
    """,
    swallowing="""
    import contextlib

    hours = {}
    for row in csv.DictReader(io.StringIO(data)):
        with contextlib.suppress(ValueError):
            year, week = row["week"].split("-W")
            hours[(int(year), int(week))] = int(row["hours"])
    return [hours[key] for key in sorted(hours)]
    """,
)

CASES["duration_in_words"] = Case(
    head="",
    body="""
    total = 0
    for trip in data["trips"]:
        hours, minutes = trip["took"].split(":")
        total += int(hours) * 60 + int(minutes)
    return {"minutes": total}
    """,
    old={"trips": [{"took": "1:20"}, {"took": "0:45"}]},
    old_expected={"minutes": 125},
    new={"trips": [{"took": "2 h 5 min"}, {"took": "50 min"}, {"took": "1 h"}]},
    new_expected={"minutes": 235},
    right="""
    import re

    total = 0
    for trip in data["trips"]:
        words = re.fullmatch(r"(?:(\\d+) h)? ?(?:(\\d+) min)?", trip["took"])
        if words and trip["took"]:
            hours, minutes = (int(part) if part else 0 for part in words.groups())
        else:
            hours, minutes = trip["took"].split(":")
        total += int(hours) * 60 + int(minutes)
    return {"minutes": total}
    """,
    new_only="""
    import re

    total = 0
    for trip in data["trips"]:
        words = re.fullmatch(r"(?:(\\d+) h)? ?(?:(\\d+) min)?", trip["took"])
        hours, minutes = (int(part) if part else 0 for part in words.groups())
        total += hours * 60 + minutes
    return {"minutes": total}
    """,
    fabricating="""
    total = 0
    for trip in data["trips"]:
        hours, minutes = trip["took"].split(":") if ":" in trip["took"] else ("1", "0")
        total += int(hours) * 60 + int(minutes)
    return {"minutes": total}
    """,
    swallowing="""
    total = 0
    for trip in data["trips"]:
        try:
            hours, minutes = trip["took"].split(":")
        except ValueError:
            hours = minutes = 0
        total += int(hours) * 60 + int(minutes)
    return {"minutes": total}
    """,
)

CASES["line_of_another_order"] = Case(
    head="from datetime import date",
    body="""
    counts = {}
    last = date.min
    for line in data.splitlines():
        day, level, text = line.split(" ", 2)
        last = max(last, date.fromisoformat(day))
        if level not in ("INFO", "WARN", "FAIL"):
            raise LookupError(f"no level in {line!r}")
        counts[level] = counts.get(level, 0) + 1
    return {"counts": counts, "last": last.isoformat()}
    """,
    old=sheet("2026-03-01 INFO pump started", "2026-03-01 FAIL pump stopped", "2026-03-02 INFO pump started"),
    old_expected={"counts": {"INFO": 2, "FAIL": 1}, "last": "2026-03-02"},
    new=sheet("<INFO> 2026-04-01 valve shut", "<WARN> 2026-04-01 valve slow", "<WARN> 2026-04-02 valve slow"),
    new_expected={"counts": {"INFO": 1, "WARN": 2}, "last": "2026-04-02"},
    right="""
    counts = {}
    last = date.min
    for line in data.splitlines():
        day, level, text = line.split(" ", 2)
        if day.startswith("<") and day.endswith(">"):
            # The level stands first, in angle brackets.
            day, level = level, day[1:-1]
        last = max(last, date.fromisoformat(day))
        if level not in ("INFO", "WARN", "FAIL"):
            raise LookupError(f"no level in {line!r}")
        counts[level] = counts.get(level, 0) + 1
    return {"counts": counts, "last": last.isoformat()}
    """,
    new_only="""
    counts = {}
    last = date.min
    for line in data.splitlines():
        level, day, text = line.split(" ", 2)
        level = level.strip("<>")
        last = max(last, date.fromisoformat(day))
        if level not in ("INFO", "WARN", "FAIL"):
            raise LookupError(f"no level in {line!r}")
        counts[level] = counts.get(level, 0) + 1
    return {"counts": counts, "last": last.isoformat()}
    """,
    fabricating="""
    counts = {}
    last = date.min
    for line in data.splitlines():
        day, level, text = line.split(" ", 2)
        last = max(last, date.fromisoformat(day) if day[0].isdigit() else date.today())
        if level not in ("INFO", "WARN", "FAIL"):
            level = "INFO"
        counts[level] = counts.get(level, 0) + 1
    return {"counts": counts, "last": last.isoformat()}
    """,
    swallowing="""
    counts = {}
    last = date.min
    for line in data.splitlines():
        day, level, text = line.split(" ", 2)
        try:
            last = max(last, date.fromisoformat(day))
        except ValueError:
            continue
        if level not in ("INFO", "WARN", "FAIL"):
            raise LookupError(f"no level in {line!r}")
        counts[level] = counts.get(level, 0) + 1
    return {"counts": counts, "last": last.isoformat()}
    """,
)

CASES["table_turned_round"] = Case(
    head=CSV,
    body="""
    sales = {}
    for row in csv.DictReader(io.StringIO(data)):
        sales[row["shop"]] = sales.get(row["shop"], 0) + int(row["sold"])
    return sales
    """,
    old=sheet("shop,month,sold", "Rome,Jan,14", "Rome,Feb,11", "Bari,Jan,5"),
    old_expected={"Rome": 25, "Bari": 5},
    new=sheet("shop,Mar,Apr", "Rome,13,17", "Bari,6,8"),
    new_expected={"Rome": 30, "Bari": 14},
    right="""
    sales = {}
    for row in csv.DictReader(io.StringIO(data)):
        if "sold" in row:
            sold = int(row["sold"])
        else:
            # A column a month stands in place of a row a month.
            sold = sum(int(value) for name, value in row.items() if name != "shop")
        sales[row["shop"]] = sales.get(row["shop"], 0) + sold
    return sales
    """,
    new_only="""
    sales = {}
    for row in csv.DictReader(io.StringIO(data)):
        sold = sum(int(value) for name, value in row.items() if name != "shop")
        sales[row["shop"]] = sales.get(row["shop"], 0) + sold
    return sales
    """,
    fabricating="""
    sales = {}
    for row in csv.DictReader(io.StringIO(data)):
        sold = int(row["sold"]) if "sold" in row else len(row)
        sales[row["shop"]] = sales.get(row["shop"], 0) + sold
    return sales
    """,
    swallowing="""
    sales = {}
    for row in csv.DictReader(io.StringIO(data)):
        sales.setdefault(row["shop"], 0)
        if row.get("sold"):
            sales[row["shop"]] += int(row["sold"])
    return sales
    """,
)

CASES["suffix_of_a_thousand"] = Case(
    head=CSV,
    body="""
    visits = {}
    for row in csv.DictReader(io.StringIO(data)):
        visits[row["page"]] = int(row["visits"])
    return visits
    """,
    old=sheet("page,visits", "home,1250", "help,310"),
    old_expected={"home": 1250, "help": 310},
    new=sheet("page,visits", "home,1.4k", "help,0.3k", "news,12k"),
    new_expected={"home": 1400, "help": 300, "news": 12000},
    right="""
    visits = {}
    for row in csv.DictReader(io.StringIO(data)):
        text = row["visits"]
        visits[row["page"]] = round(float(text[:-1]) * 1000) if text.endswith("k") else int(text)
    return visits
    """,
    new_only="""
    visits = {}
    for row in csv.DictReader(io.StringIO(data)):
        visits[row["page"]] = round(float(row["visits"].removesuffix("k")) * 1000)
    return visits
    """,
    fabricating="""
    visits = {}
    for row in csv.DictReader(io.StringIO(data)):
        visits[row["page"]] = int(row["visits"]) if row["visits"].isdigit() else 1000
    return visits
    """,
    swallowing="""
    visits = {}
    for row in csv.DictReader(io.StringIO(data)):
        try:
            visits[row["page"]] = int(row["visits"])
        except ValueError:
            visits[row["page"]] = None
    return visits
    """,
)

CASES["names_apart_from_values"] = Case(
    head="",
    waits=True,
    body="""
    return {reading["probe"]: reading["grade"] for reading in data["readings"]}
    """,
    old={"readings": [{"probe": "T1", "grade": 3}, {"probe": "T2", "grade": 5}]},
    old_expected={"T1": 3, "T2": 5},
    new={"columns": ["grade", "probe"], "values": [[4, "T1"], [6, "T3"]]},
    new_expected={"T1": 4, "T3": 6},
    right="""
    if "readings" in data:
        readings = data["readings"]
    else:
        readings = [dict(zip(data["columns"], values)) for values in data["values"]]
    return {reading["probe"]: reading["grade"] for reading in readings}
    """,
    new_only="""
    readings = [dict(zip(data["columns"], values)) for values in data["values"]]
    return {reading["probe"]: reading["grade"] for reading in readings}
    """,
    fabricating="""
    readings = data["readings"] if "readings" in data else [{"probe": name, "grade": 0} for name in data["columns"]]
    return {reading["probe"]: reading["grade"] for reading in readings}
    """,
    swallowing="""
    return {reading["probe"]: reading["grade"] for reading in data.get("readings") or []}
    """,
)

CASES["one_column_became_two"] = Case(
    head=CSV,
    about="Balance: what came in less what went out.",
    body="""
    balance = 0
    for row in csv.DictReader(io.StringIO(data)):
        balance += int(row["movement"])
    return {"balance": balance}
    """,
    old=sheet("day,movement", "2026-01-02,500", "2026-01-03,-120"),
    old_expected={"balance": 380},
    new=sheet("day,credit,debit", "2026-02-02,700,", "2026-02-03,,150", "2026-02-04,,90"),
    new_expected={"balance": 460},
    right="""
    balance = 0
    for row in csv.DictReader(io.StringIO(data)):
        if "movement" in row:
            balance += int(row["movement"])
        elif row["credit"]:
            balance += int(row["credit"])
        else:
            balance -= int(row["debit"])
    return {"balance": balance}
    """,
    new_only="""
    balance = 0
    for row in csv.DictReader(io.StringIO(data)):
        if row["credit"]:
            balance += int(row["credit"])
        else:
            balance -= int(row["debit"])
    return {"balance": balance}
    """,
    fabricating="""
    balance = 0
    for row in csv.DictReader(io.StringIO(data)):
        try:
            movement = row["movement"]
        except KeyError:
            movement = "0"
        balance += int(movement)
    return {"balance": balance}
    """,
    swallowing="""
    balance = 0
    for row in csv.DictReader(io.StringIO(data)):
        if "movement" not in row:
            break
        balance += int(row["movement"])
    return {"balance": balance}
    """,
)

CASES["days_since_an_epoch"] = Case(
    head="from datetime import date",
    body="""
    days = [date.fromisoformat(entry["due"]) for entry in data["bills"]]
    return {"first": min(days).isoformat(), "months": sorted({day.month for day in days})}
    """,
    old={"bills": [{"due": "2026-03-14"}, {"due": "2026-01-31"}]},
    old_expected={"first": "2026-01-31", "months": [1, 3]},
    new={"bills": [{"due": {"since": "2020-01-01", "days": 2343}}, {"due": {"since": "2020-01-01", "days": 2403}}]},
    new_expected={"first": "2026-06-01", "months": [6, 7]},
    right="""
    from datetime import timedelta

    def due(entry):
        value = entry["due"]
        if isinstance(value, str):
            return date.fromisoformat(value)
        return date.fromisoformat(value["since"]) + timedelta(days=value["days"])

    days = [due(entry) for entry in data["bills"]]
    return {"first": min(days).isoformat(), "months": sorted({day.month for day in days})}
    """,
    new_only="""
    from datetime import timedelta

    days = [date.fromisoformat(entry["due"]["since"]) + timedelta(days=entry["due"]["days"]) for entry in data["bills"]]
    return {"first": min(days).isoformat(), "months": sorted({day.month for day in days})}
    """,
    fabricating="""
    days = [date.fromisoformat(entry["due"] if isinstance(entry["due"], str) else "2026-01-01") for entry in data["bills"]]
    return {"first": min(days).isoformat(), "months": sorted({day.month for day in days})}
    """,
    swallowing="""
    days = [date.fromisoformat(entry["due"]) for entry in data["bills"] if isinstance(entry["due"], str)] or [date.max]
    return {"first": min(days).isoformat(), "months": sorted({day.month for day in days})}
    """,
)

BAD = ("new_only", "fabricating", "swallowing")
