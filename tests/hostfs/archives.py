"""Builders of archives for tests: real ones by the standard library, hostile ones byte by byte."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import zstandard

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def tar(files: Mapping[str, str | bytes], packing: str = "", format: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of regular files and, where the content starts with 'link:', symbolic links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.mode = 0o640
            if isinstance(content, str) and content.startswith("link:"):
                info.type, info.linkname, data = tarfile.SYMTYPE, content[5:], b""
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return PACK[packing](out.getvalue())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", data: bytes = b"", **fields: int) -> bytes:
    """One raw tar member, without the end of the archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info.tobuf() + data + b"\0" * (-len(data) % 512)


END = b"\0" * 1024


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """A zip of regular files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
