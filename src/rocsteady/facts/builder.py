"""Merges values from many sources into one ``NodeFacts``: the better source wins, each value keeps its origin."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from rocsteady.model import Evidence, Fact, Gap, NodeFacts, Note

_ALIASES = {"smi": "smi_index", "hip": "hip_index", "kfd": "kfd_node_id", "card": "drm_card"}
"""How a GPU is named where its BDF is not printed -> the field that says the same beside a BDF."""

_STEP = re.compile(r"([^.\[\]]+)(?:\[([^\]]*)\])?")


class Builder:
    """Collects ``Fact`` rows. Paths are those of ``NodeFacts``; a key in brackets may hold dots.

    ``gpus[0000:c1:00.0].vbios`` names a GPU by BDF, ``gpus[smi:0].name`` by the index of a tool's output,
    ``gpus[card:1]`` by DRM card, ``gpus[kfd:2]`` by KFD node, ``gpus[hip:0]`` by the order in a HIP program;
    the others join the first when some row says which BDF they have.
    """

    def __init__(self) -> None:
        self._rows: list[Fact] = []
        self._gaps: dict[tuple[str, str], Gap] = {}
        self._notes: list[Note] = []

    def add(self, rows: Iterable[Fact | Gap | Note]) -> None:
        """Take rows of any kind."""
        for row in rows:
            if isinstance(row, Fact):
                self._rows.append(row)
            elif isinstance(row, Gap):
                self._gaps.setdefault((row.path, row.why), row)
            else:
                self._notes.append(row)

    def absorb(self, other: Builder) -> None:
        """Take over everything that another builder holds."""
        self._rows.extend(other._rows)
        self.add(other._gaps.values())
        self._notes.extend(other._notes)

    def build(self) -> NodeFacts:
        """Merge. A value that does not fit its field becomes a gap, never an exception."""
        tree: dict[str, Any] = {}
        ranks: dict[str, int] = {}
        origins: dict[str, Evidence] = {}
        names = self._gpu_names()
        for row in self._rows:
            steps = path_steps(row.path, names)
            key = ".".join(steps)
            if row.rank < ranks.get(key, -1):
                continue
            if not _fits(steps, row.value):
                self.add([Gap(row.evidence.file, f"malformed: {row.path} = {str(row.value)[:60]!r}")])
                continue
            ranks[key] = row.rank
            origins[key] = row.evidence
            place = tree
            for step in steps[:-1]:
                place = place.setdefault(step, {})
            place[steps[-1]] = msgspec.to_builtins(row.value)
        gpus = tree.pop("gpus", {})
        nodes = tree.pop("kfd_nodes", {})
        dkms = tree.pop("dkms", {})
        tree["gpus"] = [gpus[k] for k in sorted(gpus, key=_gpu_order)]
        tree["kfd_nodes"] = [nodes[k] for k in sorted(nodes, key=lambda k: (len(k), k))]
        tree["dkms"] = list(dkms.values())
        for name, bdf in names.items():
            kind, _, number = name.partition(":")
            if bdf in gpus and number.isdigit():
                gpus[bdf].setdefault(_ALIASES[kind], int(number))
        for key, gpu in gpus.items():
            kind, _, number = key.partition(":")
            gpu["key"] = key
            if kind not in _ALIASES:
                gpu.setdefault("bdf", key)
            elif number.isdigit():
                gpu.setdefault(_ALIASES[kind], int(number))
        _complete(tree)
        facts = msgspec.convert(tree, NodeFacts, strict=False)
        return msgspec.structs.replace(
            facts, notes=tuple(self._notes), gaps=tuple(self._gaps.values()), origins=origins
        )

    def _gpu_names(self) -> dict[str, str]:
        """Other name of a GPU -> its BDF, from rows that state both.

        Where no BDF is known and each tool shows exactly one GPU, it is the same one.
        """
        names: dict[str, str] = {}
        keys: set[str] = set()
        for row in self._rows:
            if not row.path.startswith("gpus["):
                continue
            steps = path_steps(row.path, {})
            keys.add(steps[1])
            if len(steps) != 3:
                continue
            kind = steps[1].partition(":")[0]
            if kind not in _ALIASES:
                for alias, field in _ALIASES.items():
                    if steps[2] == field:
                        names[f"{alias}:{row.value}"] = steps[1]
            elif steps[2] == "bdf" and isinstance(row.value, str):
                names[steps[1]] = row.value.lower()
        kinds = sorted(key.partition(":")[0] for key in keys)
        if not names and len(set(kinds)) == len(kinds) and set(kinds) <= set(_ALIASES):
            first = min(keys, key=lambda key: list(_ALIASES).index(key.partition(":")[0]), default="")
            names = {key: first for key in keys if key != first}
        return names


def _complete(tree: dict[str, Any]) -> None:
    """Fields that follow from the key: a value of a file below /dev says that the file is there."""
    for path, device in tree.get("devices", {}).items():
        device.setdefault("path", path)
        device.setdefault("exists", True)
    for mount, disk in tree.get("disks", {}).items():
        disk.setdefault("mount", mount)
    for bdf, device in tree.get("pci", {}).items():
        device.setdefault("bdf", bdf)
    packages = tree.get("packages", {})
    for name in [name for name, package in packages.items() if "version" not in package]:
        del packages[name]
    for name, package in packages.items():
        package.setdefault("name", name)
        package.setdefault("source", "unknown")


def path_steps(path: str, names: dict[str, str]) -> list[str]:
    """Split a path into steps; GPU index names become BDFs where known.

    >>> path_steps("sysctl[vm.swappiness]", {})
    ['sysctl', 'vm.swappiness']
    """
    steps: list[str] = []
    for match in _STEP.finditer(path):
        steps.append(match[1])
        if match[2] is not None:
            steps.append(match[2])
    if len(steps) > 1 and steps[0] == "gpus":
        steps[1] = names.get(steps[1].lower(), steps[1].lower())
    return steps


def _gpu_order(key: str) -> tuple[int, int, str]:
    number = key.partition(":")[2] if key.partition(":")[0] in _ALIASES else ""
    return (1, int(number), "") if number.isdigit() else (0, 0, key)


_TYPES: dict[tuple[str, ...], Any] = {}


def _fits(steps: list[str], value: object) -> bool:
    """Whether the value converts to the type of its field (checked one by one, so that one bad row costs one value)."""
    sample: Any = msgspec.to_builtins(value)
    for step in reversed(steps[1:]):
        sample = {step: sample}
    root = steps[0]
    if root in ("gpus", "kfd_nodes", "dkms"):
        inner = sample[steps[1]]
        if root == "kfd_nodes" and isinstance(inner, dict):
            inner = {"id": 0, **inner}
        if root == "dkms" and isinstance(inner, dict):
            inner = {"name": "", "version": "", **inner}
        sample = [inner]
    elif root == "pci" and len(steps) > 2:
        sample[steps[1]] = {"bdf": steps[1], **sample[steps[1]]}
    elif root == "devices" and len(steps) > 2:
        sample[steps[1]] = {"path": steps[1], "exists": True, **sample[steps[1]]}
    elif root == "disks" and len(steps) > 2:
        sample[steps[1]] = {"mount": steps[1], **sample[steps[1]]}
    elif root == "packages" and len(steps) > 2:
        sample[steps[1]] = {"name": steps[1], "version": "", "source": "", **sample[steps[1]]}
    try:
        msgspec.convert({root: sample}, NodeFacts, strict=False)
    except (msgspec.ValidationError, TypeError):
        return False
    return True
