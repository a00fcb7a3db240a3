"""Device files that GPU work needs: who owns them, and with which mode.

Source: /dev/kfd, /dev/dri/*, /dev/infiniband/*; group names from /etc/group.
A tree made without root cannot hold device files. Then a recorded listing stands in for them: the output of
``ls -lnR /dev/kfd /dev/dri /dev/infiniband`` (``ls -l`` is read too) in ``commands/``, named as all recorded commands
are; sosreport leaves one in ``sos_commands/``. A regular file in ``dev/`` is not a device and counts as not there.
Samples: ``crw-rw---- 1 0 109 236, 0 Nov 30 12:00 /dev/kfd``, ``render:x:109:``.
"""

from __future__ import annotations

import re
from functools import partial

import msgspec

from rocsteady.facts.parse_file import Malformed, gap_of, is_absent, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap, ReadError
from rocsteady.model.facts import DeviceNode

LISTINGS = ("commands/ls_*dev*", "sos_commands/*/ls_*dev*")
FOLDERS = ("dev/dri", "dev/infiniband")
KFD = "dev/kfd"
GROUP = "etc/group"
ENTRY = re.compile(
    r"^(?P<kind>[bcdlps-])(?P<mode>[rwxsStT-]{9})(?P<acl>[+.@]?)\s+\d+\s+(?P<owner>\S+)\s+(?P<group>\S+)\s+"
    r"(?:\d+,\s*\d+|\d+)\s+(?P<date>\S+\s+\S+(?:\s+[\d:]+)?)\s+(?P<path>\S.*?)(?: -> .*)?$"
)
HEADING = re.compile(r"^(/dev/[\w/.-]*):$")
MISSING = re.compile(r"cannot access ['\"]?(/dev/[\w/.-]+)['\"]?: No such file")
NAMED = re.compile(r"card\d+|renderD\d+|kfd|uverbs\d+|rdma_cm|umad\d+|issm\d+")
BITS = (0o400, 0o200, 0o100, 0o040, 0o020, 0o010, 0o004, 0o002, 0o001)


class DeviceRow(msgspec.Struct, frozen=True):
    """A device and where it was seen."""

    node: DeviceNode
    evidence: Evidence


def parse_groups(text: str) -> dict[str, int] | Malformed:
    """/etc/group: name -> number."""
    groups: dict[str, int] = {}
    for line in text.splitlines():
        parts = line.split(":")
        if len(parts) >= 3 and parts[0] and parts[2].isascii() and parts[2].isdigit() and len(parts[2]) < 12:
            groups[parts[0]] = int(parts[2])
    return groups if groups else Malformed(f"lines name:x:number were wanted, found {shown(text)}")


def read_groups(fs: HostFS) -> dict[str, int] | Gap:
    """Groups of the machine."""
    return parse_file(fs, GROUP, parse_groups)


def octal_mode(text: str) -> str:
    """``rw-rw----`` -> ``0660``; set-id and sticky letters count by their execute bit."""
    number = sum(bit for letter, bit in zip(text, BITS, strict=False) if letter in "rwxst")
    return f"{number:04o}"


def parse_listing(path: str, text: str) -> list[DeviceRow]:
    """Character devices of an ``ls -l`` or ``ls -ln`` output, and names that ls could not find."""
    rows: list[DeviceRow] = []
    folder = ""
    for number, line in enumerate(text.splitlines(), 1):
        where = Evidence(path, number, line)
        if heading := HEADING.match(line):
            folder = heading[1].rstrip("/") + "/"
            continue
        if missing := MISSING.search(line):
            rows.append(DeviceRow(DeviceNode(path=missing[1], exists=False), where))
            continue
        entry = ENTRY.match(line)
        if entry is None or entry["kind"] != "c":
            continue
        name = entry["path"] if entry["path"].startswith("/") else folder + entry["path"]
        owner, group = entry["owner"], entry["group"]
        rows.append(
            DeviceRow(
                DeviceNode(
                    path=name, exists=True, mode=octal_mode(entry["mode"]),
                    owner=_owner(int(owner)) if owner.isdigit() else owner,
                    group=None if group.isdigit() else group, gid=int(group) if group.isdigit() else None,
                    acl=entry["acl"] == "+",
                ),
                where,
            )
        )  # fmt: skip
    return rows


def _owner(uid: int) -> str:
    return "root" if uid == 0 else str(uid)


def read_device_nodes(fs: HostFS) -> tuple[list[DeviceRow], list[Gap]]:
    """Device files, by path. /dev/kfd is listed as missing where /dev was seen without it."""
    groups = read_groups(fs)
    names = {number: name for name, number in groups.items()} if isinstance(groups, dict) else {}
    gaps: list[Gap] = [] if isinstance(groups, dict) or is_absent(groups) else [groups]
    rows: list[DeviceRow] = []
    for listing in (path for pattern in LISTINGS for path in fs.glob(pattern)):
        found = parse_file(fs, listing, partial(parse_listing, listing))
        if isinstance(found, list):
            rows.extend(_with_group(r, names) for r in found)
        elif not is_absent(found):
            gaps.append(found)
    if not rows:
        rows, more = _live(fs, names)
        gaps.extend(more)
    return rows, gaps


def _with_group(row: DeviceRow, names: dict[int, str]) -> DeviceRow:
    node = row.node
    if node.group is None and node.gid is not None:
        node = msgspec.structs.replace(node, group=names.get(node.gid))
    return DeviceRow(node, row.evidence)


def _live(fs: HostFS, names: dict[int, str]) -> tuple[list[DeviceRow], list[Gap]]:
    rows: list[DeviceRow] = []
    gaps: list[Gap] = []
    paths: list[str] = [KFD]
    for folder in FOLDERS:
        try:
            paths += [f"{folder}/{name}" for name in fs.names(folder) if NAMED.fullmatch(name)]
        except ReadError as error:
            gap = gap_of(folder, error)
            gaps += [] if is_absent(gap) else [gap]
    for path in paths:
        try:
            stat = fs.stat(path)
        except ReadError as error:
            gap = gap_of(path, error)
            if not is_absent(gap):
                gaps.append(gap)
            continue
        if stat.kind == "other":
            node = DeviceNode(
                path=f"/{path}", exists=True, mode=f"{stat.mode:04o}", owner=_owner(stat.uid),
                group=names.get(stat.gid), gid=stat.gid,
            )  # fmt: skip
            rows.append(DeviceRow(node, Evidence(path, None, f"mode {stat.mode:04o} uid {stat.uid} gid {stat.gid}")))
    if not any(r.node.path == f"/{KFD}" for r in rows) and (fs.live or rows):
        rows.append(DeviceRow(DeviceNode(path=f"/{KFD}", exists=False), Evidence("dev", None, "no kfd in /dev")))
    return rows, gaps
