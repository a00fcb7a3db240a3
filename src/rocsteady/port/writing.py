"""Writing results: whole files or nothing. A run that fails leaves what was there before."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from rocsteady.model import InputError
from rocsteady.port.context import Options
from rocsteady.port.convert import Result, output_name
from rocsteady.port.project import Tree

_MARK = ".rocsteady-"


def write_file(target: Path, data: bytes, like: Path | None = None) -> None:
    """Write one file in one step: a temporary neighbour, then a rename. Raises InputError when it cannot be done."""
    staged = _stage(target, data, like)
    try:
        staged.replace(target)
    except OSError as error:
        staged.unlink(missing_ok=True)
        raise InputError(f"{target}: {error.strerror}") from None


def _stage(target: Path, data: bytes, like: Path | None) -> Path:
    try:
        handle, name = tempfile.mkstemp(prefix=_MARK, dir=target.parent)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror}") from None
    staged = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mode = like.stat().st_mode & 0o777 if like is not None and like.exists() else 0o666 & ~_umask()
        staged.chmod(mode)
    except OSError as error:
        staged.unlink(missing_ok=True)
        raise InputError(f"{target}: {error.strerror}") from None
    return staged


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def in_place(tree: Tree, results: list[Result], options: Options) -> int:
    """Replace the files of the tree. All new contents are on the disk before the first file is exchanged."""
    staged: list[tuple[Path, Path, Path | None]] = []
    try:
        for result in results:
            source = tree.root / result.report.path
            target = tree.root / output_name(result.report.path, options)
            if result.report.skipped or (not result.changed and target == source):
                continue
            if not os.access(source, os.W_OK) or not os.access(source.parent, os.W_OK):
                raise InputError(f"{source}: not writable")
            staged.append((_stage(target, result.data, source), target, source if target != source else None))
    except InputError:
        for temporary, _, _ in staged:
            temporary.unlink(missing_ok=True)
        raise
    for temporary, target, old in staged:
        temporary.replace(target)
        if old is not None:
            old.unlink()
    return len(staged)


def to_folder(tree: Tree, results: list[Result], output: Path, options: Options) -> int:
    """Write the tree to a folder. A new or empty folder appears in one step; in an existing one, file by file."""
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: not a directory")
    if output.resolve() == tree.root.resolve():
        raise InputError(f"{output}: is the source itself; use --in-place")
    inside = output.resolve().is_relative_to(tree.root.resolve())
    fresh = not output.exists() or not any(output.iterdir())
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=_MARK, dir=output.parent))
    except OSError as error:
        raise InputError(f"{output}: {error.strerror}") from None
    try:
        count = _fill(tree, results, stage, options, output.resolve() if inside else None)
        stage.chmod(0o777 & ~_umask())
        if fresh:
            if output.exists():
                output.rmdir()
            stage.rename(output)
        else:
            _merge(stage, output)
    except OSError as error:
        raise InputError(f"{error.filename or output}: {error.strerror}") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return count


def _fill(tree: Tree, results: list[Result], stage: Path, options: Options, avoid: Path | None) -> int:
    count = 0
    for result in results:
        target = stage / output_name(result.report.path, options)
        target.parent.mkdir(parents=True, exist_ok=True)
        source = tree.root / result.report.path
        if result.report.kind in {"large", "unreadable"}:
            if result.report.kind == "large":
                shutil.copy2(source, target)
            continue
        target.write_bytes(result.data)
        shutil.copymode(source, target)
        count += result.changed
    for path in tree.others:
        source, target = tree.root / path, stage / path
        if avoid is not None and source.resolve().is_relative_to(avoid):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            _copy_link(tree, source, target)
        elif source.is_file():
            shutil.copy2(source, target)
    return count


def _copy_link(tree: Tree, source: Path, target: Path) -> None:
    """A link is kept when it is relative and stays inside the tree."""
    to = source.readlink()
    if to.is_absolute() or not (source.parent / to).resolve().is_relative_to(tree.root.resolve()):
        return
    target.symlink_to(to)


def _merge(stage: Path, output: Path) -> None:
    for folder, _, files in os.walk(stage):
        relative = Path(folder).relative_to(stage)
        (output / relative).mkdir(parents=True, exist_ok=True)
        for name in files:
            (Path(folder) / name).replace(output / relative / name)
