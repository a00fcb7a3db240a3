"""Energy of the GPUs: the accumulated counters of a node's exporter, or those of a node read directly.

The counter at the end less the one at the start, not an average of power readings. A window with a GPU missing, a
counter that went back, or a scrape that failed is no figure: ``valid`` is False and says why.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable

import aiohttp
import msgspec

from rocsteady.bench.samples import Energy, Reading
from rocsteady.metrics import PREFIX, engine, gpu_sensors

LINE = re.compile(rf"^({PREFIX}\w+)(?:\{{([^}}\n]*)\}})? (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
JOULES = gpu_sensors.ENERGY.full_name
USED = gpu_sensors.MEMORY_USED.full_name
RESIDENT = engine.PROCESS_MEMORY.full_name
MOST_BYTES = 64 << 20
PATIENCE = 10.0


class Meter(msgspec.Struct, frozen=True):
    """Joules by GPU at a moment (monotonic seconds); ``why`` where they could not be read."""

    at: float
    joules: dict[str, float]
    why: str = ""


def samples_of(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    """Samples of one metric in the Prometheus text format; values that are no number are left out."""
    found = []
    for metric, labels, value in LINE.findall(text):
        if metric == name:
            try:
                found.append((dict(LABEL.findall(labels)), float(value)))
            except ValueError:
                continue
    return found


def meter_of(text: str, at: float) -> Meter:
    """The counters of a scrape."""
    joules = {labels.get("gpu", ""): value for labels, value in samples_of(text, JOULES)}
    return Meter(at, joules, "" if joules else f"the scrape has no {JOULES}")


def used(before: Meter, after: Meter, idle_watts: float | None, source: str) -> Energy:
    """Energy between two moments."""

    def no(why: str) -> Energy:
        return Energy(valid=False, why=why, source=source)

    for meter in (before, after):
        if meter.why:
            return no(meter.why)
    if before.joules.keys() != after.joules.keys():
        changed = sorted(before.joules.keys() ^ after.joules.keys())
        return no(f"the counter of {', '.join(changed)} is missing in one reading")
    gone = [gpu for gpu, value in after.joules.items() if value < before.joules[gpu]]
    if gone:
        return no(f"the counter of {', '.join(sorted(gone))} went back: a reset or reload of the driver")
    total = sum(after.joules.values()) - sum(before.joules.values())
    if total <= 0:
        return no("the counters did not move")
    return Energy(
        valid=True, joules=total, seconds=after.at - before.at, gpus=len(after.joules), idle_watts=idle_watts,
        source=source,
    )  # fmt: skip


async def fetch(session: aiohttp.ClientSession, url: str) -> str:
    """One scrape.

    Raises:
        OSError, aiohttp.ClientError, TimeoutError: there is none.
    """
    async with session.get(url, timeout=aiohttp.ClientTimeout(total=PATIENCE)) as answer:
        if answer.status != 200:
            raise OSError(f"HTTP {answer.status}")
        return (await answer.content.read(MOST_BYTES)).decode(errors="replace")


async def read_meter(session: aiohttp.ClientSession, url: str) -> Meter:
    """Counters now, from an exporter."""
    try:
        return meter_of(await fetch(session, url), time.monotonic())
    except (OSError, aiohttp.ClientError, TimeoutError) as error:
        return Meter(time.monotonic(), {}, f"{url}: {error or type(error).__name__}")


def watcher(
    session: aiohttp.ClientSession, url: str, clock: Callable[[], float]
) -> Callable[[], Awaitable[Reading | None]]:
    """Reads memory in use of GPUs and engine processes; None where the exporter does not answer."""

    async def watch() -> Reading | None:
        try:
            text = await fetch(session, url)
        except (OSError, aiohttp.ClientError, TimeoutError):
            return None
        gpu = [value for labels, value in samples_of(text, USED) if labels.get("kind") == "vram"]
        host = [value for _, value in samples_of(text, RESIDENT)]
        return Reading(
            at=clock(), gpu_bytes=sum(gpu) if gpu else None, host_bytes=sum(host) if host else None,
        )  # fmt: skip

    return watch
