"""Turns collected facts about compatibility, settings and GPU parts into the catalog's data files.

    python tools/import_knowledge.py FACTS_DIR

FACTS_DIR holds compatibility.json, settings.json and gfx-targets.json as collected for this project. Only values
and their sources are taken over, no prose; every row keeps its address, and all carry the day of the collection.
Run it again when the facts are collected anew, and review the diff: one row is one line.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "src/rocsteady/catalog/data"


def value_of(raw: Any) -> Any:
    """The value of ``{value, source}`` or of a bare value."""
    return raw.get("value") if isinstance(raw, dict) else raw


def source_of(raw: Any, fallback: str | None = None) -> str | None:
    """The source of a fact, if it has one."""
    return raw.get("source", fallback) if isinstance(raw, dict) else fallback


def systems(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Operating systems of a release: name, versions, kernel where stated."""
    kernels = {k["os"]: k["kernel"] for k in value_of(entry.get("kernels") or {}) or []}
    out: list[dict[str, Any]] = []
    for raw in entry.get("os") or []:
        text = str(raw["value"])
        for name, version, extra in split_systems(text):
            kernel = raw.get("kernel") or kernels.get(f"{name} {version}") or kernel_in(extra)
            row = {"name": name, "version": version, "kernel": kernel, "only": only_in(extra), "source": raw["source"]}
            out.append({k: v for k, v in row.items() if v})
    return out


def split_systems(text: str) -> list[tuple[str, str, str]]:
    """``RHEL 9.5, 9.4`` -> two rows; ``RHEL 8.6 to 8.7`` stays a range; words in brackets go with their version."""
    match = re.match(r"([A-Za-z][A-Za-z ]*?) (?=\d)(.*)$", text)
    if match is None:
        return [(text, "", "")]
    name, rest = match[1], match[2]
    rows: list[tuple[str, str, str]] = []
    for part in re.split(r",\s*(?![^()]*\))", rest):
        bracket = re.search(r"\(([^)]*)\)", part)
        version = re.sub(r"\([^)]*\)|\bLTS\b", "", part).strip()
        rows.append((name, version, bracket[1] if bracket else ""))
    if len(rows) > 1 and name == "SLES":  # "SLES 15 SP6, SP5"
        major = rows[0][1].split()[0]
        rows = [(n, v if v[0].isdigit() else f"{major} {v}", e) for n, v, e in rows]
    return rows


def kernel_in(extra: str) -> str | None:
    """A kernel in brackets: ``(GA 6.8)``, ``(5.14.0-570)``."""
    match = re.search(r"\d+\.\d+[\w.-]*", extra)
    return match[0] if match else None


def only_in(extra: str) -> str | None:
    """A restriction in brackets: ``MI300X only``, ``single node``."""
    return extra if re.search(r"only|single", extra) else None


def drivers(entry: dict[str, Any]) -> dict[str, Any]:
    """Driver releases that go with this user space, and user spaces tested with this driver."""
    out: dict[str, Any] = {}
    kmd = entry.get("kmd") or {}
    for key, name in (
        ("supported_kmd_for_this_user_space", "drivers"),
        ("tested_user_space_for_this_kmd", "tested_user_space"),
    ):
        if key in kmd:
            out[name] = value_of(kmd[key])
            out["driver_source"] = source_of(kmd[key])
    return out


def releases(raw: dict[str, Any], day: str) -> list[dict[str, Any]]:
    """One row per ROCm release."""
    out: list[dict[str, Any]] = []
    for entry in raw["rocm"]:
        torch = entry.get("pytorch")
        listed = value_of(torch) if isinstance(torch, dict) and "value" in torch else torch
        if isinstance(listed, dict):
            listed = sorted({v for versions in listed.values() for v in versions}, reverse=True)
        row = {
            "id": f"ROCM-{entry['version']}",
            "version": entry["version"],
            "stream": entry.get("stream"),
            "released": value_of(entry.get("release_date")),
            "source": source_of(entry.get("release_date")),
            "retrieved": day,
            "systems": systems(entry),
            "gpus": [
                {
                    k: v
                    for k, v in {
                        "gfx": g["value"],
                        "product": g.get("product"),
                        "support": g.get("support") or "supported",
                        "source": g.get("source"),
                    }.items()
                    if v
                }
                for g in entry.get("gpus") or []
            ],
            "pytorch": listed or [],
            "pytorch_source": source_of(torch),
            **drivers(entry),
        }
        out.append({k: v for k, v in row.items() if v not in (None, [], {})})
    return out


