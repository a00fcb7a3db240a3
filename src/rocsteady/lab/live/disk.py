"""Keeps a tree on disk equal to the values: only what changed is written, and no reader sees half of it."""

# ruff: noqa: PTH103, PTH105, PTH108, PTH112, PTH114, PTH211
# Plain os calls on strings: a Path per file would double the cost of a step.

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from rocsteady.lab.tree import Tree

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


class Disk:
    """A written tree. ``hide`` takes parts of it away, as when a driver is unloaded; ``show`` brings them back."""

    def __init__(self, tree: Tree, root: Path) -> None:
        self._tree = tree
        self._root = str(root)
        self._hidden: set[str] = set()
        self._aside = f"{self._root}/.lab/part"

    def create(self, root: Path) -> None:
        """Write everything into a new or empty directory; raises InputError where it is neither."""
        self._tree.write(root)
        os.makedirs(f"{self._root}/.lab", exist_ok=True)

    def text(self, path: str, content: str) -> None:
        """A text file; one line of the same length or longer is written over the old one, all else is exchanged."""
        data = content.encode() if content.endswith("\n") else f"{content}\n".encode()
        before = self._tree.files.get(path)
        if before == data:
            return
        self._tree.files[path] = data
        if self._is_hidden(path):
            return
        if before is not None and data.count(b"\n") == 1 and len(before) <= len(data):
            self._overwrite(path, data)
        else:
            self._exchange(path, data)

    def data(self, path: str, content: bytes) -> None:
        """A binary file, exchanged as a whole."""
        if self._tree.files.get(path) == content:
            return
        self._tree.files[path] = content
        if not self._is_hidden(path):
            self._exchange(path, content)

    def append(self, path: str, text: str) -> None:
        """Lines at the end of a log."""
        data = text.encode()
        self._folder(path)
        handle = os.open(f"{self._root}/{path}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)

    def drop(self, path: str) -> None:
        """Remove a file or folder for good."""
        for name in [n for n in self._tree.files if n == path or n.startswith(f"{path}/")]:
            del self._tree.files[name]
        self._remove(path)

    def hide(self, paths: set[str]) -> None:
        """Take files, links and folders away."""
        for path in sorted(paths - self._hidden):
            self._remove(path)
        self._hidden |= paths

    def show(self, paths: set[str]) -> None:
        """Bring back what was taken away."""
        back = self._hidden & paths
        self._hidden -= back
        for path, data in self._tree.files.items():
            if _below(path, back) and not self._is_hidden(path):
                self._exchange(path, data)
        for path, target in self._tree.links.items():
            if _below(path, back) and not self._is_hidden(path):
                self._folder(path)
                with contextlib.suppress(FileExistsError):
                    os.symlink(target, f"{self._root}/{path}")
        for path in self._tree.folders:
            if _below(path, back):
                os.makedirs(f"{self._root}/{path}", exist_ok=True)

    def _is_hidden(self, path: str) -> bool:
        return bool(self._hidden) and _below(path, self._hidden)

    def _remove(self, path: str) -> None:
        full = f"{self._root}/{path}"
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(full)

    def _folder(self, path: str) -> None:
        os.makedirs(f"{self._root}/{path.rpartition('/')[0]}", exist_ok=True)

    def _overwrite(self, path: str, data: bytes) -> None:
        handle = os.open(f"{self._root}/{path}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(handle, data, 0)
        finally:
            os.close(handle)

    def _exchange(self, path: str, data: bytes) -> None:
        handle = os.open(self._aside, CREATE, 0o644)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)
        try:
            os.replace(self._aside, f"{self._root}/{path}")
        except FileNotFoundError:
            self._folder(path)
            os.replace(self._aside, f"{self._root}/{path}")


class InMemory(Disk):
    """The same without a disk: for trying a model out. ``visible`` is what a reader would find."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree, Path())

    def create(self, root: Path) -> None:
        """Nothing to make."""

    def append(self, path: str, text: str) -> None:
        """Lines at the end of a log."""
        self._tree.files[path] = self._tree.files.get(path, b"") + text.encode()

    def visible(self) -> dict[str, str | bytes]:
        """For a memory store: everything that is not hidden."""
        return {path: data for path, data in self._tree.contents().items() if not _below(path, self._hidden)}

    def show(self, paths: set[str]) -> None:
        """Bring back what was taken away."""
        self._hidden -= paths

    def _remove(self, path: str) -> None:  # noqa: ARG002
        return

    def _exchange(self, path: str, data: bytes) -> None:  # noqa: ARG002
        return

    def _overwrite(self, path: str, data: bytes) -> None:  # noqa: ARG002
        return


def _below(path: str, prefixes: set[str]) -> bool:
    while path:
        if path in prefixes:
            return True
        path = path.rpartition("/")[0]
    return False
