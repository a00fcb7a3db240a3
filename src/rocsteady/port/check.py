"""`--check`: compile the converted files with the compiler that is there, and tie each error to its rule."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path, PurePosixPath

from rocsteady.model import InputError
from rocsteady.port.context import Options
from rocsteady.port.convert import Result
from rocsteady.port.project import Tree
from rocsteady.port.report import CheckError
from rocsteady.port.writing import to_folder

UNITS = {".cu", ".hip"}
_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?:fatal )?error: (?P<message>.*)$", re.M)
_LIMIT_SECONDS = 180


def compiler() -> list[str]:
    """The command that compiles HIP here. Raises InputError when there is none."""
    asked = os.environ.get("HIPCC")
    for name in filter(None, (asked, "hipcc", "/opt/rocm/bin/hipcc", "amdclang++")):
        found = shutil.which(name)
        if found:
            return [found]
    raise InputError(
        "--check needs a HIP compiler: hipcc was not found (Debian and Ubuntu: package hipcc; or set HIPCC)"
    )


def check(tree: Tree, results: list[Result], options: Options) -> list[CheckError]:
    """Compile every unit of the converted tree for the first target, syntax only; errors in the order of the files."""
    command = compiler()
    errors: list[CheckError] = []
    by_path = {result.report.path: result for result in results}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tree"
        plain = Options(options.targets, options.rocm, options.warp)
        if tree.single:
            _write_single(tree, results, out)
        else:
            to_folder(tree, results, out, plain)
        for result in results:
            if PurePosixPath(result.report.path).suffix in UNITS and not result.report.skipped:
                errors += _unit(command, out, result, by_path, options)
    return list(dict.fromkeys(errors))


def _write_single(tree: Tree, results: list[Result], out: Path) -> None:
    """One file: its neighbours are needed for its includes, as they are."""
    out.mkdir()
    for result in results:
        (out / result.report.path).write_bytes(result.data)
    for neighbour in tree.root.iterdir():
        target = out / neighbour.name
        if not target.exists() and neighbour.is_file() and neighbour.suffix in {".h", ".hpp", ".cuh", ".inl", ".inc"}:
            target.write_bytes(neighbour.read_bytes())


def _unit(
    command: list[str], out: Path, result: Result, by_path: dict[str, Result], options: Options
) -> list[CheckError]:
    path = result.report.path
    arguments = [
        *command,
        f"--offload-arch={options.targets[0]}",
        "-x",
        "hip",
        "-std=c++17",
        "-fsyntax-only",
        "-w",
        "-ferror-limit=50",
        "-I.",
        f"-I{PurePosixPath(path).parent}",
        path,
    ]
    try:
        done = subprocess.run(
            arguments,
            cwd=out,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_SECONDS,
            env={**os.environ, "HIP_PLATFORM": "amd"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [CheckError(path, None, f"the compiler took longer than {_LIMIT_SECONDS} seconds", None)]
    if done.returncode == 0:
        return []
    errors = [_tie(match, by_path, path) for match in _ERROR.finditer(done.stderr)]
    return errors or [
        CheckError(
            path, None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the compiler failed", None
        )
    ]


def _tie(match: re.Match[str], by_path: dict[str, Result], unit: str) -> CheckError:
    """The input line of an error and the rule that has a note nearest to it."""
    path = os.path.normpath(match["file"])
    result = by_path.get(path)
    if result is None:
        return CheckError(unit, None, f"{match['file']}:{match['line']}: {match['message']}", None)
    line = input_line(result, int(match["line"]))
    near = [note for note in result.report.reviews if abs(note.line - line) <= 1]
    near.sort(key=lambda note: abs(note.line - line))
    rule = near[0].rule if near else None
    if rule is None:
        word = re.search(r"'([^']+)'", match["message"])
        rule = next((note.rule for note in result.report.reviews if word and word[1] in note.reason), None)
    return CheckError(path, line, match["message"], rule)


def input_line(result: Result, number: int) -> int:
    """The line of the input that became line `number` of the output."""
    before, after = result.before.split(b"\n"), result.data.split(b"\n")
    for tag, low, high, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if first <= number - 1 < last:
            return low + (number - 1 - first if tag == "equal" else min(number - 1 - first, max(0, high - low - 1))) + 1
    return number
