"""From what a user names to what can be read: each argument becomes part of an ``Input``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from rocsteady.hostfs.fs import HostFS
from rocsteady.hostfs.store import FilesStore
from rocsteady.model import InputError

TREE_MARKS = ("proc", "sys", "etc", "sos_commands")
"""A directory with one of these is a tree, any other a heap of loose files (DESIGN)."""


class Input(msgspec.Struct, frozen=True):
    """One node's worth of input. A tree has paths of a root file system; a heap has loose files."""

    fs: HostFS
    kind: Literal["live", "tree", "heap"]
    label: str


def open_inputs(arguments: Sequence[str], stdin: BinaryIO, root: Path | None = None) -> list[Input]:
    """Open what the user named; loose files go together into one heap.

    Raises:
        InputError: an argument does not exist, cannot be read, or is no regular file or directory.
    """
    if root is not None:
        if not root.is_dir():
            raise InputError(f"{root}: no such directory")
        return [Input(HostFS(root, live=str(root) == "/"), "tree", str(root))]
    if not arguments:
        return [Input(HostFS("/"), "live", "this machine")]
    inputs: list[Input] = []
    loose: dict[str, Path] = {}
    for argument in arguments:
        if argument == "-":
            loose["stdin"] = _spool(stdin)
            continue
        path = Path(argument)
        try:
            mode = path.stat()
        except OSError as error:
            raise InputError(f"{argument}: {error.strerror}") from error
        if path.is_dir():
            inputs.append(_directory(path))
        elif path.is_file():
            if not os.access(path, os.R_OK):
                raise InputError(f"{argument}: Permission denied")
            loose[_free_name(path, loose)] = path
        else:
            raise InputError(f"{argument}: neither a regular file nor a directory")
        del mode
    if loose:
        inputs.append(Input(HostFS(FilesStore(loose), live=False), "heap", ", ".join(loose)))
    return inputs


def _directory(path: Path) -> Input:
    try:
        names = set(os.listdir(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    kind: Literal["tree", "heap"] = "tree" if names.intersection(TREE_MARKS) else "heap"
    return Input(HostFS(path, live=False), kind, str(path))


def _free_name(path: Path, taken: dict[str, Path]) -> str:
    name = path.name
    number = 2
    while name in taken:
        name = f"{path.name}.{number}"
        number += 1
    return name


def _spool(stream: BinaryIO) -> Path:
    """Standard input can be read once, our readers want to look twice: keep it in an unlinked-later file."""
    with tempfile.NamedTemporaryFile(prefix="rocsteady-stdin-", delete=False) as file:
        while chunk := stream.read(1 << 20):
            file.write(chunk)
        return Path(file.name)
