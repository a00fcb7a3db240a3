"""The directory of one GPU: DRM nodes, sensors, power tables, RAS, XGMI, firmware, partitions."""

from __future__ import annotations

import msgspec

from rocsteady.lab.metrics import gpu_metrics, partition_metrics
from rocsteady.lab.parts import Part
from rocsteady.lab.shapes import Shape
from rocsteady.lab.state import GpuState
from rocsteady.lab.tree import Tree

DRM_MAJOR = 226
FIRST_RENDER = 128
PARTITIONS = 8
"""Logical devices that the driver registers for each MI300, whatever the mode."""
MODES = {"SPX": 1, "DPX": 2, "QPX": 4, "CPX": 8}
MICRO, MILLI, MEGA = 1_000_000, 1000, 1_000_000
GTT_SHARE = 0.5
RAS_EVENTS = ("Fatal Error", "Poison Creation", "Poison Consumption")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a GPU sits. ``card`` and ``minor``: its first DRM card and render minor; ``place`` below sys/devices."""

    number: int
    bdf: str
    place: str
    card: int
    minor: int
    numa_node: int
    hwmon: int


def drm_step(shape: Shape) -> int:
    """Cards and render minors that each GPU takes."""
    return PARTITIONS if shape.part is not None and shape.part.instinct_300 else 1


def has_console(shape: Shape) -> bool:
    """Whether the board's own VGA has a driver: kernels before 6.13 have 64 DRM minors, which MI300 nodes need."""
    return drm_step(shape) == 1


def add_gpu(tree: Tree, shape: Shape, slot: Slot, state: GpuState, version: str) -> None:
    """Write one GPU's driver files; the PCI files are written by ``pci.add_function``."""
    part = shape.part
    assert part is not None
    base = f"sys/devices/{slot.place}"
    _drm_node(tree, base, f"card{slot.card}", slot.card)
    _drm_node(tree, base, f"renderD{slot.minor}", slot.minor)
    for path, value in gpu_texts(shape, slot, state).items():
        tree.text(f"{base}/{path}", value)
    tree.data(f"{base}/gpu_metrics", gpu_metrics(shape, state, version))
    hwmon = f"{base}/hwmon/hwmon{slot.hwmon}"
    for name, value in hwmon_texts(part, state).items():
        tree.text(f"{hwmon}/{name}", value)
    tree.link(f"{hwmon}/device", base)
    tree.link(f"{hwmon}/subsystem", "sys/class/hwmon")
    tree.link(f"sys/class/hwmon/hwmon{slot.hwmon}", hwmon)
    if part.instinct_300:
        if version == "1.9":
            tree.data(f"{base}/xcp/xcp_metrics", partition_metrics(shape, state, 0))
        _further_partitions(tree, shape, slot, state, version)


def _drm_node(tree: Tree, base: str, name: str, minor: int) -> None:
    node = f"{base}/drm/{name}"
    tree.text(f"{node}/dev", f"{DRM_MAJOR}:{minor}")
    tree.text(f"{node}/uevent", f"MAJOR={DRM_MAJOR}\nMINOR={minor}\nDEVNAME=dri/{name}\nDEVTYPE=drm_minor")
    tree.link(f"{node}/device", base)
    tree.link(f"{node}/subsystem", "sys/class/drm")
    tree.link(f"sys/class/drm/{name}", node)


def _further_partitions(tree: Tree, shape: Shape, slot: Slot, state: GpuState, version: str) -> None:
    """Platform devices that carry the DRM nodes of partitions 1 to 7; the driver makes them in every mode."""
    for number in range(1, PARTITIONS):
        platform = slot.number * (PARTITIONS - 1) + number - 1
        base = f"sys/devices/platform/amdgpu_xcp_{platform}"
        tree.text(f"{base}/uevent", "DRIVER=amdgpu_xcp_drv\nMODALIAS=platform:amdgpu_xcp")
        _drm_node(tree, base, f"card{slot.card + number}", slot.card + number)
        _drm_node(tree, base, f"renderD{slot.minor + number}", slot.minor + number)
        if version == "1.9" and number < shape.partitions:
            tree.data(f"{base}/xcp/xcp_metrics", partition_metrics(shape, state, number))


