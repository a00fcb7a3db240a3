"""The result of a run as one document, and that document as JSON or text."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator

import msgspec

from rocsteady.port.context import Options
from rocsteady.port.convert import FileReport, Result
from rocsteady.port.rules import rules

SCHEMA = "rocsteady.port/1"
# Minutes a person needs per place, by severity, and per unconverted name: our estimate, no measurement; it is printed
# with the result so that a team can put its own figures in.
MINUTES = {"high": 30, "medium": 10, "low": 2}
MINUTES_PER_NAME = 60
_HOURS_PER_DAY = 6
_ORDER = {"high": 0, "medium": 1, "low": 2}


class CheckError(msgspec.Struct, frozen=True):
    """One compiler error: `line` in the input (None when it has no place there), and the rule that explains it."""

    path: str
    line: int | None
    message: str
    rule: str | None


class Document(msgspec.Struct, frozen=True):
    """The JSON document of `port`."""

    schema: str
    files: list[FileReport]
    summary: dict[str, object]
    check: list[CheckError] | None = None


def build(
    results: list[Result],
    skipped: list[FileReport],
    options: Options,
    check: list[CheckError] | None = None,
    known: int = 0,
) -> Document:
    """The document of a run: files that hold something, and the totals."""
    reports = [result.report for result in results]
    holding = [
        report
        for report in reports
        if report.converted
        or report.reviews
        or report.unconverted
        or report.silenced
        or (report.skipped and report.kind not in {"binary"})
    ] + skipped
    return Document(SCHEMA, holding, summary(results, holding, options, check, known), check)


def summary(
    results: list[Result], holding: list[FileReport], options: Options, check: list[CheckError] | None, known: int
) -> dict[str, object]:
    """Totals of a run."""
    notes = [note for report in holding for note in report.reviews]
    names = Counter(entry.name for report in holding for entry in report.unconverted)
    severities = Counter(note.severity for note in notes)
    return {
        "files_read": len(results),
        "files_with_cuda": len(holding),
        "files_changed": sum(result.changed for result in results),
        "lines": sum(result.report.lines for result in results),
        "converted": sum(report.converted for report in holding),
        "unconverted": sum(names.values()),
        "unconverted_names": dict(sorted(names.items(), key=lambda pair: (-pair[1], pair[0]))),
        "reviews": len(notes),
        "reviews_by_severity": {severity: severities.get(severity, 0) for severity in _ORDER},
        "reviews_by_category": dict(
            sorted(Counter(note.category for note in notes).items(), key=lambda pair: (-pair[1], pair[0]))
        ),
        "reviewed": sum(report.silenced for report in holding),
        "in_baseline": known,
        "skipped": {report.path: report.skipped for report in holding if report.skipped},
        "check_errors": None if check is None else len(check),
        "effort": effort(severities, len(names)),
        "targets": list(options.targets),
        "rocm": options.rocm,
        "warp": options.warp,
        "nothing_to_port": not holding,
    }


def effort(severities: Counter[str], names: int) -> dict[str, object]:
    """Person-days with the basis of the estimate."""
    minutes = sum(MINUTES[severity] * count for severity, count in severities.items()) + MINUTES_PER_NAME * names
    return {
        "person_days": round(minutes / 60 / _HOURS_PER_DAY, 1),
        "basis": f"{MINUTES['high']}/{MINUTES['medium']}/{MINUTES['low']} minutes per high/medium/low place, {MINUTES_PER_NAME} per different name without equivalent, {_HOURS_PER_DAY} hours a day; an assumption, not a measurement; testing on the target comes on top",
    }


def exit_code(document: Document) -> int:
    """1 when names were left unconverted, a file with CUDA could not be read, or the check failed."""
    lost = any(report.skipped for report in document.files)
    return 1 if document.summary["unconverted"] or document.check or lost else 0


def as_json(document: Document) -> str:
    """The document, indented."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def diff(result: Result) -> Iterator[str]:
    """Unified diff of one file, line ends made visible to nobody: they are as in the file."""
    before = result.before.decode("utf-8", "replace").splitlines(keepends=True)
    after = result.data.decode("utf-8", "replace").splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, f"a/{result.report.path}", f"b/{result.report.path}", n=2):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def as_text(document: Document, results: list[Result], with_diff: bool) -> Iterator[str]:
    """What a person reads: the diff, the notes by file, the totals."""
    if document.summary["nothing_to_port"]:
        yield "nothing to port\n"
        return
    for result in results:
        if with_diff and result.changed:
            yield from diff(result)
            yield "\n"
    for report in document.files:
        if not (report.reviews or report.unconverted or report.skipped):
            continue
        yield f"{report.path}\n"
        if report.skipped:
            yield f"  skipped: {report.skipped}\n"
        for entry in report.unconverted:
            yield f"  {entry.line}: not converted: {entry.name}\n"
        for note in sorted(report.reviews, key=lambda note: (note.line, _ORDER[note.severity])):
            yield f"  {note.line}: {note.severity}: {note.category} [{note.rule}] {note.reason}\n"
        yield "\n"
    if document.check is not None:
        yield f"check: {len(document.check)} errors\n"
        for error in document.check:
            place = f"{error.path}:{error.line}" if error.line else error.path
            yield f"  {place}: {error.message}{f' (explained by {error.rule})' if error.rule else ''}\n"
    yield from totals(document)


def totals(document: Document) -> Iterator[str]:
    """The last lines of the text report."""
    found = document.summary
    severities = found["reviews_by_severity"]
    assert isinstance(severities, dict)
    yield f"{found['converted']} edits in {found['files_changed']} of {found['files_read']} files; {found['unconverted']} names not converted; "
    yield f"{found['reviews']} places to review ({', '.join(f'{count} {name}' for name, count in severities.items())})\n"
    effort_found = found["effort"]
    assert isinstance(effort_found, dict)
    yield f"effort: {effort_found['person_days']} person-days ({effort_found['basis']})\n"


def statistics(document: Document) -> Iterator[str]:
    """Counts by category, rule and API family."""
    rule_counts = Counter(note.rule for report in document.files for note in report.reviews)
    families: Counter[str] = Counter()
    for report in document.files:
        families.update(report.families)
    yield "names by API family\n"
    for family, count in families.most_common():
        yield f"  {count:7} {family}\n"
    yield "places by category\n"
    by_category = document.summary["reviews_by_category"]
    assert isinstance(by_category, dict)
    for category, count in by_category.items():
        yield f"  {count:7} {category}\n"
    yield "places by rule\n"
    for rule, count in rule_counts.most_common():
        yield f"  {count:7} {rule}\n"


def explain(rule_id: str) -> str | None:
    """Everything about one rule, or None when there is no such rule."""
    rule = rules().get(rule_id)
    if rule is None:
        return None
    lines = [
        f"{rule.id}: {rule.title}",
        f"category: {rule.category}",
        f"severity: {rule.severity}",
        f"why: {rule.reason}",
        f"what to do: {rule.do}",
        f"source: {rule.source}",
    ]
    if rule.lanes:
        lines.append(f"concerns: wavefronts of {', '.join(map(str, rule.lanes))} lanes")
    if rule.names:
        lines.append(f"raised by: {', '.join(rule.names)}")
    if rule.prefixes:
        lines.append(f"raised by names that start with: {', '.join(rule.prefixes)}")
    if rule.example:
        lines += ["example:", *(f"    {line}" for line in rule.example.rstrip().splitlines())]
    return "\n".join(lines) + "\n"
