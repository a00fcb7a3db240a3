"""Tables of the power management files: clock levels, PCIe levels, policies, profiles, features.

Source: /sys/class/drm/card*/device/{pp_dpm_*, pm_policy/*, pp_power_profile_mode, pp_features, pp_od_clk_voltage}
Docs:   https://docs.kernel.org/gpu/amdgpu/thermal.html
Samples: ``1: 31Mhz *`` (active), ``S: 500Mhz`` (deep sleep), ``2: 16.0GT/s, x16 619Mhz *``,
``1 : plpd_default*``, `` 0 BOOTUP_DEFAULT*:``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, shown

LEVEL = re.compile(r"^[ \t]*(\d{1,3}|S)[ \t]*:[ \t]*(\d{1,6})[ \t]*M[Hh]z[ \t]*(\*?)[ \t]*$", re.MULTILINE)
PCIE = re.compile(
    r"^[ \t]*(\d{1,3})[ \t]*:[ \t]*(\d{1,3}(?:\.\d)?) ?GT/s,[ \t]*x(\d{1,2})[ \t]*(?:(\d{1,6})[ \t]*M[Hh]z)?[ \t]*(\*?)[ \t]*$",
    re.MULTILINE,
)
POLICY = re.compile(r"^[ \t]*(\d{1,3})[ \t]*:[ \t]*([\w.-]+?)[ \t]*(\*?)[ \t]*$", re.MULTILINE)
PROFILE = re.compile(r"\b(\d{1,2})[ \t]{1,24}(?=[0-9_]{0,3}[A-Z])([A-Z0-9_]{2,40})[ \t]{0,24}(\*)")
OLD_FEATURE = re.compile(r"^[ \t]*(\w+)[ \t]+0x[0-9a-fA-F]{16}[ \t]+([YN])[ \t]*$", re.MULTILINE)
FEATURE = re.compile(r"^[ \t]*\d+\.\s+(\w+)[ \t]*\([ \t]*(\d{1,3})\)[ \t]*:[ \t]*(enabled|disabled)", re.MULTILINE)


class ClockLevel(msgspec.Struct, frozen=True):
    """One level, MHz; ``index`` None is the deep sleep level S."""

    index: int | None
    mhz: int
    active: bool


class PcieLevel(msgspec.Struct, frozen=True):
    """One PCIe level: GT/s, lanes, MHz."""

    index: int
    speed: float
    width: int
    mhz: int | None
    active: bool


class Policy(msgspec.Struct, frozen=True):
    """``active`` is the name marked with a star, None when no name is."""

    names: tuple[str, ...]
    active: str | None


def parse_clock_levels(text: str) -> tuple[ClockLevel, ...] | Malformed:
    """Levels of one clock; the mark of the active level can be missing."""
    levels = tuple(
        ClockLevel(None if name == "S" else int(name), int(mhz), star == "*") for name, mhz, star in LEVEL.findall(text)
    )
    return levels if levels else Malformed(f"lines 'level: NMhz' were wanted, found {shown(text)}")


def active_mhz(levels: tuple[ClockLevel, ...]) -> int | None:
    """The clock of the level marked active."""
    return next((level.mhz for level in levels if level.active), None)


def highest_mhz(levels: tuple[ClockLevel, ...]) -> int | None:
    """The highest clock of the table."""
    return max((level.mhz for level in levels if level.index is not None), default=None)


def parse_pcie_levels(text: str) -> tuple[PcieLevel, ...] | Malformed:
    """``pp_dpm_pcie``."""
    levels = tuple(
        PcieLevel(int(n), float(speed), int(width), int(mhz) if mhz else None, star == "*")
        for n, speed, width, mhz, star in PCIE.findall(text)
    )
    return levels if levels else Malformed(f"lines 'level: NGT/s, xN' were wanted, found {shown(text)}")


def parse_policy(text: str) -> Policy | Malformed:
    """``pm_policy/soc_pstate``, ``pm_policy/xgmi_plpd``."""
    found = POLICY.findall(text)
    if not found:
        return Malformed(f"lines 'N : name' were wanted, found {shown(text)}")
    return Policy(tuple(name for _, name, _ in found), next((name for _, name, star in found if star), None))


def parse_power_profile(text: str) -> str | Malformed | None:
    """Name of the active profile: the one with a star behind it, in a table of rows or of columns; None = none is."""
    match = PROFILE.search(text)
    if match is None and not re.search(r"\b[A-Z0-9]+_[A-Z_]+\b", text):
        return Malformed(f"a table of profiles was wanted, found {shown(text)}")
    return match[2] if match else None


def parse_features(text: str) -> dict[str, bool] | Malformed:
    """``pp_features``: name -> enabled. Vega prints ``NAME 0x0000000000000001 Y`` instead."""
    features = {name: state == "enabled" for name, _, state in FEATURE.findall(text)}
    features |= {name: state == "Y" for name, state in OLD_FEATURE.findall(text)}
    return features if features else Malformed(f"lines 'NN. NAME ( bit) : state' were wanted, found {shown(text)}")


def parse_overdrive(text: str) -> dict[str, tuple[str, ...]] | Malformed:
    """``pp_od_clk_voltage``: section (``OD_SCLK``) -> its lines without padding."""
    sections: dict[str, list[str]] = {}
    name = ""
    for raw in text.splitlines():
        line = " ".join(raw.split())
        if re.fullmatch(r"OD_\w+:", line):
            name = line[:-1]
            sections[name] = []
        elif name and line:
            sections[name].append(line)
    if not sections:
        return Malformed(f"sections OD_...: were wanted, found {shown(text)}")
    return {key: tuple(lines) for key, lines in sections.items()}
