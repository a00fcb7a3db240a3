"""Sensors of one amdgpu card through hwmon.

Source: /sys/class/drm/card*/device/hwmon/hwmon*/
Docs:   https://docs.kernel.org/gpu/amdgpu/thermal.html
Which files exist depends on the GPU: MI300 has no edge sensor and only ``power1_input``, older chips only
``power1_average``, passive boards no fan.
"""

from __future__ import annotations

import msgspec

from rocsteady.facts.parse_file import Folder
from rocsteady.hostfs import HostFS

MILLI, MICRO = 1e-3, 1e-6
MEGA = 1e6
ABSOLUTE_ZERO = -273.0
"""A limit at -273.15 degrees is what the driver prints for 'not set'."""
SENSORS = 4


class Temperature(msgspec.Struct, frozen=True, kw_only=True):
    """One sensor, degrees Celsius."""

    now: float | None = None
    crit: float | None = None
    crit_hyst: float | None = None
    emergency: float | None = None


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """One power sensor, watts. ``average`` and ``instant`` come from power*_average and power*_input."""

    average: float | None = None
    instant: float | None = None
    cap: float | None = None
    cap_default: float | None = None
    cap_min: float | None = None
    cap_max: float | None = None

    @property
    def now(self) -> float | None:
        """The average where the chip has it, else the instantaneous value."""
        return self.average if self.average is not None else self.instant


class Fan(msgspec.Struct, frozen=True, kw_only=True):
    """RPM; ``pwm`` of ``pwm_max`` steps; ``mode`` 0 full speed, 1 manual, 2 automatic."""

    rpm: int | None = None
    rpm_min: int | None = None
    rpm_max: int | None = None
    target: int | None = None
    pwm: int | None = None
    pwm_max: int | None = None
    mode: int | None = None


class Hwmon(msgspec.Struct, frozen=True, kw_only=True):
    """All sensors of a card, keyed by their label (edge, junction, mem; PPT; sclk, mclk; vddgfx).

    Clocks in MHz, voltages in millivolt.
    """

    temperatures: dict[str, Temperature]
    powers: dict[str, Power]
    clocks: dict[str, float]
    voltages: dict[str, int]
    fan: Fan | None
    folder: Folder
    files: dict[str, str]
    """Label -> base name of its files (``junction`` -> ``temp2``), for evidence."""


def read_hwmon(fs: HostFS, device: str) -> Hwmon | None:
    """The amdgpu hwmon directory below ``device`` (``sys/class/drm/card0/device``); None where there is none."""
    for name in Folder(fs, f"{device}/hwmon").names():
        folder = Folder(fs, f"{device}/hwmon/{name}")
        if folder.word("name") in ("amdgpu", None) and name.startswith("hwmon"):
            return _read(folder)
    return None


def _read(folder: Folder) -> Hwmon:
    present = set(folder.names())
    files: dict[str, str] = {}

    def scaled(name: str, factor: float) -> float | None:
        value = folder.integer(name) if name in present else None
        return None if value is None else round(value * factor, 6)

    def whole(name: str) -> int | None:
        return folder.integer(name) if name in present else None

    def limit(name: str) -> float | None:
        value = scaled(name, MILLI)
        return None if value is None or value <= ABSOLUTE_ZERO or value == 0 else value

    def label(base: str, default: str) -> str:
        text = folder.word(f"{base}_label") if f"{base}_label" in present else None
        files[text or default] = base
        return text or default

    temperatures: dict[str, Temperature] = {}
    for number, default in ((1, "edge"), (2, "junction"), (3, "mem"), (4, "temp4")):
        base = f"temp{number}"
        if f"{base}_input" in present or f"{base}_crit" in present:
            temperatures[label(base, default)] = Temperature(
                now=scaled(f"{base}_input", MILLI), crit=limit(f"{base}_crit"),
                crit_hyst=limit(f"{base}_crit_hyst"), emergency=limit(f"{base}_emergency"),
            )  # fmt: skip
    powers: dict[str, Power] = {}
    for number in range(1, SENSORS):
        base = f"power{number}"
        if present.intersection({f"{base}_average", f"{base}_input", f"{base}_cap"}):
            powers[label(base, "PPT")] = Power(
                average=scaled(f"{base}_average", MICRO), instant=scaled(f"{base}_input", MICRO),
                cap=scaled(f"{base}_cap", MICRO), cap_default=scaled(f"{base}_cap_default", MICRO),
                cap_min=scaled(f"{base}_cap_min", MICRO), cap_max=scaled(f"{base}_cap_max", MICRO),
            )  # fmt: skip
    clocks: dict[str, float] = {}
    for number, default in ((1, "sclk"), (2, "mclk")):
        if (hertz := whole(f"freq{number}_input")) is not None:
            clocks[label(f"freq{number}", default)] = hertz / MEGA
    voltages: dict[str, int] = {}
    for number, default in ((0, "vddgfx"), (1, "vddnb"), (2, "vddboard")):
        if (millivolt := whole(f"in{number}_input")) is not None:
            voltages[label(f"in{number}", default)] = millivolt
    fan = None
    if present.intersection({"fan1_input", "pwm1"}):
        fan = Fan(
            rpm=whole("fan1_input"), rpm_min=whole("fan1_min"), rpm_max=whole("fan1_max"),
            target=whole("fan1_target"), pwm=whole("pwm1"), pwm_max=whole("pwm1_max"), mode=whole("pwm1_enable"),
        )  # fmt: skip
    return Hwmon(
        temperatures=temperatures, powers=powers, clocks=clocks, voltages=voltages, fan=fan, folder=folder, files=files
    )
