"""GPU parts as the lab needs them: what the kernel interfaces of each print.

Sources: KFD properties of MI210 and MI300X from real trees (ROCm/k8s-device-plugin, testdata); file lists and
formats from the amdgpu driver; names and ids from the catalog's parts. Figures that no source gives (firmware
numbers of MI250 and W7900, clocks in between) are made up and only plausible: the tree is synthetic.
"""

from __future__ import annotations

import msgspec

MIB = 1 << 20


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of GPU. ``instinct_300``: the MI300 family, with partitions, per-stack temperatures and no edge sensor.

    Clocks in MHz, power in watts, temperatures in degrees Celsius. ``vram`` is what the driver shows.
    """

    product: str
    """Catalog id of the part."""
    market_name: str
    chip: str
    """What the kernel log calls it."""
    kfd_name: str
    gfx_version: int
    device_id: int
    subsystem: tuple[int, int]
    revision: int
    class_code: int
    vram: int
    compute_units: int
    arrays: int
    cu_per_array: int
    xcds: int = 1
    wave_front: int = 64
    max_waves: int = 8
    lds_kib: int = 64
    scratch_slots: int = 32
    gws: int = 64
    sdma: int = 2
    sdma_xgmi: int = 0
    cp_queues: int = 24
    capability: int
    debug_prop: int
    mec: int
    sdma_firmware: int
    firmware: dict[str, int]
    sclk: tuple[int, ...]
    mclk: tuple[int, ...]
    mem_width: int
    mem_clock: int
    power_cap: int
    power_idle: int
    crit: tuple[int | None, int, int]
    """Critical temperature of edge (None = no such sensor), junction, memory."""
    pcie_speed: float
    metrics: str
    """Version of gpu_metrics that current drivers emit for it."""
    hbm_stacks: int
    memory_vendor: str
    vbios: str
    product_number: str
    board_type: str | None = None
    instinct_300: bool = False
    fan: bool = False
    xgmi: bool = False
    ras_blocks: tuple[str, ...] = ()
    ip_version: tuple[int, int, int]
    caches: tuple[tuple[int, int, int, int], ...]
    """(level, KiB, type, count) per XCD; caches of level 3 once per GPU."""


_MI200 = {
    "chip": "ALDEBARAN", "kfd_name": "aldebaran", "gfx_version": 90010, "class_code": 0x038000,
    "compute_units": 104, "arrays": 8, "cu_per_array": 14, "sdma": 2, "sdma_xgmi": 3, "capability": 746037888,
    "debug_prop": 470, "mec": 92, "sdma_firmware": 9, "sclk": (500, 1700), "mclk": (400, 700, 1200, 1600),
    "mem_width": 4096, "mem_clock": 1600, "crit": (100, 110, 100), "pcie_speed": 16.0, "metrics": "1.3",
    "hbm_stacks": 4, "memory_vendor": "hynix", "xgmi": True, "ip_version": (9, 0, 10), "vram": 65520 * MIB,
    "firmware": {"mec": 92, "rlc": 18, "rlc_srlc": 0, "sos": 0x0027008C, "asd": 0x210000DD, "ta_ras": 0x1B000206,
                 "ta_xgmi": 0x20000012, "smc": 0x00445100, "sdma": 9, "vcn": 0x02101012},
    "ras_blocks": ("umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn", "sem",
                   "mp0", "mp1", "fuse"),
    "caches": ((1, 16, 9, 104), (1, 32, 10, 56), (1, 16, 9, 56), (2, 8192, 9, 1)),
}  # fmt: skip

MI210 = msgspec.convert(
    {
        **_MI200, "product": "instinct-mi210", "market_name": "AMD Instinct MI210", "device_id": 0x740F,
        "subsystem": (0x1002, 0x0C34), "revision": 0x02, "power_cap": 300, "power_idle": 41,
        "vbios": "113-D67301-063", "product_number": "102-D67302-00", "board_type": None,
    },
    Part, strict=False,
)  # fmt: skip
MI250 = msgspec.convert(
    {
        **_MI200, "product": "instinct-mi250", "market_name": "AMD Instinct MI250", "device_id": 0x740C,
        "subsystem": (0x1002, 0x0B0C), "revision": 0x01, "power_cap": 560, "power_idle": 88,
        "vbios": "113-D65210-064", "product_number": "102-D65208-00", "board_type": None,
    },
    Part, strict=False,
)  # fmt: skip
MI300X = msgspec.convert(
    {
        "product": "instinct-mi300x", "market_name": "AMD Instinct MI300X OAM", "chip": "IP DISCOVERY",
        "kfd_name": "ip discovery", "gfx_version": 90402, "class_code": 0x120000, "device_id": 0x74A1,
        "subsystem": (0x1002, 0x74A1), "revision": 0x00, "vram": 196592 * MIB, "compute_units": 304, "arrays": 4,
        "cu_per_array": 10, "xcds": 8, "sdma": 2, "sdma_xgmi": 14, "capability": 2893521536, "debug_prop": 1511,
        "mec": 177, "sdma_firmware": 24, "sclk": (132, 2100), "mclk": (900, 1100, 1200, 1300), "mem_width": 8192,
        "mem_clock": 1300, "power_cap": 750, "power_idle": 138, "crit": (None, 100, 108), "pcie_speed": 32.0,
        "metrics": "1.9", "hbm_stacks": 8, "memory_vendor": "hynix", "vbios": "113-M3000100-102",
        "product_number": "102-G30211-0C", "board_type": "oam", "instinct_300": True, "xgmi": True,
        "ip_version": (9, 4, 3),
        "firmware": {"mec": 177, "rlc": 64, "sos": 0x0036024C, "asd": 0x210000FE, "ta_ras": 0x1B00020D,
                     "ta_xgmi": 0x20000113, "smc": 0x00557300, "sdma": 24, "vcn": 0x0911300C},
        "ras_blocks": ("umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp", "xgmi_wafl", "df", "smn", "sem",
                       "mp0", "mp1", "fuse", "mca_mp0", "mca_mp1", "mca_mpio", "vcn", "jpeg", "ih", "mpio"),
        "caches": ((1, 32, 9, 38), (1, 64, 10, 20), (1, 16, 9, 20), (2, 4096, 9, 1), (3, 262144, 9, 1)),
    },
    Part, strict=False,
)  # fmt: skip
W7900 = msgspec.convert(
    {
        "product": "radeon-pro-w7900", "market_name": "AMD Radeon PRO W7900", "chip": "IP DISCOVERY",
        "kfd_name": "ip discovery", "gfx_version": 110000, "class_code": 0x030000, "device_id": 0x7448,
        "subsystem": (0x1002, 0x0E0D), "revision": 0x00, "vram": 49136 * MIB, "compute_units": 96, "arrays": 12,
        "cu_per_array": 8, "wave_front": 32, "max_waves": 16, "lds_kib": 64, "gws": 64, "sdma": 2, "cp_queues": 8,
        "capability": 2013549184, "debug_prop": 1511, "mec": 582, "sdma_firmware": 24, "sclk": (500, 1500, 1760),
        "mclk": (96, 456, 772, 1124), "mem_width": 384, "mem_clock": 1124, "power_cap": 241, "power_idle": 19,
        "crit": (100, 110, 108), "pcie_speed": 16.0, "metrics": "1.3", "hbm_stacks": 0, "memory_vendor": "samsung",
        "vbios": "113-D7070100-138", "product_number": "102-D70701-00", "fan": True, "ip_version": (11, 0, 0),
        "firmware": {"me": 0x8E0, "pfp": 0x982, "rlc": 0x7B, "mec": 582, "imu": 0x0B1F3B00, "sos": 0x00310054,
                     "asd": 0x210000EE, "ta_ras": 0x1B000200, "smc": 0x004E8100, "sdma": 24, "vcn": 0x09118011,
                     "mes": 0x6E, "mes_kiq": 0x6D},
        "ras_blocks": ("umc", "gfx", "sdma"),
        "caches": ((1, 32, 9, 96), (1, 32, 10, 48), (1, 16, 9, 48), (1, 256, 9, 12), (2, 6144, 9, 1),
                   (3, 98304, 9, 1)),
    },
    Part, strict=False,
)  # fmt: skip
PARTS = {part.product: part for part in (MI210, MI250, MI300X, W7900)}
