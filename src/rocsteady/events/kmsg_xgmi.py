"""Kernel ring buffer: XGMI and WAFL links between the GPUs of a hive. Texts: amdgpu_xgmi.c, amdgpu_amdkfd.c, amdgpu_reset.c."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/amdgpu/"
_XGMI = _TREE + "amdgpu_xgmi.c"

KINDS = (
    Kind(
        name="xgmi-node-added",
        needles=("XGMI: Add node",),
        pattern=r"XGMI: Add node (?P<node>\d+), hive (?P<hive>0x[0-9a-f]+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: XGMI: Add node 3, hive 0x2e9a7e21d5a1b0c4.",
        source=_XGMI,
        level="info",
    ),
    Kind(
        name="xgmi-hive-broken",
        needles=(
            "XGMI: Failed to add node",
            "XGMI: Failed to get hive id",
            "XGMI: Failed to get node id",
            "can not match hive",
            "XGMI: Get topology failure",
            "XGMI: Set topology failure",
            "failed to get xgmi hops",
        ),
        pattern=r"XGMI: (?:Failed to (?P<step>add node|get hive id|get node id)|node 0x[0-9a-f]+, can not match hive|(?P<topology>[GS]et topology failure))"
        r"|failed to get xgmi hops count between node (?P<from_node>\d+) and (?P<to_node>\d+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: XGMI: Set topology failure on device 7, hive 0x2e9a7e21d5a1b0c4, ret -22",
        source=_XGMI,
    ),
    Kind(
        name="xgmi-link-error",
        needles=("XGMI PCS", "WAFL PCS", "XGMI3X16 PCS", "WAFL1 PCS"),
        pattern=r"(?P<link>(?:XGMI|WAFL)\w*) PCS (?P<error>\w+)(?: \w+)? detected",
        sample=(
            "amdgpu 0000:c1:00.0: amdgpu: XGMI PCS CRCErr detected",
            "amdgpu 0000:c1:00.0: amdgpu: XGMI3X16 PCS ReplayFifoOverflowErr detected",
        ),
        source=_XGMI,
    ),
    Kind(
        name="xgmi-session-failed",
        needles=("initialize XGMI session", "initialize xgmi session"),
        pattern=r"XGMI: Failed to initialize XGMI session",
        sample="amdgpu 0000:c1:00.0: amdgpu: XGMI: Failed to initialize XGMI session",
        source=_TREE + "amdgpu_psp.c",
    ),
    Kind(
        name="xgmi-reset-on-init-failed",
        needles=("xgmi reset on init: reset failed",),
        pattern=r"xgmi reset on init: reset failed with error, (?P<code>-?\d+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: xgmi reset on init: reset failed with error, -110",
        source=_TREE + "amdgpu_reset.c",
    ),
)
