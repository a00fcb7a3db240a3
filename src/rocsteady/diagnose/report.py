"""A diagnosis as text for a terminal. Plain when piped: rich leaves colours out where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rocsteady.model import Diagnosis, Evidence, Finding
from rocsteady.model.findings import UnexplainedLine

VERDICT_STYLE = {"healthy": "bold green", "at-risk": "bold yellow", "failing": "bold red", "unknown": "bold cyan"}
SEVERITY_STYLE = {"critical": "bold red", "warning": "yellow", "info": "cyan"}
QUOTED = 6
UNEXPLAINED = 12
GAPS = 12


def render(diagnosis: Diagnosis, label: str = "", verbose: bool = False) -> RenderableType:
    """The whole report as one renderable. ``verbose`` shows all evidence, gaps and unexplained lines."""
    parts: list[RenderableType] = [_head(diagnosis, label)]
    shown = [f for f in diagnosis.findings if f.role != "risk"]
    explained = {i for f in shown for i in f.explains}
    top = [f for f in shown if f.id not in explained or f.role == "cause"]
    for number, (finding, same) in enumerate(_grouped(top, verbose), 1):
        parts.append(_finding(finding, number, diagnosis, verbose, same))
    risks = [f for f in diagnosis.findings if f.role == "risk"]
    if risks:
        parts.append(Text("\nRisks", style="bold"))
        parts.extend(_short(f) for f in risks)
    parts.extend(_timeline(diagnosis))
    parts.extend(_unexplained(diagnosis, verbose))
    parts.extend(_gaps(diagnosis, verbose))
    parts.extend(_closing(diagnosis))
    return Group(*parts)


def _grouped(findings: list[Finding], verbose: bool) -> list[tuple[Finding, list[Finding]]]:
    """Each finding with those of the same mode on other subjects: eight GPUs with one trouble are one entry."""
    if verbose:
        return [(f, []) for f in findings]
    first: dict[tuple[str, str], tuple[Finding, list[Finding]]] = {}
    for finding in findings:
        key = (finding.mode, finding.role)
        if key in first:
            first[key][1].append(finding)
        else:
            first[key] = (finding, [])
    return list(first.values())


def node_line(diagnosis: Diagnosis) -> str:
    """What is known of the node, in one line."""
    node = diagnosis.node
    gpus = node.get("gpus") or []
    names = sorted({str(g.get("name") or g.get("gfx") or "GPU") for g in gpus})
    parts = [
        node.get("host"), node.get("os"), f"kernel {node['kernel']}" if node.get("kernel") else None,
        f"driver {node['driver']}" if node.get("driver") else None,
        f"ROCm {node['rocm']}" if node.get("rocm") else None,
        f"{len(gpus)} x {', '.join(names)}" if gpus else None,
    ]  # fmt: skip
    return " · ".join(str(p) for p in parts if p)


def more_like_it(count: int) -> str:
    """How often the shape of a line came again."""
    return f" (and {count - 1} more like it)" if count > 1 else ""


def where(evidence: Evidence | UnexplainedLine) -> str:
    """``file:line`` or the file alone."""
    return evidence.file if evidence.line is None else f"{evidence.file}:{evidence.line}"


def _head(diagnosis: Diagnosis, label: str) -> Text:
    text = Text()
    text.append(diagnosis.verdict.upper(), style=VERDICT_STYLE[diagnosis.verdict])
    line = node_line(diagnosis) or label
    if line:
        text.append(f"  {line}")
    if not diagnosis.findings:
        reason = {
            "healthy": "Nothing known to break was found.",
            "unknown": "Nothing wrong was recognised, and the input does not show enough to call the node healthy.",
        }.get(diagnosis.verdict, "")
        text.append(f"\n{reason}")
    return text


def _finding(finding: Finding, number: int, diagnosis: Diagnosis, verbose: bool, same: list[Finding]) -> RenderableType:
    head = Text(f"\n{number}. ")
    head.append(finding.title, style="bold")
    meta = Text()
    meta.append(finding.severity, style=SEVERITY_STYLE[finding.severity])
    times = f" · {finding.count} times" if finding.count > 1 else ""
    subject = "" if finding.subject.kind == "node" else f" · {finding.subject.kind} {finding.subject.id}"
    meta.append(f" {finding.role} · confidence {finding.confidence:.0%} · {finding.id} {finding.slug}{subject}{times}")
    body: list[RenderableType] = [meta, Text(finding.cause)]
    if same:
        body.append(Text(f"the same on: {', '.join(f.subject.id for f in same)} (-v shows them apart)", style="bold"))
    quotes = finding.evidence if verbose else finding.evidence[:QUOTED]
    for evidence in quotes:
        line = Text("  ")
        line.append(where(evidence), style="dim")
        line.append(f"  {evidence.text.strip()[:300]}")
        body.append(line)
    if len(finding.evidence) > len(quotes):
        body.append(Text(f"  (and {len(finding.evidence) - len(quotes)} more lines; -v shows them)", style="dim"))
    if finding.looks_like:
        body.append(Text(f"Not to be confused: {finding.looks_like}", style="dim"))
    for remedy in finding.remedies:
        line = Text("→ ", style="green")
        line.append(remedy.text, style="default")
        if remedy.risk != "safe":
            line.append(f" [{remedy.risk}]", style="red")
        body.append(line)
        if remedy.command:
            body.append(Text(f"    {remedy.command}", style="bold"))
    by_id = {f.id: f for f in diagnosis.findings}
    for other in finding.explains:
        if other in by_id:
            body.append(Text(f"explains: {by_id[other].title}", style="dim"))
    if finding.sources:
        body.append(Text(f"source: {finding.sources[0]}", style="dim"))
    return Group(head, Padding(Group(*body), (0, 0, 0, 3)))


def _short(finding: Finding) -> RenderableType:
    text = Text("  ")
    text.append(finding.severity, style=SEVERITY_STYLE[finding.severity])
    text.append(f" {finding.title} ({finding.id})")
    if finding.remedies:
        text.append(f"\n      → {finding.remedies[0].text}", style="dim")
    return text


def _timeline(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    timeline = diagnosis.crash_timeline
    if not timeline.crashes:
        return
    yield Text(
        f"\nCrash timeline: {len(timeline.crashes)} crash{'es' if len(timeline.crashes) > 1 else ''}", style="bold"
    )
    for crash in timeline.crashes[:8]:
        stamp = "undated" if crash.at is None else f"{datetime.fromtimestamp(crash.at, UTC):%Y-%m-%d %H:%M:%S}"
        yield Text(f"  {stamp}  {crash.kind}  {crash.text.strip()[:140]}")
        for line in crash.before[-3:]:
            yield Text(f"      {line[:150]}", style="dim")
    if len(timeline.crashes) > 8:
        yield Text(f"  (and {len(timeline.crashes) - 8} more)", style="dim")
    for c in timeline.coincidences[:5]:
        p = "" if c.p_value is None else f", p = {c.p_value:.2g}"
        yield Text(f"  {c.followed} of {c.crashes} after {c.activity} ({c.expected:.2g} expected{p}): {c.says}")
    if timeline.says:
        yield Text(f"  {timeline.says}")


def _unexplained(diagnosis: Diagnosis, verbose: bool) -> Iterator[RenderableType]:
    lines = diagnosis.unexplained
    if not lines:
        return
    yield Text(f"\nUnexplained ({len(lines)} kinds of error-like lines that no rule knows)", style="bold")
    shown = lines if verbose else lines[:UNEXPLAINED]
    for evidence in shown:
        text = Text("  ")
        text.append(where(evidence), style="dim")
        text.append(f"  {evidence.text.strip()[:200]}{more_like_it(evidence.count)}")
        yield text
    if len(lines) > len(shown):
        yield Text(f"  (and {len(lines) - len(shown)} more kinds; -v shows them)", style="dim")


def _gaps(diagnosis: Diagnosis, verbose: bool) -> Iterator[RenderableType]:
    gaps = diagnosis.gaps
    if not gaps:
        return
    yield Text(f"\nNot read ({len(gaps)})", style="bold")
    shown = gaps if verbose else gaps[:GAPS]
    for gap in shown:
        yield Text(f"  {gap.path}: {gap.why}", style="dim")
    if len(gaps) > len(shown):
        yield Text(f"  (and {len(gaps) - len(shown)} more; -v shows them)", style="dim")


def _closing(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    for hidden in diagnosis.suppressed:
        yield Text(f"\nsuppressed until {hidden.expires}: {hidden.title} ({hidden.reason})", style="dim")
    for note in diagnosis.notes:
        yield Text(f"\nclock: {note}", style="dim")
