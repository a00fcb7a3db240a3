"""A store of files held in memory: examples of the catalog, tests, small archives."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import BinaryIO

from rocsteady.hostfs.store import FileStat, parts_of, resolve
from rocsteady.model import Absent

LINK = "link:"
"""A text content that starts so is a link: ``{"sys/x/driver": "link:../../amdgpu"}``."""


class MemoryStore:
    """Paths and contents. A directory exists where a path below it does; a path ending in '/' is an empty one."""

    def __init__(self, files: Mapping[str, str | bytes], modes: Mapping[str, FileStat] | None = None) -> None:
        self._files = {"/".join(parts_of(p)) + ("/" if p.endswith("/") else ""): c for p, c in files.items()}
        self._modes = dict(modes or {})
        self._below: dict[str, set[str]] = {}
        """Folder -> names in it: trees of the lab have ten thousand files."""
        for path in self._files:
            here = path.rstrip("/")
            if path.endswith("/"):
                self._below.setdefault(here, set())
            while here:
                folder, _, name = here.rpartition("/")
                names = self._below.setdefault(folder, set())
                if name in names:
                    break
                names.add(name)
                here = folder

    def stat(self, path: str) -> FileStat:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        if key in self._modes:
            return self._modes[key]
        content = self._files.get(key)
        if isinstance(content, str) and content.startswith(LINK):
            return FileStat("link", len(content), 0o777, 0, 0)
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            return FileStat("file", len(data), 0o444, 0, 0)
        if not key or key in self._below:
            return FileStat("dir", 0, 0o555, 0, 0)
        raise Absent(path)

    def names(self, path: str) -> list[str]:
        """See ``Store``."""
        key = "/".join(parts_of(path))
        key = resolve(self, key)
        if self.stat(key).kind != "dir":
            raise Absent(path)
        return sorted(self._below.get(key, ()))

    def readlink(self, path: str) -> str:
        """See ``Store``."""
        content = self._files.get("/".join(parts_of(path)))
        if not isinstance(content, str) or not content.startswith(LINK):
            raise Absent(path)
        return content[len(LINK) :]

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        content = self._files.get(resolve(self, path))
        if content is None:
            raise Absent(path)
        return io.BytesIO(content.encode() if isinstance(content, str) else content)
