"""How fast secrets are taken out of text and data, in MB/s of processor time.

    python redact_speed.py sanare|healing_agent [ROUNDS]

`log`: 4 MB of log lines, of which one in a hundred holds a token or an address with a password. `json`: 4 MB of nested data
with a secret here and there, from Python objects to Python objects, so that what making text of them costs is part of it; `json
text`: the same as JSON, read, cleaned and written. `words`:
one word of 0.25, 0.5 and 1 MB, of the peer a fiftieth of that, since it would not end; `growth` is how many times as long the
last takes as the first (4 is linear, 16 quadratic); `slow_ms`: the longest that one of thirteen texts of 16 KiB takes that are made of
the beginnings of secrets, so as to be slow. Prints one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
from statistics import median, quantiles
from time import thread_time
from typing import Any

PEER = sys.argv[1:2] == ["healing_agent"]
if PEER:
    from healing_agent.redactor import redact as redact_data
    from healing_agent.redactor import scrub_value as redact_text
else:
    from sanare import redact as redact_data

    redact_text = redact_data

WORDS = (
    "order batch of loaded customer row rejected total retry queue region not found in column amount date cache".split()
)

BEGINNINGS = [
    "sk-",
    "ghp_",
    "password=",
    "key=",
    'key="',
    "://a:",
    "token: ",
    "eyJ",
    "-----BEGIN ",
    "Bearer ",
    "xox",
    "AKIA",
    "@",
]


def logs(dice: random.Random, size: int) -> str:
    lines = []
    length = 0
    while length < size:
        words = " ".join(dice.choice(WORDS) for _ in range(9))
        line = f"2026-02-27T02:00:{dice.randrange(60):02}Z INFO loader[{dice.randrange(9999)}]: {words}"
        if dice.randrange(100) == 0:
            line += f" https://bot:{dice.randbytes(12).hex()}@example.com/x token=ghp_{dice.randbytes(18).hex()}"
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


def data(dice: random.Random, size: int) -> list[Any]:
    rows: list[Any] = []
    length = 0
    while length < size:
        row: dict[str, Any] = {
            "id": dice.randrange(10**9),
            "customer": " ".join(dice.choice(WORDS) for _ in range(4)),
            "lines": [{"amount": dice.random(), "unit": dice.choice(WORDS), "ok": True} for _ in range(4)],
        }
        if dice.randrange(100) == 0:
            row["db_password"] = dice.randbytes(12).hex()
        rows.append(row)
        length += len(json.dumps(row))
    return rows


def seconds(work: Any, argument: Any) -> float:
    begin = thread_time()
    work(argument)
    return thread_time() - begin


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    dice = random.Random(7)
    text, rows = logs(dice, 4_000_000), data(dice, 4_000_000)
    sizes = {"log": len(text.encode()), "json": len(json.dumps(rows).encode())}
    redact_text("warm"), redact_data({"warm": 1})
    result: dict[str, Any] = {}
    for name, work, argument in (("log", redact_text, text), ("json", redact_data, rows)):
        speeds = [sizes[name] / seconds(work, argument) / 1e6 for _ in range(rounds)]
        result[name] = [median(speeds), *quantiles(speeds)[::2]]
    if not PEER:
        from sanare._sanare import redact_json

        shown = json.dumps(rows)
        speeds = [len(shown) / seconds(redact_json, shown) / 1e6 for _ in range(rounds)]
        result["json text"] = [median(speeds), *quantiles(speeds)[::2]]
        slow = [f"{piece * (16_384 // len(piece))} password=q8Zk2LmX9pWv7" for piece in BEGINNINGS]
        result["slow_ms"] = max(min(seconds(redact_text, one) for _ in range(3)) for one in slow) * 1000
    words = ["x" * (size * (5_000 if PEER else 250_000)) for size in (1, 2, 4)]
    times = [min(seconds(redact_text, word) for _ in range(3)) for word in words]
    result["words_ms"] = [time * 1000 for time in times]
    result["growth"] = times[2] / max(times[0], 1e-9)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
