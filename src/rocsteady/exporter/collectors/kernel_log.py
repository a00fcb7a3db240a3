"""Events of the kernel log, counted since boot."""

from __future__ import annotations

import io
import time
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime

from rocsteady.events import (
    disk,
    host_oom,
    kmsg_faults,
    kmsg_firmware,
    kmsg_host,
    kmsg_iommu,
    kmsg_node,
    kmsg_pci,
    kmsg_quiet,
    kmsg_ras,
    kmsg_reset,
    kmsg_rings,
    kmsg_smu,
    kmsg_start,
    kmsg_xgmi,
)
from rocsteady.events.kinds import Kind
from rocsteady.events.scan import Scanner
from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.cards import Cards, key
from rocsteady.exporter.memory import give_back
from rocsteady.facts.parse_file import Folder, gap_of, parse_float
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.kernel_log import KernelLog
from rocsteady.metrics import gpu_errors, node
from rocsteady.model import Event, ReadError

WHILE_RUNNING = (
    *kmsg_faults.KINDS, *kmsg_ras.KINDS, *kmsg_reset.KINDS, *kmsg_rings.KINDS, *kmsg_smu.KINDS, *kmsg_xgmi.KINDS,
    *kmsg_pci.KINDS,
)  # fmt: skip
KINDS: tuple[Kind, ...] = (
    *WHILE_RUNNING, *kmsg_firmware.KINDS, *kmsg_host.KINDS, *kmsg_iommu.KINDS, *kmsg_node.KINDS, *kmsg_start.KINDS,
    *kmsg_quiet.KINDS, *host_oom.KINDS, *disk.KINDS,
)  # fmt: skip
RESETS = {
    "gpu-reset-begin": ("gpu", "started"), "gpu-reset-succeeded": ("gpu", "succeeded"),
    "gpu-reset-failed": ("gpu", "failed"), "ring-reset-started": ("ring", "started"),
    "ring-reset-succeeded": ("ring", "succeeded"), "ring-reset-failed": ("ring", "failed"),
    "kfd-queue-reset": ("queue", "started"),
}  # fmt: skip
RAS = {"ras-corrected": "corrected", "ras-uncorrected": "uncorrected", "ras-deferred": "deferred"}
XGMI = "xgmi-link-error"
PCS_ERRORS = (
    "DataLossErr", "TrainingErr", "FlowCtrlAckErr", "RxFifoUnderflowErr", "RxFifoOverflowErr", "CRCErr",
    "BERExceededErr", "TxVcidDataErr", "ReplayBufParityErr", "DataParityErr", "ReplayFifoOverflowErr",
    "ReplayFifoUnderflowErr", "ElasticFifoOverflowErr", "DeskewErr", "FlowCtrlCRCErr", "DataStartupLimitErr",
    "FCInitTimeoutErr", "RecoveryTimeoutErr", "ReadySerialTimeoutErr", "ReadySerialAttemptErr", "RecoveryAttemptErr",
    "RecoveryRelockAttemptErr",
)  # fmt: skip
"""Names that the driver prints (amdgpu_xgmi.c); they start at 0, so that the first error shows as an increase."""
AT_ZERO = tuple(
    kind.name
    for kind in WHILE_RUNNING
    if kind.level == "error" and kind.about in ("gpu", "link") and kind.name not in (*RESETS, *RAS, XGMI)
)
"""Kinds that start at 0 for each GPU: what goes wrong while a GPU runs."""
KEPT_EVENTS = 10_000
"""Events kept for the health of the GPUs; a flood of one kind is folded before it gets here."""
SHOWN_LEVELS = ("error", "notice")


