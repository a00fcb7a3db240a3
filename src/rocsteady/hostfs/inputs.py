"""From what a user names to what can be read: each argument becomes part of an ``Input``."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from rocsteady.hostfs.fs import HostFS
from rocsteady.hostfs.indexed import MergedStore
from rocsteady.hostfs.limits import DEFAULT, Budget, Limits
from rocsteady.hostfs.pieces import CONTENT, Piece, directory_piece, file_piece, single
from rocsteady.hostfs.spool import Spool, kept
from rocsteady.hostfs.store import DirectoryStore, FilesStore, Store
from rocsteady.model import Gap, InputError, LimitError, ReadError

HEAP_FILES = 20_000
"""Files of a heap that are looked at; a folder of more is no collection of logs (a home directory, say)."""


class Input(msgspec.Struct, frozen=True):
    """One node's worth of input. A tree has paths of a root file system; a heap has loose files.

    ``gaps``: what of the input itself could not be used (a truncated archive, an encrypted member).
    """

    fs: HostFS
    kind: Literal["live", "tree", "heap"]
    label: str
    gaps: tuple[Gap, ...] = ()


class _Named(msgspec.Struct):
    """A tree or heap that is an input of its own."""

    label: str
    kind: Literal["tree", "heap"]
    store: Store
    gaps: tuple[Gap, ...]


class _Gathering:
    """Collects the arguments of one command line."""

    def __init__(self, limits: Limits) -> None:
        self.budget = Budget(limits)
        self.named: list[_Named] = []
        self.loose: dict[str, tuple[Store, str]] = {}
        self.gaps: list[Gap] = []
        self._seen: set[tuple[int, int]] = set()

    def new(self, status: os.stat_result) -> bool:
        """Whether this file or directory was not named before under whatever name."""
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def add_loose(self, name: str, store: Store, path: str) -> None:
        """Take a loose file; a second one of the same name gets a number."""
        free, number = name, 2
        while free in self.loose:
            free, number = f"{name}.{number}", number + 1
        self.loose[free] = (store, path)

    def add_piece(self, label: str, piece: Piece) -> None:
        """Take what a file turned out to be."""
        if piece.kind == "loose":
            self.add_loose(label, piece.store, CONTENT)
            self.gaps.extend(piece.gaps)
        elif piece.kind == "tree":
            self.named.append(_Named(label, "tree", piece.store, piece.gaps))
        else:
            files, gaps = self.heap(piece.store, label)
            self.named.append(_Named(label, "heap", MergedStore(files), (*piece.gaps, *gaps)))

    def heap(self, store: Store, label: str) -> tuple[dict[str, tuple[Store, str]], list[Gap]]:
        """The loose files of a heap. Archives in it are opened, one level deep: each is an input of its own."""
        files: dict[str, tuple[Store, str]] = {}
        fs = HostFS(store, live=False)
        for path in fs.walk(limit=HEAP_FILES + 1):
            if len(files) == HEAP_FILES:
                fs.gaps.append(Gap(label, f"failed: more than {HEAP_FILES} files, the others were not looked at"))
                break
            files[path] = (store, path)
            try:
                piece = self._inner(store, path)
            except LimitError:
                raise
            except InputError as error:
                fs.gaps.append(Gap(path, f"failed: {str(error).partition(': ')[2]}"))
                del files[path]
                continue
            if piece is None:
                continue
            del files[path]
            fs.gaps.extend(piece.gaps)
            if piece.kind == "tree":
                self.named.append(_Named(f"{label}/{path}", "tree", piece.store, ()))
                continue
            inner = HostFS(piece.store, live=False)
            for name in inner.walk(limit=HEAP_FILES):
                files[path if piece.kind == "loose" else f"{path}/{name}"] = (piece.store, name)
        return files, fs.gaps

    def _inner(self, store: Store, path: str) -> Piece | None:
        """What one file of a heap holds; None for a plain or unreadable one (the readers say why)."""
        try:
            handle = kept(store.open(path))
        except (ReadError, OSError):
            return None
        try:
            piece = file_piece(handle, path, self.budget)
        except OSError:
            piece = None
        if piece is None:  # else the piece may serve contents from the open file
            handle.close()
        return piece


def open_inputs(
    arguments: Sequence[str], stdin: BinaryIO, root: Path | None = None, limits: Limits = DEFAULT
) -> list[Input]:
    """Open what the user named.

    Each tree and each archive is an input of its own; all loose files together are one. Which of them belong to
    one node is decided by what is read in them (``cli.gather``).

    Raises:
        InputError: an argument does not exist, cannot be read, is damaged beyond use, or is no file or directory.
        LimitError: an argument unpacks to more than a limit allows.
    """
    if root is not None:
        if not root.is_dir():
            raise InputError(f"{root}: no such directory")
        return [Input(HostFS(root, live=str(root) == "/"), "tree", str(root))]
    if not arguments:
        return [Input(HostFS("/"), "live", "this machine")]
    gathering = _Gathering(limits)
    for argument in arguments:
        _argument(argument, stdin, gathering)
    return _inputs(gathering)


def _argument(argument: str, stdin: BinaryIO, gathering: _Gathering) -> None:
    if argument in ("-", "/dev/stdin"):
        _stream("stdin", stdin, gathering)
        return
    path = Path(argument)
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise InputError(f"{argument}: {_reason(error)}") from error
    if not gathering.new(status):
        return
    if stat.S_ISDIR(status.st_mode):
        _directory(path, gathering)
    elif stat.S_ISREG(status.st_mode):
        _file(path, gathering)
    elif stat.S_ISFIFO(status.st_mode) and argument.startswith(("/dev/fd/", "/proc/self/fd/")):
        # the shell's <(command): the other end is open already, so this cannot wait for a writer that never comes
        with path.open("rb") as pipe:
            _stream(argument.rpartition("/")[2], pipe, gathering)
    else:
        raise InputError(f"{argument}: neither a regular file nor a directory")


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _directory(path: Path, gathering: _Gathering) -> None:
    try:
        os.listdir(path)
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}") from error
    gathering.add_piece(str(path), directory_piece(DirectoryStore(path)))


def _file(path: Path, gathering: _Gathering) -> None:
    if str(path.resolve()) == "/proc/kmsg":  # reading it waits for the next message, for ever
        raise InputError(f"{path}: not a file with an end; use the output of dmesg")
    try:
        handle = kept(path.open("rb", buffering=0))
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}") from error
    name = path.name
    try:
        piece = file_piece(handle, str(path), gathering.budget)
    except OSError as error:
        handle.close()
        raise InputError(f"{path}: {_reason(error)}") from error
    if piece is None:
        handle.close()
        gathering.add_loose(name, FilesStore({name: path}), name)
    else:
        gathering.add_piece(name if piece.kind == "loose" else str(path), piece)


def _stream(name: str, stream: BinaryIO, gathering: _Gathering) -> None:
    """What can be read only once is kept in a nameless file: the readers look at it twice."""
    spool = Spool(gathering.budget)
    while chunk := stream.read(1 << 20):
        spool.write(name, chunk)
    piece = file_piece(spool.file, name, gathering.budget) if spool.size else None
    gathering.add_piece(name, piece or Piece("loose", single(spool)))


def _inputs(gathering: _Gathering) -> list[Input]:
    inputs = [Input(HostFS(n.store, live=False), n.kind, n.label, n.gaps) for n in gathering.named]
    if gathering.loose or not inputs:
        store, label = MergedStore(gathering.loose), ", ".join(gathering.loose)
        inputs.append(Input(HostFS(store, live=False), "heap", label, tuple(gathering.gaps)))
    return inputs
