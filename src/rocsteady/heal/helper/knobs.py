"""Power limit, clocks and fan of one GPU, and how they are put back.

Files: hwmon ``power1_cap`` (microwatt, within ``_min`` and ``_max``), ``pwm1``, ``pwm1_enable`` (1 manual, 2 automatic);
``pp_od_clk_voltage`` (``s 1 MHZ``, ``c`` commits, ``r`` resets), ``power_dpm_force_performance_level``, ``pp_dpm_sclk``;
``gpu_od/fan_ctrl/fan_curve`` (``POINT DEGREES PERCENT``, ``c``, ``r``).
Docs: https://docs.kernel.org/gpu/amdgpu/thermal.html
What was there before the first change is kept by ``Saved`` on disk before anything is written.
"""

from __future__ import annotations

import itertools
import re

from rocsteady.heal.helper.gpus import NotDone, device, hwmon
from rocsteady.heal.helper.host import Host
from rocsteady.heal.helper.memory import Saved

LEVELS = re.compile(r"^\s*(\d+)\s*:\s*(\d+)\s*M[Hh]z", re.MULTILINE)
RANGE = re.compile(r"^SCLK:\s*(\d+)\s*M[Hh]z\s+(\d+)\s*M[Hh]z", re.MULTILINE)
AUTOMATIC, MANUAL = "2", "1"
LEVEL_NAMES = (
    "auto", "low", "high", "manual", "profile_standard", "profile_min_sclk", "profile_min_mclk", "profile_peak",
    "perf_determinism",
)  # fmt: skip
"""What ``power_dpm_force_performance_level`` takes; anything else is not written back."""


def number(host: Host, path: str) -> int:
    """A whole number in a file.

    Raises:
        NotDone: it is not there or says something else.
    """
    try:
        return int(host.read(path))
    except OSError as error:
        raise NotDone(f"{path}: {error.strerror}") from error
    except ValueError:
        raise NotDone(f"{path}: no number") from None


def set_power(host: Host, saved: Saved, bdf: str, share: float) -> str:
    """Lower the power limit to a share of its default, within what the driver allows."""
    folder = hwmon(host, bdf)
    now = number(host, f"{folder}/power1_cap")
    try:
        default = number(host, f"{folder}/power1_cap_default")
    except NotDone:
        default = int(saved.get(bdf, "power") or now)  # before Linux 5.14: what was set before we came
    low, high = number(host, f"{folder}/power1_cap_min"), number(host, f"{folder}/power1_cap_max")
    wanted = min(max(int(default * share), low), high)
    if wanted >= now:
        raise NotDone(f"the limit is {now / 1e6:.0f} W already, {wanted / 1e6:.0f} W was wanted")
    saved.keep(bdf, "power", str(now))
    host.write(f"{folder}/power1_cap", str(wanted))
    seen = number(host, f"{folder}/power1_cap")
    return f"power limit {seen / 1e6:.0f} W, was {now / 1e6:.0f} W"


def restore_power(host: Host, saved: Saved, bdf: str) -> str:
    """Put the power limit back."""
    before = saved.get(bdf, "power")
    if before is None:
        return "nothing to put back"
    host.write(f"{hwmon(host, bdf)}/power1_cap", before)
    saved.forget(bdf, "power")
    return f"power limit {int(before) / 1e6:.0f} W"


def set_clock(host: Host, saved: Saved, bdf: str, share: float) -> str:
    """Lower the highest engine clock: by overdrive where the driver offers it, else by allowing only the lower levels."""
    folder = device(host, bdf)
    level = f"{folder}/power_dpm_force_performance_level"
    try:
        before = host.read(level)
    except OSError as error:
        raise NotDone(f"{level}: {error.strerror}") from error
    if before not in LEVEL_NAMES:
        raise NotDone(f"{level}: {before[:40]!r} cannot be put back")
    try:
        limits = RANGE.search(host.read(f"{folder}/pp_od_clk_voltage"))
    except OSError:
        limits = None
    if limits is not None:
        low, high = int(limits[1]), int(limits[2])
        wanted = max(low, int(high * share))
        saved.keep(bdf, "clock", f"od {before}")
        host.write(level, "manual")
        host.write(f"{folder}/pp_od_clk_voltage", f"s 1 {wanted}")
        host.write(f"{folder}/pp_od_clk_voltage", "c")
        return f"highest clock {wanted} MHz of {high} MHz"
    try:
        levels = [(int(n), int(mhz)) for n, mhz in LEVELS.findall(host.read(f"{folder}/pp_dpm_sclk"))]
    except OSError as error:
        raise NotDone(f"{bdf}: neither pp_od_clk_voltage nor pp_dpm_sclk: {error.strerror}") from error
    high = max((mhz for _, mhz in levels), default=0)
    allowed = [n for n, mhz in levels if mhz <= high * share] or [n for n, _ in levels[:1]]
    if len(levels) < 2:
        raise NotDone(f"{bdf}: the clock has no levels to choose from")
    saved.keep(bdf, "clock", f"dpm {before}")
    host.write(level, "manual")
    host.write(f"{folder}/pp_dpm_sclk", " ".join(map(str, allowed)))
    return f"clock levels {', '.join(map(str, allowed))} of {len(levels)}"


