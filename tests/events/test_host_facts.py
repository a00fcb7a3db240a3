"""Facts that only a log line states: kernel release, driver release, command line."""

from __future__ import annotations

import io

import pytest

from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        (
            "[    0.000000] Linux version 5.15.0-97-generic (buildd@host) #107-Ubuntu",
            "kernel.release",
            "5.15.0-97-generic",
        ),
        ("[  246.947588]       Not tainted 6.17.5-arch1-1 #1", "kernel.release", "6.17.5-arch1-1"),
        (
            "CPU: 0 PID: 7 Comm: k Tainted: G           OE     5.15.0-130-generic #140-Ubuntu",
            "kernel.release",
            "5.15.0-130-generic",
        ),
        ("[   16.284345] [drm] amdgpu version: 6.8.5", "rocm.driver", "6.8.5"),
        ("[    0.070283] Kernel command line: ro iommu=pt", "kernel.command_line_text", "ro iommu=pt"),
    ],
)
def test_fact_of_a_line(line: str, path: str, value: str) -> None:
    scanner = Scanner(KINDS, 2026)
    scanner.scan("dmesg", io.BytesIO(line.encode() + b"\n"))
    assert (path, value) in {(f.path, f.value) for f in scanner.facts}


@pytest.mark.parametrize(
    "line",
    [
        "pci 0000:c0:01.1: BAR 13: failed to assign [io  size 0x1000]",
        "pci 0000:c0:01.1: bridge window [io  size 0x1000]: can't assign; no space",
        "amdgpu 0000:1b:00.0: ROM [??? 0x00000000 flags 0x20000000]: can't assign; bogus alignment",
        "W: Possible missing firmware /lib/firmware/amdgpu/vangogh_toc.bin for module amdgpu",
    ],
)
def test_healthy_lines_are_neither_events_nor_unexplained(line: str) -> None:
    scanner = Scanner(KINDS, 2026)
    scanner.scan("dmesg", io.BytesIO(line.encode() + b"\n"))
    assert not [e for e in scanner.events() if e.level != "info"]
    assert not scanner.unexplained()
