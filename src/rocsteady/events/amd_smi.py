"""Lines that ``amd-smi`` and ``rocm-smi`` print and that are events rather than facts: error records (CPER) and all-ones readings."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

KINDS = (
    Kind(
        name="cper-record",
        needles=(".cper",),
        pattern=r"(?P<stamp>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) +(?P<device>\d+) +(?P<severity>FATAL|NONFATAL[-_]\w+|\w*CORRECTED)\w* +(?P<record>\S+\.cper) +\[?(?P<afids>\d+(?:[ ,]+\d+)*)",
        sample="2026/06/27 10:45:13  0       FATAL                fatal-1.cper      30",
        source="https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html",
        level="notice",
    ),
    Kind(
        name="sensor-all-ones",
        needles=("511.0c", "511.0 ", "511.0°", " 511 °C", "1072.74", "65535 °C", "65535W", "4294967295"),
        pattern=r"\b(?P<reading>511\.0 ?°?c\b|511 ?°C|1072\.74\d* ?W|65535 ?(?:°C|W|MHz)|4294967295 ?(?:°C|W|MHz))",
        sample="0    511.0c  1072.741824W  N/A   N/A   100.0%  auto  220.0W    2%   100%",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1081",
    ),
    Kind(
        name="smi-gpu-heading",
        needles=("^GPU: ",),  # anchored: every healthy kernel line of the driver holds "amdgpu: "
        pattern=r"^GPU: (?P<index>\d{1,3})\s*$",
        sample="GPU: 62",
        source="https://github.com/ROCm/amdsmi/issues/99",
        level="info",
        about="node",
    ),
    Kind(
        name="smi-device-asleep",
        needles=("in a low-power state",),
        pattern=r"AMD GPU device\(s\) is/are in a low-power state",
        sample="WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status",
        source="https://github.com/ROCm/legacy-rocm-build/issues/5849",
        level="notice",
        about="node",
    ),
)
