"""``HostFS``: one way to read a node, whether it is this machine, a snapshot, a sosreport or loose files."""

from __future__ import annotations

import errno
import fnmatch
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from rocsteady.hostfs import commands
from rocsteady.hostfs.patient import PatientReader
from rocsteady.hostfs.sleeping import WHY, Sleepers
from rocsteady.hostfs.store import DirectoryStore, FileStat, Store, resolve, wrapped
from rocsteady.hostfs.textual import Recoder, recoded, wide_encoding
from rocsteady.hostfs.unpack import HEAD, Unpacker, packing_of
from rocsteady.model import Absent, Denied, Failed, Gap, ReadError, TimedOut, TooLarge

RECORDED = "commands"
"""The folder of a snapshot that holds what commands printed."""
TEXT_LIMIT = 64 * 1024 * 1024
"""No pseudo-file or command output that we parse whole is near this; logs are streamed instead."""


class Output(msgspec.Struct, frozen=True):
    """What a read-only command printed, live or recorded. ``path`` is the place to quote."""

    path: str
    text: str


class HostFS:
    """Reads below one root. Every method raises a ``ReadError`` with the path, and nothing else.

    ``live`` is True only for this machine: then ``command`` may run a read-only command, and pseudo-files are
    read with a time limit. ``gaps`` collects damage that was met while streaming.
    """

    def __init__(self, root: Path | str | Store = "/", *, live: bool | None = None, label: str = "") -> None:
        store = DirectoryStore(Path(root)) if isinstance(root, (str, Path)) else root
        self.store: Store = store
        self.live = (str(root) == "/") if live is None else live
        self.label = label
        self.gaps: list[Gap] = []
        self._patient = PatientReader() if self.live else None
        self._sleepers = Sleepers(self._quick) if self.live else None

    def bytes(self, path: str, limit: int = TEXT_LIMIT) -> bytes:
        """Whole file in one read; ``TooLarge`` when it is larger than ``limit``."""
        if self._patient is not None and path.lstrip("/").startswith(("sys/", "proc/")):
            data = _read_pseudo(self._patient, self._sleepers, self.store, path, limit + 1)
        else:
            with self.store.open(path) as handle:
                data = _read_all(path, handle, limit + 1)
        if len(data) > limit:
            raise TooLarge(path, f"larger than {limit} bytes")
        return data

    def _quick(self, path: str) -> str:
        try:
            return self.text(path)
        except ReadError:
            return ""

    def text(self, path: str, limit: int = TEXT_LIMIT) -> str:
        """Whole file as text: unpacked where it is compressed, UTF-16 or UTF-8 with invalid bytes replaced, no NUL."""
        data = self.bytes(path, limit)
        if packing_of(data[:16]) is not None:
            with self.open(path) as handle:
                data = _read_all(path, handle, limit + 1)
            if len(data) > limit:
                raise TooLarge(path, f"larger than {limit} bytes")
        return recoded(data)

    def line(self, path: str) -> str:
        """A one-line pseudo-file without its line end."""
        return self.text(path).strip()

    def open(self, path: str) -> BinaryIO:
        """Stream a regular file as text: unpacked where it is compressed, UTF-8 where it is UTF-16.

        Damage ends the stream early and adds a ``Gap`` to ``gaps``.
        """
        raw = self.store.open(path)
        try:
            head = raw.read(HEAD)
            raw.seek(0)
        except OSError as error:
            raw.close()
            raise wrapped(path, error) from error
        packing = packing_of(head)
        if packing is not None:
            return io.BufferedReader(
                Unpacker(
                    raw,
                    packing,
                    path,
                    refuse=lambda text: Failed(path, text.partition(": ")[2]),
                    on_damage=lambda why: self.gaps.append(Gap(path, f"malformed: {why}")),
                ),
                1 << 18,
            )
        encoding = wide_encoding(head)
        if encoding is not None:
            return io.BufferedReader(Recoder(raw, encoding), 1 << 18)
        return raw

    def command(self, argv: Sequence[str]) -> Output:
        """What a read-only command prints, live, or printed when the input was taken.

        Live only the exact command lines of ``commands.ALLOWED`` run, with a time limit, without a shell.
        Raises Absent, Denied, TimedOut or Failed; their path is where a snapshot keeps the output.
        """
        name = commands.slug(tuple(argv))
        path = f"{RECORDED}/{name}"
        if self.live:
            status, data, detail = commands.run(tuple(argv))
            if status == "ok":
                return Output(path, recoded(data))
            errors = {"absent": Absent, "denied": Denied, "timeout": TimedOut}
            raise errors.get(status, Failed)(path, detail)
        for place in (path, *self.glob(f"sos_commands/*/{name}")):
            try:
                return Output(place, self.text(place))
            except Absent:
                continue
        raise Absent(path)

    def stat(self, path: str) -> FileStat:
        """Stat, links followed."""
        return self.store.stat(resolve(self.store, path))

    def lstat(self, path: str) -> FileStat:
        """Stat, a final link not followed."""
        folder, _, name = path.rpartition("/")
        parent = resolve(self.store, folder) if folder else ""
        return self.store.stat(f"{parent}/{name}" if parent else name)

    def link(self, path: str) -> str:
        """The text of a link."""
        folder, _, name = path.rpartition("/")
        parent = resolve(self.store, folder) if folder else ""
        return self.store.readlink(f"{parent}/{name}" if parent else name)

    def real(self, path: str) -> str:
        """The path with all links followed, inside the root."""
        return resolve(self.store, path)

    def names(self, path: str) -> list[str]:
        """Entries of a directory, sorted."""
        return self.store.names(path)

    def exists(self, path: str) -> bool:
        """Whether the path can be stat'ed. Denied counts as not known, so it raises."""
        try:
            self.stat(path)
        except Absent:
            return False
        return True

    def is_dir(self, path: str) -> bool:
        """Whether the path is a directory that can be seen."""
        try:
            return self.stat(path).kind == "dir"
        except ReadError:
            return False

    def glob(self, pattern: str) -> list[str]:
        """Paths that match, component by component; unreadable folders match nothing."""
        found = [""]
        for part in pattern.strip("/").split("/"):
            found = [f"{base}/{name}" if base else name for base in found for name in self._matching(base, part)]
        return found

    def _matching(self, base: str, part: str) -> list[str]:
        if not any(c in part for c in "*?["):
            try:
                self.lstat(f"{base}/{part}" if base else part)
            except ReadError:
                return []
            return [part]
        try:
            return [n for n in self.names(base) if fnmatch.fnmatchcase(n, part)]
        except ReadError:
            return []

    def walk(self, top: str = "", limit: int = 100_000) -> Iterator[str]:
        """Regular files below ``top``, links not followed, in sorted order; stops at ``limit`` files."""
        todo = [top]
        seen = 0
        while todo:
            folder = todo.pop()
            try:
                names = self.names(folder)
            except ReadError as error:
                if not isinstance(error, Absent):
                    self.gaps.append(Gap(folder or ".", error.why))
                continue
            below: list[str] = []
            for name in names:
                path = f"{folder}/{name}" if folder else name
                try:
                    kind = self.lstat(path).kind
                except ReadError:
                    continue
                if kind == "dir":
                    below.append(path)
                elif kind == "file":
                    yield path
                    seen += 1
                    if seen >= limit:
                        return
            todo.extend(reversed(below))


def _read_pseudo(patient: PatientReader, sleepers: Sleepers | None, store: Store, path: str, limit: int) -> bytes:
    real = resolve(store, path)
    if store.stat(real).kind != "file":
        raise Failed(path, "not a regular file")
    if sleepers is not None and sleepers.keep_from(real):
        raise Failed(path, WHY)
    number, data = patient.read("/" + real, limit)
    if number == errno.ETIMEDOUT:
        raise TimedOut(path, f"no answer in {patient.seconds:g} s")
    if number:
        raise wrapped(path, OSError(number, os.strerror(number)))
    return data


def _read_all(path: str, handle: BinaryIO, limit: int) -> bytes:
    try:
        return _read_up_to(handle, limit)
    except OSError as error:
        raise wrapped(path, error) from error


def _read_up_to(handle: BinaryIO, limit: int) -> bytes:
    """Read until the end or the limit. sysfs wants one large read; files on disk may need several."""
    chunks: list[bytes] = []
    got = 0
    while got < limit:
        chunk = handle.read(min(limit - got, 1 << 20))
        if not chunk:
            break
        chunks.append(chunk)
        got += len(chunk)
    return b"".join(chunks)
