"""When requests are due. Open loop: the clock decides, not the server. Closed loop: a free user asks again."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import msgspec

from rocsteady.model import InputError

MOST_RATE = 100_000.0
MOST_USERS = 100_000


class Load(msgspec.Struct, frozen=True):
    """kind: poisson, constant, trace (open loop) or users (closed loop). value: requests a second, speed, users."""

    kind: str
    value: float

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"{self.kind}:{self.value:g}"


def parse_load(text: str) -> Load:
    """``poisson:4``, ``constant:4`` (requests a second), ``trace[:SPEED]``, ``users:16``.

    Raises:
        InputError: it is none of these.
    """
    match = re.fullmatch(r"(poisson|constant|users|trace)(?::(\d{1,9}(?:\.\d{1,6})?))?", text)
    value = float(match[2]) if match and match[2] else 1.0 if match and match[1] == "trace" else 0.0
    if match is None or not 0 < value <= MOST_RATE or (match[1] == "users" and value != int(value)):
        raise InputError(f"--load {text}: poisson:RATE, constant:RATE, trace[:SPEED] or users:N was wanted")
    return Load(match[1], value)


def due_times(load: Load, seconds: float, rng: random.Random) -> Iterator[float]:
    """Times of an open loop without a trace, in seconds after the start, below ``seconds``."""
    if load.kind == "constant":
        yield from itertools.takewhile(lambda at: at < seconds, (n / load.value for n in itertools.count(1)))
        return
    at = rng.expovariate(load.value)
    while at < seconds:
        yield at
        at += rng.expovariate(load.value)
