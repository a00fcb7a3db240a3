"""Kernel ring buffer: the power controller (SMU), heat, power limits and fans.

Throttle lines are printed at most once a minute (``thermal_throttling_logging``), so their number says little.
Texts: smu_cmn.c, smu_v11_0.c, smu_v13_0.c, smu_v13_0_6_ppt.c, aldebaran_ppt.c, arcturus_ppt.c, vega10_hwmgr.c, smu7_hwmgr.c.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/pm/"
_CMN = _TREE + "swsmu/smu_cmn.c"

KINDS = (
    Kind(
        name="smu-all-ones",
        needles=("response:0xFFFFFFFF", "66:0xFFFFFFFF", "response 0xffffffff"),
        pattern=r"SMU: response:0xFFFFFFFF for index:(?P<index>\d+) param:\S+ message:(?P<message>\w+)|SMN_C2PMSG_66:0xFFFFFFFF|response 0xffffffff",
        sample="amdgpu 0000:0b:00.0: amdgpu: SMU: response:0xFFFFFFFF for index:41 param:0x00000000 message:DisallowGfxOff?",
        source=_CMN,
    ),
    Kind(
        name="smu-no-answer",
        needles=(
            "done with your previous command",
            "SMU is in hanged state",
            "SMC is not ready",
            "SMC engine is not correctly up",
            "SMU may be not in the right state",
            "SMU: No response",
            "Failed to send message 0x",
            "smu firmware loading failed",
            "SMU: response:0x",
        ),
        pattern=r"I'm not done with your (?:previous )?command(?:: SMN_C2PMSG_66:(?P<command>0x[0-9a-f]+))?|SMU is in hanged state|SMC (?:is not ready|engine is not correctly up)"
        r"|SMU may be not in the right state|SMU: No response|Failed to send message (?P<message>0x[0-9a-f]+),? (?:response|return|ret):? ?0x0\b"
        r"|SMU: response:0x0+ for index:(?P<index>\d+)",
        sample=(
            "amdgpu 0000:03:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000006 SMN_C2PMSG_82:0x00000000",
            "amdgpu 0000:e3:00.0: amdgpu: Failed to send message 0x26, response 0x0",
        ),
        source=_CMN,
    ),
    Kind(
        name="smu-refused",
        needles=("SMU: unknown command", "bad prerequisites", "very busy for your command"),
        pattern=r"SMU: (?P<refusal>unknown command|valid command, bad prerequisites|I'm very busy for your command)",
        sample="amdgpu 0000:03:00.0: amdgpu: SMU: unknown command: index:18 param:0x00000005 message:TransferTableSmu2Dram",
        source=_CMN,
        level="notice",
    ),
    Kind(
        name="smu-metrics-failed",
        needles=("Failed to export SMU metrics table", "Failed to get metrics"),
        pattern=r"Failed to export SMU metrics table",
        sample="amdgpu 0000:c1:00.0: amdgpu: Failed to export SMU metrics table!",
        source=_CMN,
        level="notice",
    ),
    Kind(
        name="thermal-throttled",
        needles=("throttling temperature reached",),
        pattern=r"GPU thermal throttling temperature reached, expect performance decrease\. ?(?P<reasons>[^.]*)",
        sample="amdgpu 0000:c1:00.0: amdgpu: WARN: GPU thermal throttling temperature reached, expect performance decrease. TEMP_HOTSPOT and TEMP_MEM.",
        source=_TREE + "swsmu/smu13/aldebaran_ppt.c",
    ),
    Kind(
        name="gpu-throttled",
        needles=("GPU is throttled, expect",),
        pattern=r"GPU is throttled, expect performance decrease\. ?(?P<reasons>[^.]*)",
        sample="amdgpu 0000:c1:00.0: amdgpu: WARN: GPU is throttled, expect performance decrease. Prochot and HBM.",
        source=_TREE + "swsmu/smu13/smu_v13_0_6_ppt.c",
    ),
    Kind(
        name="critical-temperature",
        needles=(
            "SW CTF",
            "HW CTF",
            "Critical Temperature Fault",
            "over temperature range(SW",
            "over temperature range (SW",
        ),
        pattern=r"GPU over temperature range ?\((?P<which>SW CTF)\)|GPU (?P<hw>HW) Critical Temperature Fault|shutdown due to GPU (?P<by>[SH]W) CTF",
        sample=(
            "amdgpu 0000:03:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!",
            "amdgpu 0000:03:00.0: amdgpu: ERROR: System is going to shutdown due to GPU HW CTF!",
        ),
        source=_TREE + "swsmu/smu13/smu_v13_0.c",
    ),
    Kind(
        name="over-temperature",
        needles=("GPU over temperature range detected",),
        pattern=r"GPU over temperature range detected",
        sample="amdgpu: [powerplay] GPU over temperature range detected on PCIe 0:0.0!",
        source=_TREE + "swsmu/amdgpu_smu.c",
        about="node",  # the address in this line is wrong in old drivers (0:0.0)
    ),
    Kind(
        name="under-temperature",
        needles=("GPU under temperature range",),
        pattern=r"GPU under temperature range detected",
        sample="amdgpu 0000:03:00.0: amdgpu: ERROR: GPU under temperature range detected",
        source=_TREE + "swsmu/smu13/smu_v13_0.c",
    ),
    Kind(
        name="power-limit-refused",
        needles=("New power limit (", "Set power limit Failed"),
        pattern=r"New power limit \((?P<wanted>\d+)\) is (?:over the max allowed (?P<maximum>\d+)|out of range \[(?P<range>[\d, ]+)\])|Set power limit Failed",
        sample="amdgpu 0000:c1:00.0: amdgpu: New power limit (500) is out of range [600,750]",
        source=_TREE + "swsmu/amdgpu_smu.c",
    ),
    Kind(
        name="gfxoff-failed",
        needles=("disable gfxoff", "enable gfxoff"),
        pattern=r"Failed to (?:dis|en)able gfxoff",
        sample="amdgpu 0000:0b:00.0: amdgpu: Failed to disable gfxoff!",
        source=_TREE + "swsmu/amdgpu_smu.c",
        level="notice",
    ),
    Kind(
        name="powerplay-failed",
        needles=("[powerplay]",),
        pattern=r"\[powerplay\] (?:\[\w+\] )?Failed to (?P<what>[\w ]+)",
        sample="amdgpu: [powerplay] Failed to set soft min gfxclk !",
        source=_TREE + "powerplay/hwmgr/vega20_hwmgr.c",
        level="notice",
    ),
)
