"""Exact weight bytes of a checkpoint directory, from safetensors headers. No tensor is read."""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec

from rocsteady.model import InputError

MAX_HEADER_BYTES = 100_000_000
"""The limit that the format itself sets for a header."""
MAX_FILES = 2000


def tensor_bytes(folder: Path) -> int | None:
    """Bytes of all tensors in ``*.safetensors`` of a directory; None where there is no such file.

    Files that the index does not name (``consolidated`` copies) are left out.

    Raises:
        InputError: a file is no safetensors file, or is cut off.
    """
    files = sorted(folder.glob("*.safetensors"))[:MAX_FILES]
    index = folder / "model.safetensors.index.json"
    if index.is_file() and index.stat().st_size < MAX_HEADER_BYTES:
        try:
            mapped = msgspec.json.decode(index.read_bytes()).get("weight_map", {})
            named = {str(v) for v in mapped.values()}
        except (msgspec.DecodeError, AttributeError, OSError) as error:
            raise InputError(f"{index}: not a safetensors index: {error}") from error
        missing = sorted(n for n in named if not (folder / n).is_file())
        if missing:
            raise InputError(f"{index}: names {missing[0]}, which is not there ({len(missing)} missing)")
        files = [f for f in files if f.name in named] or files
    if not files:
        return None
    return sum(_file_bytes(f) for f in files)


def _file_bytes(path: Path) -> int:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(8)
            if len(head) < 8:
                raise InputError(f"{path}: too short for a safetensors header")
            (length,) = struct.unpack("<Q", head)
            if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
                raise InputError(f"{path}: header length {length} does not fit a file of {size} bytes")
            header = msgspec.json.decode(file.read(length))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path}: no safetensors header: {error}") from error
    total = 0
    for name, tensor in header.items() if isinstance(header, dict) else ():
        if name == "__metadata__":
            continue
        offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
        if not (isinstance(offsets, list) and len(offsets) == 2 and all(isinstance(o, int) for o in offsets)):
            raise InputError(f"{path}: tensor {name!r} has no data_offsets")
        total += offsets[1] - offsets[0]
    if not 0 <= total <= size:
        raise InputError(f"{path}: tensors of {total} bytes in a file of {size}")
    return total
