"""The result as one HTML page: old and new side by side, notes at their lines, files sorted by risk."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from html import escape

from rocsteady.port.convert import FileReport, Result
from rocsteady.port.report import MINUTES, Document
from rocsteady.port.rules import rules

_STYLE = """
body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2em .6em;vertical-align:top}
.totals td,.totals th{border-bottom:1px solid #ddd}
.code{table-layout:fixed;font:12px/1.45 ui-monospace,monospace;margin-bottom:1.5em;border:1px solid #ddd}
.code td{white-space:pre-wrap;overflow-wrap:anywhere;padding:0 .5em}
.code .n{width:4em;color:#767676;text-align:right}
.old{background:#fdecea}.new{background:#e9f6ec}.gap td{background:#f4f4f4;color:#767676;text-align:center}
.note td{white-space:normal;font:13px/1.4 system-ui,sans-serif;padding:.3em .8em}
.high td{background:#ffe3df;border-left:4px solid #b3261e}.medium td{background:#fff3d6;border-left:4px solid #9a6700}
.low td{background:#eaf2ff;border-left:4px solid #2f5fb3}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}.old{background:#3b1f1d}.new{background:#1c3423}
.high td{background:#40211f}.medium td{background:#3a3016}.low td{background:#1d2b45}.gap td{background:#222}.totals td,.totals th,.code{border-color:#444}}
"""
_CONTEXT = 2
_WEIGHT = {"high": MINUTES["high"], "medium": MINUTES["medium"], "low": MINUTES["low"]}


def as_html(document: Document, results: list[Result]) -> Iterator[str]:
    """The page in pieces."""
    found = document.summary
    effort = found["effort"]
    assert isinstance(effort, dict)
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>CUDA to HIP</title><style>{_STYLE}</style></head><body><h1>CUDA to HIP</h1>\n'
    if found["nothing_to_port"]:
        yield "<p>Nothing to port.</p></body></html>\n"
        return
    yield f"<p>{found['converted']} edits in {found['files_changed']} of {found['files_read']} files, {found['unconverted']} names not converted, {found['reviews']} places to review.</p>\n"
    yield f"<p>Effort: <b>{effort['person_days']} person-days</b> ({escape(str(effort['basis']))}).</p>\n"
    by_category = found["reviews_by_category"]
    assert isinstance(by_category, dict)
    yield '<table class="totals"><tr><th>category</th><th>places</th></tr>'
    for category, count in by_category.items():
        yield f"<tr><td>{escape(category)}</td><td>{count}</td></tr>"
    yield "</table>\n"
    by_path = {result.report.path: result for result in results}
    ordered = sorted(document.files, key=lambda report: (-_risk(report), report.path))
    yield '<h2>Files, highest risk first</h2><table class="totals"><tr><th>file</th><th>high</th><th>medium</th><th>low</th><th>not converted</th></tr>'
    for number, report in enumerate(ordered):
        counts = [sum(note.severity == severity for note in report.reviews) for severity in _WEIGHT]
        yield (
            f'<tr><td><a href="#f{number}">{escape(report.path)}</a></td>'
            + "".join(f"<td>{count}</td>" for count in counts)
            + f"<td>{len(report.unconverted)}</td></tr>"
        )
    yield "</table>\n"
    for number, report in enumerate(ordered):
        yield f'<h3 id="f{number}">{escape(report.path)}</h3>\n'
        if report.skipped:
            yield f"<p>Skipped: {escape(report.skipped)}</p>"
        result = by_path.get(report.path)
        if result is not None and not report.skipped:
            yield from _side_by_side(result)
    yield "</body></html>\n"


def _risk(report: FileReport) -> int:
    return sum(_WEIGHT[note.severity] for note in report.reviews) + 60 * len(report.unconverted)


def _side_by_side(result: Result) -> Iterator[str]:
    before = result.before.decode("utf-8", "replace").splitlines()
    after = result.data.decode("utf-8", "replace").splitlines()
    notes: dict[int, list[tuple[str, str]]] = {}
    for note in result.report.reviews:
        rule = rules()[note.rule]
        text = f"<b>{escape(note.category)}</b> [{escape(note.rule)}] {escape(note.reason)} <i>{escape(rule.do)}</i>"
        notes.setdefault(note.line, []).append((note.severity, text))
    for entry in result.report.unconverted:
        notes.setdefault(entry.line, []).append(("high", f"<b>not converted</b> {escape(entry.name)}"))
    yield '<table class="code">'
    for tag, low, high, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _equal(before, after, low, high, first, notes)
            continue
        for row in range(max(high - low, last - first)):
            old = low + row if row < high - low else None
            new = first + row if row < last - first else None
            yield _row(before, after, old, new, True)
            if old is not None:
                yield from _noted(notes.get(old + 1, ()))
    yield "</table>\n"


def _equal(
    before: list[str], after: list[str], low: int, high: int, first: int, notes: dict[int, list[tuple[str, str]]]
) -> Iterator[str]:
    """Unchanged lines: only those beside an edit or a note are shown."""
    shown = (
        {
            line
            for line in range(low, high)
            if line < low + _CONTEXT
            or line >= high - _CONTEXT
            or any(abs(line + 1 - noted) <= _CONTEXT for noted in notes)
        }
        if high - low < 20000
        else set(range(low, low + 2))
    )
    skipping = False
    for line in range(low, high):
        if line in shown:
            skipping = False
            yield _row(before, after, line, first + line - low, False)
            yield from _noted(notes.get(line + 1, ()))
        elif not skipping:
            skipping = True
            yield '<tr class="gap"><td colspan="4">...</td></tr>'


def _row(before: list[str], after: list[str], old: int | None, new: int | None, changed: bool) -> str:
    left = (
        f'<td class="n">{old + 1}</td><td{" class=old" if changed else ""}>{escape(before[old])}</td>'
        if old is not None
        else '<td class="n"></td><td></td>'
    )
    right = (
        f'<td class="n">{new + 1}</td><td{" class=new" if changed else ""}>{escape(after[new])}</td>'
        if new is not None
        else '<td class="n"></td><td></td>'
    )
    return f"<tr>{left}{right}</tr>"


def _noted(entries: list[tuple[str, str]] | tuple[()]) -> Iterator[str]:
    for severity, text in entries:
        yield f'<tr class="note {severity}"><td colspan="4">{text}</td></tr>'
