"""PCI configuration space, where it is readable: which peer-to-peer and atomics bits are set.

Source: /sys/bus/pci/devices/<BDF>/config (64 bytes without privilege, 256 or 4096 with it)
Docs:   https://docs.kernel.org/PCI/sysfs-pci.html; registers as in include/uapi/linux/pci_regs.h
"""

from __future__ import annotations

import struct

import msgspec

from rocsteady.facts.parse_file import Malformed

STATUS, HEADER_TYPE, FIRST_CAPABILITY = 0x06, 0x0E, 0x34
HAS_CAPABILITIES = 0x10
PCI_EXPRESS = 0x10
DEVICE_CAPABILITIES_2, DEVICE_CONTROL_2 = 0x24, 0x28
ATOMIC_ROUTING, ATOMIC_32, ATOMIC_64, ATOMIC_128 = 0x40, 0x80, 0x100, 0x200
ATOMIC_REQUEST, ATOMIC_EGRESS_BLOCK = 0x40, 0x80
ACS = 0x000D
ACS_REQUEST_REDIRECT, ACS_COMPLETION_REDIRECT, ACS_UPSTREAM_FORWARD = 0x04, 0x08, 0x10
EXTENDED = 0x100
SHORTEST = 64
ALL_ONES = 0xFFFF
"""Vendor id that a device off the bus reads as."""


class ConfigSpace(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration space says; None where that part of it was not readable.

    off_bus: the device no longer answers (all bytes read as ones).
    acs_redirect: ACS control sends peer-to-peer traffic up to the root complex; None also where the device
        has no ACS capability and the extended space was not readable.
    """

    off_bus: bool
    acs_capable: bool | None = None
    acs_control: int | None = None
    acs_redirect: bool | None = None
    atomics_routing: bool | None = None
    atomics_completer: bool | None = None
    atomics_requester: bool | None = None
    atomics_egress_blocked: bool | None = None


def parse_config(data: bytes) -> ConfigSpace | Malformed:
    """Walk the capability lists; loops and pointers out of range end the walk."""
    if len(data) < SHORTEST:
        return Malformed(f"{len(data)} bytes of configuration space, {SHORTEST} were wanted")
    if struct.unpack_from("<H", data)[0] == ALL_ONES:
        return ConfigSpace(off_bus=True)
    express = _capability(data, PCI_EXPRESS)
    routing = completer = requester = blocked = None
    if express is not None and express + DEVICE_CONTROL_2 + 2 <= len(data):
        abilities = struct.unpack_from("<I", data, express + DEVICE_CAPABILITIES_2)[0]
        control = struct.unpack_from("<H", data, express + DEVICE_CONTROL_2)[0]
        routing = bool(abilities & ATOMIC_ROUTING)
        completer = bool(abilities & (ATOMIC_32 | ATOMIC_64 | ATOMIC_128))
        requester = bool(control & ATOMIC_REQUEST)
        blocked = bool(control & ATOMIC_EGRESS_BLOCK)
    capable = control_bits = redirect = None
    if len(data) >= EXTENDED + 4:
        place = _extended_capability(data, ACS)
        capable, redirect = place is not None, False
        if place is not None and place + 8 <= len(data):
            control_bits = struct.unpack_from("<H", data, place + 6)[0]
            redirect = bool(control_bits & (ACS_REQUEST_REDIRECT | ACS_COMPLETION_REDIRECT))
    return ConfigSpace(
        off_bus=False, acs_capable=capable, acs_control=control_bits, acs_redirect=redirect,
        atomics_routing=routing, atomics_completer=completer, atomics_requester=requester,
        atomics_egress_blocked=blocked,
    )  # fmt: skip


def _capability(data: bytes, wanted: int) -> int | None:
    if not struct.unpack_from("<H", data, STATUS)[0] & HAS_CAPABILITIES:
        return None
    place = data[FIRST_CAPABILITY] & ~3
    seen: set[int] = set()
    while place >= SHORTEST and place + 2 <= len(data) and place not in seen:
        seen.add(place)
        if data[place] == wanted:
            return place
        place = data[place + 1] & ~3
    return None


def _extended_capability(data: bytes, wanted: int) -> int | None:
    place = EXTENDED
    seen: set[int] = set()
    while place >= EXTENDED and place + 4 <= len(data) and place not in seen:
        seen.add(place)
        header = struct.unpack_from("<I", data, place)[0]
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == wanted:
            return place
        place = header >> 20
    return None