def gpu_texts(shape: Shape, slot: Slot, state: GpuState) -> dict[str, str]:
    """Text files of the device directory, by path below it."""
    part = shape.part
    assert part is not None
    gtt = int(shape.host.memory_gib * shape.host.sockets * GTT_SHARE) << 30
    files = {
        "unique_id": f"{state.unique_id:016x}", "vbios_version": part.vbios, "product_name": part.market_name,
        "product_number": part.product_number, "serial_number": state.serial, "manufacturer": "AMD",
        "fru_id": f"{part.product_number}-FRU", "mem_info_vram_total": str(part.vram),
        "mem_info_vram_used": str(state.vram_used), "mem_info_vis_vram_total": str(part.vram),
        "mem_info_vis_vram_used": str(state.vram_used), "mem_info_gtt_total": str(gtt),
        "mem_info_gtt_used": str(state.gtt_used), "mem_info_preempt_used": "0",
        "mem_info_vram_vendor": part.memory_vendor, "gpu_busy_percent": str(state.busy),
        "mem_busy_percent": str(state.mem_busy), "power_dpm_state": "performance",
        "power_dpm_force_performance_level": "auto", "pcie_replay_count": str(state.pcie_replays),
        "pp_num_states": "states: 1\n0 default", "pp_cur_state": "0",
        "thermal_throttling_logging": f"{slot.bdf}: thermal throttling logging enabled, with interval 60 seconds",
        "pp_power_profile_mode": _profiles(part), "pp_features": _features(), "reset_method": "bus",
        "boot_vga": "0", "gfx_reset_mask": "queue full", "compute_reset_mask": "queue full",
        "sdma_reset_mask": "full", "vcn_reset_mask": "queue full", "enforce_isolation": "0",
        "pp_dpm_sclk": _levels(part.sclk, state.sclk), "pp_dpm_mclk": _levels(part.mclk, state.mclk),
        "pp_dpm_socclk": _levels((666, 857, 1000, 1090), state.socclk),
        "pp_dpm_fclk": _levels((400, 1200, 1400, 1800), state.fclk),
    }  # fmt: skip
    for number, word in (
        ("major", part.ip_version[0]),
        ("minor", part.ip_version[1]),
        ("revision", part.ip_version[2]),
    ):
        files[f"ip_discovery/die/0/GC/0/{number}"] = str(word)
    files["ip_discovery/die/0/num_ips"] = "17"
    files |= {f"fw_version/{block}_fw_version": f"0x{number:08x}" for block, number in part.firmware.items() if number}
    files |= ras_texts(part, state)
    if part.pcie_speed < 32 and not part.hbm_stacks:
        files["pp_dpm_pcie"] = "0: 2.5GT/s, x16 310Mhz \n1: 16.0GT/s, x16 619Mhz *"
    if part.instinct_300:
        files |= _partition_texts(shape, part)
    if part.xgmi:
        files |= xgmi_texts(shape, slot.number)
    return files


