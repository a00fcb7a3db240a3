"""Probes on GPU page faults: what the status word says, and whether several GPUs faulted together.

Layout of the status word (gfx9 to gfx12): bit 0 more faults, 3:1 walker error, 7:4 permission faults (bit 0 no valid page,
1 read, 2 write, 3 execute), 8 mapping error, 17:9 client, 18 write, 23:20 vmid. Source: the VM_L2_PROTECTION_FAULT_STATUS
fields that gmc_v9_0.c and its siblings print.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.model import NODE, Event, Gpu, Subject

TOGETHER = 2.0
"""Seconds: faults of several GPUs that lie closer than this have one cause (the kernel log stamps whole seconds)."""
NULL_PAGE = 0x10000
"""Addresses below 64 KiB are null pointers plus a small offset: user space maps nothing there (vm.mmap_min_addr)."""
FRONT_END = ("cpf", "cpc", "cpg", "rlc", "mes")
"""Clients that belong to the command processor and scheduler: firmware, not a program's shader."""


class Fault(msgspec.Struct, frozen=True):
    """One page fault, taken apart. None = the lines do not show it."""

    event: Event
    address: int | None
    client: str | None
    walker: int | None
    permission: int | None
    mapping: int | None
    write: bool | None

    @property
    def unmapped(self) -> bool:
        """No valid page, and the page tables themselves are sound."""
        return bool(self.permission and self.permission & 1) and not self.walker and not self.mapping


def decode(event: Event) -> Fault:
    """A fault from the printed fields, or from the status word where those are missing."""
    fields = event.fields
    status = _number(fields.get("status"))
    if status in (0, 0xFFFFFFFF):  # cleared before it was read, or nobody answered
        status = None
    rw = _number(fields.get("rw"))
    shown = status is not None or any(_number(fields.get(k)) for k in ("walker", "permission", "mapping"))

    def field(name: str, shift: int, mask: int) -> int | None:
        printed = _number(fields.get(name))
        if printed is not None and shown:
            return printed
        return None if status is None else status >> shift & mask

    write = bool(rw) if rw is not None and shown else None if status is None else bool(status >> 18 & 1)
    return Fault(
        event, _number(fields.get("address") or fields.get("page")), fields.get("utcl2"),
        field("walker", 1, 7), field("permission", 4, 15), field("mapping", 8, 1), write,
    )  # fmt: skip


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        return None


def own_faults(world: World, subject: Subject) -> list[Fault]:
    """Faults of one GPU; of all where the node is asked."""
    return [decode(e) for e in world.events(("gpu-page-fault",)) if subject == NODE or e.subject == subject]


def _answer(faults: list[Fault]) -> Probed:
    if not faults:
        return Probed(False)
    first = faults[0]
    bindings = {
        "access": "an access" if first.write is None else "a write" if first.write else "a read",
        "faulting_client": first.client or "a client that is not named",
        "fault_address": f"{first.address:#x}" if first.address is not None else "an address that is not shown",
    }
    events = tuple(f.event for f in faults)
    evidence = tuple(e for f in faults[:3] for e in (f.event.evidence, *f.event.more))
    return Probed(True, evidence[:16], bindings, events)


def _where(test: Callable[[Fault], bool]) -> Probe:
    def probe(world: World, subject: Subject, _gpu: Gpu | None) -> Probed:
        return _answer([f for f in own_faults(world, subject) if test(f)])

    return probe


def _client(fault: Fault) -> str:
    return (fault.client or "").lower()


def _by_shader(fault: Fault) -> bool:
    return _client(fault).startswith(("tcp", "sqc", "ta", "td", "gl1", "utcl1", "ttx"))


def _by_front_end(fault: Fault) -> bool:
    return _client(fault).startswith(FRONT_END)


def _null(fault: Fault) -> bool:
    return fault.address is not None and fault.address < NULL_PAGE and fault.event.fields.get("vmid") != "0"


def several_gpus(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """At least two GPUs fault within ``TOGETHER`` seconds (or without any time stamps)."""
    events = [e for e in world.events(("gpu-page-fault",)) if e.subject is not None and e.subject.kind == "gpu"]
    for i, event in enumerate(events):
        at = event.at if event.at is not None else event.uptime
        group = [
            e for e in events[i:]
            if at is None or (t := e.at if e.at is not None else e.uptime) is None or 0 <= t - at <= TOGETHER
        ]  # fmt: skip
        gpus = dict.fromkeys(e.subject.id for e in group if e.subject)
        if len(gpus) < 2:
            continue
        faults = [decode(e) for e in group]
        writes = [f.write for f in faults if f.write is not None]
        bindings = {
            "gpus": str(len(gpus)),
            "gpu_list": ", ".join(gpus),
            "access": "write" if writes and writes[0] else "read" if writes else "access",
            "faulting_client": next((f.client for f in faults if f.client), "not named"),
        }
        evidence = tuple(e for x in group[:4] for e in (x.evidence, *x.more))
        return Probed(True, evidence[:16], bindings, tuple(group))
    return Probed(False)


PROBES: dict[str, Probe] = {
    "page-fault-unmapped-shader": _where(lambda f: f.unmapped and _by_shader(f) and not _null(f)),
    "page-fault-unmapped-sdma": _where(lambda f: f.unmapped and _client(f).startswith("sdma")),
    "page-fault-front-end": _where(_by_front_end),
    "page-fault-page-table": _where(lambda f: bool(f.walker or f.mapping) and not _by_front_end(f)),
    "page-fault-forbidden": _where(lambda f: bool(f.permission and not f.permission & 1) and not f.walker),
    "page-fault-null": _where(_null),
    "page-fault-several-gpus": several_gpus,
}
"""By the name that catalog rules use."""
