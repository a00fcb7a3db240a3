"""RAS: error counts by block, poison events, and what is switched on.

Source: /sys/class/drm/card*/device/ras/
Docs:   https://docs.kernel.org/gpu/amdgpu/ras.html
Samples: ``umc_err_count`` = lines ``ue: 0`` and ``ce: 3``, newer drivers add ``de: 0``; the same three lines in
``aca_umc`` on drivers that use ACA; ``features`` = ``feature mask: 0x3fff``; ``event_state`` = a line
``current seqno: 4`` then ``Fatal Error: count:0, last_seqno:0``.
While a recovery runs every count file holds ``Query currently inaccessible``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, shown
from rocsteady.hostfs import HostFS
from rocsteady.model.facts import RasBlock

COUNT = re.compile(r"^[ \t]*(ue|ce|de)[ \t]*:[ \t]*(\d{1,20})[ \t]*$", re.MULTILINE)
BUSY = "currently inaccessible"
SUFFIX, PREFIX = "_err_count", "aca_"
MASK = re.compile(r"(?:feature mask|table version|schema)[ \t]*:[ \t]*(0x[0-9a-fA-F]{1,16})")
EVENT = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z ]+):[ \t]*count:[ \t]*(?P<count>\d{1,20}),[ \t]*last_seqno:[ \t]*(?P<last>\d{1,20})", re.M
)


class RasEvent(msgspec.Struct, frozen=True):
    """How often a kind of RAS event was seen since driver load, and the sequence number of the last one."""

    count: int
    last_sequence: int


class Ras(msgspec.Struct, frozen=True, kw_only=True):
    """``blocks`` by RAS block; ``events`` by kind (``fatal error``, ``poison creation``, ``poison consumption``)."""

    blocks: dict[str, RasBlock]
    files: dict[str, str]
    """Block -> file name, for evidence."""
    feature_mask: int | None
    table_version: int | None
    schema: int | None
    events: dict[str, RasEvent]
    folder: Folder


def parse_counts(text: str) -> RasBlock | Malformed:
    """Counts of one block; a kind that is not printed stays None."""
    counts = {name: int(number) for name, number in COUNT.findall(text)}
    if not counts:
        busy = (
            "the driver is recovering the GPU" if BUSY in text else f"lines ue:, ce: were wanted, found {shown(text)}"
        )
        return Malformed(busy)
    return RasBlock(**counts)


def parse_mask(text: str) -> int | Malformed:
    """The number of ``features``, ``version`` and ``schema``."""
    match = MASK.search(text)
    return int(match[1], 16) if match else Malformed(f"a mask was wanted, found {shown(text)}")


def parse_events(text: str) -> dict[str, RasEvent] | Malformed:
    """Lines of ``event_state``."""
    events = {m["name"].strip().lower(): RasEvent(int(m["count"]), int(m["last"])) for m in EVENT.finditer(text)}
    return events if events else Malformed(f"lines 'name: count:N, last_seqno:N' were wanted, found {shown(text)}")


def read_ras(fs: HostFS, device: str) -> Ras | None:
    """The RAS directory of one card; None where RAS is not supported or off."""
    folder = Folder(fs, f"{device}/ras")
    names = folder.names()
    if not names:
        return None
    blocks: dict[str, RasBlock] = {}
    files: dict[str, str] = {}
    for name in names:
        block = name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else name.removeprefix(PREFIX)
        if not (name.endswith(SUFFIX) or name.startswith(PREFIX)):
            continue
        counts = folder.parsed(name, parse_counts)
        if counts is not None:
            blocks[block] = counts
            files[block] = name
    return Ras(
        blocks=blocks,
        files=files,
        feature_mask=folder.parsed("features", parse_mask) if "features" in names else None,
        table_version=folder.parsed("version", parse_mask) if "version" in names else None,
        schema=folder.parsed("schema", parse_mask) if "schema" in names else None,
        events=(folder.parsed("event_state", parse_events) if "event_state" in names else None) or {},
        folder=folder,
    )
