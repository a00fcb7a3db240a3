"""Writes a snapshot file: the capture, compressed by the suffix of its name, in place only when it is complete."""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

import zstandard

from rocsteady import __version__
from rocsteady.hostfs.capture import Capture, Wanted
from rocsteady.model import InputError

SUFFIXES = (".tar.zst", ".tar.gz", ".tgz", ".tar")


def plan_snapshot(root: Path, wanted: Wanted, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """What would be taken: (file | log | command, path or command line)."""
    return Capture(_checked(root), wanted, names=names).plan()


def write_snapshot(
    output: Path,
    root: Path,
    wanted: Wanted,
    names: tuple[str, ...] = (),
    redact: bool = True,
    say: Callable[[str], None] | None = None,
) -> dict[str, object]:
    """Take a snapshot and return its manifest. The file is readable by its owner only.

    Raises:
        InputError: the name has no known suffix, or the file cannot be written.
    """
    if not output.name.endswith(SUFFIXES):
        raise InputError(f"{output}: the name must end in one of {', '.join(SUFFIXES)}")
    capture = Capture(_checked(root), wanted, redact, names, say, __version__)
    try:
        number, partial = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    except OSError as error:
        raise InputError(f"{output}: {error.strerror}") from error
    try:
        with os.fdopen(number, "wb") as file, ExitStack() as stack:
            stream: IO[bytes] = file
            if output.name.endswith(".zst"):
                stream = stack.enter_context(zstandard.ZstdCompressor(level=9).stream_writer(file, closefd=False))
            elif output.name.endswith("gz"):
                stream = stack.enter_context(cast("IO[bytes]", gzip.GzipFile("", "wb", 6, file)))
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
                manifest = capture.take(archive)
        os.replace(partial, output)
    except OSError as error:
        raise InputError(f"{output}: {error.strerror or error}") from error
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return manifest


def _checked(root: Path) -> str:
    if not root.is_dir():
        raise InputError(f"{root}: no such directory")
    return str(root)
