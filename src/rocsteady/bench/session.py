"""A whole run from its options: connects client, driver, watcher and meter."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator

import aiohttp
import msgspec

from rocsteady.bench.client import Target, ask_once
from rocsteady.bench.energy import Meter, read_meter, used, watcher
from rocsteady.bench.lengths import Ask
from rocsteady.bench.load import Driver, Plan, execute, made_run, started_now
from rocsteady.bench.samples import Run, Sample
from rocsteady.model import InputError


class Session(msgspec.Struct, kw_only=True, frozen=True):
    """energy, watch: addresses of an exporter's ``/metrics``; idle: seconds of idling measured before the load."""

    plan: Plan
    target: Target
    lengths: str
    seed: int
    energy: str | None = None
    idle: float = 0.0
    watch: str | None = None
    facts: dict[str, str] = {}


async def first_model(url: str, key: str | None) -> str:
    """The first model that the server names.

    Raises:
        InputError: it names none.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with (
            aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=30)) as session,
            session.get(url.rstrip("/") + "/v1/models") as answer,
        ):
            if answer.status != 200:
                raise InputError(f"{url}: /v1/models answered HTTP {answer.status}; name the model with --model")
            document = await answer.json(content_type=None)
        return str(document["data"][0]["id"])
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise InputError(f"{url}: {error or type(error).__name__}") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"{url}: /v1/models names no model; name it with --model") from error


async def perform(
    session: Session, asks: Iterator[Ask], rng: random.Random, done: Callable[[Sample], None] = lambda _sample: None
) -> Run:
    """Run it. Cancelling it ends the load and still gives the run, marked as interrupted."""
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=1 << 20) as http:
        idle_watts = await _idle(http, session)
        stamp, clock = started_now()

        async def ask(request: Ask, due: float) -> Sample:
            return await ask_once(http, session.target, request, due, clock)

        async def meter() -> object:
            return await read_meter(http, session.energy or "")

        driver = Driver(session.plan, ask, asks, rng, clock, done)
        outcome = await execute(
            driver, watcher(http, session.watch, clock) if session.watch else None, session.plan.watch_every,
            meter if session.energy else None, session.plan.warmup,
        )  # fmt: skip
    energy = None
    if session.energy:
        meters = [m for m in outcome[2] if isinstance(m, Meter)]
        if len(meters) == 2:
            energy = used(meters[0], meters[1], idle_watts, session.energy)
        else:
            energy = used(Meter(0, {}, "the run ended before both readings"), Meter(0, {}), None, session.energy)
    return made_run(
        driver, outcome, energy, started=stamp, target=session.target.url, model=session.target.model,
        endpoint=session.target.endpoint, load=session.plan.load.text, lengths=session.lengths, seed=session.seed,
        facts=dict(session.facts),
    )  # fmt: skip


async def _idle(http: aiohttp.ClientSession, session: Session) -> float | None:
    if not session.energy or session.idle <= 0:
        return None
    before = await read_meter(http, session.energy)
    await asyncio.sleep(session.idle)
    found = used(before, await read_meter(http, session.energy), None, session.energy)
    return found.joules / found.seconds if found.valid and found.joules and found.seconds else None
