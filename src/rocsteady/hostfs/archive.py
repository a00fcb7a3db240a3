"""Archives: read once as a stream into an index over one bounded file. Nothing is extracted to paths.

Names are taken as relative to the root of the archive. A name with ``..`` is refused and listed, a link is kept
as text and later followed inside the root only, devices and FIFOs are kept as facts and never opened.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from typing import BinaryIO

import msgspec

from rocsteady.hostfs.indexed import Entry, IndexedStore
from rocsteady.hostfs.limits import Budget, amount, check_ratio
from rocsteady.hostfs.spool import Spool
from rocsteady.hostfs.store import FileStat
from rocsteady.hostfs.tar import Damage, Member, TarReader
from rocsteady.hostfs.unpack import CHUNK, Source
from rocsteady.model import Gap, InputError, LimitError

GAPS = 50
"""Refused members listed one by one; a hostile archive may hold a hundred thousand."""
ZIP_DIRECTORY = 64 << 20
"""Bytes of a zip's central directory: 250,000 members with long names."""


class Archive(msgspec.Struct, frozen=True):
    """What an archive held, and what of it could not be used."""

    store: IndexedStore
    gaps: tuple[Gap, ...] = ()


class _Index:
    """Collects entries; of two members with one name the later wins, as it does when extracting."""

    def __init__(self, name: str, budget: Budget) -> None:
        self.name = name
        self.budget = budget
        self.entries: dict[str, Entry] = {}
        self.gaps: list[Gap] = []

    def place(self, raw: str) -> str | None:
        """The path for a member's name; None where there is none to have."""
        self.budget.member(self.name)
        parts = [p for p in raw.split("/") if p not in ("", ".")]
        if ".." in parts:
            self.gap(raw, "failed: member name leads out of the archive")
            return None
        return "/".join(parts) or None

    def gap(self, path: str, why: str) -> None:
        """Note something unusable."""
        if len(self.gaps) < GAPS:
            self.gaps.append(Gap(path[:300], why))

    def archive(self, file: BinaryIO | None, damage: str | None) -> Archive:
        """The result. Raises InputError when damage left nothing."""
        if damage is not None:
            if not self.entries:
                raise InputError(f"{self.name}: {damage}, nothing could be read")
            self.gaps.insert(0, Gap(self.name, f"malformed: {damage}"))
        elif not self.entries and self.gaps:
            raise InputError(f"{self.name}: no usable member ({self.gaps[0].path}: {self.gaps[0].why})")
        return Archive(IndexedStore(file, self.entries), tuple(self.gaps))


def read_tar(source: Source, name: str, spool: Spool) -> Archive:
    """Index a tar that can only be read once; contents go to the spool."""
    index = _Index(name, spool.budget)
    reader = TarReader(source, spool.budget.limits)
    damage: str | None = None
    try:
        for member in reader:
            path = index.place(member.name)
            if path is None:
                continue
            if _is_special(member):
                _special(index, path, member)
                continue
            start = spool.size
            try:
                for piece in reader.data(member.size):
                    spool.write(name, piece)
            finally:  # a truncated last member is still worth reading
                got = spool.size - start
                index.entries[path] = Entry(_stat(member, got), start)
    except Damage as error:
        damage = str(error)
    return index.archive(spool.file if spool.size else None, damage)


def index_tar(file: BinaryIO, size: int, name: str, budget: Budget) -> Archive:
    """Index an uncompressed tar in place: its own file serves the contents."""
    index = _Index(name, budget)
    file.seek(0)
    reader = TarReader(file, budget.limits)
    damage: str | None = None
    try:
        for member in reader:
            path = index.place(member.name)
            start = reader.position
            if path is not None and _is_special(member):
                _special(index, path, member)
            elif path is not None:
                index.entries[path] = Entry(_stat(member, min(member.size, max(size - start, 0))), start)
            end = start + reader.left
            if end > size:
                raise Damage(f"truncated at byte {size}")
            file.seek(end)
            reader.passed(reader.left)
    except Damage as error:
        damage = str(error)
    return index.archive(file, damage)


def _stat(member: Member, size: int) -> FileStat:
    return FileStat(member.kind, size, member.mode, member.uid, member.gid, member.rdev)


