"""Heat, power, clocks, use and memory of a GPU."""

from __future__ import annotations

from rocsteady.metrics.declare import Field, Metric

TABLE = "sys/class/drm/card*/device/gpu_metrics"
HWMON = "sys/class/drm/card*/device/hwmon/hwmon*/"
DEVICE = "sys/class/drm/card*/device/"
INSTINCT = "MI300 (gpu_metrics 1.4 and later)"

TEMPERATURE = Metric(
    name="gpu_temperature_celsius", kind="gauge", unit="celsius", labels=("gpu", "sensor"),
    source=f"{TABLE}, {HWMON}temp*_input", read="gpu_metrics: temperature_*; hwmon: temperatures",
    help="Temperature by sensor: edge, junction (hottest point), memory, and the voltage regulators.",
    fields=(
        Field("temperature_hotspot", ("junction",)), Field("temperature_mem", ("memory",)),
        Field("temperature_edge", ("edge",)), Field("temperature_vrsoc", ("vr_soc",)),
        Field("temperature_vrgfx", ("vr_gfx",)), Field("temperature_vrmem", ("vr_memory",)),
    ),
)  # fmt: skip
HBM_TEMPERATURE = Metric(
    name="gpu_hbm_temperature_celsius", kind="gauge", unit="celsius", labels=("gpu", "stack"),
    source=TABLE, read="gpu_metrics: temperature_hbm", since="MI200 (1.1 to 1.3: 4 values), MI300 (layouts of 1.9)",
    help="Temperature of each HBM stack. No sample where the driver gives none (gpu_metrics 1.4 to 1.8).",
    fields=(Field("temperature_hbm", each=True),),
)  # fmt: skip
HBM_GRADIENT = Metric(
    name="gpu_hbm_temperature_gradient_celsius", kind="gauge", unit="celsius", labels=("gpu",),
    source=TABLE, read="gpu_metrics: temperature_hbm", since="as the temperature of each stack",
    help="Hottest minus coldest HBM stack of one GPU. Which two stacks share an AID is not published.",
)  # fmt: skip
AID_TEMPERATURE = Metric(
    name="gpu_aid_temperature_celsius", kind="gauge", unit="celsius", labels=("gpu", "aid"),
    source=TABLE, read="gpu_metrics: temperature_aid", since="layouts of gpu_metrics 1.9",
    help="Temperature of each base die (AID).", fields=(Field("temperature_aid", each=True),),
)  # fmt: skip
XCD_TEMPERATURE = Metric(
    name="gpu_xcd_temperature_celsius", kind="gauge", unit="celsius", labels=("gpu", "xcd"),
    source=TABLE, read="gpu_metrics: temperature_xcd", since="layouts of gpu_metrics 1.9",
    help="Temperature of each compute die (XCD).", fields=(Field("temperature_xcd", each=True),),
)  # fmt: skip
BOARD_TEMPERATURE = Metric(
    name="gpu_board_temperature_celsius", kind="gauge", unit="celsius", labels=("gpu", "sensor"),
    source=f"{DEVICE}board/gpuboard_temp, {DEVICE}board/baseboard_temp", read="gpu_metrics: board_temperatures",
    since="MI300 with a driver that has the board directory",
    help="Temperature of regulators, retimers and the baseboard, by sensor.",
)  # fmt: skip
TEMPERATURE_LIMIT = Metric(
    name="gpu_temperature_limit_celsius", kind="gauge", unit="celsius", labels=("gpu", "sensor", "kind"),
    source=f"{HWMON}temp*_crit, temp*_emergency", read="hwmon: temperatures",
    help="Limit of a sensor: critical (clocks go down) or emergency (shutdown).",
)  # fmt: skip
POWER = Metric(
    name="gpu_power_watts", kind="gauge", unit="watts", labels=("gpu", "kind"),
    source=f"{HWMON}power1_input, power1_average", read="hwmon: powers",
    help="Socket power: instant, or average over the firmware's window, as the GPU offers it.",
)  # fmt: skip
POWER_LIMIT = Metric(
    name="gpu_power_limit_watts", kind="gauge", unit="watts", labels=("gpu", "kind"),
    source=f"{HWMON}power1_cap*", read="hwmon: powers",
    help="Power cap in force (current), as shipped (default), and the range it can be set to (min, max).",
)  # fmt: skip
BOARD_POWER = Metric(
    name="gpu_board_power_watts", kind="gauge", unit="watts", labels=("gpu", "kind"),
    source=f"{DEVICE}board/", read="drm_device: board", since="MI350 with a driver that has the board directory",
    help="Power and limits of the node or baseboard, by kind.",
)  # fmt: skip
ENERGY = Metric(
    name="gpu_energy_joules_total", kind="counter", unit="joules", labels=("gpu",),
    source=TABLE, read="gpu_metrics: energy_accumulator", since="MI200, MI300",
    help="Energy used since the driver was loaded.", fields=(Field("energy_accumulator"),),
)  # fmt: skip
VOLTAGE = Metric(
    name="gpu_voltage_volts", kind="gauge", unit="volts", labels=("gpu", "sensor"),
    source=f"{TABLE}, {HWMON}in*_input", read="gpu_metrics: voltage_*; hwmon: voltages",
    since="MI200 and Radeon; MI300 has none",
    help="Voltage by rail.",
    fields=(
        Field("voltage_soc", ("soc",)), Field("voltage_gfx", ("gfx",)), Field("voltage_mem", ("memory",)),
    ),
)  # fmt: skip
FAN = Metric(
    name="gpu_fan_speed_rpm", kind="gauge", unit="rotations per minute", labels=("gpu",),
    source=f"{HWMON}fan1_input", read="hwmon: fan.rpm", since="boards with a fan", help="Speed of the fan.",
)  # fmt: skip
FAN_DUTY = Metric(
    name="gpu_fan_duty_ratio", kind="gauge", unit="ratio", labels=("gpu",),
    source=f"{HWMON}pwm1", read="hwmon: fan.pwm", since="boards with a fan", help="Drive of the fan, 0 to 1.",
)  # fmt: skip
CLOCK = Metric(
    name="gpu_clock_hertz", kind="gauge", unit="hertz", labels=("gpu", "domain"),
    source=f"{TABLE}, {DEVICE}pp_dpm_fclk", read="gpu_metrics: current_*; drm_device: clocks",
    help="Clock now, by domain; of a domain with several instances the highest.",
)  # fmt: skip
XCD_CLOCK = Metric(
    name="gpu_xcd_clock_hertz", kind="gauge", unit="hertz", labels=("gpu", "xcd"),
    source=TABLE, read="gpu_metrics: current_gfxclk", since=INSTINCT, help="Compute clock of each XCD.",
    fields=(Field("current_gfxclk", each=True),),
)  # fmt: skip
CLOCK_LIMIT = Metric(
    name="gpu_clock_limit_hertz", kind="gauge", unit="hertz", labels=("gpu", "domain", "kind"),
    source=f"{DEVICE}pp_dpm_*", read="drm_device: clocks",
    help="Lowest (min) and highest (max) level of a clock domain.",
)  # fmt: skip
CLOCK_LOCKED = Metric(
    name="gpu_clock_locked", kind="gauge", labels=("gpu", "xcd"), source=TABLE,
    read="gpu_metrics: gfxclk_lock_status", since=INSTINCT,
    help="1 where the compute clock of an XCD is locked to a fixed value.",
)  # fmt: skip
ACTIVITY = Metric(
    name="gpu_activity_ratio", kind="gauge", unit="ratio", labels=("gpu", "domain"),
    source=f"{TABLE}, {DEVICE}gpu_busy_percent, mem_busy_percent", read="gpu_metrics: average_*_activity",
    help="Share of time in use over the firmware's window: gfx (compute), memory (controller), media.",
    fields=(
        Field("average_gfx_activity", ("gfx",), scale=0.01), Field("average_umc_activity", ("memory",), scale=0.01),
        Field("average_mm_activity", ("media",), scale=0.01),
    ),
)  # fmt: skip
XCD_BUSY = Metric(
    name="gpu_xcd_busy_ratio", kind="gauge", unit="ratio", labels=("gpu", "xcd"),
    source=TABLE, read="gpu_metrics: gfx_busy_inst", since="MI300 (gpu_metrics 1.6 and later)",
    help="Share of time that an XCD is in use, now.", fields=(Field("gfx_busy_inst", each=True, scale=0.01),),
)  # fmt: skip
MEDIA_BUSY = Metric(
    name="gpu_media_busy_ratio", kind="gauge", unit="ratio", labels=("gpu", "kind", "engine"),
    source=TABLE, read="gpu_metrics: vcn_busy, jpeg_busy", since=INSTINCT,
    help="Share of time that a video (vcn) or JPEG (jpeg) engine is in use, now.",
    fields=(
        Field("vcn_busy", ("vcn",), each=True, scale=0.01), Field("jpeg_busy", ("jpeg",), each=True, scale=0.01),
        Field("vcn_activity", ("vcn",), each=True, scale=0.01),
        Field("jpeg_activity", ("jpeg",), each=True, scale=0.01),
    ),
)  # fmt: skip
ACTIVITY_SUM = Metric(
    name="gpu_activity_accumulator_total", kind="counter", labels=("gpu", "domain"),
    source=TABLE, read="gpu_metrics: gfx_activity_acc, mem_activity_acc", since="MI200, MI300",
    help="Sum of the busy share (0 to 1) over the firmware's samples. The sampling rate is the firmware's.",
    fields=(
        Field("gfx_activity_acc", ("gfx",), scale=0.01), Field("mem_activity_acc", ("memory",), scale=0.01),
    ),
)  # fmt: skip
XCD_BUSY_SUM = Metric(
    name="gpu_xcd_busy_accumulator_total", kind="counter", labels=("gpu", "xcd"),
    source=TABLE, read="gpu_metrics: gfx_busy_acc", since="MI300 (gpu_metrics 1.6 and later)",
    help="Sum of the busy share (0 to 1) of an XCD over the firmware's samples.",
    fields=(Field("gfx_busy_acc", each=True, scale=0.01),),
)  # fmt: skip
SAMPLES = Metric(
    name="gpu_firmware_ticks_total", kind="counter", unit="ticks", labels=("gpu",), source=TABLE,
    read="gpu_metrics: accumulation_counter", since=INSTINCT,
    help="Ticks of the firmware that throttle residencies are counted in: divide one rate by the other.",
    fields=(Field("accumulation_counter"),),
)  # fmt: skip
THROTTLE = Metric(
    name="gpu_throttle_ticks_total", kind="counter", unit="ticks", labels=("gpu", "reason"),
    source=TABLE, read="gpu_metrics: *_residency_acc", since=INSTINCT,
    help="Firmware ticks with a limit in force, by reason.",
    fields=(
        Field("prochot_residency_acc", ("processor_hot",)), Field("ppt_residency_acc", ("power",)),
        Field("socket_thm_residency_acc", ("socket_thermal",)), Field("vr_thm_residency_acc", ("vr_thermal",)),
        Field("hbm_thm_residency_acc", ("hbm_thermal",)),
    ),
)  # fmt: skip
XCD_BELOW_LIMIT = Metric(
    name="gpu_xcd_below_limit_ticks_total", kind="counter", unit="ticks", labels=("gpu", "reason", "xcd"),
    source=TABLE, read="gpu_metrics: gfx_below_host_limit_*_acc, gfx_low_utilization_acc",
    since="MI300 (gpu_metrics 1.7 and later; by reason from 1.8)",
    help="Ticks that an XCD ran below the host's clock limit, by reason (any, power, thermal, low_use).",
    fields=(
        Field("gfx_below_host_limit_ppt_acc", ("power",), each=True),
        Field("gfx_below_host_limit_thm_acc", ("thermal",), each=True),
        Field("gfx_below_host_limit_total_acc", ("any",), each=True),
        Field("gfx_below_host_limit_acc", ("any",), each=True),
        Field("gfx_low_utilization_acc", ("low_use",), each=True),
    ),
)  # fmt: skip
THROTTLED = Metric(
    name="gpu_throttled", kind="gauge", labels=("gpu", "reason"), source=TABLE,
    read="gpu_metrics: throttle_reasons", since="gpu_metrics 1.3 and 2.2 to 2.4 (MI200, Radeon, APU)",
    help="1 while a limit is in force, by reason.",
)  # fmt: skip
MEMORY_USED = Metric(
    name="gpu_memory_used_bytes", kind="gauge", unit="bytes", labels=("gpu", "kind"),
    source=f"{DEVICE}mem_info_*_used", read="drm_device: memory, preempt_used",
    help="Memory in use: vram, visible (VRAM the CPU can reach), gtt (host memory mapped for the GPU), preempt.",
)  # fmt: skip
MEMORY_TOTAL = Metric(
    name="gpu_memory_size_bytes", kind="gauge", unit="bytes", labels=("gpu", "kind"),
    source=f"{DEVICE}mem_info_*_total", read="drm_device: memory", help="Memory that there is, by kind.",
)  # fmt: skip
MEMORY_BANDWIDTH = Metric(
    name="gpu_memory_bandwidth_limit_bytes_per_second", kind="gauge", unit="bytes per second", labels=("gpu",),
    source=TABLE, read="gpu_metrics: mem_max_bandwidth", since="MI300 (gpu_metrics 1.6 and later)",
    help="Highest memory bandwidth at the top clock.", fields=(Field("mem_max_bandwidth"),),
)  # fmt: skip
POWER_FEATURE = Metric(
    name="gpu_power_feature_enabled", kind="gauge", labels=("gpu", "kind"), source=f"{DEVICE}pp_features",
    read="drm_device: features", help="1 where a feature of the power firmware (DPM, PPT, deep sleep, ...) is on.",
)  # fmt: skip

METRICS = (
    TEMPERATURE, HBM_TEMPERATURE, HBM_GRADIENT, AID_TEMPERATURE, XCD_TEMPERATURE, BOARD_TEMPERATURE, TEMPERATURE_LIMIT,
    POWER, POWER_LIMIT, BOARD_POWER, ENERGY, VOLTAGE, FAN, FAN_DUTY, CLOCK, XCD_CLOCK, CLOCK_LIMIT, CLOCK_LOCKED,
    ACTIVITY, XCD_BUSY, MEDIA_BUSY, ACTIVITY_SUM, XCD_BUSY_SUM, SAMPLES, THROTTLE, XCD_BELOW_LIMIT, THROTTLED,
    MEMORY_USED, MEMORY_TOTAL, MEMORY_BANDWIDTH, POWER_FEATURE,
)  # fmt: skip
