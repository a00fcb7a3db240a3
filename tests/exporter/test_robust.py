"""What a node may do to the exporter: reads that hang, broken tables, GPUs that go away, a thousand processes."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.exporter.exposition import Samples
from rocsteady.hostfs.store import open_regular
from rocsteady.metrics import Metric, gpu_errors, gpu_sensors, gpu_setup, own

GPU0 = "0000:05:00.0"


@pytest.fixture
def node(mi300x8: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(mi300x8, tmp_path / "node", symlinks=True))


def device(root: Path, card: int = 0) -> Path:
    return (root / f"sys/class/drm/card{card}/device").resolve()


def gpus(samples: Samples, metric: Metric) -> set[str]:
    return {labels[0] for labels in samples.get(metric, {})}


def reasons(samples: Samples, collector: str) -> dict[str, float]:
    found = samples.get(own.COLLECTOR_UNREADABLE, {})
    return {reason: count for (name, reason), count in found.items() if name == collector}


def test_a_read_that_hangs_costs_its_collector_only(mi300x8: Path) -> None:
    free = threading.Event()

    def opener(path: str) -> int:
        if path.endswith("/gpu_metrics"):
            free.wait(20)
        return open_regular(path)

    exporter = Exporter(Options(root=mi300x8, deadline=1.0), opener)
    try:
        start = time.monotonic()
        samples = exporter.samples()
        assert time.monotonic() - start < 5
        success = samples[own.COLLECTOR_SUCCESS]
        late = {name for (name,), good in success.items() if not good}
        assert late == {"gpu_metrics"}
        assert reasons(samples, "gpu_metrics") == {"timeout": 1}
        assert gpu_sensors.XCD_BUSY not in samples
        assert len(gpus(samples, gpu_sensors.MEMORY_USED)) == 8
        assert reasons(exporter.samples(), "gpu_metrics") == {"timeout": 1}, "it still hangs"
        free.set()
        time.sleep(0.5)
        again = exporter.samples()
        assert all(again[own.COLLECTOR_SUCCESS].values())
        assert len(gpus(again, gpu_sensors.XCD_BUSY)) == 8
    finally:
        free.set()
        exporter.close()


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"", "malformed"),
        (b"\x00", "malformed"),
        (b"\xff" * 400, "malformed"),
        (b"\x10\x00\x63\x07" + b"\x00" * 12, "skipped"),
        (b"\x08\x00\x01\x09\xff\xff\xff\x7f", "malformed"),
        (os.urandom(997), None),
    ],
)
def test_a_broken_table_gives_no_sample_and_a_reason(node: Path, blob: bytes, reason: str | None) -> None:
    (device(node) / "gpu_metrics").write_bytes(blob)
    samples = Exporter(Options(root=node, only=("gpu_metrics",))).samples()
    assert GPU0 not in gpus(samples, gpu_sensors.XCD_BUSY)
    assert len(gpus(samples, gpu_sensors.XCD_BUSY)) == 7
    found = reasons(samples, "gpu_metrics")
    assert sum(found.values()) == 1
    assert reason is None or found == {reason: 1}


def test_half_a_table(node: Path) -> None:
    table = device(node) / "gpu_metrics"
    table.write_bytes(table.read_bytes()[:150])
    samples = Exporter(Options(root=node, only=("gpu_metrics",))).samples()
    assert GPU0 not in gpus(samples, gpu_sensors.TEMPERATURE)
    assert reasons(samples, "gpu_metrics") == {"malformed": 1}


def test_unreadable_is_never_zero(node: Path) -> None:
    (device(node) / "mem_info_vram_used").write_text("garbage\n")
    (device(node) / "ras/umc_err_count").write_text("Query failed\n")
    (device(node) / "aer_dev_fatal").unlink()
    samples = Exporter(Options(root=node)).samples()
    assert (GPU0, "vram") not in samples[gpu_sensors.MEMORY_USED]
    assert not [labels for labels in samples[gpu_errors.RAS] if labels[:2] == (GPU0, "umc")]
    assert not [labels for labels in samples[gpu_errors.AER] if labels[:2] == (GPU0, "fatal")]
    assert reasons(samples, "gpu_sensors") == {"malformed": 1}
    assert reasons(samples, "gpu_ras") == {"malformed": 1}


def test_hot_unplug_between_two_reads(node: Path) -> None:
    exporter = Exporter(Options(root=node))
    assert len(gpus(exporter.samples(), gpu_sensors.MEMORY_USED)) == 8
    gone = device(node)
    for name in ("card0", "renderD128"):
        (node / "sys/class/drm" / name).unlink()
    shutil.rmtree(gone)
    (node / "sys/bus/pci/devices" / GPU0).unlink()
    samples = exporter.samples()
    assert gpus(samples, gpu_sensors.MEMORY_USED) == gpus(samples, gpu_sensors.XCD_BUSY)
    assert len(gpus(samples, gpu_sensors.MEMORY_USED)) == 7
    assert all(samples[own.COLLECTOR_SUCCESS].values())


def test_unplugged_while_it_is_read(mi300x8: Path) -> None:
    def opener(path: str) -> int:
        if "/0000:05:00.0/" in path:
            raise OSError(19, "No such device")
        return open_regular(path)

    samples = Exporter(Options(root=mi300x8), opener).samples()
    assert len(gpus(samples, gpu_sensors.MEMORY_USED)) == 7
    assert reasons(samples, "gpu_sensors")


def test_cards_above_nine(mi300x8_cpx: Path) -> None:
    samples = Exporter(Options(root=mi300x8_cpx)).samples()
    cards = {int(labels[1]) for labels in samples[gpu_setup.INFO]}
    assert max(cards) == 56
    assert len(samples[gpu_setup.PARTITION_INFO]) == 64
    assert len(samples[gpu_setup.PARTITION_USED]) == 64


def test_a_counter_that_goes_back_is_exported_as_it_is(node: Path) -> None:
    exporter = Exporter(Options(root=node, only=("gpu_pcie",)))
    count = device(node) / "pcie_replay_count"
    for value in (9, 2):
        count.write_text(f"{value}\n")
        assert exporter.samples()[gpu_errors.PCIE_REPLAY][(GPU0,)] == value


def test_a_thousand_processes(node: Path) -> None:
    proc = node / "sys/class/kfd/kfd/proc"
    sample = next(iter(sorted(proc.iterdir())))
    for pid in range(100_000, 101_000):
        shutil.copytree(sample, proc / str(pid))
    exporter = Exporter(Options(root=node))
    exporter.samples()
    samples = exporter.samples()
    assert len(samples[gpu_setup.PROCESS_MEMORY]) == 1008
    assert all(samples[own.COLLECTOR_SUCCESS].values())


def test_nothing_below_dev_is_opened_but_the_kernel_log(mi300x8: Path) -> None:
    opened: list[str] = []

    def opener(path: str) -> int:
        opened.append(path)
        return open_regular(path)

    Exporter(Options(root=mi300x8), opener).samples()
    below = [path for path in opened if f"{mi300x8}/dev/" in path]
    assert len(opened) > 500
    assert below in ([], [f"{mi300x8}/dev/kmsg"])


def test_a_fifo_is_refused(node: Path) -> None:
    file = device(node) / "mem_info_gtt_used"
    file.unlink()
    os.mkfifo(file)
    samples = Exporter(Options(root=node, only=("gpu_sensors",))).samples()
    assert (GPU0, "gtt") not in samples[gpu_sensors.MEMORY_USED]
    assert reasons(samples, "gpu_sensors") == {"failed": 1}


def test_let_go_and_take_up_again(mi300x8: Path) -> None:
    before = set(threading.enumerate())
    exporter = Exporter(Options(root=mi300x8))
    exporter.samples()
    assert len(set(threading.enumerate()) - before) > 5
    exporter.pause()
    assert set(threading.enumerate()) <= before
    assert set(exporter.samples()) <= set(own.METRICS)
    exporter.resume()
    assert len(gpus(exporter.samples(), gpu_sensors.MEMORY_USED)) == 8
    exporter.close()


def test_owner_of_a_process(node: Path) -> None:
    pid = sorted((node / "sys/class/kfd/kfd/proc").iterdir())[0].name
    group = node / "proc" / pid / "cgroup"
    group.parent.mkdir(parents=True)
    container = "0123456789abcdef" * 4
    group.write_text(
        "0::/kubepods.slice/kubepods-pod1f2e3d4c_0000_4000_8000_00000000abcd.slice/cri-containerd-"
        + container
        + ".scope\n"
    )
    samples = Exporter(Options(root=node, only=("kfd",))).samples()
    pod = "1f2e3d4c-0000-4000-8000-00000000abcd"
    assert samples[gpu_setup.PROCESS_OWNER] == {(pid, "0123456789ab", pod, ""): 1}
    group.write_text("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n")
    samples = Exporter(Options(root=node, only=("kfd",))).samples()
    assert samples[gpu_setup.PROCESS_OWNER] == {(pid, "", "", "4711"): 1}
