"""A tree of files and links in memory, and its way to disk."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from rocsteady.model import InputError

NOTE = "SYNTHETIC.txt"


class Tree:
    """Files by path below the root. Links are relative, as sysfs has them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()

    def text(self, path: str, content: str | int) -> None:
        """A text file; a line end is added where there is none. An empty text makes an empty file."""
        line = str(content)
        self.files[path] = (line if line.endswith("\n") or not line else line + "\n").encode()

    def data(self, path: str, content: bytes) -> None:
        """A binary file."""
        self.files[path] = content

    def link(self, path: str, target: str) -> None:
        """A link to another path of this tree, stored relative to the link's own folder."""
        self.links[path] = os.path.relpath(target, PurePosixPath(path).parent)

    def folder(self, path: str) -> None:
        """An empty folder."""
        self.folders.add(path)

    def contents(self) -> dict[str, str | bytes]:
        """For a memory store: bytes of files, ``link:TARGET`` for links."""
        everything: dict[str, str | bytes] = dict(self.files)
        everything.update({path: f"link:{target}" for path, target in self.links.items()})
        everything.update({f"{path}/": "" for path in self.folders})
        return everything

    def write(self, root: Path) -> None:
        """Write everything below ``root``, which must be new or empty.

        Raises:
            InputError: ``root`` holds something already, or cannot be written.
        """
        try:
            root.mkdir(parents=True, exist_ok=True)
            if any(root.iterdir()):
                raise InputError(f"{root}: not empty; a synthetic tree is written into a new or empty directory")
            self._write(root)
        except OSError as error:
            raise InputError(f"{error.filename or root}: {error.strerror}") from error

    def _write(self, root: Path) -> None:
        base = str(root)
        made: set[str] = {""}

        def make(folder: str) -> None:
            if folder not in made:
                make(folder.rpartition("/")[0])
                os.mkdir(f"{base}/{folder}")  # noqa: PTH102
                made.add(folder)

        for folder in sorted(self.folders):
            make(folder)
        for path in self.files:
            make(path.rpartition("/")[0])
            handle = os.open(f"{base}/{path}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                os.write(handle, self.files[path])
            finally:
                os.close(handle)
        for path, target in self.links.items():
            make(path.rpartition("/")[0])
            os.symlink(target, f"{base}/{path}")  # noqa: PTH211