def _is_special(member: Member) -> bool:
    return member.kind != "file" or bool(member.hard or member.problem or member.refused)


def _special(index: _Index, path: str, member: Member) -> None:
    """Everything without content of its own."""
    if member.hard:
        parts = [p for p in member.hard.split("/") if p not in ("", ".")]
        target = index.entries.get("/".join(parts))
        if target is None:
            index.gap(path, f"absent: hard link to {member.hard[:200]}, which is not in the archive before it")
        else:
            index.entries[path] = target
        return
    if member.problem:
        index.gap(path, f"failed: {member.problem}")
    index.entries[path] = Entry(_stat(member, 0), 0, member.link, member.problem or member.refused)


# --- zip -----------------------------------------------------------------------------------------


def read_zip(file: BinaryIO, size: int, name: str, spool: Spool) -> Archive:
    """Unpack a zip into the spool. Stored and deflated members are read, others are gaps."""
    index = _Index(name, spool.budget)
    _check_zip_directory(file, size, name)
    try:
        opened = zipfile.ZipFile(file)
    except (
        zipfile.BadZipFile,
        ValueError,
        OverflowError,
        NotImplementedError,
        struct.error,
        OSError,
        EOFError,
    ) as error:
        raise InputError(f"{name}: damaged or truncated zip ({error}), nothing could be read") from error
    with opened:
        for info in opened.infolist():
            raw = info.filename.replace("\\", "/") if info.create_system == 0 else info.filename
            path = index.place(raw)
            if path is not None:
                _zip_member(opened, info, path, index, spool, size)
    return index.archive(spool.file if spool.size else None, None)


def _zip_member(
    opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, index: _Index, spool: Spool, packed: int
) -> None:
    unix = info.external_attr >> 16 if info.create_system == 3 else 0
    mode = stat.S_IMODE(unix) or (0o755 if info.is_dir() else 0o644)
    if info.is_dir():
        index.entries[path] = Entry(FileStat("dir", 0, mode, 0, 0))
        return
    if unix and stat.S_IFMT(unix) not in (0, stat.S_IFREG, stat.S_IFLNK):
        index.entries[path] = Entry(FileStat("other", 0, mode, 0, 0))
        return
    if info.flag_bits & 0x1:
        index.gap(path, "denied: encrypted zip member")
        return
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        index.gap(path, f"failed: zip compression method {info.compress_type} is not supported")
        return
    start = spool.size
    try:
        with opened.open(info) as member:
            while data := member.read(CHUNK):
                spool.write(index.name, data)
                check_ratio(index.name, packed, spool.size, spool.budget.limits)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error) as error:
        index.gap(path, f"malformed: {error}")
        if spool.size == start:
            return
    got = spool.size - start
    if stat.S_ISLNK(unix):
        target = os.pread(spool.file.fileno(), min(got, 4096), start) if got else b""
        index.entries[path] = Entry(FileStat("link", got, 0o777, 0, 0), link=target.decode("utf-8", "replace"))
        return
    index.entries[path] = Entry(FileStat("file", got, mode, 0, 0), start)


def _check_zip_directory(file: BinaryIO, size: int, name: str) -> None:
    """The standard library reads the whole central directory into memory: look at its size first."""
    tail = min(size, (1 << 16) + 22)
    file.seek(size - tail)
    data = file.read(tail)
    at = data.rfind(b"PK\x05\x06")
    if at < 0 or len(data) - at < 22:
        return  # ZipFile says that it is damaged
    (directory,) = struct.unpack_from("<I", data, at + 12)
    where = size - tail + at - 20
    if directory == 0xFFFFFFFF and where >= 0:
        file.seek(where)
        locator = file.read(20)
        if locator[:4] == b"PK\x06\x07":
            (record,) = struct.unpack_from("<Q", locator, 8)
            if record < size:
                file.seek(record)
                head = file.read(56)
                if len(head) == 56 and head[:4] == b"PK\x06\x06":
                    (directory,) = struct.unpack_from("<Q", head, 40)
    if directory > ZIP_DIRECTORY:
        raise LimitError(f"{name}: the zip directory is larger than {amount(ZIP_DIRECTORY)} (limit on its size)")
