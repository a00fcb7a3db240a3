"""Kernel ring buffer: RAS of the GPU: corrected, deferred and uncorrected errors, poison, retired pages, raw banks, boot self tests.

The driver prints most of these at level info, even when they are fatal. A number in braces joins the lines of one event.
A raw bank comes as several lines (``aca entry[00].STATUS=``, ``ACA[01/02].STATUS=``) that are read as one event.
Texts: amdgpu_ras.c, amdgpu_ras_eeprom.c, amdgpu_mca.c, amdgpu_aca.c, nbio_v7_4.c, kfd_int_process_v9.c.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/"
_RAS = _TREE + "amdgpu/amdgpu_ras.c"
_EEPROM = _TREE + "amdgpu/amdgpu_ras_eeprom.c"

# The two ways of a count: "12 correctable hardware errors detected in umc block" and, in newer drivers,
# "socket: 0, die: 1, 3 new correctable hardware errors detected in umc block" (and "... in total in ...").
_COUNT = r"(?:socket: (?P<socket>\d+),? )?(?:die: (?P<die>\d+),? )?\b(?P<errors>\d+) (?P<fresh>new )?"
_PLACE = r" hardware errors detected (?P<total>in total )?in (?P<ras_block>\w+) block"

KINDS = (
    Kind(
        name="ras-corrected",
        needles=(" correctable hardware errors detected",),
        pattern=_COUNT + r"correctable" + _PLACE,
        sample=(
            "amdgpu 0000:c1:00.0: {12}socket: 0, die: 0, 3 new correctable hardware errors detected in umc block",
            "amdgpu 0000:08:00.0: {1}1 correctable hardware errors detected in umc block",
        ),
        source=_RAS,
        level="notice",
    ),
    Kind(
        name="ras-uncorrected",
        needles=("uncorrectable hardware errors detected",),
        pattern=_COUNT + r"uncorrectable" + _PLACE,
        sample=(
            "amdgpu 0000:c1:00.0: {12}socket: 0, die: 0, 1 new uncorrectable hardware errors detected in umc block",
            "amdgpu 0000:08:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block, no user action is needed",
        ),
        source=_RAS,
    ),
    Kind(
        name="ras-deferred",
        needles=("deferred hardware errors detected",),
        pattern=_COUNT + r"deferred" + _PLACE,
        sample="amdgpu 0000:c1:00.0: {7}socket: 2, die: 1, 1 new deferred hardware errors detected in umc block",
        source=_RAS,
        level="notice",
    ),
    Kind(
        name="ras-memory-detail",
        needles=("hardware errors detected in", ", memory block:"),
        pattern=r"(?P<errors>\d+) (?P<severity>\w+) hardware errors detected in (?P<ras_block>\w+), instance: (?P<instance>\d+), memory block: (?P<memory>\S+)",
        sample="amdgpu 0000:c1:00.0: {3}1 uncorrectable hardware errors detected in GFX, instance: 2, memory block: TCP_CACHE_RAM",
        source=_RAS,
        level="notice",
    ),
    Kind(
        name="ras-umc-channel",
        needles=("Uncorrectable error detected in UMC inst",),
        pattern=r"Uncorrectable error detected in UMC inst: ?(?P<instance>\d+), chan_idx: ?(?P<channel>\d+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: Uncorrectable error detected in UMC inst: 3, chan_idx: 5",
        source=_RAS,
    ),
    Kind(
        name="ras-athub-fatal",
        needles=("ERREVENT_ATHUB_INTERRUPT) detected",),
        pattern=r"uncorrectable hardware error ?\(ERREVENT_ATHUB_INTERRUPT\) detected",
        sample="amdgpu 0000:1c:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        source=_RAS,
    ),
    Kind(
        name="ras-nbif",
        needles=("triggered by NBIF error",),
        pattern=r"RAS (?P<which>controller|athub err event|err_event_athub)? ?interrupt triggered by NBIF error",
        sample="amdgpu 0000:c1:00.0: amdgpu: RAS controller interrupt triggered by NBIF error",
        source=_TREE + "amdgpu/nbio_v7_4.c",
    ),
    Kind(
        name="ras-poison-created",
        needles=("Poison is created",),
        pattern=r"Poison is created",
        sample="amdgpu 0000:c1:00.0: {4}Poison is created",
        source=_RAS,
    ),
    Kind(
        name="ras-poison-consumed",
        needles=("poison is consumed by", "RAS poison consumption", "poison consumption in"),
        pattern=r"poison is consumed by (?:client|source) (?P<client>\w+)|RAS poison consumption(?:, unmap queue| is issued)?|poison consumption in",
        sample=(
            "amdgpu 0000:c1:00.0: amdgpu: RAS poison is consumed by client 10, kick off gpu reset flow",
            "amdgpu 0000:c1:00.0: {5}GPU reset for gfx RAS poison consumption is issued!",
        ),
        source=_TREE + "amdkfd/kfd_int_process_v9.c",
    ),
    Kind(
        name="ras-bank",
        needles=("aca entry[", "].STATUS=0x", "mca entry["),
        pattern=r"(?:aca|mca) entry\[(?P<entry>\d+)\]\.STATUS=(?P<bank_status>0x[0-9a-f]+)|ACA\[(?P<aca>\d+)/\d+\]\.STATUS=(?P<aca_status>0x[0-9a-f]+)",
        more=r"(?:(?:aca|mca) entry\[\d+\]|ACA\[\d+/\d+\])\.(?:ADDR=(?P<addr>0x[0-9a-f]+)|MISC0?=(?P<misc>0x[0-9a-f]+)"
        r"|IPID=(?P<ipid>0x[0-9a-f]+)|SYND=(?P<synd>0x[0-9a-f]+)|CONFIG=|DESTAT=|DEADDR=|CONTROL_MASK=|CONTROL=)",
        more_limit=9,
        sample=(
            "amdgpu 0000:9e:00.0: {1}[Hardware Error]: aca entry[00].STATUS=0x98000800003e0000",
            "amdgpu 0000:05:00.0: {2}[Hardware Error]: ACA[01/02].STATUS=0xbea0000000000108",
        ),
        source=_TREE + "amdgpu/amdgpu_aca.c",
        level="notice",
    ),
    Kind(
        name="ras-banks-follow",
        needles=("Accelerator Check Architecture events logged",),
        pattern=r"Accelerator Check Architecture events logged",
        sample="amdgpu 0000:9e:00.0: {1}[Hardware Error]: Accelerator Check Architecture events logged",
        source=_TREE + "amdgpu/amdgpu_mca.c",
        level="notice",
    ),
    Kind(
        name="ras-scrubber",
        needles=("error logged by the scrubber",),
        pattern=r"hardware error logged by the scrubber",
        sample="amdgpu 0000:05:00.0: {2}[Hardware Error]: hardware error logged by the scrubber",
        source=_TREE + "amdgpu/amdgpu_aca.c",
        level="notice",
    ),
    Kind(
        name="ras-hbm-address",
        needles=("Error Address(PA)",),
        pattern=r"Error Address\(PA\): ?(?P<address>0x[0-9a-f]+) +Row: ?(?P<row>0x[0-9a-f]+) +Col: ?(?P<column>0x[0-9a-f]+) +Bank: ?(?P<bank>0x[0-9a-f]+) +Channel: ?(?P<channel>0x[0-9a-f]+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: Error Address(PA):0x2a31c6000  Row:0x1a3b Col:0x2  Bank:0xd Channel:0x4a",
        source=_TREE + "amdgpu/umc_v12_0.c",
        level="notice",
    ),
    Kind(
        name="ecc-active",
        needles=("ECC is active",),
        pattern=r"(?P<memory>MEM|SRAM|HBM)?\s?ECC is active",
        sample="amdgpu 0000:e3:00.0: amdgpu: MEM ECC is active.",
        source=_RAS,
        level="info",
    ),
    Kind(
        name="ecc-absent",
        needles=("MEM ECC is not presented", "GECC is disabled"),
        pattern=r"(?P<ecc>MEM ECC is not presented|GECC is disabled)",
        sample="amdgpu 0000:03:00.0: amdgpu: MEM ECC is not presented.",
        source=_RAS,
        level="info",
    ),
    Kind(
        name="ecc-pending",
        needles=("GECC will be",),
        pattern=r"GECC will be (?P<wanted>enabled|disabled) in next boot cycle",
        sample="amdgpu 0000:03:00.0: amdgpu: GECC will be enabled in next boot cycle",
        source=_TREE + "amdgpu/amdgpu_psp.c",
        level="notice",
    ),
    Kind(
        name="ras-device-disabled",
        needles=("RAS Intr triggered, device disabled",),
        pattern=r"RAS Intr triggered, device disabled",
        sample="[drm:amdgpu_info_ioctl [amdgpu]] *ERROR* RAS Intr triggered, device disabled!!",
        source=_TREE + "amdgpu/amdgpu_kms.c",
    ),
    # --- retired pages -----------------------------------------------------------------------------------------------
    Kind(
        name="pages-retired",
        needles=("pages to EEPROM table",),
        pattern=r"Saved (?P<pages>\d+) pages to EEPROM table",
        sample="amdgpu 0000:c1:00.0: amdgpu: Saved 8 pages to EEPROM table.",
        source=_RAS,
        level="notice",
    ),
    Kind(
        name="bad-page-threshold-reached",
        needles=("reaches threshold value", "exceed threshold"),
        pattern=r"Saved bad pages (?P<pages>\d+) reaches threshold value (?P<limit>\d+)|RAS records:(?P<records>\d+) exceeds? threshold:(?P<maximum>\d+)",
        sample=(
            "amdgpu 0000:c1:00.0: amdgpu: Saved bad pages 256 reaches threshold value 256",
            "amdgpu 0000:c1:00.0: amdgpu: RAS records:310 exceed threshold:256",
        ),
        source=_EEPROM,
    ),
    Kind(
        name="bad-page-threshold-near",
        needles=("exceeds 90%",),
        pattern=r"RAS records:(?P<records>\d+) exceeds 90%+ of threshold:(?P<limit>\d+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: RAS records:240 exceeds 90% of threshold:256",
        source=_EEPROM,
        level="notice",
    ),
    Kind(
        name="ras-eeprom-broken",
        needles=(
            "save EEPROM table",
            "EEPROM table records error",
            "RAS table incorrect checksum",
            "RAS header invalid",
            "RAS EEPROM table version",
        ),
        pattern=r"Failed to save EEPROM table data|(?:Reading|Writing) \d+ EEPROM table records error|RAS table incorrect checksum|RAS header invalid",
        sample="amdgpu 0000:c1:00.0: amdgpu: RAS table incorrect checksum or error:-22",
        source=_EEPROM,
    ),
    Kind(
        name="ras-i2c-missing",
        needles=("I2C_NAK_7B_ADDR_NOACK", "Failed to read EEPROM table header"),
        pattern=r"Received I2C_NAK_7B_ADDR_NOACK|Failed to read EEPROM table header, res: ?-\d+",
        sample="[drm:amdgpu_ras_eeprom_init [amdgpu]] *ERROR* Failed to read EEPROM table header, res:-5",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1541",
        level="notice",
    ),
    # --- self tests of the boot firmware -----------------------------------------------------------------------------
    Kind(
        name="boot-test-failed",
        needles=(
            "memory training failed",
            "hbm memory test failed",
            "hbm bist test failed",
            "firmware load failed at boot",
            "data abort exception",
            "Boot Controller Generic Error",
        ),
        pattern=r"socket: ?(?P<socket>\d+), aid: ?(?P<aid>\d+)(?:, hbm: ?(?P<hbm>\d+))?.*?fw_status: ?(?P<fw_status>0x[0-9a-f]+), "
        r"(?P<test>memory training failed|hbm memory test failed|hbm bist test failed|firmware load failed at boot time|data abort exception|Boot Controller Generic Error)",
        sample="amdgpu 0000:c1:00.0: amdgpu: socket: 0, aid: 1, hbm: 1, fw_status: 0x2, memory training failed",
        source=_RAS,
    ),
    Kind(
        name="boot-link-training-failed",
        needles=("link training failed",),
        pattern=r"socket: ?(?P<socket>\d+), aid: ?(?P<aid>\d+).*?(?P<link>wafl|xgmi|usr cp|usr dp) link training failed",
        sample="amdgpu 0000:c1:00.0: amdgpu: socket: 3, aid: 0, fw_status: 0x40, xgmi link training failed",
        source=_RAS,
    ),
)