def engines(raw: dict[str, Any], day: str) -> list[dict[str, Any]]:
    """One row per stretch of vLLM releases."""
    return [
        {"id": f"VLLM-{n:02}", **{k: v for k, v in row.items() if k != "note"}, "retrieved": day}
        for n, row in enumerate(raw["vllm"], 1)
    ]


def settings(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per setting; a name that no component reads is folklore."""
    out: list[dict[str, Any]] = []
    for entry in raw["settings"]:
        status = "folklore" if entry["status"] == "no trace found" else entry["status"]
        row = {
            "id": f"{entry['kind']}:{entry['name']}",
            "name": entry["name"],
            "kind": entry["kind"],
            "component": entry.get("component"),
            "status": status,
            "type": entry.get("type"),
            "allowed": entry.get("allowed"),
            "default": entry.get("default"),
            "since": entry.get("since"),
            "removed": entry.get("removed"),
            "source": entry.get("source"),
            "retrieved": raw["generated"],
        }
        out.append({k: v for k, v in row.items() if v is not None})
    return sorted(out, key=lambda r: (r["kind"], r["name"], r.get("component", "")))


def parts(raw: dict[str, Any], day: str) -> list[dict[str, Any]]:
    """One row per GPU product; unverified data-sheet figures are left out."""
    keep = (
        "product", "gfx", "architecture", "pci_device_ids", "memory_gib", "driver_visible_total", "memory_type",
        "hbm_stacks", "xcds", "gcds", "rocm_devices_per_card", "compute_units", "wavefront_size", "lds_kib",
        "l3_mib", "fp8_format", "max_pcie_gen", "xgmi", "peak_memory_bandwidth_tb_s", "peak_tflops", "tdp_w",
        "sources",
    )  # fmt: skip
    out: list[dict[str, Any]] = []
    for device in raw["devices"]:
        slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\(.*?\)", "", device["product"].lower())).strip("-")
        row = {"id": slug, **{k: device.get(k) for k in keep}, "retrieved": day}
        out.append({k: v for k, v in row.items() if v is not None})
    return out


def write(name: str, schema: str, groups: dict[str, list[Any]]) -> None:
    """One row is one line, so that diffs can be reviewed."""
    lines = ["{", f' "schema": "{schema}",']
    for number, (key, rows) in enumerate(groups.items()):
        body = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
        comma = "," if number < len(groups) - 1 else ""
        lines.append(f' "{key}": [\n{body}\n ]{comma}')
    lines.append("}")
    (DATA / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{name}: {', '.join(f'{len(r)} {k}' for k, r in groups.items())}\n")


def main() -> int:
    """Read, convert, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", type=Path, help="folder with the collected facts")
    folder = parser.parse_args().facts
    compat = json.loads((folder / "compatibility.json").read_text(encoding="utf-8"))
    day = compat["collected"]
    tested = [
        {"driver": k, "user_space": v["value"], "source": v["source"], "retrieved": day}
        for k, v in compat["kmd_user_space"]["tested"].items()
    ]
    methods = compat["vllm_rocm_quantization_allow_list"]["releases"]
    pins = [{"vllm": k, "torch": v} for k, v in compat["vllm_cuda_wheel_torch_pin"]["pins"].items()]
    write(
        "compat.json",
        "rocsteady.compat-data/1",
        {
            "rocm": releases(compat, day),
            "driver_tested": tested,
            "vllm": engines(compat, day),
            "vllm_quantization": [{**m, "retrieved": day} for m in methods],
            "vllm_cuda_torch": pins,
        },
    )
    write("settings.json", "rocsteady.settings-data/1",
          {"settings": settings(json.loads((folder / "settings.json").read_text(encoding="utf-8")))})  # fmt: skip
    gfx = json.loads((folder / "gfx-targets.json").read_text(encoding="utf-8"))
    write("parts.json", "rocsteady.parts-data/1", {"parts": parts(gfx, gfx["collected"])})
    return 0


if __name__ == "__main__":
    sys.exit(main())
