"""Which project files an include line means, and what a file sees through its includes."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|import)[ \t]*[<"]([^>"\n]+)[>"]', re.M)
# Folders that build files commonly put on the include path of the whole tree.
_SHARED = {"include", "inc", "src", "csrc", "source", "common", "third_party", "external", "lib"}


class IncludeGraph:
    """Include lines of a tree, resolved by path; a name that several programs of the tree have is kept apart."""

    def __init__(self, paths: set[str]) -> None:
        self._paths = paths
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(paths):
            self._by_name[posixpath.basename(path)].append(path)
        self._included_by: defaultdict[str, set[str]] = defaultdict(set)

    def resolve(self, path: str, include: str) -> str | None:
        """The file of the tree that `include` means in the file `path`, or None."""
        near = posixpath.normpath(posixpath.join(posixpath.dirname(path), include))
        if near in self._paths:
            return near
        top = path.split("/", 1)[0]
        for candidate in self._by_name.get(posixpath.basename(include), ()):
            if candidate != include and not candidate.endswith("/" + include.lstrip("./")):
                continue
            first = candidate.split("/", 1)[0]
            if first == top or first in _SHARED or "/" not in path:
                return candidate
        return None

    def add(self, path: str, data: bytes) -> None:
        """Record the include lines of a file."""
        for name in _INCLUDE.findall(data):
            target = self.resolve(path, name.decode("latin-1"))
            if target is not None and target != path:
                self._included_by[target].add(path)

    def seen_by(self, path: str) -> set[str]:
        """The file and all files that include it, directly or not; cycles end by themselves."""
        found, todo = {path}, [path]
        while todo:
            for other in self._included_by.get(todo.pop(), ()):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found
