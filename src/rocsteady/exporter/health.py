"""The document about the health of the GPUs, made from the samples of a scrape and the events of the kernel log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from rocsteady.diagnose.health import GpuState, HealthEvent, Observation, evaluate
from rocsteady.exporter.batch import Batch
from rocsteady.exporter.exposition import Samples
from rocsteady.metrics import Metric, gpu_errors, gpu_sensors, gpu_setup, node, own
from rocsteady.model import Event

SCHEMA = "rocsteady.gpu-health/1"
STATES = ("healthy", "suspect", "unhealthy", "unknown")
NEEDED = ("gpu_ras", "gpu_sensors", "gpu_metrics")
"""Collectors without which nothing can be said about a GPU."""


class Health:
    """Follows the GPUs of a node."""

    def __init__(self) -> None:
        self._states: dict[str, GpuState] = {}

    def update(self, samples: Samples, events: Iterable[tuple[float, Event]], now: float) -> None:
        """Take one scrape into account, and add the states to its samples."""
        table = _by_gpu(samples)
        failed = [labels[0] for labels, good in samples.get(own.COLLECTOR_SUCCESS, {}).items() if not good]
        blocked = [name for name in failed if name in NEEDED]
        boot = _boot_id(samples)
        seen_events: dict[str, list[HealthEvent]] = {}
        for at, event in events:
            if event.subject is not None and event.subject.kind in ("gpu", "link"):
                seen_events.setdefault(event.subject.id, []).append(HealthEvent(event.kind, at, event.count))
        batch = Batch()
        for gpu in sorted(table.keys() | self._states.keys()):
            missing = ""
            if gpu not in table:
                missing = "the driver shows this GPU no longer"
            elif blocked:
                missing = f"no answer from {', '.join(blocked)}"
            state = evaluate(
                Observation(
                    gpu=gpu, readings=_readings(table.get(gpu, {})), events=tuple(seen_events.get(gpu, ())),
                    missing=missing, boot_id=boot,
                ),
                self._states.get(gpu), now,
            )  # fmt: skip
            self._states[gpu] = state
            for name in STATES:
                batch.add(gpu_setup.STATE, int(state.state == name), gpu, name)
            for reason in state.reasons:
                batch.add(gpu_setup.STATE_REASON, 1, gpu, reason.id)
            batch.add(gpu_setup.STATE_AGE, round(max(0.0, now - state.since), 3), gpu)
        samples.update(batch.samples)

    def document(self, samples: Samples, node_name: str, now: float) -> dict[str, Any]:
        """The document ``rocsteady.gpu-health/1``."""
        table = _by_gpu(samples)
        return {
            "schema": SCHEMA, "node": node_name, "boot_id": _boot_id(samples), "at": _moment(now),
            "gpus": [
                row
                for gpu, state in sorted(self._states.items())
                for row in _rows(gpu, state, table.get(gpu, {}), samples)
            ],
        }  # fmt: skip


def _rows(
    gpu: str, state: GpuState, table: dict[Metric, dict[tuple[str, ...], float]], samples: Samples
) -> Iterable[dict[str, Any]]:
    info = next(iter(table.get(gpu_setup.INFO, {})), None)
    named = dict(zip(gpu_setup.INFO.labels[1:], info, strict=True)) if info else {}
    hive = next(iter(table.get(gpu_errors.XGMI_INFO, {})), None)
    links = [
        {"link": int(link), "up": bool(up)} for (link,), up in sorted(table.get(gpu_errors.XGMI_STATE, {}).items())
    ]
    partitions = sorted(table.get(gpu_setup.PARTITION_INFO, {}), key=lambda labels: int(labels[0]))
    split = len(partitions) > 1
    for labels in partitions or [("0", "", "", named.get("render_node", ""))]:
        number = labels[0]
        memory = _memory(table, number if split else None)
        yield {
            "bdf": gpu, "unique_id": named.get("unique_id") or None, "partition": int(number) if split else None,
            "hip_index": _hip_index(samples, gpu, number),
            "render_node": f"renderD{labels[3]}" if labels[3] else None, "hive": hive[0] if hive else None,
            "links": links, "state": state.state, "since": _moment(state.since),
            "last_evidence_at": None if state.last_evidence_at is None else _moment(state.last_evidence_at),
            "reasons": [{"id": r.id, "text": r.text, "severity": r.severity} for r in state.reasons],
            "advice": state.advice, "memory": memory,
            "processes": [
                {"pid": int(pid), "vram_bytes": int(size)}
                for (partition, pid), size in table.get(gpu_setup.PROCESS_MEMORY, {}).items()
                if partition == number
            ],
        }  # fmt: skip


def _memory(table: dict[Metric, dict[tuple[str, ...], float]], partition: str | None) -> dict[str, int | None]:
    if partition is not None:
        used = table.get(gpu_setup.PARTITION_USED, {}).get((partition,))
        total = table.get(gpu_setup.PARTITION_MEMORY, {}).get((partition,))
    else:
        used = table.get(gpu_sensors.MEMORY_USED, {}).get(("vram",))
        total = table.get(gpu_sensors.MEMORY_TOTAL, {}).get(("vram",))
    return {
        "used_bytes": None if used is None else int(used), "total_bytes": None if total is None else int(total),
    }  # fmt: skip


def _hip_index(samples: Samples, gpu: str, partition: str) -> int | None:
    """HIP counts GPU nodes of the KFD topology in order, without ROCR_VISIBLE_DEVICES."""
    nodes = sorted((int(labels[2]), labels[0], labels[1]) for labels in samples.get(gpu_setup.PARTITION_INFO, {}))
    for index, (_, bdf, number) in enumerate(nodes):
        if (bdf, number) == (gpu, partition):
            return index
    return None


def _readings(table: dict[Metric, dict[tuple[str, ...], float]]) -> dict[str, float]:
    readings: dict[str, float] = {}
    ras = table.get(gpu_errors.RAS)
    if ras is not None:
        found = {block: count for (block, kind), count in ras.items() if kind == "uncorrected"}
        readings["uncorrected.umc"] = found.pop("umc", 0)
        readings["uncorrected.other"] = sum(found.values())
    for (kind,), count in table.get(gpu_errors.RAS_EVENTS, {}).items():
        readings[kind] = count
    for (kind,), count in table.get(gpu_errors.PAGES, {}).items():
        readings[f"pages_{kind}"] = count
    down = table.get(gpu_errors.XGMI_LINKS, {}).get(("down",))
    if down is not None:
        readings["links_down"] = down
    limits = {
        sensor: limit
        for (sensor, kind), limit in table.get(gpu_sensors.TEMPERATURE_LIMIT, {}).items()
        if kind == "critical"
    }
    margins = [
        now - limits[sensor] for (sensor,), now in table.get(gpu_sensors.TEMPERATURE, {}).items() if sensor in limits
    ]
    if margins:
        readings["over_critical"] = max(margins)
    width = table.get(gpu_errors.PCIE_WIDTH, {})
    if ("current",) in width and ("max",) in width:
        readings["pcie_lanes_missing"] = width[("max",)] - width[("current",)]
    return readings


def _by_gpu(samples: Samples) -> dict[str, dict[Metric, dict[tuple[str, ...], float]]]:
    """Samples of each GPU, without the GPU's own label. Only GPUs that a card was found for."""
    table: dict[str, dict[Metric, dict[tuple[str, ...], float]]] = {}
    for metric, series in samples.items():
        if metric.labels[:1] != ("gpu",) or metric in (gpu_setup.STATE, gpu_setup.STATE_REASON, gpu_setup.STATE_AGE):
            continue
        for labels, value in series.items():
            table.setdefault(labels[0], {}).setdefault(metric, {})[labels[1:]] = value
    cards = {labels[0] for labels in samples.get(gpu_setup.INFO, {})} | {
        labels[0] for labels in samples.get(gpu_sensors.MEMORY_TOTAL, {})
    }
    return {gpu: found for gpu, found in table.items() if gpu in cards}


def _boot_id(samples: Samples) -> str:
    info = next(iter(samples.get(node.INFO, {})), None)
    return info[node.INFO.labels.index("boot_id")] if info else ""


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