class KernelLogCollector:
    """Counts events; ``recent`` holds those that may tell of the health of a GPU, oldest first."""

    name = "kernel_log"

    def __init__(self, fs: HostFS, log: KernelLog) -> None:
        self._fs = fs
        self._log = log
        self._cards = Cards()
        self._scanner: Scanner | None = None
        self._counts: Counter[tuple[str, ...]] = Counter()
        self.recent: deque[tuple[float, Event]] = deque(maxlen=KEPT_EVENTS)
        self.boots = 0
        self.taken = 0
        """Events taken in so far, of any kind; grows only."""
        self.clock: Callable[[], float] = time.time
        """Seconds since 1970, against which the node's uptime is held to date its messages."""

    def collect(self, batch: Batch) -> None:
        """Read what is new."""
        gpus = [key(place) for place in self._cards.places(self._fs, batch)]
        try:
            text = self._log.poll()
        except ReadError as error:
            batch.gap(gap_of(error.path, error))
            return
        if text:
            self._count(text)
        batch.add(node.LOG_LINES, self._log.bytes_read)
        batch.add(node.LOG_LOST, self._log.overruns, "overrun")
        batch.add(node.LOG_LOST, self._log.rotations, "rotated")
        self._add(batch, gpus)

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()

    def _count(self, text: bytes) -> None:
        if self._scanner is None:
            self._scanner = Scanner(KINDS, datetime.now(UTC).year)
            give_back()
        self._scanner.fresh()
        self._scanner.scan(self._log.path, io.BytesIO(text))
        now = self.clock()
        up = Folder(self._fs, "proc").parsed("uptime", lambda text: parse_float(text.split()[0]))
        for event in self._scanner.events():
            if event.kind == "kernel-boot":
                self._counts.clear()
                self.recent.clear()
                self.boots += 1
            elif event.level in SHOWN_LEVELS:
                self.taken += 1
                self._counts[counted_as(event)] += weight(event)
                self.recent.append((happened(event, now, up), event))

    def _add(self, batch: Batch, gpus: list[str]) -> None:
        for gpu in gpus:
            for kind in AT_ZERO:
                batch.add(gpu_errors.KERNEL_EVENTS, self._counts.get(("event", gpu, kind), 0), gpu, kind)
            for kind, outcome in RESETS.values():
                batch.add(gpu_errors.RESETS, self._counts.get(("reset", gpu, kind, outcome), 0), gpu, kind, outcome)
            for error in PCS_ERRORS:
                name = error.lower()
                batch.add(gpu_errors.XGMI_LOGGED, self._counts.get(("xgmi", gpu, name), 0), gpu, name)
        metrics = {
            "event": gpu_errors.KERNEL_EVENTS, "reset": gpu_errors.RESETS, "ras": gpu_errors.RAS_LOGGED,
            "xgmi": gpu_errors.XGMI_LOGGED, "node": node.KERNEL_EVENTS,
        }  # fmt: skip
        for (what, *labels), number in self._counts.items():
            batch.add(metrics[what], number, *labels)


def happened(event: Event, now: float, up: float | None) -> float:
    """Seconds since 1970 of an event; a line without any time counts as printed when it was read."""
    if event.at is not None:
        return event.at
    if event.uptime is not None and up is not None:
        return min(now, now - up + event.uptime)
    return now


def counted_as(event: Event) -> tuple[str, ...]:
    """Metric and label values of an event."""
    subject = event.subject
    if subject is None or subject.kind not in ("gpu", "link"):
        return ("node", event.kind)
    if event.kind in RESETS:
        return ("reset", subject.id, *RESETS[event.kind])
    if event.kind in RAS:
        return ("ras", subject.id, event.fields.get("ras_block", "").lower(), RAS[event.kind])
    if event.kind == XGMI:
        return ("xgmi", subject.id, event.fields.get("error", "").lower())
    return ("event", subject.id, event.kind)


def weight(event: Event) -> int:
    """What an event adds: the errors that a RAS line counts (not those 'in total'), one for any other line."""
    if event.kind in RAS:
        errors = event.fields.get("errors", "")
        if event.fields.get("total"):
            return 0
        if errors.isascii() and errors.isdigit() and len(errors) < 12:
            return int(errors) * event.count
    return event.count
