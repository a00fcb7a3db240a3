"""How well `port` converts HeCBench: names, strings and comments, review places, speed, programs that compile.

    python benchmarks/port_compile.py HECBENCH [--json] [--no-compile] [--sample 120] [--compiler "hipcc ..."]

HECBENCH is a checkout of the public benchmark suite zjin-lcf/HeCBench; it is no part of this project. Its `-hip` folders
are the hand-made programs that give the upper bound for compiling. Nothing of it is run but `make -n` (a dry run).

Review places are counted with `port_census.tsv`: line patterns over source without comments and strings, made apart from
the rules. Classes `other:` are kinds that the published census of the corpus does not count; they serve the precision
only. A `@device` pattern holds inside functions marked `__global__` or `__device__`; `needs` must occur in the file.

Peers (hipify-perl, hipify_torch, rocm-scribe) are measured on the sample when they are installed and --peers is given;
otherwise they are null.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rocsteady.port import mapping
from rocsteady.port.context import Options
from rocsteady.port.convert import Result, run
from rocsteady.port.names import is_own
from rocsteady.port.project import convert_tree, facts, find
from rocsteady.port.tokens import Kind, tokenise

SEED = "port-1"  # the sample of 120 that earlier measurements of other tools used
UNITS = (".cu", ".cc", ".cpp", ".cxx", ".c", ".hip")
STRIP = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
CONDITIONS = {"if", "elif", "ifdef", "ifndef"}
COUNTED = {
    "runtime",
    "driver",
    "nvrtc",
    "cublas",
    "cublaslt",
    "curand",
    "cufft",
    "cusparse",
    "cusolver",
    "cudnn",
    "nvtx",
    "nvml",
    "complex",
}


def stripped(text: str) -> str:
    """Blank comments and literals, keep the lines and the paths of includes."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] == "/":
            return re.sub(r"[^\n]", " ", found)
        start = text.rfind("\n", 0, match.start()) + 1
        return (
            found
            if re.match(r"[ \t]*#[ \t]*include", text[start : match.start()])
            else found[0] + " " * (len(found) - 2) + found[-1]
        )

    return STRIP.sub(blank, text)


def device_lines(text: str) -> set[int]:
    """Lines inside bodies of functions marked __global__ or __device__, by counting braces."""
    found: set[int] = set()
    for match in re.finditer(r"__(?:global|device)__", text):
        opener, semicolon = text.find("{", match.end()), text.find(";", match.end())
        if opener < 0 or (0 <= semicolon < opener):
            continue
        depth, at = 1, opener + 1
        while at < len(text) and depth:
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        found |= set(range(text.count("\n", 0, opener) + 1, text.count("\n", 0, at) + 2))
    return found


