"""Probes on RAS: raw banks decoded, counts that are no counts, and which GPU of a hive complained first.

STATUS word (MCA layout): bit 63 valid, 61 uncorrected, 57 context corrupt, 44 deferred, 43 poison, 21:16 extended code.
IPID word: 43:32 hardware id, 63:48 type. Names of hardware ids as in arch/x86/kernel/cpu/mce/amd.c and smu_v13_0_6_ppt.c.
"""

from __future__ import annotations

import msgspec

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import NODE, Event, Gpu, Subject

BLOCKS: dict[int, str] = {
    0x96: "UMC (HBM memory controller)",
    0x50: "XGMI PCS (link between GPUs)",
    0x01: "SMU (power controller)",
    0x2E: "data fabric",
    0x46: "PCIe",
    0x6C: "NBIF (PCIe interface)",
    0x18: "NBIO (PCIe interface)",
    0x80: "SHUB",
    0xFF: "PSP (security processor)",
    0x05: "parameter block",
    0x170: "USR DP (die-to-die data link)",
    0x180: "USR CP (die-to-die control link)",
    0x259: "XGMI PHY",
    0x267: "WAFL PHY",
}
ALL_ONES = 0xFFFF
"""A 16-bit error counter that reads all ones; the driver adds up one per channel (RDNA4: 16 of them = 1048560)."""
SEVERE = (
    "ras-athub-fatal", "ras-uncorrected", "ras-umc-channel", "ras-nbif", "ras-bank", "gpu-reset-failed", "device-lost", "smu-no-answer",
    "smu-all-ones", "mes-no-answer", "queue-preemption-timeout", "ring-timeout", "xgmi-link-error", "psp-resume-failed",
)  # fmt: skip
CASCADE = 300.0
"""Seconds within which the members of a hive follow the first one: a hive reset takes minutes on eight GPUs."""


class Bank(msgspec.Struct, frozen=True):
    """One raw bank, taken apart."""

    event: Event
    status: int
    ipid: int | None

    @property
    def hardware(self) -> int | None:
        """Hardware id of the block."""
        return None if self.ipid is None else self.ipid >> 32 & 0xFFF

    @property
    def block(self) -> str:
        """The block in words."""
        if self.hardware is None:
            return "a block that is not shown"
        return BLOCKS.get(self.hardware, f"hardware id {self.hardware:#x}")

    @property
    def uncorrected(self) -> bool:
        """Valid and uncorrected."""
        return bool(self.status >> 63 & 1 and self.status >> 61 & 1)

    @property
    def severity(self) -> str:
        """In words."""
        if self.uncorrected:
            return "uncorrected, context corrupt" if self.status >> 57 & 1 else "uncorrected"
        if self.status >> 44 & 1:
            return "deferred"
        return "poison" if self.status >> 43 & 1 else "corrected or informational"


def bank(event: Event) -> Bank | None:
    """A bank from its event; None where the words are missing or all ones (nobody answered)."""
    try:
        status = int(event.fields.get("bank_status") or event.fields.get("aca_status") or "", 16)
        ipid = int(event.fields["ipid"], 16) if "ipid" in event.fields else None
    except ValueError:
        return None
    return None if status in (0, 0xFFFFFFFFFFFFFFFF) else Bank(event, status, ipid)


def _banks(world: World, subject: Subject) -> list[Bank]:
    own = (e for e in world.events(("ras-bank",)) if subject == NODE or e.subject == subject)
    return [b for e in own if (b := bank(e)) is not None]


def _bank_answer(banks: list[Bank]) -> Probed:
    if not banks:
        return Probed(False)
    first = banks[0]
    evidence = tuple(e for b in banks[:3] for e in (b.event.evidence, *b.event.more))
    bindings = {
        "bank_block": first.block, "bank_severity": first.severity, "bank_word": f"{first.status:#018x}",
        "bank_code": f"{first.status >> 16 & 0x3F:#x}",
    }  # fmt: skip
    return Probed(True, evidence[:16], bindings, tuple(b.event for b in banks))


def uncorrected_hbm_bank(world: World, subject: Subject, _gpu: Gpu | None) -> Probed:
    """A bank of the HBM controller says uncorrected."""
    return _bank_answer([b for b in _banks(world, subject) if b.uncorrected and b.hardware == 0x96])


def uncorrected_link_bank(world: World, subject: Subject, _gpu: Gpu | None) -> Probed:
    """A bank of an XGMI link says uncorrected."""
    return _bank_answer([b for b in _banks(world, subject) if b.uncorrected and b.hardware in (0x50, 0x259)])


def uncorrected_other_bank(world: World, subject: Subject, _gpu: Gpu | None) -> Probed:
    """A bank of any other block says uncorrected."""
    return _bank_answer([b for b in _banks(world, subject) if b.uncorrected and b.hardware not in (0x96, 0x50, 0x259)])


# --- counts ------------------------------------------------------------------------------------------


def is_all_ones(count: int) -> bool:
    """Whether an error count is a sum of counters that read all ones."""
    return count >= ALL_ONES and (count % ALL_ONES == 0 or count in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF))


def count_all_ones(world: World, subject: Subject, gpu: Gpu | None) -> Probed:
    """Some RAS count, logged or read, is made of all-ones reads."""
    fits = [
        e for e in world.events(("ras-uncorrected", "ras-corrected", "ras-deferred"))
        if (subject == NODE or e.subject == subject) and is_all_ones(int(e.fields.get("errors", "0")))
    ]  # fmt: skip
    if fits:
        bindings = {"errors": fits[0].fields["errors"], "ras_block": fits[0].fields.get("ras_block", "umc")}
        return Probed(True, tuple(e.evidence for e in fits[:4]), bindings, tuple(fits))
    for name, block in ((gpu.ras or {}) if gpu else {}).items():
        for count in (block.ue, block.ce, block.de):
            if count is not None and is_all_ones(count):
                found = lookup(world.facts, f"gpu.ras.{name}", gpu)
                evidence = (found.evidence,) if found.evidence else ()
                return Probed(True, evidence, {"errors": str(count), "ras_block": name})
    return Probed(False)


# --- order -------------------------------------------------------------------------------------------


def first_of_hive(world: World, subject: Subject, _gpu: Gpu | None) -> Probed:
    """This GPU complained first, and at least two others followed within ``CASCADE`` seconds."""
    firsts: dict[str, Event] = {}
    for event in world.events(SEVERE):
        if event.subject is not None and event.subject.kind == "gpu":
            firsts.setdefault(event.subject.id, event)
    if len(firsts) < 3:
        return Probed(False)
    ordered = sorted(firsts.values(), key=_time)
    first, rest = ordered[0], ordered[1:]
    others = [e for e in rest if _time(e)[0] - _time(first)[0] <= CASCADE]
    if first.subject != subject or len(others) < 2:
        return Probed(False)
    names = ", ".join(e.subject.id for e in others if e.subject)
    evidence = (first.evidence, *first.more, *(e.evidence for e in others))
    return Probed(True, evidence[:16], {"others": names, "other_count": str(len(others))}, (first, *others))


def _time(event: Event) -> tuple[float, int]:
    at = event.at if event.at is not None else event.uptime
    return (0.0 if at is None else at, event.order)


PROBES: dict[str, Probe] = {
    "ras-bank-hbm": uncorrected_hbm_bank,
    "ras-bank-link": uncorrected_link_bank,
    "ras-bank-other": uncorrected_other_bank,
    "ras-count-all-ones": count_all_ones,
    "first-of-hive": first_of_hive,
}
"""By the name that catalog rules use."""
