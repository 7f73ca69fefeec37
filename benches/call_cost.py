"""What a good call costs over the same function undecorated, in nanoseconds.

    python call_cost.py sanare|healing_agent [ROUNDS]

Decorated and undecorated take turns within each round; the difference is taken round by round. Time is the thread's own
processor time, which a busy machine disturbs less than the wall's. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from statistics import median, quantiles
from time import thread_time
from typing import Any

LOOPS = 50_000

if sys.argv[1:2] == ["healing_agent"]:
    from healing_agent import healing_agent as decorate
else:
    from sanare import heal as decorate


def plain_function(a: int, b: int) -> int:
    return a + b


@decorate
def function(a: int, b: int) -> int:
    return a + b


class Thing:
    def plain_method(self, a: int, b: int) -> int:
        return a + b

    @decorate
    def method(self, a: int, b: int) -> int:
        return a + b


async def plain_coroutine(a: int, b: int) -> int:
    return a + b


@decorate
async def coroutine(a: int, b: int) -> int:
    return a + b


def plain_generator(count: int) -> Any:
    while count:
        count -= 1
        yield count


@decorate
def generator(count: int) -> Any:
    while count:
        count -= 1
        yield count


def calls(target: Any) -> float:
    loops = range(LOOPS)
    begin = thread_time()
    for _ in loops:
        target(1, 2)
    return thread_time() - begin


def awaits(target: Any) -> float:
    loops = range(LOOPS)
    begin = thread_time()
    for _ in loops:
        try:
            target(1, 2).send(None)
        except StopIteration:
            pass
    return thread_time() - begin


def items(target: Any) -> float:
    begin = thread_time()
    for _ in target(LOOPS):
        pass
    return thread_time() - begin


def own(measure: Any) -> Any:
    """A copy of the loop with inline caches of its own: shared, each of the two would find the other's and pay for it."""
    return type(measure)(measure.__code__.replace(), measure.__globals__)


def one_round(plain: Any, decorated: Any, swapped: bool) -> tuple[float, float]:
    """Both, in turns as to which comes first: what comes second runs in a warmer machine."""
    if swapped:
        second = decorated()
        return plain(), second
    return plain(), decorated()


def main() -> None:
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 101
    thing = Thing()
    pairs = {
        "sync function": (calls, plain_function, function),
        "method": (calls, thing.plain_method, thing.method),
        "async function": (awaits, plain_coroutine, coroutine),
        "generator item": (items, plain_generator, generator),
    }
    result = {}
    for name, (measure, plain, decorated) in pairs.items():
        both = partial(own(measure), plain), partial(own(measure), decorated)
        # The first good calls are remembered, then the remembering is swapped away: that is not what is measured.
        for _ in range(3):
            both[0]()
            both[1]()
        apart = [one_round(*both, number % 2 == 1) for number in range(rounds)]
        nano = [(a / LOOPS * 1e9, b / LOOPS * 1e9) for a, b in apart]
        over = [b - a for a, b in nano]
        result[name] = {
            "plain_ns": median(a for a, _ in nano),
            "decorated_ns": median(b for _, b in nano),
            "over_ns": [median(over), *quantiles(over)[::2]],
            "least_over_ns": min(b for _, b in nano) - min(a for a, _ in nano),
            "rounds": rounds,
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
