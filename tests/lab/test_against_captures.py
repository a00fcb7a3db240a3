"""The lab's trees against real ones: the same keys in the same order, the same line formats, the same files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocsteady.lab import SHAPES, build_node
from tests.facts.captured import CAPTURES, LACT, PLUGIN, packed_topology

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not CAPTURES.is_dir(), reason="needs the material beside the checkout"),
]
KFD = "sys/devices/virtual/kfd/kfd/topology"
RADEON = sorted(LACT.glob("*/card*/device")) if LACT.is_dir() else []
VEGA = CAPTURES / "prometheus-fixtures" / "procfs" / "sys" / "class" / "drm" / "card0" / "device"
OTHER_CHIPS = {
    "uevent": "has a host's own ids", "modalias": "has a host's own ids",
    "pp_power_profile_mode": "one table per chip generation", "pp_features": "one list per chip generation",
    "pp_dpm_pcie": "levels differ", "pp_od_clk_voltage": "levels differ", "resource": "flags differ",
    "product_name": "free text", "product_number": "free text", "serial_number": "free text",
    "vbios_version": "free text", "manufacturer": "free text", "fru_id": "free text",
    "local_cpulist": "a list or one number",
}  # fmt: skip
"""Files whose first line is not comparable between chips; why."""


def keys(text: str | bytes) -> list[str]:
    content = text.decode() if isinstance(text, bytes) else text
    return [line.split()[0] for line in content.splitlines() if line.strip()]


def shape_of(text: bytes) -> str:
    """The first line with every number replaced."""
    lines = [line for line in text.replace(b"\0", b"").decode("utf-8", "replace").splitlines() if line.strip()]
    line = lines[0].rstrip(" *") if lines else ""
    line = re.sub(r"0x[0-9a-fA-F]+|\b[0-9a-f]{16}\b", "X", line)
    return re.sub(r"-?\d+(\.\d+)?", "N", line)


def kfd_kinds(files: dict[str, str | bytes]) -> dict[str, list[str]]:
    """Kind of file (node numbers taken out) and class of its node -> keys."""
    gpu_nodes = {
        path.split("/nodes/")[1].split("/")[0]
        for path, text in files.items()
        if path.endswith("/properties") and path.count("/") == KFD_DEPTH and "simd_count 0" not in _text(text)
    }
    kinds: dict[str, list[str]] = {}
    for path, text in files.items():
        if "/nodes/" not in path or not path.endswith("properties"):
            continue
        number, rest = path.split("/nodes/")[1].split("/", 1)
        kind = re.sub(r"\d+", "N", rest)
        kinds[f"{'gpu' if number in gpu_nodes else 'cpu'} {kind}"] = keys(text)
    return kinds


KFD_DEPTH = "sys/class/kfd/kfd/topology/nodes/1/properties".count("/")


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


def lab_topology(name: str) -> dict[str, str | bytes]:
    files = build_node(SHAPES[name]).tree.files
    return {
        f"sys/class/kfd/kfd/topology{path.removeprefix(KFD)}": text
        for path, text in files.items()
        if path.startswith(KFD)
    }


def test_kfd_keys_of_partitions() -> None:
    real = kfd_kinds(packed_topology("topology-parsing-mi308.tar.gz"))
    ours = kfd_kinds(lab_topology("mi300x8-cpx"))
    mask = "recommended_sdma_engine_id_mask"  # newer drivers print it; the MI300X capture has it
    for kind, expected in real.items():
        assert [k for k in ours[kind] if k != mask] == [k for k in expected if k != mask], kind
    newer = kfd_kinds(packed_topology("topo-mi300-cpx.tar.gz"))
    assert ours["gpu io_links/N/properties"] == newer["gpu io_links/N/properties"]


def test_kfd_of_mi210_equals_a_real_node() -> None:
    ours = lab_topology("mi210x4")
    base = "sys/class/kfd/kfd/topology/nodes"
    own = dict(line.split() for line in _text(ours[f"{base}/2/properties"]).splitlines())
    real_text = (PLUGIN / "topo-mi210-xgmi-pcie/nodes/2/properties").read_text()
    real = dict(line.split() for line in real_text.splitlines())
    assert list(own) == list(real)
    differs = {key for key in own if own[key] != real[key]}
    assert differs <= {"location_id", "unique_id", "hive_id", "p2p_links_count"}
    for number in range(4):
        expected = (PLUGIN / f"topo-mi210-xgmi-pcie/nodes/2/io_links/{number}/properties").read_text()
        assert _text(ours[f"{base}/2/io_links/{number}/properties"]) == expected


def test_kfd_of_cpx_has_the_capture_s_counts() -> None:
    ours = lab_topology("mi300x8-cpx")
    own = dict(line.split() for line in _text(ours["sys/class/kfd/kfd/topology/nodes/2/properties"]).splitlines())
    real = dict(
        line.split()
        for line in _text(
            packed_topology("topo-mi300-cpx.tar.gz")["sys/class/kfd/kfd/topology/nodes/2/properties"]
        ).splitlines()
    )
    differs = {key for key in own if own[key] != real[key]}
    # The capture misses one of its 64 partitions, so it has one link fewer.
    assert int(own["io_links_count"]) == int(real["io_links_count"]) + 1
    assert differs <= {"io_links_count", "hive_id", "unique_id", "max_engine_clk_ccompute", "simd_id_base"}


def real_shapes() -> dict[str, set[str]]:
    shapes: dict[str, set[str]] = {}
    folders = [*RADEON, VEGA] if VEGA.is_dir() else RADEON
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                name = re.sub(r"hwmon\d+", "hwmonN", path.relative_to(folder).as_posix())
                shapes.setdefault(name, set()).add(shape_of(path.read_bytes()))
    return shapes


@pytest.mark.parametrize("name", ["w7900x2", "mi210x4", "mi300x8"])
def test_line_formats(name: str) -> None:
    node = build_node(SHAPES[name])
    base = f"sys/devices/{node.slots[0].place}/"
    real = real_shapes()
    compared = 0
    wrong: list[object] = []
    for path, text in node.tree.files.items():
        inside = re.sub(r"hwmon\d+", "hwmonN", path.removeprefix(base))
        if not path.startswith(base) or inside in OTHER_CHIPS or inside not in real or b"\xff" in text[:64]:
            continue
        if Path(inside).name in ("gpu_metrics", "config"):
            continue
        if shape_of(text) not in real[inside]:
            wrong.append((inside, text[:80], real[inside]))
        compared += 1
    assert not wrong
    assert compared > 30


def test_files_of_a_radeon_board() -> None:
    """What nearly every discrete Radeon of the captures has, the lab's has too."""
    boards = [f for f in RADEON if f.parents[1].name in ("rx7900xtx", "rx7800xt", "rx9070", "rx7600s")]
    names = [
        {re.sub(r"hwmon\d+", "hwmonN", p.relative_to(f).as_posix()) for p in f.rglob("*") if p.is_file()}
        for f in boards
    ]
    common = set.intersection(*names)
    node = build_node(SHAPES["w7900x2"])
    base = f"sys/devices/{node.slots[0].place}/"
    ours = {re.sub(r"hwmon\d+", "hwmonN", p.removeprefix(base)) for p in node.tree.files if p.startswith(base)}
    missing = {n for n in common - ours if not n.startswith(("gpu_od/", "hwmon/hwmonN/power/"))}
    assert missing <= {"pp_od_clk_voltage", "pp_table", "pp_force_state"}
