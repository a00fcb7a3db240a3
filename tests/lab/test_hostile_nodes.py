"""An exporter on nodes that misbehave: GPUs that vanish between two reads, counters that wrap or go back, crowds."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.exporter.exposition import Samples
from rocsteady.lab.live import LivingNode
from rocsteady.metrics import METRICS, Metric, gpu_errors, gpu_sensors, gpu_setup, node, own


class Seen:
    """One living node and its exporter, in one time."""

    def __init__(self, living: LivingNode) -> None:
        self.living = living
        options = Options(root=living.directory, deadline=30.0)
        self.exporter = Exporter(options, living.open, living.wall)

    def after(self, seconds: float) -> Samples:
        self.living.advance(seconds)
        samples = self.exporter.samples()
        assert set(samples[own.COLLECTOR_SUCCESS].values()) == {1}
        return samples


def gpus_of(samples: Samples, metric: Metric) -> set[str]:
    return {labels[metric.labels.index("gpu")] for labels in samples.get(metric, {})}


def test_a_gpu_vanishes_between_two_reads_and_comes_back(tmp_path: Path) -> None:
    seen = Seen(LivingNode("mi210x4", tmp_path / "node"))
    slots = set(seen.living.slots)
    assert gpus_of(seen.after(5), gpu_sensors.MEMORY_USED) == slots
    seen.living.inject("gpu-lost", gpu=2)
    lost = seen.living.slots[2]
    for seconds in (5, 5):
        samples = seen.after(seconds)
        assert gpus_of(samples, gpu_sensors.MEMORY_USED) == gpus_of(samples, gpu_errors.RAS) == slots - {lost}
        assert samples[node.GPUS] == {(): 3}
    assert samples[gpu_setup.STATE][(lost, "unhealthy")] == 1
    seen.living.clear()
    assert gpus_of(seen.after(5), gpu_sensors.MEMORY_USED) == slots
    seen.exporter.close()


def test_gpus_whose_cards_have_numbers_of_two_digits(tmp_path: Path) -> None:
    seen = Seen(LivingNode("mi300x8", tmp_path / "node"))
    cards = {labels[gpu_setup.INFO.labels.index("card")] for labels in seen.after(5)[gpu_setup.INFO]}
    assert cards == {str(8 * n) for n in range(8)}
    seen.exporter.close()


def test_after_a_reset_counters_go_back_and_the_gpu_is_healthy(tmp_path: Path) -> None:
    seen = Seen(LivingNode("mi210x4", tmp_path / "node", "gpu-hang-and-reset", gpu=0, delay=5))
    own_gpu = seen.living.slots[0]
    before = seen.after(5)[gpu_sensors.ENERGY]
    after = seen.after(90)
    energy = {labels[0]: value for labels, value in after[gpu_sensors.ENERGY].items()}
    assert 0 < energy[own_gpu] < next(v for labels, v in before.items() if labels[0] == own_gpu)
    assert after[gpu_errors.RESETS][(own_gpu, "gpu", "succeeded")] == 1
    assert after[gpu_setup.STATE][(own_gpu, "healthy")] == 1
    assert seen.after(60)[gpu_setup.STATE][(own_gpu, "healthy")] == 1
    seen.exporter.close()


def test_a_driver_that_was_loaded_anew_counts_errors_from_zero(tmp_path: Path) -> None:
    seen = Seen(LivingNode("mi210x4", tmp_path / "node"))
    seen.living.inject("ras-ue", gpu=1)
    bad = seen.living.slots[1]
    assert seen.after(5)[gpu_setup.STATE][(bad, "unhealthy")] == 1
    seen.living.clear()
    seen.living.inject("driver-gone")
    seen.after(30)
    seen.living.clear()
    assert seen.after(5)[gpu_errors.RAS][(bad, "umc", "uncorrected")] == 0
    seen.exporter.close()


@pytest.mark.parametrize("version", ["1.8", "1.9"])
def test_counters_of_32_bits_wrap(version: str, tmp_path: Path) -> None:
    """A wrapped counter is shown as it is: smaller, whole and finite; a rate treats it as a reset."""
    seen = Seen(LivingNode("mi300x8", tmp_path / "node", near_wrap=True, gpu_metrics=version))
    counters = [m for m in METRICS if any(f.name in ("gfx_activity_acc", "mem_activity_acc") for f in m.fields)]
    assert counters
    values: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for _ in range(6):
        samples = seen.after(30)
        for metric in counters:
            for labels, value in samples.get(metric, {}).items():
                values.setdefault((metric.name, labels), []).append(value)
    fell = [series for series in values.values() if any(b < a for a, b in itertools.pairwise(series))]
    assert fell and all(value >= 0 for series in values.values() for value in series)
    seen.exporter.close()


def test_a_table_that_is_cut_or_of_the_future_shows_nothing(tmp_path: Path) -> None:
    seen = Seen(LivingNode("mi210x4", tmp_path / "node"))
    seen.after(5)
    seen.living.inject("torn-table", gpu=3)
    slots, torn = set(seen.living.slots), seen.living.slots[3]
    samples = seen.after(30)
    assert gpus_of(samples, gpu_sensors.HBM_GRADIENT) == slots - {torn}
    assert samples[own.COLLECTOR_UNREADABLE][("gpu_metrics", "malformed")] == 1
    samples = seen.after(300)
    assert gpus_of(samples, gpu_sensors.HBM_GRADIENT) == slots - {torn}
    assert samples[own.COLLECTOR_UNREADABLE][("gpu_metrics", "skipped")] == 1
    assert samples[gpu_setup.STATE][(torn, "healthy")] == 1
    seen.living.clear()
    assert gpus_of(seen.after(5), gpu_sensors.HBM_GRADIENT) == slots
    seen.exporter.close()


def test_a_thousand_processes(tmp_path: Path) -> None:
    seen = Seen(LivingNode("w7900x2", tmp_path / "node", processes=1000))
    samples = seen.after(5)
    assert sum(samples[gpu_setup.PROCESSES].values()) == 1002
    assert len(samples[gpu_setup.PROCESS_MEMORY]) == 1002
    assert set(samples[gpu_setup.STATE].values()) == {0, 1}
    seen.exporter.close()