def restore_clock(host: Host, saved: Saved, bdf: str) -> str:
    """Put clocks and performance level back; the level auto lifts a choice of levels by itself."""
    kept = saved.get(bdf, "clock")
    if kept is None:
        return "nothing to put back"
    how, before = kept.split(" ", 1)
    folder = device(host, bdf)
    if how == "od":
        host.write(f"{folder}/pp_od_clk_voltage", "r")
        host.write(f"{folder}/pp_od_clk_voltage", "c")
    host.write(f"{folder}/power_dpm_force_performance_level", before)
    saved.forget(bdf, "clock")
    return f"performance level {before}"


def parse_curve(text: str) -> tuple[tuple[int, int], ...]:
    """``40:30 60:50 85:100``: rising degrees, rising percent, 100 at the end.

    Raises:
        NotDone: it is none; a curve that falls or does not end at full speed is refused.
    """
    if not re.fullmatch(r"\d{1,3}:\d{1,3}( \d{1,3}:\d{1,3}){1,9}", text):
        raise NotDone("curve: 'DEGREES:PERCENT ...', two to ten points")
    points = tuple((int(a), int(b)) for a, b in (pair.split(":") for pair in text.split()))
    degrees, percents = [d for d, _ in points], [p for _, p in points]
    if degrees != sorted(set(degrees)) or percents != sorted(percents) or percents[-1] != 100 or degrees[-1] > 110:
        raise NotDone("curve: degrees and percent rise, up to 100 percent at 110 degrees at most")
    return points


def speed(points: tuple[tuple[int, int], ...], degrees: float) -> float:
    """Percent at a temperature, linear between the points."""
    if degrees <= points[0][0]:
        return float(points[0][1])
    for (d0, p0), (d1, p1) in itertools.pairwise(points):
        if degrees <= d1:
            return p0 + (p1 - p0) * (degrees - d0) / (d1 - d0)
    return 100.0


def firmware_curve(host: Host, saved: Saved, bdf: str, points: tuple[tuple[int, int], ...]) -> str | None:
    """Set the curve that the firmware follows (Navi 3x and newer); None where there is no such file."""
    path = f"{device(host, bdf)}/gpu_od/fan_ctrl/fan_curve"
    try:
        text = host.read(path)
    except OSError:
        return None
    count = len(re.findall(r"^\s*\d+\s*:", text, re.MULTILINE))
    limits = re.findall(r":\s*(\d+)\s*[%C]?\s+(\d+)\s*[%C]?\s*$", text.partition("OD_RANGE")[2], re.MULTILINE)
    if not count or len(limits) < 2:
        raise NotDone(f"{path}: its points or ranges cannot be read")
    (t_low, t_high), (p_low, p_high) = ((int(a), int(b)) for a, b in limits[:2])
    saved.keep(bdf, "fan", "firmware")
    for index in range(count):
        at = t_low + (t_high - t_low) * index / max(1, count - 1)
        percent = min(max(round(speed(points, at)), p_low), p_high)
        host.write(path, f"{index} {round(at)} {percent}")
    host.write(path, "c")
    return f"fan curve of {count} points in the firmware"


def pwm(host: Host, bdf: str) -> str:
    """The hwmon folder of a GPU with a fan that the driver lets us set.

    Raises:
        NotDone: it has none: the passive boards of servers.
    """
    folder = hwmon(host, bdf)
    for name in ("pwm1", "pwm1_enable", "temp1_input"):
        number(host, f"{folder}/{name}")
    return folder


def hottest(host: Host, folder: str) -> float:
    """The hottest sensor in degrees."""
    names = [n for n in host.names(folder) if re.fullmatch(r"temp\d+_input", n)]
    return max(number(host, f"{folder}/{name}") for name in names) / 1000


def restore_fan(host: Host, saved: Saved, bdf: str) -> str:
    """Give the fan back to the firmware. Automatic, whatever was before: a manual speed is of somebody who is gone."""
    kept = saved.get(bdf, "fan")
    if kept is None:
        return "nothing to put back"
    if kept == "firmware":
        path = f"{device(host, bdf)}/gpu_od/fan_ctrl/fan_curve"
        host.write(path, "r")
        host.write(path, "c")
    else:
        host.write(f"{hwmon(host, bdf)}/pwm1_enable", AUTOMATIC)
    saved.forget(bdf, "fan")
    return "the fan is automatic"