def census(results: list[Result]) -> dict[str, set[tuple[str, int]]]:
    """Places by class."""
    rows = [
        line.split("\t")
        for line in (Path(__file__).parent / "port_census.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    patterns = [
        (
            name,
            re.compile(needs) if needs else None,
            pattern.startswith("@device") or "|@device" in pattern,
            re.compile(pattern.replace("@device", "")),
        )
        for name, needs, pattern in rows
    ]
    places: dict[str, set[tuple[str, int]]] = {name: set() for name, *_ in patterns}
    for result in results:
        if result.report.kind != "source":
            continue
        text = stripped(result.before.decode("latin-1"))
        device = device_lines(text)
        lines = text.split("\n")
        for name, needs, only_device, pattern in patterns:
            if (needs and not needs.search(text)) or not pattern.search(text):
                continue
            for number, line in enumerate(lines, 1):
                if pattern.search(line) and (not only_device or number in device or "clock64" in line):
                    places[name].add((result.report.path, number))
    return places


def review_figures(results: list[Result]) -> dict[str, Any]:
    """Recall by class, and the share of noted lines that some class holds."""
    places = census(results)
    noted = {
        (result.report.path, note.line)
        for result in results
        if result.report.kind == "source"
        for note in result.report.reviews
    }
    main = {name: found for name, found in places.items() if not name.startswith("other:")}
    everything = set().union(*places.values())
    counted = set().union(*main.values())
    quiet = counted - main["shuffle-vote-match"]
    return {
        "lines": len(counted),
        "named": len(counted & noted),
        "recall": round(len(counted & noted) / len(counted), 4),
        "recall_without_shuffles": round(len(quiet & noted) / len(quiet), 4),
        "noted_lines": len(noted),
        "precision": round(len(noted & everything) / len(noted), 4),
        "classes": {
            name: {
                "lines": len(found),
                "programs": len({path.split("/")[0] for path, _ in found}),
                "named": len(found & noted),
            }
            for name, found in sorted(main.items())
        },
        "missed": sorted(f"{path}:{line}" for path, line in counted - noted)[:60],
        "outside": sorted(f"{path}:{line}" for path, line in noted - everything)[:60],
    }


def name_figures(results: list[Result], options: Options, tree: Any) -> dict[str, Any]:
    """Real API names before and after, in code; names of the program are not counted.

    Version macros in conditions have no HIP form: they are undefined there, so that the branch for an old toolkit is
    taken. They stay, with a note; `left_in_conditions` says how many of `left` are such."""
    table = mapping.names()
    known = facts(tree, options)
    before = left = unreported = in_conditions = 0
    names: Counter[str] = Counter()
    for result in results:
        if result.report.kind != "source" or result.report.structure == "none" or result.report.skipped:
            continue
        context = run(result.before.decode("latin-1"), result.report.path, options, known[result.report.path])
        reported = {(entry.line, entry.name) for entry in result.report.unconverted} | {
            (note.line, "") for note in result.report.reviews
        }
        for word, indices in context.source.uses.items():
            name = table.get(word)
            if name is None or name.family not in COUNTED:
                continue
            for index in indices:
                if is_own(context, word, index):
                    continue
                before += 1
                token = context.source.code[index]
                if any(
                    edit.start <= token.start and token.end <= edit.end and edit.start < edit.end
                    for edit in context.edits
                ):
                    continue
                left += 1
                names[word] += 1
                owner = context.source.directive_of[index]
                in_conditions += bool(owner) and context.source.directives[owner - 1].name in CONDITIONS
                line = context.source.line_of(index)
                unreported += (line, word) not in reported and (line, "") not in reported
    return {
        "before": before,
        "left": left,
        "converted": round(1 - left / before, 5),
        "left_in_conditions": in_conditions,
        "left_not_in_report": unreported,
        "left_names": dict(names.most_common(30)),
    }


def literal_figures(results: list[Result]) -> dict[str, int]:
    """Comments and strings that changed. Strings of asm statements and include paths are no data and not counted."""
    comments = strings = 0
    for result in results:
        if not result.changed or result.report.kind != "source":
            continue
        sides = []
        for data in (result.before, result.data):
            tokens = tokenise(data.decode("latin-1"))
            code = [token for token in tokens if token.kind not in {Kind.SPACE, Kind.NEWLINE}]
            texts = [
                t.text
                for n, t in enumerate(code)
                if t.kind is Kind.STRING and not (n > 0 and code[n - 1].text == "include")
            ]
            sides.append(([token.text for token in tokens if token.kind is Kind.COMMENT], texts))
        comments += sum((Counter(sides[0][0]) - Counter(sides[1][0])).values())
        gone = Counter(sides[0][1]) - Counter(sides[1][1])
        strings += sum(count for text, count in gone.items() if not re.search(r"%\d|%%|^\"[=+]|;\"$|^\"[a-z]\"$", text))
    return {"comments_changed": comments, "strings_changed": strings}


def sample(source: Path, count: int) -> list[str]:
    """Programs with a hand-made twin, the same for everybody."""
    both = sorted(
        d.name[:-5] for d in source.iterdir() if d.name.endswith("-cuda") and (source / (d.name[:-5] + "-hip")).is_dir()
    )
    if count and count < len(both):
        both = sorted(both, key=lambda name: hashlib.sha256((SEED + name).encode()).hexdigest())[:count]
    return sorted(both)


def units(folder: Path) -> list[tuple[str, list[str]]]:
    """(source, flags) from a dry run of the program's own makefile, else every source in the folder."""
    makefile = folder / "Makefile"
    text = makefile.read_text(errors="replace") if makefile.exists() else "$(shell"
    found: dict[str, list[str]] = {}
    if "$(shell" not in text and "$(MAKE)" not in text:
        try:
            done = subprocess.run(
                ["make", "-n", "-B", "-k", "--no-print-directory"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=20,
                errors="replace",
                check=False,
            )
            for line in done.stdout.replace("\\\n", " ").splitlines():
                _unit_line(line, found)
        except subprocess.TimeoutExpired:
            pass
    if not found:
        found = {str(path.relative_to(folder)): ["-I."] for path in sorted(folder.rglob("*")) if path.suffix in UNITS}
    return list(found.items())


def _unit_line(line: str, found: dict[str, list[str]]) -> None:
    try:
        words = shlex.split(line)
    except ValueError:
        return
    if not words or not re.search(r"(nvcc|hipcc|g\+\+|gcc|clang\+\+|clang|cc)$", words[0]):
        return
    flags, sources, skip = [], [], False
    for word, following in zip(words[1:], [*words[2:], ""], strict=True):
        if skip:
            skip = False
        elif word in {"-I", "-D", "-include", "-isystem"}:
            flags += [word, following]
            skip = True
        elif word.startswith(("-I", "-D", "-U", "-std=")) or word == "-fopenmp":
            flags.append(word)
        elif word in {"-Xcompiler", "--compiler-options"}:
            flags += ["-fopenmp"] if "-fopenmp" in following else []
            skip = True
        elif word in {"-o", "-x", "-arch", "-gencode", "-Xptxas", "-ccbin", "-MF", "-L", "-l"}:
            skip = True
        elif word.endswith(UNITS) and not word.startswith("-"):
            sources.append(word)
    for source in sources:
        found.setdefault(source, flags)


def compiles(folder: Path, compiler: list[str], extra: list[str]) -> tuple[bool, str]:
    """Does every translation unit compile, and the first error."""
    all_units = units(folder)
    if not all_units or len(all_units) > 12:
        return False, "no units" if not all_units else "more than 12 units"
    for source, flags in all_units:
        language = "c" if source.endswith(".c") else "hip"
        standard = [] if any(flag.startswith("-std=") for flag in flags) or language == "c" else ["-std=c++17"]
        command = [*compiler, "-x", language, *standard, *flags, "-w", "-ferror-limit=5", *extra, source]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=180,
                env={**os.environ, "HIP_PLATFORM": "amd"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False, "timeout"
        if done.returncode:
            match = re.search(r"[^\n]*(?:fatal error|error):[^\n]*", done.stderr)
            return False, (match.group() if match else done.stderr[-200:]).strip()
    return True, ""


def lay_out(source: Path, results: dict[str, bytes], programs: list[str], target: Path) -> None:
    """A tree with converted -cuda folders of the sample and links to everything else."""
    target.mkdir(parents=True)
    wanted = {f"{name}-cuda" for name in programs}
    texts = {
        name: " ".join(
            path.read_text(errors="replace")
            for path in (source / name).rglob("*")
            if path.is_file() and path.suffix in {*UNITS, ".h", ".hpp", ".cuh", ""} and path.stat().st_size < 2_000_000
        )
        for name in wanted
    }
    for text in texts.values():
        wanted = wanted | {ref for ref in re.findall(r"\.\./([\w.+-]+-cuda)\b", text) if (source / ref).is_dir()}
    for folder in source.iterdir():
        if folder.name not in wanted:
            (target / folder.name).symlink_to(folder.resolve())
            continue
        shutil.copytree(folder, target / folder.name, symlinks=True, ignore_dangling_symlinks=True)
    for path, data in results.items():
        if path.split("/")[0] in wanted:
            (target / path).write_bytes(data)


def hand_made(source: Path, programs: list[str], arguments: argparse.Namespace) -> dict[str, bool] | None:
    """Which hand-made programs compile, once for all tools; None without the compiler."""
    compiler = shlex.split(arguments.compiler)
    if shutil.which(compiler[0]) is None:
        return None
    with ThreadPoolExecutor(arguments.jobs) as pool:
        done = pool.map(lambda name: compiles(source / f"{name}-hip", compiler, extra(arguments)), programs)
        return {name: ok for name, (ok, _) in zip(programs, done, strict=True)}


def extra(arguments: argparse.Namespace) -> list[str]:
    """What the compiler is to make."""
    return ["-fsyntax-only"] if arguments.syntax_only else ["-c", "-o", os.devnull]


def compile_figures(
    source: Path, converted: dict[str, bytes], hand: dict[str, bool], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Programs that compile: hand-made and converted."""
    compiler, programs = shlex.split(arguments.compiler), list(hand)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        tree = Path(folder) / "src"
        lay_out(source, converted, programs, tree)
        done = pool.map(lambda name: compiles(tree / f"{name}-cuda", compiler, extra(arguments)), programs)
        ours = dict(zip(programs, done, strict=True))
    good = [name for name in programs if hand[name]]
    return {
        "compiler": arguments.compiler,
        "syntax_only": arguments.syntax_only,
        "programs": len(programs),
        "hand_made": len(good),
        "converted": sum(ok for ok, _ in ours.values()),
        "of_hand_made": sum(ours[name][0] for name in good),
        "share": round(sum(ours[name][0] for name in good) / len(good), 4) if good else None,
        "failed": {name: ours[name][1] for name in good if not ours[name][0]},
    }


def sample_files(source: Path, programs: list[str]) -> list[Path]:
    """Source files of the sample's -cuda folders."""
    suffixes = {*UNITS, ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc"}
    folders = [source / f"{name}-cuda" for name in programs]
    return [
        path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in suffixes
    ]


def names_in(data: bytes) -> int:
    """CUDA names of our tables in code, the program's own included: the same count for every tool."""
    table = mapping.names()
    words = Counter(re.findall(r"[A-Za-z_]\w*", stripped(data.decode("latin-1"))))
    return sum(count for word, count in words.items() if word in table and table[word].family in COUNTED)


def peer_figures(
    source: Path,
    converted: dict[str, bytes],
    programs: list[str],
    seconds: float,
    arguments: argparse.Namespace,
    hand: dict[str, bool] | None,
) -> dict[str, Any]:
    """Names left and programs that compile, from a tool's outputs by path."""
    files = sample_files(source, programs)
    before = sum(names_in(path.read_bytes()) for path in files)
    left = sum(names_in(converted.get(path.relative_to(source).as_posix(), path.read_bytes())) for path in files)
    found: dict[str, Any] = {"names_before": before, "names_left": left, "cpu_seconds": round(seconds, 1)}
    found["compile"] = compile_figures(source, converted, hand, arguments) if hand is not None else None
    return found


def per_file(command: list[str], source: Path, programs: list[str]) -> tuple[dict[str, bytes], float]:
    """Outputs of a tool that converts one file at a time, and the CPU seconds it took."""
    converted: dict[str, bytes] = {}
    start = os.times()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        for path in sample_files(source, programs):
            out.unlink(missing_ok=True)
            words = [part.replace("{in}", str(path)).replace("{out}", str(out)) for part in command]
            try:
                subprocess.run(words, cwd=folder, capture_output=True, timeout=600, check=False)
            except subprocess.TimeoutExpired:
                continue
            if out.exists():
                converted[path.relative_to(source).as_posix()] = out.read_bytes()
    end = os.times()
    return converted, end.children_user + end.children_system - start.children_user - start.children_system


def hipify_torch(source: Path, programs: list[str]) -> tuple[dict[str, bytes], float]:
    """Outputs of hipify_torch, which converts folders and writes under other names beside the input."""
    code = "import sys; from hipify_torch.hipify_python import hipify; d = sys.argv[1]; hipify(project_directory=d, output_directory=d, includes=[d + '/*'], show_detailed=False)"
    converted: dict[str, bytes] = {}
    start = os.times()
    with tempfile.TemporaryDirectory() as folder:
        for name in programs:
            copy = Path(folder) / f"{name}-cuda"
            shutil.copytree(source / copy.name, copy, ignore_dangling_symlinks=True)
            subprocess.run([sys.executable, "-c", code, str(copy)], capture_output=True, timeout=600, check=False)
            for path in sample_files(source, [name]):
                mine = Path(folder) / path.relative_to(source)
                beside = mine.parent / "hip"  # where nothing else would change a name, it writes a folder of its own
                for fresh in (
                    mine.with_suffix(".hip"), mine.with_name(f"{mine.stem}_hip{mine.suffix}"),
                    beside / f"{mine.stem}.hip", beside / f"{mine.stem}_hip{mine.suffix}", beside / mine.name, mine,
                ):  # fmt: skip
                    if fresh.exists():
                        converted[path.relative_to(source).as_posix()] = fresh.read_bytes()
                        break
    end = os.times()
    return converted, end.children_user + end.children_system - start.children_user - start.children_system


def peers(
    source: Path,
    programs: list[str],
    ours: dict[str, bytes],
    hand: dict[str, bool] | None,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """All peers by name; null for those that are not installed, or all without --peers."""
    perl, scribe = shutil.which("hipify-perl"), shutil.which("rocm-scribe")
    found: dict[str, Any] = {"hipify-perl": None, "hipify_torch": None, "rocm-scribe": None}
    if not arguments.peers:
        return found
    found["rocsteady"] = peer_figures(source, ours, programs, 0.0, arguments, None)
    runs: dict[str, Callable[[], tuple[dict[str, bytes], float]]] = {}
    if perl:
        runs["hipify-perl"] = lambda: per_file([perl, "{in}", "-o={out}"], source, programs)
    if scribe:
        runs["rocm-scribe"] = lambda: per_file([scribe, "hipify", "{in}", "--output", "{out}"], source, programs)
    if importlib.util.find_spec("hipify_torch"):
        runs["hipify_torch"] = lambda: hipify_torch(source, programs)
    for name, convert in runs.items():
        converted, seconds = convert()
        print(f"{name}: {len(converted)} files in {seconds:.0f} s of CPU", file=sys.stderr)
        # hipify_torch renames what it converts and the includes with it: under the old names it would not compile
        kept = None if name == "hipify_torch" else hand
        found[name] = peer_figures(source, converted, programs, seconds, arguments, kept)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="HeCBench checkout (holds src/)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--sample", type=int, default=120, help="programs to compile; 0 for all")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--syntax-only", action="store_true", help="type-check host and device, no code generation")
    parser.add_argument("--compiler", default="hipcc --offload-arch=gfx90a -O1")
    parser.add_argument("--rocm", default="6.4", help="release that the output is for")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--peers", action="store_true", help="measure peers that are installed, too (hours)")
    arguments = parser.parse_args()
    source = arguments.corpus / "src"
    if not source.is_dir():
        print(f"{source}: no such folder", file=sys.stderr)
        return 2
    options = Options(rocm=arguments.rocm)
    tree = find(source, include=("*-cuda/*",))
    started, clock = time.process_time(), time.time()
    results = convert_tree(tree, options, workers=1)
    seconds = time.process_time() - started
    lines = sum(result.report.lines for result in results if result.report.structure != "none")
    print(f"converted {len(results)} files in {time.time() - clock:.1f} s", file=sys.stderr)
    programs = sample(source, arguments.sample)
    converted = {result.report.path: result.data for result in results if result.changed}
    hand = None if arguments.no_compile else hand_made(source, programs, arguments)
    document = {
        "schema": "rocsteady.port-compile/1",
        "corpus": {
            "programs": len({result.report.path.split("/")[0] for result in results}),
            "files": len(results),
            "lines_read": lines,
        },
        "speed": {"cpu_seconds": round(seconds, 2), "cpu_seconds_per_1000_lines": round(seconds / lines * 1000, 4)},
        "names": name_figures(results, options, tree),
        "literals": literal_figures(results),
        "reviews": review_figures(results),
        "compile": None if hand is None else compile_figures(source, converted, hand, arguments),
        "peers": peers(source, programs, converted, hand, arguments),
    }
    if arguments.json:
        print(json.dumps(document, indent=1))
    else:
        for key, value in document.items():
            print(f"{key}: {json.dumps(value)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
