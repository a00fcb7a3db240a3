"""Finds the files of a snapshot below one root without ever leaving it. Part of the stand-alone script.

A path is followed through links inside the root (an absolute target is taken from the root, ``..`` stops at it);
the links on the way are part of the snapshot, so that it resolves the same way elsewhere.
"""

import fnmatch
import os
import stat

LINKS = 40
"""As many as Linux follows before it says ELOOP."""
DEEPEST = 8
"""Folders below a ``**``; the device trees that are taken whole have four."""
SAME_FOLDER = 5000
"""Entries of one folder that a pattern may match; /proc and device folders have hundreds."""


class Found:
    """One path of the plan. ``kind``: file, dir, link, device, other; ``real`` has no links in it."""

    def __init__(self, real, kind, status, target=""):  # type: (str, str, os.stat_result, str) -> None
        self.real = real
        self.kind = kind
        self.status = status
        self.target = target


class Tree:
    """Looks for paths below ``root``. Paths are relative, without a leading slash."""

    def __init__(self, root):  # type: (str) -> None
        self.root = root

    def full(self, path):  # type: (str) -> str
        """The path for the operating system."""
        return os.path.join(self.root, path) if path else self.root

    def follow(self, path):  # type: (str) -> tuple[Found | None, list[Found]]
        """What a path leads to, and the links on the way. None where it leads nowhere."""
        todo = [p for p in reversed(path.split("/")) if p not in ("", ".")]
        done = []  # type: list[str]
        links = []  # type: list[Found]
        found = None  # type: Found | None
        while todo:
            part = todo.pop()
            if part == "..":
                del done[-1:]
                continue
            here = "/".join([*done, part])
            try:
                status = os.lstat(self.full(here))
            except (OSError, ValueError):
                return None, links
            if not stat.S_ISLNK(status.st_mode):
                done.append(part)
                found = Found(here, _kind(status), status)
                continue
            try:
                target = os.readlink(self.full(here))
            except OSError:
                return None, links
            links.append(Found(here, "link", status, target))
            if len(links) > LINKS:
                return None, links
            if target.startswith("/"):
                done = []
            todo.extend(p for p in reversed(target.split("/")) if p not in ("", "."))
        if found is None or found.real != "/".join(done):  # the path ended in '..'
            real = "/".join(done)
            try:
                status = os.lstat(self.full(real))
            except OSError:
                return None, links
            found = Found(real, _kind(status), status)
        return found, links

    def names(self, path):  # type: (str) -> list[str]
        """Entries of a folder, sorted; nothing where it cannot be read."""
        found, _ = self.follow(path) if path else (None, [])
        if path and (found is None or found.kind != "dir"):
            return []
        try:
            return sorted(os.listdir(self.full(found.real if found else "")))
        except OSError:
            return []

    def glob(self, pattern):  # type: (str) -> list[str]
        """Paths that match component by component; a last ``**`` stands for all files below, links not followed."""
        parts = pattern.split("/")
        whole = parts[-1] == "**"
        found = [""]
        for part in parts[:-1] if whole else parts:
            found = [base + "/" + name if base else name for base in found for name in self._matching(base, part)]
        if whole:
            return [path for base in found for path in self._below(base, DEEPEST)]
        return found

    def _matching(self, base, part):  # type: (str, str) -> list[str]
        if not any(c in part for c in "*?["):
            return [part]
        return [n for n in self.names(base) if fnmatch.fnmatchcase(n, part)][:SAME_FOLDER]

    def _below(self, base, depth):  # type: (str, int) -> list[str]
        out = [base]
        for name in self.names(base)[:SAME_FOLDER]:
            path = base + "/" + name
            found, links = self.follow(path)
            if found is None or (links and links[-1].real.endswith("/" + name)):
                out.append(path)
            elif found.kind == "dir" and depth:
                out.extend(self._below(path, depth - 1))
            else:
                out.append(path)
        return out


def _kind(status):  # type: (os.stat_result) -> str
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "device"
    return "other"
