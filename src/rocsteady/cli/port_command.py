"""``rocsteady port``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rocsteady.port.context import Options
    from rocsteady.port.convert import Result
    from rocsteady.port.project import Tree


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"
    html = "html"
    sarif = "sarif"


class Warp(StrEnum):
    """What to do with code for warps of 32."""

    keep32 = "keep32"
    native = "native"


EPILOG = """Examples:

  rocsteady port kernel.cu

  rocsteady port kernel.cu -o kernel.hip --format json

  rocsteady port project/ -o project-hip/ --target gfx90a,gfx942

  rocsteady port project/ --assess

  rocsteady port --explain warp-mask

Exit code: 0 converted (review notes alone are no problem) or nothing to port, 1 names were left unconverted or the
check failed, 2 the input or the arguments cannot be used.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("port", epilog=EPILOG)(port)


def port(
    source: Annotated[
        Path | None, typer.Argument(metavar="[SRC]", help="A CUDA source file, a build file, or a folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File or folder to write. Without it nothing is written.")
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace the files of SRC.")] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.text,
    target: Annotated[str, typer.Option(help="GPU targets, separated by commas.")] = "gfx90a,gfx942",
    rocm: Annotated[str, typer.Option(help="ROCm release the output is for.")] = "6.4",
    warp: Annotated[
        Warp,
        typer.Option(help="keep32 keeps groups of 32 lanes right on 64; native edits no warp code and only names it."),
    ] = Warp.keep32,
    check: Annotated[
        bool, typer.Option("--check", help="Compile the result with the HIP compiler that is there.")
    ] = False,
    assess: Annotated[bool, typer.Option("--assess", help="How big is this port? Nothing is written.")] = False,
    stats: Annotated[
        bool, typer.Option("--stats", help="Print counts by family, category and rule instead of the notes.")
    ] = False,
    rename: Annotated[
        bool, typer.Option("--rename", help="Name the output files .hip and .hip.h, and change the includes with them.")
    ] = False,
    include: Annotated[list[str] | None, typer.Option(help="Only paths that match (repeatable).")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No paths that match (repeatable).")] = None,
    baseline: Annotated[Path | None, typer.Option(help="Leave out the notes of this baseline file.")] = None,
    write_baseline: Annotated[Path | None, typer.Option(help="Write the notes of this run as a baseline file.")] = None,
    show_reviewed: Annotated[
        bool, typer.Option("--show-reviewed", help="Show notes that a `rocsteady: reviewed` comment silences.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff/--no-diff", help="Show the diff in the text report.")] = True,
    jobs: Annotated[
        int | None, typer.Option(help="Processes for a folder; by default one for each core.", min=1)
    ] = None,
    explain: Annotated[str | None, typer.Option(metavar="RULE", help="Explain one rule and stop.")] = None,
    list_rules: Annotated[bool, typer.Option("--list-rules", help="List all rules and stop.")] = False,
) -> None:
    """Convert CUDA to HIP, and name every place that a person must look at."""
    from rocsteady.model import InputError
    from rocsteady.port import baseline as baselines
    from rocsteady.port import report as reports
    from rocsteady.port.check import check as run_check

    if explain is not None or list_rules:
        _rules(explain, format)
        return
    if source is None:
        raise InputError("port needs a file or a folder (rocsteady port --help)")
    if output is not None and in_place:
        raise InputError("use either -o or --in-place")
    options = _options(target, rocm, warp.value, rename, not show_reviewed)
    tree, results = _convert(source, tuple(include or ()), tuple(exclude or ()), options, jobs, output)
    known = 0
    if write_baseline is not None:
        import msgspec

        from rocsteady.port.writing import write_file

        write_file(write_baseline, msgspec.json.format(msgspec.json.encode(baselines.take(results)), indent=1) + b"\n")
    if baseline is not None:
        results, known = baselines.subtract(results, baselines.read(baseline))
    errors = run_check(tree, results, options) if check else None
    document = reports.build(results, tree.skipped, options, errors, known)
    if assess:
        _assess(tree, results, document, options, format)
        raise typer.Exit(0)
    _write(tree, results, output, in_place, options)
    _print(document, results, format, stats, diff and output is None and not in_place)
    raise typer.Exit(reports.exit_code(document))


def _options(target: str, rocm: str, warp: str, rename: bool, reviewed: bool) -> Options:
    import re

    from rocsteady.model import InputError
    from rocsteady.port.context import Options

    targets = tuple(part.strip() for part in target.split(",") if part.strip())
    bad = [part for part in targets if not re.fullmatch(r"gfx[0-9a-f]{3,5}(?::[\w+-]+)*", part)]
    if not targets or bad:
        raise InputError(f"--target: not a GPU target: {', '.join(bad) or target!r} (such as gfx90a)")
    if not re.fullmatch(r"\d+(?:\.\d+){0,2}", rocm):
        raise InputError(f"--rocm: not a release: {rocm} (such as 6.4)")
    return Options(targets, rocm, warp, rename, reviewed)


def _convert(
    source: Path,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    options: Options,
    jobs: int | None,
    output: Path | None,
) -> tuple[Tree, list[Result]]:
    """Find and convert, with a progress bar on a terminal when there are many files."""
    from rocsteady.port.project import convert_tree, find

    if output is not None and source.is_dir() and output.resolve().is_relative_to(source.resolve()):
        exclude = (*exclude, output.resolve().relative_to(source.resolve()).as_posix())
    tree = find(source, include, exclude)
    if len(tree.jobs) < 50 or not sys.stderr.isatty():
        return tree, convert_tree(tree, options, workers=jobs)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("converting", total=len(tree.jobs))
        return tree, convert_tree(
            tree, options, lambda done, total: bar.update(task, completed=done, total=total), jobs
        )


def _write(tree: Tree, results: list[Result], output: Path | None, in_place: bool, options: Options) -> None:
    from rocsteady.model import InputError
    from rocsteady.port import writing

    if in_place:
        writing.in_place(tree, results, options)
    elif output is not None and tree.single:
        if results[0].report.kind in {"large", "unreadable"}:
            raise InputError(f"{results[0].report.path}: {results[0].report.skipped}")
        if output.is_dir():
            raise InputError(f"{output}: is a directory; SRC is a file")
        if not output.parent.is_dir():
            raise InputError(f"{output}: no such folder")
        writing.write_file(output, results[0].data, tree.root / results[0].report.path)
    elif output is not None:
        writing.to_folder(tree, results, output, options)


def _print(document: object, results: list[Result], format: Format, stats: bool, with_diff: bool) -> None:
    from rocsteady.port import report as reports
    from rocsteady.port import report_html, report_sarif

    assert isinstance(document, reports.Document)
    out = sys.stdout
    if format is Format.json:
        out.write(reports.as_json(document))
    elif format is Format.sarif:
        out.write(report_sarif.as_sarif(document))
    elif format is Format.html:
        out.writelines(report_html.as_html(document, results))
    elif stats:
        out.writelines(reports.statistics(document))
        out.writelines(reports.totals(document))
    else:
        out.writelines(reports.as_text(document, results, with_diff))


def _assess(tree: Tree, results: list[Result], document: object, options: Options, format: Format) -> None:
    from rocsteady.port import assess as assessing
    from rocsteady.port import report as reports
    from rocsteady.port.project import LIMIT_BYTES

    assert isinstance(document, reports.Document)
    extra = {}
    for path in tree.others:
        file = tree.root / path
        if path.endswith(".py") and not file.is_symlink() and file.stat().st_size < LIMIT_BYTES:
            extra[path] = file.read_bytes()
    found = assessing.assess(results, document, options, extra)
    if format is Format.json:
        sys.stdout.write(assessing.as_json(found))
    else:
        sys.stdout.writelines(assessing.as_text(found))


def _rules(explain: str | None, format: Format) -> None:
    import msgspec

    from rocsteady.model import InputError
    from rocsteady.port import report as reports
    from rocsteady.port.rules import rules

    if explain is not None:
        text = reports.explain(explain)
        if text is None:
            raise InputError(f"no such rule: {explain} (rocsteady port --list-rules)")
        sys.stdout.write(text)
    elif format is Format.json:
        entries = {"schema": "rocsteady.port-rules/1", "rules": list(rules().values())}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n")
    else:
        for rule in rules().values():
            sys.stdout.write(f"{rule.id:28} {rule.category:24} {rule.severity:7} {rule.title}\n")