def _partition_texts(shape: Shape, part: Part) -> dict[str, str]:
    count = MODES[shape.compute_mode]
    spread = {"xcc": (part.xcds, 1), "dma": (16, 1), "dec": (4, max(1, count // 4)), "jpeg": (32, max(1, count // 4))}
    files = {
        "current_compute_partition": shape.compute_mode, "available_compute_partition": "SPX, DPX, QPX, CPX",
        "current_memory_partition": shape.memory_mode, "available_memory_partition": "NPS1, NPS2, NPS4",
        "board_info": f"type : {part.board_type}",
        "pm_policy/soc_pstate": "0 : SOC_P0*\n1 : SOC_P1\n2 : SOC_P2",
        "pm_policy/xgmi_plpd": "0 : plpd_disallow\n1 : plpd_default*\n2 : plpd_optimized",
        "compute_partition_config/supported_xcp_configs": "SPX, DPX, QPX, CPX",
        "compute_partition_config/xcp_config": shape.compute_mode,
        "compute_partition_config/supported_nps_configs": "NPS1, NPS4",
        "jpeg_reset_mask": "queue full",
    }  # fmt: skip
    for kind, (instances, shared) in spread.items():
        files[f"compute_partition_config/{kind}/num_inst"] = str(max(1, instances // count))
        files[f"compute_partition_config/{kind}/num_shared"] = str(shared)
    return files


def hive_members(shape: Shape) -> int:
    """GPUs in one hive: all of a shape."""
    return len(shape.buses)


def hive_id(shape: Shape) -> int:
    """The same on every member."""
    return 0x3A5C_0000_7E11_0000 | len(shape.buses) << 8 | len(shape.name)


def device_node_id(shape: Shape, number: int) -> int:
    """xgmi_device_id of one GPU."""
    return hive_id(shape) + (number + 1) * 0x10000


def hops(shape: Shape, here: int, there: int) -> int:
    """XGMI hops between two GPUs: an MI250 die reaches its twin and the dies on its own side directly."""
    if here == there:
        return 0
    if shape.package == 1 or here // 2 == there // 2 or here % 2 == there % 2:
        return 1
    return 2


def links(shape: Shape, here: int, there: int) -> int:
    """XGMI links to a peer: four between the dies of one MI250, one otherwise, none over two hops."""
    if hops(shape, here, there) != 1:
        return 0
    return 4 if shape.package == 2 and here // 2 == there // 2 else 1


def xgmi_texts(shape: Shape, number: int) -> dict[str, str]:
    """XGMI files of one GPU."""
    members = range(hive_members(shape))
    ports: list[str] = []
    own = 0
    for peer in members:
        if links(shape, number, peer):
            back = sum(1 for other in members if other < number and links(shape, peer, other))
            ports.append(f"{number + 1:02x}:{own:02x} ->  {peer + 1:02x}:{back:02x}")
            own += 1
    return {
        "xgmi_device_id": str(device_node_id(shape, number)), "xgmi_physical_id": str(number),
        "xgmi_hive_info/xgmi_hive_id": str(hive_id(shape)),
        "xgmi_num_hops": " ".join(f"{hops(shape, number, peer):02x}" for peer in members),
        "xgmi_num_links": " ".join(f"{links(shape, number, peer):02x}" for peer in members),
        "xgmi_port_num": "\n".join(ports),
    }  # fmt: skip


def ras_texts(part: Part, state: GpuState) -> dict[str, str]:
    """The ras directory; drivers of the MI300 family print deferred errors too."""
    if not part.ras_blocks:
        return {}
    files = {
        "ras/features": f"feature mask: 0x{(1 << len(part.ras_blocks)) - 1:x}",
        "ras/version": f"table version: 0x{0x21000 if part.instinct_300 else 0x10000:x}",
        "ras/schema": "schema: 0xf", "ras/gpu_vram_bad_pages": retired_text(state.retired),
        "ras/event_state": _event_state(state),
    }  # fmt: skip
    for block in part.ras_blocks:
        if state.recovering:
            files[f"ras/{block}_err_count"] = "Query currently inaccessible"
            continue
        lines = [f"ue: {state.ue[block]}", f"ce: {state.ce[block]}"]
        if part.instinct_300:
            lines.append(f"de: {state.de[block]}")
        files[f"ras/{block}_err_count"] = "\n".join(lines)
    return files


def _event_state(state: GpuState) -> str:
    seen = {name: state.ras_events.get(name, (0, 0)) for name in RAS_EVENTS}
    lines = [f"current seqno: {max(last for _, last in seen.values())}"]
    return "\n".join(lines + [f"{name}: count:{count}, last_seqno:{last}" for name, (count, last) in seen.items()])


def retired_text(pages: list[tuple[int, str]]) -> str:
    """Lines of 28 characters: page number, size, flag."""
    return "".join(f"0x{page:08x} : 0x00001000 : {flag}\n" for page, flag in pages)


def hwmon_texts(part: Part, state: GpuState) -> dict[str, str]:
    """Sensor files; which exist depends on the part."""
    files = {"name": "amdgpu", "uevent": ""}
    temperatures = (("edge", state.edge), ("junction", state.junction), ("mem", state.memory_temperature))
    for number, (label, now) in enumerate(temperatures, 1):
        crit = part.crit[number - 1]
        if crit is None:
            continue
        base = f"temp{number}"
        files |= {
            f"{base}_input": str(round(now * MILLI)), f"{base}_label": label, f"{base}_crit": str(crit * MILLI),
            f"{base}_crit_hyst": "-273150", f"{base}_emergency": str((crit + 5) * MILLI),
        }  # fmt: skip
    power = str(round(state.power if state.primary else 0) * MICRO)
    files["power1_input" if part.instinct_300 else "power1_average"] = power
    cap = str(part.power_cap * MICRO)
    files |= {"power1_cap": cap, "power1_cap_default": cap, "power1_cap_max": cap, "power1_cap_min": "0",
              "power1_label": "PPT", "freq1_input": str(state.sclk * MEGA), "freq1_label": "sclk",
              "freq2_input": str(state.mclk * MEGA), "freq2_label": "mclk"}  # fmt: skip
    if not part.instinct_300:
        files |= {"in0_input": "881", "in0_label": "vddgfx"}
    if part.fan:
        files |= {"fan1_input": str(state.fan), "fan1_min": "0", "fan1_max": "3300", "fan1_target": str(state.fan),
                  "fan1_enable": "0", "pwm1": str(state.pwm), "pwm1_min": "0", "pwm1_max": "255", "pwm1_enable": "2"}  # fmt: skip
    return files


def _levels(table: tuple[int, ...], now: int) -> str:
    """Levels with a star at the one nearest to ``now``."""
    active = min(range(len(table)), key=lambda i: abs(table[i] - now))
    return "\n".join(f"{i}: {mhz}Mhz{' *' if i == active else ' '}" for i, mhz in enumerate(table))


def _profiles(part: Part) -> str:
    names: tuple[str, ...] = ("BOOTUP_DEFAULT", "3D_FULL_SCREEN", "POWER_SAVING", "VIDEO", "VR", "COMPUTE", "CUSTOM")
    if part.hbm_stacks:
        names = ("BOOTUP_DEFAULT", "POWER_SAVING", "VIDEO", "COMPUTE", "CUSTOM")
    return "\n".join(f"{i:2d} {name:>14}{'*' if i == 0 else ' '}:" for i, name in enumerate(names))


def _features() -> str:
    names = ("FW_DATA_READ", "DPM_GFXCLK", "DPM_UCLK", "DPM_SOCCLK", "DPM_FCLK", "DS_GFXCLK", "PPT", "TDC", "THERMAL")
    lines = ["features high: 0x00000000 low: 0x000001ff", "No. Feature               Bit : State"]
    return "\n".join(lines + [f"{i:02d}. {name:<20} ({i:2d}) : enabled" for i, name in enumerate(names)])
