"""The running kernel: release, command line, taint, lockdown, Secure Boot.

Source: /proc/version, /proc/cmdline, /proc/sys/kernel/{osrelease, version, tainted, hostname, random/boot_id},
        /sys/kernel/security/lockdown, /sys/firmware/efi/efivars/SecureBoot-*
Docs:   https://docs.kernel.org/admin-guide/tainted-kernels.html, https://docs.kernel.org/admin-guide/kernel-parameters.html
Samples: ``Linux version 6.8.0-60-generic (buildd@host) (...) #63-Ubuntu SMP ...``;
         ``[none] integrity confidentiality``; SecureBoot holds 4 bytes of attributes and one byte 0 or 1.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, parse_bytes, parse_file, parse_int, parse_text, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

VERSION, COMMAND_LINE, TAINTED = "proc/version", "proc/cmdline", "proc/sys/kernel/tainted"
LOCKDOWN = "sys/kernel/security/lockdown"
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
HOST_NAMES = ("proc/sys/kernel/hostname", "etc/hostname")
"""Saved trees often lack the first."""
BOOT_ID = "proc/sys/kernel/random/boot_id"
LINE = re.compile(r"Linux version (?P<release>\S+)(?:.*?(?P<build>#\d+.*))?")
WORD = re.compile(r"([^\s\"]*\"[^\"]*\"[^\s\"]*|\S+)")
EFI_BYTES = 5


class KernelVersion(msgspec.Struct, frozen=True):
    """``build`` starts with ``#``: number, flavour and date."""

    release: str
    build: str | None


def parse_version(text: str) -> KernelVersion | Malformed:
    """/proc/version."""
    match = LINE.match(text)
    if match is None:
        return Malformed(f"'Linux version' was wanted, found {shown(text)}")
    return KernelVersion(match["release"], match["build"].strip() if match["build"] else None)


def parse_command_line(text: str) -> dict[str, str] | Malformed:
    """Parameter -> value, '' for a bare word; of a repeated one the last. In ``module.name`` a '-' is a '_'."""
    words = WORD.findall(text.strip())
    if not words:
        return Malformed("empty")
    parameters: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        parameters[name.replace("-", "_") if "." in name else name] = value.strip('"')
    return parameters


def parse_lockdown(text: str) -> str | Malformed:
    """The mode in brackets."""
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else Malformed(f"a mode in brackets was wanted, found {shown(text)}")


def parse_secure_boot(data: bytes) -> bool | Malformed:
    """The variable's last byte."""
    if len(data) != EFI_BYTES or data[-1] not in (0, 1):
        return Malformed(f"{EFI_BYTES} bytes were wanted, found {len(data)}")
    return bool(data[-1])


def read_version(fs: HostFS) -> KernelVersion | Gap:
    """Release and build."""
    return parse_file(fs, VERSION, parse_version)


def read_command_line(fs: HostFS) -> dict[str, str] | Gap:
    """Parameters of this boot."""
    return parse_file(fs, COMMAND_LINE, parse_command_line)


def read_tainted(fs: HostFS) -> int | Gap:
    """Taint mask: 4096 out-of-tree module, 8192 unsigned module, 512 a warning was printed, 128 an oops."""
    return parse_file(fs, TAINTED, parse_int)


def read_lockdown(fs: HostFS) -> str | Gap:
    """none, integrity or confidentiality."""
    return parse_file(fs, LOCKDOWN, parse_lockdown)


def read_secure_boot(fs: HostFS) -> bool | Gap:
    """Whether Secure Boot is on; absent on machines without EFI."""
    return parse_bytes(fs, SECURE_BOOT, parse_secure_boot)


def read_host_name(fs: HostFS, path: str = HOST_NAMES[0]) -> str | Gap:
    """Name of the machine, from the kernel or from where the distribution keeps it."""
    return parse_file(fs, path, parse_text)


def read_boot_id(fs: HostFS) -> str | Gap:
    """Changes with every boot."""
    return parse_file(fs, BOOT_ID, parse_text)
