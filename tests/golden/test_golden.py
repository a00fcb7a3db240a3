"""Whole reports compared with files: what a user sees does not change unnoticed.

``ROCSTEADY_UPDATE_GOLDEN=1 python -m pytest tests/golden`` writes the files anew; review the diff.
All inputs are synthetic, in the format of real machines.
"""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from rocsteady.catalog import load_catalog
from rocsteady.diagnose.report import render
from rocsteady.diagnose.report_html import html
from rocsteady.model import Diagnosis
from tests.support import heap, judged

HERE = Path(__file__).parent
CATALOG = load_catalog()
INPUTS: dict[str, dict[str, str | bytes]] = {
    "firmware-missing": {
        "uname.txt": "Linux node-a 5.15.0-130-generic #140-Ubuntu SMP Wed Dec 18 17:59:53 UTC 2024 x86_64 GNU/Linux\n",
        "dmesg.txt": (
            "[    9.602662] [drm] amdgpu kernel modesetting enabled.\n"
            "[    9.602665] [drm] amdgpu version: 6.8.5\n"
            "[    9.605986] amdgpu 0000:23:00.0: Direct firmware load for amdgpu/aldebaran_sos.bin failed with error -2\n"
            "[    9.605988] amdgpu 0000:23:00.0: amdgpu: Fatal error during GPU init\n"
            "[    9.606063] amdgpu: probe of 0000:23:00.0 failed with error -2\n"
        ),
    },
    "kv-cache-too-small": {
        "vllm.log": (
            "INFO 06-09 14:01:20 [api_server.py:1896] vLLM API server version 0.11.0\n"
            "(EngineCore pid=42) ERROR 06-09 14:01:52 [core.py:700] EngineCore failed to start.\n"
            "(EngineCore pid=42) ValueError: To serve at least one request with the models's max seq len (131072), "
            "(16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.5 GiB). Based on the "
            "available memory, the estimated maximum model length is 77824. Try increasing `gpu_memory_utilization` or "
            "decreasing `max_model_len` when initializing the engine.\n"
        ),
    },
    "healthy-boot": {
        "dmesg.txt": (
            "[    2.100000] [drm] amdgpu kernel modesetting enabled.\n"
            "[    3.700000] [drm] amdgpu: 65520M of VRAM memory ready\n"
            "[    4.300000] kfd kfd: amdgpu: added device 1002:740f\n"
            "[    4.350000] amdgpu 0000:c1:00.0: amdgpu: SMU driver if version not matched\n"
            "[    4.400000] [drm] Initialized amdgpu 3.61.0 20150101 for 0000:c1:00.0 on minor 1\n"
        ),
    },
}


def text_of(diagnosis: Diagnosis) -> str:
    buffer = StringIO()
    Console(highlight=False, width=120, color_system=None, file=buffer).print(render(diagnosis, "input"))
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def json_of(diagnosis: Diagnosis) -> str:
    return msgspec.json.format(msgspec.json.encode(diagnosis), indent=1).decode() + "\n"


@pytest.mark.parametrize("name", INPUTS)
def test_report(name: str) -> None:
    diagnosis = judged(heap(INPUTS[name]), CATALOG)
    reports = {
        "txt": text_of(diagnosis),
        "json": json_of(diagnosis),
        "html": html([("input", diagnosis)], "VERSION"),
    }
    for suffix, report in reports.items():
        golden = HERE / f"{name}.{suffix}"
        if os.environ.get("ROCSTEADY_UPDATE_GOLDEN"):
            golden.write_text(report, encoding="utf-8")
        assert report == golden.read_text(encoding="utf-8"), f"{golden.name} differs"


def test_verdicts() -> None:
    verdicts = {name: judged(heap(files), CATALOG).verdict for name, files in INPUTS.items()}
    assert verdicts == {"firmware-missing": "failing", "kv-cache-too-small": "failing", "healthy-boot": "healthy"}
