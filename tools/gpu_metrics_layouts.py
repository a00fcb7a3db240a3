"""Write the binary layouts of gpu_metrics into the package, from the table of facts about them.

Usage: python tools/gpu_metrics_layouts.py ../shared/facts/gpu-metrics.json
Result: src/rocsteady/facts/gpu_metrics_layouts.json (described in facts/gpu_metrics_layout.py).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "src/rocsteady/facts/gpu_metrics_layouts.json"
CODES = {"uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q"}
STREAM_CODES = {"U8": "B", "S8": "b", "U16": "H", "S16": "h", "U32": "I", "S32": "i", "U64": "Q", "S64": "q"}
TABLES = {
    "gpu_metrics_v": "gpu_metrics", "amdgpu_partition_metrics_v": "partition_metrics",
    "amdgpu_gpuboard_temp_metrics_v": "gpuboard_temp", "amdgpu_baseboard_temp_metrics_v": "baseboard_temp",
}  # fmt: skip
STREAMS = {
    "smu_13_0_6_gpu_metrics_v1_9_initial": ("gpu_metrics", "1.9"),
    "smu_13_0_6_gpu_metrics_v1_9_with_hbm_aid_xcd_temps": ("gpu_metrics", "1.9 with temperatures per stack"),
    "smu_15_0_8_gpu_metrics_v1_9": ("gpu_metrics", "1.9 of SMU 15.0.8"),
    "smu_13_0_6_partition_metrics_v1_1_initial": ("partition_metrics", "1.1"),
    "smu_13_0_6_partition_metrics_v1_1_with_timestamps": ("partition_metrics", "1.1 with time stamps"),
}


def fields(struct: dict[str, Any]) -> list[list[Any]]:
    """[name, offset, type code or nested name, count, base unit, factor, kind]; header and padding left out."""
    rows: list[list[Any]] = []
    for field in struct["fields"]:
        if field["kind"] in ("header", "padding"):
            continue
        kind = "encoded" if field["unit"].startswith("encoded:") else field["kind"]
        code = CODES.get(field["ctype"]) or field["ctype"].removeprefix("struct ")
        rows.append([field["name"], field["offset"], code, field["count"], field["base_unit"], field["factor"], kind])
    return rows


def layouts(facts: dict[str, Any]) -> dict[str, Any]:
    """All tables in our own form."""
    tables: dict[str, dict[str, Any]] = {name: {} for name in TABLES.values()}
    for name, struct in facts["structs"].items():
        for prefix, table in TABLES.items():
            if name.startswith(prefix):
                version = name.removeprefix(prefix).replace("_", ".")
                tables[table][version] = {"size": struct["size"], "fields": fields(struct)}
    nested = {
        name: {"size": struct["size"], "fields": fields(struct)}
        for name, struct in facts["nested_structs"].items()
        if name.startswith("amdgpu_xcp_metrics")
    }
    stream = facts["attribute_stream"]
    kinds = {row[0]: row[6] for table in tables.values() for layout in table.values() for row in layout["fields"]}
    kinds |= {row[0]: row[6] for layout in nested.values() for row in layout["fields"]}
    return {
        "sources": facts["generated_from"],
        "tables": tables,
        "nested": nested,
        "attributes": {
            "types": {str(t["value"]): STREAM_CODES[t["name"]] for t in stream["types"]},
            "units": {str(u["value"]): [u["base_unit"], u["factor"]] for u in stream["units"]},
            "ids": {str(i["value"]): i["name"].lower() for i in stream["ids"]},
            "kinds": {name: kinds.get(name, "gauge") for name in (i["name"].lower() for i in stream["ids"])},
            "shifts": {key: part["shift"] for key, part in stream["encoding_bits"].items()},
            "masks": {key: part["mask"] for key, part in stream["encoding_bits"].items()},
        },
        "streams": {
            table: {
                version: [
                    [f["encoding"], f["attr"].lower(), STREAM_CODES[f["type"]], f["count"]]
                    for f in stream["example_layouts"][name]["fields"]
                ]
                for name, (owner, version) in STREAMS.items()
                if owner == table
            }
            for table in ("gpu_metrics", "partition_metrics")
        },
        "throttle": {
            "independent": facts["throttle"]["indep_bits"],
            "asics": {
                asic: {name: entry["bit"] for name, entry in bits.items()}
                for asic, bits in facts["throttle"]["asic_maps"].items()
            },
        },
        "sensors": facts["board_temperature_sensor_enums"],
    }


def main() -> None:
    """Write the file."""
    source = Path(sys.argv[1])
    text = json.dumps(layouts(json.loads(source.read_text())), separators=(",", ":"), sort_keys=True)
    TARGET.write_text(text.replace('"tables":', '\n"tables":').replace('],["', '],\n["') + "\n")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
