"""Kernel ring buffer: amdgpu comes up for a GPU, or gives up, and what KFD then makes of it.

Formats: amdgpu_drv.c, amdgpu_device.c, amdgpu_kms.c, amdgpu_bios.c, amdgpu_discovery.c, kfd_device.c, and the
driver core (drivers/base/dd.c). The driver core changed its wording: ``probe of ADDRESS failed with error N``
until 6.8, ``probe with driver amdgpu failed with error N`` after it.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_AMD = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/"
_DEVICE = _AMD + "amdgpu/amdgpu_device.c"
_KFD = _AMD + "amdkfd/kfd_device.c"
_BDF = r"(?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"

KINDS = (
    # --- signs that the driver works --------------------------------------------------------------
    Kind(
        name="gpu-memory-ready",
        needles=("of VRAM memory ready",),
        pattern=r"(?P<vram_mib>\d+)M of VRAM memory ready",
        sample="[    2.762357] [drm] amdgpu: 2048M of VRAM memory ready",
        source=_AMD + "amdgpu/amdgpu_ttm.c",
        level="info",
        alive=True,
    ),
    Kind(
        name="gtt-memory-ready",
        needles=("of GTT memory ready",),
        pattern=r"(?P<gtt_mib>\d+)M of GTT memory ready",
        sample="[    3.636122] [drm] amdgpu: 63973M of GTT memory ready.",
        source=_AMD + "amdgpu/amdgpu_ttm.c",
        level="info",
    ),
    Kind(
        name="amdgpu-loaded",
        needles=("amdgpu kernel modesetting enabled",),
        pattern=r"amdgpu kernel modesetting enabled",
        sample="[    2.500000] [drm] amdgpu kernel modesetting enabled.",
        source=_AMD + "amdgpu/amdgpu_drv.c",
        level="info",
        about="node",
    ),
    Kind(
        name="kfd-device-added",
        needles=("added device 1002:",),
        pattern=r"(?<!not )added device (?P<vendor>1002):(?P<device_id>[0-9a-f]+)",
        sample=(
            "[    8.850516] kfd kfd: amdgpu: added device 1002:73bf",
            "[    2.755119] kfd kfd: added device 1002:67df",
        ),
        source=_KFD,
        level="info",
        alive=True,
    ),
    Kind(
        name="drm-device-ready",
        needles=("Initialized amdgpu",),
        pattern=rf"Initialized amdgpu \d+\.\d+\.\d+(?: \d+)? for {_BDF} on minor (?P<minor>\d+)",
        sample=(
            "[    7.243101] [drm] Initialized amdgpu 3.54.0 20150101 for 0000:01:00.0 on minor 0",
            "[    5.310012] [drm] Initialized amdgpu 3.64.0 for 0000:c1:00.0 on minor 1",
        ),
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/drm_drv.c",
        level="info",
        alive=True,
    ),
    Kind(
        name="smu-ready",
        needles=("SMU is initialized successfully",),
        pattern=r"SMU is initialized successfully",
        sample="[    5.112009] amdgpu 0000:2b:00.0: amdgpu: SMU is initialized successfully!",
        source=_AMD + "pm/swsmu/amdgpu_smu.c",
        level="info",
        alive=True,
    ),
    Kind(
        name="amdgpu-version",
        needles=("amdgpu version:",),
        pattern=r"amdgpu version: (?P<version>\d+(?:\.\d+)+)",
        sample="[   16.284345] [drm] amdgpu version: 6.8.5",
        source="https://github.com/ROCm/legacy-rocm-build/issues/3712",
        level="info",
        about="node",
        facts={"rocm.driver": "{version}", "modules[amdgpu].version": "{version}"},
    ),
    Kind(
        name="amdgpu-start",
        needles=("initializing kernel modesetting (",),
        pattern=r"initializing kernel modesetting \((?P<chip>[\w ]+?) 0x(?P<vendor>1002):0x(?P<device_id>[0-9a-f]{4})",
        sample=(
            "[    2.708709] [drm] initializing kernel modesetting (IP DISCOVERY 0x1002:0x747E 0x1043:0x05FD 0xC8).",
            "amdgpu 0000:c3:00.0: amdgpu: initializing kernel modesetting (ALDEBARAN 0x1002:0x740F 0x1002:0x0C34 0x02).",
        ),
        source=_DEVICE,
        level="info",
    ),
    # --- the driver gives up ----------------------------------------------------------------------
    Kind(
        name="gpu-init-fatal",
        needles=("Fatal error during GPU init",),
        pattern=r"Fatal error during GPU init",
        sample=(
            "[   16.324081] amdgpu 0000:48:00.0: amdgpu: Fatal error during GPU init",
            "[    4.603449] [drm:amdgpu_driver_load_kms [amdgpu]] *ERROR* Fatal error during GPU init",
        ),
        source=_AMD + "amdgpu/amdgpu_kms.c",
    ),
    Kind(
        name="gpu-probe-failed",
        needles=("amdgpu: probe of", "probe with driver amdgpu failed"),
        pattern=rf"(?:amdgpu: probe of {_BDF}|probe with driver amdgpu) failed with error (?P<error>-?\d+)",
        sample=(
            "[   16.324195] amdgpu: probe of 0000:48:00.0 failed with error -12",
            "[    4.120551] amdgpu 0000:01:00.0: probe with driver amdgpu failed with error -22",
        ),
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/base/dd.c",
    ),
    Kind(
        name="ip-block-init-failed",
        needles=("of IP block <",),
        pattern=r"(?P<phase>early_init|sw_init|hw_init|late_init) of IP block <(?P<block>\w+)> failed (?P<error>-?\d+)",
        sample=(
            "[   15.144375] [drm:amdgpu_device_ip_early_init [amdgpu]] *ERROR* early_init of IP block <psp> failed -22",
            "[    9.120447] amdgpu 0000:c1:00.0: amdgpu: hw_init of IP block <gfx_v9_4_3> failed -110",
        ),
        source=_DEVICE,
    ),
    Kind(
        name="ip-init-failed",
        needles=("amdgpu_device_ip_init failed", "amdgpu_device_ip_late_init failed"),
        pattern=r"amdgpu_device_ip_(?:late_)?init failed",
        sample="[    9.120991] amdgpu 0000:c1:00.0: amdgpu: amdgpu_device_ip_init failed",
        source=_DEVICE,
    ),
    Kind(
        name="gpu-post-failed",
        needles=("gpu post error", "asic reset on init failed", "amdgpu asic init failed"),
        pattern=r"gpu post error!|asic reset on init failed|amdgpu asic init failed",
        sample="[   31.494301] amdgpu 0000:43:00.0: amdgpu: gpu post error!",
        source=_DEVICE,
    ),
    Kind(
        name="atombios-stuck",
        needles=("atombios stuck",),
        pattern=r"atombios stuck (?:in loop for more than (?P<seconds>\d+)secs aborting|executing (?P<table>\w+))",
        sample="[   31.489889] [drm:atom_op_jump [amdgpu]] *ERROR* atombios stuck in loop for more than 20secs aborting",
        source="https://github.com/ROCm/legacy-rocm-build/issues/4533",
    ),
    Kind(
        name="vbios-not-found",
        needles=("Unable to locate a BIOS ROM",),
        pattern=r"Unable to locate a BIOS ROM",
        sample="[    5.002311] amdgpu 0000:01:00.0: amdgpu: Unable to locate a BIOS ROM",
        source=_AMD + "amdgpu/amdgpu_bios.c",
    ),
    Kind(
        name="discovery-table-bad",
        needles=("ip discovery binary", "amdgpu_discovery_init failed", "failed to read ip discovery"),
        pattern=r"invalid ip discovery binary (?P<what>checksum|signature)|get invalid ip discovery binary (?P<kind>signature|checksum)"
        r"|failed to read ip discovery binary",
        sample=(
            "[   57.129281] amdgpu 0000:01:00.0: amdgpu: invalid ip discovery binary checksum",
            "[    3.114511] amdgpu 0000:0b:00.0: amdgpu: get invalid ip discovery binary signature",
        ),
        source=_AMD + "amdgpu/amdgpu_discovery.c",
    ),
    Kind(
        name="discovery-init-failed",
        needles=("amdgpu_discovery_init failed",),
        pattern=r"amdgpu_discovery_init failed",
        sample="[   57.129283] [drm:amdgpu_discovery_reg_base_init [amdgpu]] *ERROR* amdgpu_discovery_init failed",
        source=_AMD + "amdgpu/amdgpu_discovery.c",
    ),
    Kind(
        name="ip-block-unknown",
        needles=("ip block(",),
        pattern=r"Failed to add (?P<ip>[\w ]+?) ip block\((?P<hwip>\w+):(?P<version>0x[0-9a-f]+)\)",
        sample="[    3.002119] amdgpu 0000:03:00.0: amdgpu: Failed to add gfx ip block(GC_HWIP:0xc0001)",
        source=_AMD + "amdgpu/amdgpu_discovery.c",
    ),
    Kind(
        name="experimental-hardware",
        needles=("exp_hw_support",),
        pattern=r"requires experimental hardware support|experimental\. See modparam exp_hw_support",
        sample="[    3.100231] amdgpu: This hardware requires experimental hardware support. See modparam exp_hw_support",
        source=_AMD + "amdgpu/amdgpu_drv.c",
    ),
    Kind(
        name="gpu-left-to-radeon",
        needles=("support provided by radeon", "si_support=0", "cik_support=0"),
        pattern=r"(?P<family>SI|CIK) support provided by radeon|Use radeon\.(?P<family2>si|cik)_support=0 amdgpu\.\w+_support=1",
        sample=(
            "[    1.907712] amdgpu 0000:01:00.0: SI support provided by radeon.",
            "[    1.907715] amdgpu 0000:01:00.0: Use radeon.si_support=0 amdgpu.si_support=1 to override.",
        ),
        source=_AMD + "amdgpu/amdgpu_drv.c",
        level="notice",
    ),
    Kind(
        name="hive-reset-pending",
        needles=("xgmi reset on init", "reset on init: reset failed"),
        pattern=r"xgmi reset on init: reset failed with error, (?P<error>-?\d+)|reset on init: reset failed",
        sample="[   40.120033] amdgpu 0000:c1:00.0: amdgpu: xgmi reset on init: reset failed with error, -110",
        source=_AMD + "amdgpu/amdgpu_reset.c",
    ),
    # --- KFD: compute on top of a working driver ----------------------------------------------------
    Kind(
        name="kfd-skipped-atomics",
        needles=("PCI rejects atomics",),
        pattern=r"skipped device (?P<vendor>[0-9a-f]+):(?P<device_id>[0-9a-f]+), PCI rejects atomics(?! *\d+ *<)",
        sample="[    7.026427] kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1214",
    ),
    Kind(
        name="kfd-skipped-atomics-firmware",
        needles=("PCI rejects atomics",),
        pattern=r"skipped device (?P<vendor>[0-9a-f]+):(?P<device_id>[0-9a-f]+), PCI rejects atomics *(?P<have>\d+) *< *(?P<need>\d+)",
        sample="[    7.218215] kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 494<509",
        source=_KFD,
    ),
    Kind(
        name="kfd-asic-not-supported",
        needles=("kfd not supported on this ASIC", "not supported in kfd"),
        pattern=r"kfd not supported on this ASIC|(?:GC IP )?\b(?P<chip>(?!VF\b)\w+) +not supported in kfd",
        sample=(
            "[    2.721238] amdgpu 0000:02:00.0: kfd not supported on this ASIC",
            "[    2.902311] kfd kfd: amdgpu: RENOIR  not supported in kfd",
            "[    2.902311] kfd kfd: amdgpu: GC IP 0a0307  not supported in kfd",
        ),
        source=_KFD,
    ),
    Kind(
        name="kfd-vf-not-supported",
        needles=("VF not supported in kfd",),
        pattern=r"(?P<chip>\w+) +VF not supported in kfd",
        sample="[    2.902311] kfd kfd: amdgpu: GC IP 0a0307 VF not supported in kfd",
        source=_KFD,
    ),
    Kind(
        name="kfd-device-not-added",
        needles=("NOT added due to errors",),
        pattern=r"device (?P<vendor>[0-9a-f]+):(?P<device_id>[0-9a-f]+) NOT added due to errors",
        sample="[    8.850516] kfd kfd: amdgpu: device 1002:15d8 NOT added due to errors",
        source=_KFD,
    ),
    Kind(
        name="kfd-iommu-resume-failed",
        needles=("Failed to resume IOMMU for device", "Error initializing iommuv2", "error getting iommu info"),
        pattern=r"Failed to resume IOMMU for device|Error initializing iommuv2|error getting iommu info",
        sample="[    3.912033] kfd kfd: amdgpu: Failed to resume IOMMU for device 1002:15d8",
        source=_KFD,
    ),
    Kind(
        name="kfd-setup-step-failed",
        needles=(
            "Error initializing doorbell aperture",
            "Error initializing queue manager",
            "Error adding device to topology",
            "Error starting queue manager",
            "Error initializing gtt sub-allocator",
            "bytes on gart for device",
        ),
        pattern=r"(?P<step>Error initializing (?:doorbell aperture|queue manager|gtt sub-allocator)"
        r"|Error adding device to topology|Error starting queue manager)",
        sample="[    8.850411] kfd kfd: amdgpu: Error adding device to topology",
        source=_KFD,
    ),
    Kind(
        name="kfd-device-memory-not-registered",
        needles=("failed to register HMM device memory", "failed to reserve VRAM PFN"),
        pattern=r"failed to register HMM device memory",
        sample="[    8.849001] amdgpu: failed to register HMM device memory",
        source=_AMD + "amdkfd/kfd_migrate.c",
    ),
    # --- virtual functions ------------------------------------------------------------------------
    Kind(
        name="vf-exclusive-timeout",
        needles=("VF exclusive mode timeout",),
        pattern=r"VF exclusive mode timeout",
        sample="[   12.220411] amdgpu 0000:00:09.0: amdgpu: VF exclusive mode timeout",
        source=_DEVICE,
    ),
    Kind(
        name="vf-host-silent",
        needles=("ACK should not assert", "from pf, error", "get ack from pf"),
        pattern=r"trn=\d+ ACK should not assert|Doesn't get (?P<what>.{1,40}?) from pf",
        sample=(
            "[    4.811034] [drm:xgpu_ai_mailbox_trans_msg [amdgpu]] *ERROR* trn=2 ACK should not assert! wait again !",
            "[    9.811034] [drm:xgpu_nv_mailbox_trans_msg [amdgpu]] *ERROR* Doesn't get msg:1 from pf, error=-62",
        ),
        source=_AMD + "amdgpu/mxgpu_ai.c",
    ),
    # --- partition and memory mode ----------------------------------------------------------------
    Kind(
        name="nps-change-failed",
        needles=("NPS mode change request failed", "PSP request failed to change to NPS"),
        pattern=r"PSP request failed to change to NPS(?P<mode>\d) mode|NPS mode change request failed",
        sample="[  400.100231] amdgpu 0000:c1:00.0: amdgpu: PSP request failed to change to NPS4 mode",
        source=_AMD + "amdgpu/amdgpu_psp.c",
    ),
    Kind(
        name="nps-change-pending",
        needles=("NPS mode change request done", "reload driver to complete the change"),
        pattern=r"NPS mode change request done, reload driver",
        sample="[  400.100231] amdgpu 0000:c1:00.0: amdgpu: NPS mode change request done, reload driver to complete the change",
        source=_AMD + "amdgpu/amdgpu_gmc.c",
        level="notice",
    ),
    Kind(
        name="nps-inconsistent",
        needles=("Not able to detect NPS mode", "NPS config mismatch"),
        pattern=r"Not able to detect NPS mode, fall back|NPS config mismatch - expected ranges",
        sample="[   30.100231] amdgpu 0000:c1:00.0: amdgpu: Not able to detect NPS mode, fall back to NPS1",
        source=_AMD + "amdgpu/gmc_v9_0.c",
        level="notice",
    ),
)
