"""The binary tables of each GPU: gpu_metrics and the board temperatures."""

from __future__ import annotations

from functools import cache

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.cards import Cards, key
from rocsteady.facts.gpu_metrics import Metrics, board_temperatures, read_metrics, throttle_reasons
from rocsteady.facts.gpu_metrics_layout import layouts
from rocsteady.facts.tree_gpus import LINK_DOWN, LINK_UP
from rocsteady.hostfs import HostFS
from rocsteady.metrics import METRICS, Field, Metric, gpu_setup
from rocsteady.metrics import gpu_errors as e
from rocsteady.metrics import gpu_sensors as m
from rocsteady.model import Gap

CLOCKS = (
    ("gfx", ("current_gfxclk", "current_gfxclks")), ("soc", ("current_socclk", "current_socclks")),
    ("memory", ("current_uclk",)), ("vclk", ("current_vclk0", "current_vclk0s")),
    ("dclk", ("current_dclk0", "current_dclk0s")), ("vclk1", ("current_vclk1",)), ("dclk1", ("current_dclk1",)),
    ("fabric", ("current_fclk",)),
)  # fmt: skip
BOARD_TABLES = ("gpuboard_temp", "baseboard_temp")


@cache
def _by_field() -> dict[str, tuple[tuple[Metric, Field], ...]]:
    found: dict[str, list[tuple[Metric, Field]]] = {}
    for metric in METRICS:
        for field in metric.fields:
            found.setdefault(field.name, []).append((metric, field))
    return {name: tuple(pairs) for name, pairs in found.items()}


class TableCollector:
    """Samples of the tables."""

    name = "gpu_metrics"

    def __init__(self, fs: HostFS) -> None:
        self._fs = fs
        self._cards = Cards()

    def collect(self, batch: Batch) -> None:
        """All GPUs."""
        for place in self._cards.places(self._fs, batch):
            gpu = key(place)
            table = read_metrics(self._fs, place.path)
            if isinstance(table, Gap):
                if "is not known" in table.why:
                    batch.skipped(table.path, table.why)
                elif not table.why.startswith("absent"):
                    batch.gap(table)
            else:
                add_table(batch, gpu, table)
            for name in BOARD_TABLES:
                board = read_metrics(self._fs, place.path, name)  # type: ignore[arg-type]
                if isinstance(board, Metrics):
                    for sensor, celsius in board_temperatures(board).items():
                        batch.add(m.BOARD_TEMPERATURE, celsius, gpu, sensor)
                elif not board.why.startswith("absent"):
                    batch.gap(board)

    def close(self) -> None:
        """Nothing is held."""


def add_table(batch: Batch, gpu: str, table: Metrics) -> None:
    """All samples of one table."""
    for name, pairs in _by_field().items():
        values = _values(table, name)
        if not values:
            continue
        unit = table.units.get(name)
        factor = unit.factor if unit is not None and unit.factor is not None else 1
        for metric, field in pairs:
            scale = factor if field.scale is None else factor * field.scale
            if field.each:
                for index, value in enumerate(values):
                    if value is not None:
                        batch.add(metric, value * scale, gpu, *field.labels, str(index))
            elif values[0] is not None:
                batch.add(metric, values[0] * scale, gpu, *field.labels)
    batch.add(gpu_setup.TABLE_INFO, 1, gpu, table.version)
    _clocks(batch, gpu, table)
    _links(batch, gpu, table)
    stacks = [value for value in table.base_array("temperature_hbm") if value is not None]
    if len(stacks) > 1:
        batch.add(m.HBM_GRADIENT, max(stacks) - min(stacks), gpu)
    locked = table.raw("gfxclk_lock_status")
    if locked is not None:
        for xcd in range(max(1, len(table.array("current_gfxclk")))):
            batch.add(m.CLOCK_LOCKED, locked >> xcd & 1, gpu, str(xcd))
    reasons = throttle_reasons(table)
    if reasons is not None:
        for reason in layouts().throttle:
            batch.add(m.THROTTLED, int(reason in reasons), gpu, reason.lower())


def _values(table: Metrics, name: str) -> tuple[int | None, ...]:
    """A field, of the partitions one after another where the table keeps it there."""
    if name in table.values or not table.partitions:
        return table.array(name)
    found: list[int | None] = []
    for partition in table.partitions:
        value = partition.get(name)
        found += value if isinstance(value, tuple) else [value]
    present = [value for value in found if value is not None]
    return tuple(present)


def _clocks(batch: Batch, gpu: str, table: Metrics) -> None:
    for domain, names in CLOCKS:
        for name in names:
            values = [value for value in table.base_array(name) if value is not None]
            if values:
                batch.add(m.CLOCK, max(values), gpu, domain)


def _links(batch: Batch, gpu: str, table: Metrics) -> None:
    states = table.array("xgmi_link_status")
    if not states:
        return
    for link, state in enumerate(states):
        if state in (LINK_UP, LINK_DOWN):
            batch.add(e.XGMI_STATE, int(state == LINK_UP), gpu, str(link))
    batch.add(e.XGMI_LINKS, states.count(LINK_UP), gpu, "up")
    batch.add(e.XGMI_LINKS, states.count(LINK_DOWN), gpu, "down")
