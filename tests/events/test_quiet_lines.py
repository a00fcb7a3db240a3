"""Lines that healthy machines print all day: no needle may stand in them, or a large log takes minutes.

``info`` kinds may have needles here, since they are dropped after some hundred hits.
"""

from __future__ import annotations

import io

import pytest

from rocsteady.events.kinds import ERROR_WORDS
from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner

HEALTHY = (
    "[    2.100000] [drm] amdgpu kernel modesetting enabled.",
    "[    2.200000] [drm] amdgpu version: 6.12.12",
    "[    2.300000] amdgpu: Virtual CRAT table created for CPU",
    "[    2.400000] amdgpu: Topology: Add CPU node",
    "[    3.000000] amdgpu 0000:c1:00.0: enabling device (0000 -> 0003)",
    "[    3.100000] amdgpu 0000:c1:00.0: amdgpu: Fetched VBIOS from VFCT",
    "[    3.200000] amdgpu: ATOM BIOS: 113-D67301-059",
    "[    3.300000] amdgpu 0000:c1:00.0: amdgpu: VRAM: 65520M 0x0000008000000000 - 0x0000008FFEFFFFFF (65520M used)",
    "[    3.400000] amdgpu 0000:c1:00.0: amdgpu: GART: 512M 0x0000000000000000 - 0x000000001FFFFFFF",
    "[    3.500000] [drm] Detected VRAM RAM=65520M, BAR=131072M",
    "[    3.600000] [drm] RAM width 4096bits HBM",
    "[    3.700000] [drm] amdgpu: 65520M of VRAM memory ready",
    "[    3.800000] [drm] amdgpu: 515813M of GTT memory ready.",
    "[    3.900000] amdgpu 0000:c1:00.0: amdgpu: SMU is initialized successfully!",
    "[    4.000000] amdgpu 0000:c1:00.0: amdgpu: ring comp_1.0.0 uses VM inv eng 4 on hub 0",
    "[    4.100000] amdgpu 0000:c1:00.0: amdgpu: SE 8, SH per SE 1, CU per SH 16, active_cu_number 104",
    "[    4.200000] kfd kfd: amdgpu: Allocated 3969056 bytes on gart",
    "[    4.300000] kfd kfd: amdgpu: added device 1002:740f",
    "[    4.400000] [drm] Initialized amdgpu 3.61.0 20150101 for 0000:c1:00.0 on minor 1",
    '[    5.000000] audit: type=1400 audit(1690000000.123:45): apparmor="STATUS" operation="profile_load" name="x"',
    "[    5.100000] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
    "[    5.200000] EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Opts: (null)",
    "[    5.300000] pci 0000:00:1f.3: reg 0x10: [mem 0xfe428000-0xfe42bfff 64bit]",
    "[    5.400000] pci 0000:c1:00.0: BAR 0: assigned [mem 0x28000000000-0x29fffffffff 64bit pref]",
    "[    5.500000] usb 1-1: new high-speed USB device number 2 using xhci_hcd",
    "[    5.600000] nvme nvme0: 32/0/0 default/read/poll queues",
    "[    5.700000] mlx5_core 0000:2b:00.0: firmware version: 28.39.1002",
    "[    5.800000] systemd[1]: Started Journal Service.",
    "[    5.900000] perf: interrupt took too long (2516 > 2500), lowering kernel.perf_event_max_sample_rate to 79250",
    "Nov 30 03:00:01 node1 sshd[1234]: Accepted publickey for ops from 192.0.2.7 port 51234 ssh2",
    "Nov 30 03:00:02 node1 kubelet[999]: I1130 03:00:02.000001 999 prober.go:107] probe succeeded",
    'Nov 30 03:00:03 node1 dockerd[888]: time="2026-11-30T03:00:03Z" level=info msg="container started"',
    "INFO 11-30 03:00:04 [loggers.py:127] Engine 000: Avg prompt throughput: 512.0 tokens/s, Avg generation "
    "throughput: 128.3 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 3.1%",
    'INFO:     192.0.2.8:40000 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "node1:402:402 [0] NCCL INFO Channel 00/02 :    0   1   2   3",
    "[2026-11-30 03:00:05 TP0] Decode batch. #running-req: 4, #token: 4096, token usage: 0.02, cuda graph: True",
)


@pytest.mark.parametrize("line", HEALTHY)
def test_no_needle_of_a_failure_stands_in_a_healthy_line(line: str) -> None:
    lower = line.lower()
    found = [(k.name, n) for k in KINDS if k.level not in ("info",) for n in k.needles if n.lower() in lower]
    assert not found


def test_no_error_word_stands_in_a_healthy_line() -> None:
    assert not [(w, line) for line in HEALTHY for w in ERROR_WORDS if w in line.lower()]


def test_healthy_lines_leave_nothing_unexplained() -> None:
    scanner = Scanner(KINDS, 2026)
    scanner.scan("log", io.BytesIO("\n".join(HEALTHY).encode()))
    assert not scanner.unexplained()
    assert not [e for e in scanner.events() if e.level == "error"]


def test_neutral_kinds_are_dropped_after_a_while() -> None:
    scanner = Scanner(KINDS, 2026)
    block = ("\n".join(HEALTHY) + "\n").encode() * 2000
    scanner.scan("log", io.BytesIO(block))
    assert len(scanner.events()) < 10_000
