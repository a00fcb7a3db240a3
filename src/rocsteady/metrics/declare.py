"""What the declaration of a metric is. Each one is declared once; exporter, pages, alerts and dashboards import it."""

from __future__ import annotations

from typing import Literal

import msgspec

PREFIX = "rocsteady_"
Kind = Literal["gauge", "counter", "histogram", "info"]
Unit = Literal[
    "none", "bytes", "seconds", "celsius", "watts", "joules", "volts", "hertz", "ratio", "bytes per second",
    "transfers per second", "rotations per minute", "ticks",
]  # fmt: skip

WHAT = frozenset({"block", "sensor", "reason", "domain", "direction", "kind", "class", "signal", "method", "path", "result", "stage",
    "state"})  # fmt: skip
"""Labels that say what is measured. Together with the name their values make one measurement."""
WHICH = frozenset(
    {"gpu", "partition", "xcd", "aid", "stack", "link", "peer", "engine", "port", "device", "pid", "cpu", "numa",
     "collector", "process", "worker", "node"}
)  # fmt: skip
"""Labels that say which one of several equal things is measured."""


class Field(msgspec.Struct, frozen=True):
    """A field of the binary GPU tables that feeds a metric.

    ``labels``: values of the metric's labels after ``gpu``, without the index. ``each``: the field is an array and its
    index is the last label. ``scale``: factor on top of the table's own base unit.
    """

    name: str
    labels: tuple[str, ...] = ()
    each: bool = False
    scale: float | None = None


class Metric(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One metric.

    name: without the prefix that all of ours have; ends in its unit, a counter in ``_total``, an identity in ``_info``.
    labels: in the order of the values that a collector gives.
    source: kernel file or interface.
    read: the typed reader that supplies it, as ``module: field``.
    since: oldest GPU or driver that has it, where that is known.
    fields: of the binary GPU tables, where the value comes from there; of several of one label set the first wins.
    renamed_to: set on an old name that stays readable; it repeats the samples of the new one.
    """

    name: str
    kind: Kind
    unit: Unit = "none"
    labels: tuple[str, ...] = ()
    source: str
    help: str
    read: str
    since: str = "every amdgpu GPU whose driver has the file"
    fields: tuple[Field, ...] = ()
    renamed_to: str | None = None

    @property
    def full_name(self) -> str:
        """The name that is exported."""
        return PREFIX + self.name

    @property
    def of_gpu(self) -> bool:
        """Whether it measures a GPU."""
        return "gpu" in self.labels


def measurement(name: str, labels: dict[str, str]) -> tuple[str, ...]:
    """What a sample measures, whichever of several equal things it is of: name and values of the ``WHAT`` labels."""
    return (name, *(f"{key}={value}" for key, value in sorted(labels.items()) if key in WHAT))
