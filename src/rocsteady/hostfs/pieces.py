"""One file of unknown kind becomes a tree, a heap or a loose file: by its first bytes, never by its name."""

from __future__ import annotations

import os
from typing import BinaryIO, Literal

import msgspec

from rocsteady.hostfs.archive import Archive, index_tar, read_tar, read_zip
from rocsteady.hostfs.indexed import Entry, IndexedStore
from rocsteady.hostfs.limits import Budget
from rocsteady.hostfs.spool import Spool
from rocsteady.hostfs.store import DirectoryStore, FileStat, Store
from rocsteady.hostfs.tar import looks_like_tar
from rocsteady.hostfs.unpack import HEAD, Source, Unpacker, packing_of, unsupported
from rocsteady.model import Gap, InputError, ReadError

TREE_MARKS = frozenset({"proc", "sys", "etc", "sos_commands"})
"""A directory with one of these is a tree, any other a heap of loose files (DESIGN)."""

CONTENT = "content"
"""The name of the only file in the store of a loose file."""


class Piece(msgspec.Struct, frozen=True):
    """What one argument, or one file of a heap, turned out to be."""

    kind: Literal["tree", "heap", "loose"]
    store: Store
    gaps: tuple[Gap, ...] = ()


def kind_of(store: Store) -> tuple[Literal["tree", "heap"], str]:
    """Tree or heap, and the single top folder to take off ('' for none).

    A sosreport and a snapshot have one folder around everything; it is taken off where a tree lies inside.
    """
    names = _names(store, "")
    if TREE_MARKS.intersection(names):
        return "tree", ""
    if len(names) == 1 and TREE_MARKS.intersection(_names(store, names[0])):
        return "tree", names[0]
    return "heap", ""


def _names(store: Store, folder: str) -> list[str]:
    try:
        return store.names(folder)
    except ReadError:
        return []


def directory_piece(store: DirectoryStore) -> Piece:
    """A directory."""
    kind, top = kind_of(store)
    return Piece(kind, store.below(top) if top else store)


def file_piece(file: BinaryIO, name: str, budget: Budget) -> Piece | None:
    """What an open, seekable file holds; None for a plain file, which its own store serves.

    Raises:
        InputError: damaged beyond use, or a format that is recognised but not read.
        LimitError: larger than a limit.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(HEAD)
    file.seek(0)
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _archive_piece(read_zip(file, size, name, Spool(budget)))
    if looks_like_tar(head):
        return _archive_piece(index_tar(file, size, name, budget))
    packing = packing_of(head)
    if packing is not None:
        return _unpacked(Unpacker(file, packing, name, budget.limits), name, budget)
    wrong = unsupported(head)
    if wrong is not None:
        raise InputError(f"{name}: {wrong} is not supported")
    return None


def _archive_piece(archive: Archive) -> Piece:
    kind, top = kind_of(archive.store)
    return Piece(kind, archive.store.below(top) if top else archive.store, archive.gaps)


class _Replay:
    """A source whose first bytes were looked at."""

    def __init__(self, head: bytes, rest: Source) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes | None:
        if self._head:
            out, self._head = self._head[:size], self._head[size:]
            return out
        return self._rest.read(size)


def _unpacked(stream: Unpacker, name: str, budget: Budget) -> Piece:
    """A compressed tar, or one compressed log."""
    head = b""
    while len(head) < HEAD and (more := stream.read(HEAD - len(head))):
        head += more
    spool = Spool(budget)
    if looks_like_tar(head):
        archive = read_tar(_Replay(head, stream), name, spool)
        if stream.damage and not any(g.path == name for g in archive.gaps):
            archive = Archive(archive.store, (Gap(name, f"malformed: {stream.damage}"), *archive.gaps))
        return _archive_piece(archive)
    data: bytes | None = head
    while data:
        spool.write(name, data)
        data = stream.read(1 << 20)
    gaps: tuple[Gap, ...] = ()
    if stream.damage:
        if not spool.size:
            raise InputError(f"{name}: {stream.damage}, nothing could be read")
        gaps = (Gap(name, f"malformed: {stream.damage}"),)
    return Piece("loose", single(spool), gaps)


def single(spool: Spool) -> IndexedStore:
    """A store with one file, ``CONTENT``: all that the spool holds."""
    entry = Entry(FileStat("file", spool.size, 0o444, 0, 0))
    return IndexedStore(spool.file if spool.size else None, {CONTENT: entry})
