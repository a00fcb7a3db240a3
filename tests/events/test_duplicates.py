"""One message in several logs is one event; the same message at another time is another."""

from __future__ import annotations

import pytest

from rocsteady.events import read_logs
from tests.support import heap, tree

FAULT = "amdgpu 0000:63:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:153 vmid:8 pasid:32803)"
KERNEL = f"[  593.942278] {FAULT}\n"
JOURNAL = f"2026-11-30T10:00:05+0000 n1 kernel: {FAULT}\n"
SYSLOG = f"Nov 30 11:00:05 n1 kernel: [  593.942278] {FAULT}\n"


@pytest.mark.parametrize(
    ("logs", "count"),
    [
        ({"var/log/kern.log": SYSLOG, "var/log/syslog": SYSLOG, "var/log/dmesg": KERNEL}, 1),
        ({"commands/journalctl_-k": JOURNAL, "commands/dmesg": KERNEL}, 1),
        ({"commands/dmesg": KERNEL * 3, "commands/journalctl_-k": JOURNAL * 2}, 3),
        ({"var/log/kern.log": JOURNAL, "var/log/kern.log.1": JOURNAL.replace("10:00:05", "10:00:45")}, 2),
        ({"var/log/dmesg": KERNEL, "var/log/dmesg.0": KERNEL.replace("593.942278", "12.5")}, 2),
    ],
)
def test_how_often(logs: dict[str, str], count: int) -> None:
    """Each message counts once, however many logs hold it."""
    for source in (tree(logs), heap(logs)):
        log, _ = read_logs(source, 2026)
        assert len(log.events) == count


def test_rotated_logs_come_in_order() -> None:
    """The oldest first, so that boots are counted upwards."""
    names = [
        "kern.log",
        "kern.log.1",
        "kern.log.10.gz",
        "kern.log.2.gz",
        "messages",
        "messages-20261101",
        "messages-20261001",
    ]
    log, _ = read_logs(tree({f"var/log/{n}": "x\n" for n in names}), 2026)
    assert [f.rpartition("/")[2] for f in log.files] == [
        "kern.log.10.gz", "kern.log.2.gz", "kern.log.1", "kern.log", "messages-20261001", "messages-20261101", "messages",
    ]  # fmt: skip


def test_boot_time_dates_the_ring_buffer() -> None:
    """btime of /proc/stat turns boot-relative times into dates."""
    log, _ = read_logs(tree({"proc/stat": "cpu 1\nbtime 1796000000\n", "var/log/dmesg": KERNEL}), 2026)
    assert log.events[0].at == pytest.approx(1796000593.942278)
