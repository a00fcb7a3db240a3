"""The distribution.

Source: /etc/os-release, else /usr/lib/os-release
Docs:   https://www.freedesktop.org/software/systemd/man/latest/os-release.html
Sample: ``ID=ubuntu``, ``VERSION_ID="22.04"``, ``PRETTY_NAME="Ubuntu 22.04.5 LTS"``.
"""

from __future__ import annotations

import msgspec

from rocsteady.facts.parse_file import Malformed, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

PLACES = ("etc/os-release", "usr/lib/os-release")


class OsRelease(msgspec.Struct, frozen=True, kw_only=True):
    """Fields as the distribution states them."""

    id: str | None
    version: str | None
    name: str | None
    like: tuple[str, ...]
    path: str = PLACES[0]
    lines: dict[str, tuple[int, str]] = {}
    """Key -> number and text of its line."""


def parse_os_release(text: str) -> OsRelease | Malformed:
    """Shell-like assignments; quotes are taken off."""
    values: dict[str, str] = {}
    lines: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, equals, value = line.strip().partition("=")
        if equals and key.isupper():
            values[key] = value.strip().strip("\"'")
            lines[key] = (number, line)
    if not values.keys() & {"ID", "NAME", "PRETTY_NAME"}:
        return Malformed(f"ID=... was wanted, found {shown(text)}")
    return OsRelease(
        id=values.get("ID", "").lower() or None,
        version=values.get("VERSION_ID") or None,
        name=values.get("PRETTY_NAME") or values.get("NAME") or None,
        like=tuple(values.get("ID_LIKE", "").lower().split()),
        lines=lines,
    )


def read_os_release(fs: HostFS) -> OsRelease | Gap:
    """The first place that exists."""
    answer: OsRelease | Gap = Gap(PLACES[0], "absent")
    for path in PLACES:
        answer = parse_file(fs, path, parse_os_release)
        if isinstance(answer, OsRelease):
            return msgspec.structs.replace(answer, path=path)
    return answer
