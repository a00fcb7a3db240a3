"""A source tree: which files belong to it, what they say about each other, conversion in parallel."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from rocsteady.model import InputError
from rocsteady.port import buildfiles, mapping
from rocsteady.port.context import Options, ProjectFacts
from rocsteady.port.convert import SOURCE_SUFFIXES, FileReport, Result, convert_bytes, output_name
from rocsteady.port.include_graph import IncludeGraph

# Tokens of C take about 60 bytes of memory per byte of text; a generated source above this is left and said so.
LIMIT_BYTES = 16_000_000
_SKIPPED_FOLDERS = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^)]*\))?[ \t]+(\w+)?", re.M)
_PARALLEL_FROM = 24  # below this a pool costs more than it saves


@dataclass(frozen=True)
class Job:
    """One file to convert."""

    path: str  # relative to the tree, with /
    file: Path


@dataclass
class Tree:
    """What was found below SRC."""

    root: Path
    single: bool
    jobs: list[Job] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # regular files that are not read
    skipped: list[FileReport] = field(default_factory=list)


def find(source: Path, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> Tree:
    """List the files of SRC. Links to folders are not followed, so no loop can occur.

    Raises InputError when SRC cannot be read.
    """
    if source.is_dir():
        tree = Tree(source, single=False)
        for path in sorted(_walk(source, source, tree)):
            if wanted(path, include, exclude):
                _add(tree, path, source / path)
            else:
                tree.others.append(path)
        return tree
    if not source.exists():
        raise InputError(f"{source}: no such file or directory")
    if not source.is_file():
        raise InputError(f"{source}: neither a file nor a directory")
    tree = Tree(source.parent, single=True)
    _add(tree, source.name, source, asked=True)
    return tree


def wanted(path: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> bool:
    """Do the patterns let a path in? A pattern matches the whole path, a file name, or a folder."""
    kept = not include or any(_matches(path, pattern) for pattern in include)
    return kept and not any(_matches(path, pattern) for pattern in exclude)


def _matches(path: str, pattern: str) -> bool:
    pattern = pattern.rstrip("/")
    return fnmatch(path, pattern) or fnmatch(PurePosixPath(path).name, pattern) or path.startswith(pattern + "/")


def _walk(folder: Path, root: Path, tree: Tree) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        relative = folder.relative_to(root).as_posix()
        tree.skipped.append(FileReport(relative, 0, [], [], kind="folder", skipped=f"unreadable: {error.strerror}"))
        return
    for entry in entries:
        relative = Path(entry.path).relative_to(root).as_posix()
        if entry.is_symlink():
            tree.others.append(relative)
        elif entry.is_dir():
            if entry.name not in _SKIPPED_FOLDERS:
                yield from _walk(Path(entry.path), root, tree)
        elif entry.is_file():
            yield relative


def _add(tree: Tree, path: str, file: Path, asked: bool = False) -> None:
    kind = buildfiles.kind_of(path)
    if not asked and kind == "source" and PurePosixPath(path).suffix.lower() not in SOURCE_SUFFIXES:
        tree.others.append(path)
        return
    tree.jobs.append(Job(path, file))


def facts(tree: Tree, options: Options) -> dict[str, ProjectFacts]:
    """What the files say about each other, by path: macros with CUDA's names, headers with them, new names of files."""
    table = mapping.names()
    paths = {job.path for job in tree.jobs} | set(tree.others)
    graph = IncludeGraph(paths)
    defined: dict[str, set[str]] = {}
    own_headers: dict[str, set[str]] = {}
    clashing = {name for path in paths if (name := PurePosixPath(path).name) in mapping.headers()}
    if tree.single:
        clashing |= {name for name in mapping.headers() if "/" not in name and (tree.root / name).is_file()}
    for job in tree.jobs:
        try:
            if job.file.stat().st_size > LIMIT_BYTES:
                continue
            data = job.file.read_bytes()
        except OSError:
            continue
        graph.add(job.path, data)
        if b"hip/hip_runtime" in data:
            continue  # macros of a header for HIP say nothing about the build for CUDA
        for name, body in _DEFINE.findall(data):
            word = name.decode("latin-1")
            # `#define cudaMalloc hipMalloc` says the same as the table; any other body makes the name the program's.
            if word in table and table[word].kind != "macro" and not body.startswith((b"hip", b"HIP", b"rocm")):
                defined.setdefault(job.path, set()).add(word)
        own_headers[job.path] = {name for name in clashing if tree.single or graph.resolve(job.path, name)}
    macros: dict[str, set[str]] = {}
    for path, words in defined.items():
        for reader in graph.seen_by(path):
            macros.setdefault(reader, set()).update(words)
    renamed = _renamed(tree, options)
    return {
        job.path: ProjectFacts(frozenset(macros.get(job.path, ())), frozenset(own_headers.get(job.path, ())), renamed)
        for job in tree.jobs
    }


def _renamed(tree: Tree, options: Options) -> dict[str, str]:
    """New paths and names of files, for the include lines that name them."""
    renamed: dict[str, str] = {}
    if options.rename:
        for job in tree.jobs:
            fresh = output_name(job.path, options)
            if fresh != job.path:
                renamed[job.path] = fresh
                renamed[PurePosixPath(job.path).name] = PurePosixPath(fresh).name
    return renamed


def convert_file(job: Job, options: Options, project: ProjectFacts) -> Result:
    """Convert one file of the tree; a file that cannot be read is skipped and says so."""
    try:
        size = job.file.stat().st_size
        if size > LIMIT_BYTES:
            reason = f"{size} bytes, more than the limit of {LIMIT_BYTES}"
            return Result(FileReport(job.path, 0, [], [], kind="large", skipped=reason), b"", b"")
        data = job.file.read_bytes()
    except OSError as error:
        return Result(
            FileReport(job.path, 0, [], [], kind="unreadable", skipped=f"unreadable: {error.strerror}"), b"", b""
        )
    return convert_bytes(data, job.path, options, project)


def _work(arguments: tuple[Job, Options, ProjectFacts]) -> Result:
    return convert_file(*arguments)


def convert_tree(
    tree: Tree, options: Options, progress: Callable[[int, int], None] | None = None, workers: int | None = None
) -> list[Result]:
    """Convert all files, in parallel when there are many; results in the order of the paths."""
    project = facts(tree, options)
    total = len(tree.jobs)
    count = workers or min(os.cpu_count() or 1, 16)
    results: list[Result] = []
    if total < _PARALLEL_FROM or count < 2:
        for job in tree.jobs:
            results.append(convert_file(job, options, project[job.path]))
            if progress:
                progress(len(results), total)
        return results
    with ProcessPoolExecutor(count) as pool:
        for result in pool.map(
            _work,
            [(job, options, project[job.path]) for job in tree.jobs],
            chunksize=max(1, min(16, total // (count * 8))),
        ):
            results.append(result)
            if progress:
                progress(len(results), total)
    return results
