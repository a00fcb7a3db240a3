"""The kernel log is followed over rotations and overruns; its events are counted since boot."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.kernel_log import AT_ZERO, KernelLogCollector
from rocsteady.hostfs.kernel_log import KernelLog, as_dmesg
from rocsteady.hostfs.pinned import PinnedFS
from rocsteady.metrics import gpu_errors, node
from rocsteady.model import Absent

GPU = "0000:c1:00.0"
CRC = f"[  100.000000] amdgpu {GPU}: amdgpu: XGMI PCS CRCErr detected\n"
BOOT = "[    0.000000] Linux version 6.8.0-60-generic (buildd@synthetic) #63-Ubuntu SMP\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "var/log/kern.log"
    file.parent.mkdir(parents=True)
    file.write_text("one\n")
    return file


def root(log: Path) -> Path:
    return log.parents[2]


def test_new_lines_only_and_whole(log: Path) -> None:
    tail = KernelLog(root(log))
    assert tail.poll() == b"one\n"
    with log.open("a") as file:
        file.write("two\nhal")
    assert tail.poll() == b"two\n"
    with log.open("a") as file:
        file.write("f\n")
    assert tail.poll() == b"half\n"
    assert tail.poll() == b""
    tail.close()


def test_rotation_loses_nothing(log: Path) -> None:
    tail = KernelLog(root(log))
    tail.poll()
    with log.open("a") as file:
        file.write("last of the old\n")
    log.rename(log.with_suffix(".log.1"))
    assert tail.poll() == b"last of the old\n", "the new file is not there yet"
    log.write_text("first of the new\n")
    assert tail.poll() == b"first of the new\n"
    assert tail.rotations == 1
    tail.close()


def test_copied_and_cut(log: Path) -> None:
    tail = KernelLog(root(log))
    log.write_text("one\ntwo\nthree\n")
    tail.poll()
    log.write_text("new\n")
    assert tail.poll() == b"new\n"
    assert tail.rotations == 1
    tail.close()


def test_overrun_of_kmsg(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_bytes(b"")
    answers: list[bytes | OSError] = [
        b"6,1,5678901,-;before\n SUBSYSTEM=pci\n",
        OSError(errno.EPIPE, "overrun"),
        b"3,900,9000001,-;after\n",
        BlockingIOError(errno.EAGAIN, "no more"),
    ]

    def read(_fd: int, _size: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    null = Path("/dev/null").stat().st_rdev
    tail = KernelLog(tmp_path, lambda _path: os.open("/dev/null", os.O_RDONLY), read, kmsg=null)
    assert tail.poll() == b"[    5.678901] before\n[    9.000001] after\n"
    assert tail.overruns == 1
    tail.close()


def test_no_log(tmp_path: Path) -> None:
    with pytest.raises(Absent):
        KernelLog(tmp_path).poll()


def test_other_text_stays() -> None:
    assert as_dmesg(b"Dec  1 00:00:00 node kernel: x\n") == b"Dec  1 00:00:00 node kernel: x\n"


def test_events_are_counted_since_boot(log: Path) -> None:
    log.write_text(BOOT + CRC + CRC)
    collector = KernelLogCollector(PinnedFS(root(log)), KernelLog(root(log)))

    def counted() -> float:
        batch = Batch()
        collector.collect(batch)
        assert batch.samples[node.LOG_LINES][()] > 0
        return batch.samples.get(gpu_errors.XGMI_LOGGED, {}).get((GPU, "crcerr"), 0)

    assert counted() == 2
    assert counted() == 2
    with log.open("a") as file:
        file.write(CRC)
    assert counted() == 3
    with log.open("a") as file:
        file.write(BOOT + CRC)
    assert counted() == 1, "what was before the boot does not count"
    collector.close()


def test_what_goes_wrong_while_running_starts_at_zero() -> None:
    assert {"gpu-page-fault", "ring-timeout", "queue-preemption-timeout"} <= set(AT_ZERO)
