"""The page fault status word and the raw RAS banks, decoded."""

from __future__ import annotations

import pytest

from rocsteady.diagnose.probes_faults import decode
from rocsteady.diagnose.probes_ras import bank, is_all_ones
from rocsteady.model import Event, Evidence


def event(kind: str, **fields: str) -> Event:
    return Event(kind=kind, subject=None, evidence=Evidence("log", 1, ""), fields=fields, order=1)


@pytest.mark.parametrize(
    ("status", "walker", "permission", "mapping", "write"),
    [
        ("0x00301031", 0, 3, 0, False),
        ("0x00341051", 0, 5, 0, True),
        ("0x00801030", 0, 3, 0, False),
        ("0x00841B5B", 5, 5, 1, True),
        ("0x00800932", 1, 3, 1, False),
    ],
)
def test_status_word_gives_what_the_driver_prints(
    status: str, walker: int, permission: int, mapping: int, write: bool
) -> None:
    """Words and the lines printed with them are from public kernel logs of MI300, gfx9, gfx11 and gfx12."""
    fault = decode(event("gpu-page-fault", status=status))
    assert (fault.walker, fault.permission, fault.mapping, fault.write) == (walker, permission, mapping, write)


@pytest.mark.parametrize("status", ["0x00000000", "0xFFFFFFFF"])
def test_an_empty_or_all_ones_status_says_nothing(status: str) -> None:
    fault = decode(event("gpu-page-fault", status=status, walker="0x0", permission="0x0", mapping="0x0", rw="0x0"))
    assert fault.walker is None and fault.permission is None and fault.write is None and not fault.unmapped


def test_banks() -> None:
    fabric = bank(event("ras-bank", bank_status="0xfaa00000000d080b", ipid="0x0002702e1f000300"))
    assert fabric is not None and fabric.block == "data fabric" and fabric.uncorrected
    smu = bank(event("ras-bank", bank_status="0x98000800003e0000", ipid="0x0001200136430401"))
    assert smu is not None and smu.block.startswith("SMU") and not smu.uncorrected and smu.severity == "poison"
    assert bank(event("ras-bank", bank_status="0xffffffffffffffff")) is None


def test_counts_of_all_ones() -> None:
    assert is_all_ones(1048560) and is_all_ones(4194240) and is_all_ones(65535)
    assert not is_all_ones(0) and not is_all_ones(12) and not is_all_ones(65536)
