"""A diagnosis as one HTML file: no script, no outside resource, readable in any browser and in print."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from rocsteady.diagnose.report import more_like_it, node_line, where
from rocsteady.model import Diagnosis, Evidence, Finding
from rocsteady.model.findings import UnexplainedLine

STYLE = """
:root{color-scheme:light dark;--line:#8884;--dim:#777;--critical:#c62828;--warning:#b26a00;--info:#0277bd;--ok:#2e7d32}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
article{border:1px solid var(--line);border-left:.35rem solid var(--dim);border-radius:.3rem;padding:.8rem 1rem;margin:1rem 0}
article.critical{border-left-color:var(--critical)}article.warning{border-left-color:var(--warning)}
article.info{border-left-color:var(--info)}article h3{margin:0;font-size:1.05rem}
.meta,.dim{color:var(--dim);font-size:.85rem}.verdict{padding:.1rem .6rem;border-radius:.3rem;color:#fff;background:var(--dim)}
.verdict.failing{background:var(--critical)}.verdict.at-risk{background:var(--warning)}.verdict.healthy{background:var(--ok)}
pre{overflow-x:auto;background:#8881;padding:.5rem .7rem;border-radius:.3rem;font-size:.82rem;margin:.5rem 0;white-space:pre-wrap}
table{border-collapse:collapse;width:100%;font-size:.85rem}td,th{border-bottom:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
"""


def html(diagnoses: Iterable[tuple[str, Diagnosis]], version: str) -> str:
    """The report of one or several nodes, each with the label of its input."""
    body = "\n".join(_node(label, d) for label, d in diagnoses)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>rocsteady diagnosis</title><style>{STYLE}</style></head><body>\n{body}\n"
        f'<p class="dim">rocsteady {escape(version)}</p></body></html>\n'
    )


def _node(label: str, d: Diagnosis) -> str:
    parts = [
        f'<h1><span class="verdict {d.verdict}">{d.verdict}</span> {escape(node_line(d) or label)}</h1>',
    ]
    causes = [f for f in d.findings if f.role == "cause"]
    others = [f for f in d.findings if f.role == "symptom"]
    risks = [f for f in d.findings if f.role == "risk"]
    for title, group in (("Causes", causes), ("Symptoms", others), ("Risks", risks)):
        if group:
            parts.append(f"<h2>{title}</h2>")
            parts.extend(_finding(f, d) for f in group)
    if not d.findings:
        parts.append("<p>No finding.</p>")
    parts.append(_timeline(d))
    if d.unexplained:
        parts.append("<h2>Unexplained lines</h2>" + _quotes(d.unexplained))
    if d.gaps:
        rows = "".join(f"<tr><td>{escape(g.path)}</td><td>{escape(g.why)}</td></tr>" for g in d.gaps)
        parts.append(f"<h2>Not read</h2><table><tr><th>what</th><th>why</th></tr>{rows}</table>")
    parts.extend(
        f'<p class="dim">suppressed until {s.expires}: {escape(s.title)} ({escape(s.reason)})</p>' for s in d.suppressed
    )
    parts.extend(f'<p class="dim">clock: {escape(n)}</p>' for n in d.notes)
    return "\n".join(p for p in parts if p)


def _finding(f: Finding, d: Diagnosis) -> str:
    by_id = {x.id: x for x in d.findings}
    remedies = "".join(
        f"<li>{escape(r.text)}{'' if r.risk == 'safe' else f' <b>({r.risk})</b>'}"
        f"{f'<pre>{escape(r.command)}</pre>' if r.command else ''}</li>"
        for r in f.remedies
    )
    explains = "".join(f"<li>{escape(by_id[i].title)}</li>" for i in f.explains if i in by_id)
    sources = " ".join(f'<a href="{escape(s)}">{escape(s)}</a>' for s in f.sources)
    return (
        f'<article class="{f.severity}" id="{escape(f.id)}"><h3>{escape(f.title)}</h3>'
        f'<p class="meta">{f.severity} {f.role} · confidence {f.confidence:.0%} · {escape(f.id)} {escape(f.slug)} · '
        f"{f.category} · {f.subject.kind} {escape(f.subject.id)}</p><p>{escape(f.cause)}</p>"
        + _quotes(f.evidence)
        + (f"<p>What to do</p><ul>{remedies}</ul>" if remedies else "")
        + (f"<p>Explains</p><ul>{explains}</ul>" if explains else "")
        + (f'<p class="dim">Not to be confused: {escape(f.looks_like)}</p>' if f.looks_like else "")
        + f'<p class="dim">{sources}</p></article>'
    )


def _quotes(lines: Iterable[Evidence | UnexplainedLine]) -> str:
    text = "\n".join(
        f"{where(e)}  {e.text.strip()}{more_like_it(e.count) if isinstance(e, UnexplainedLine) else ''}" for e in lines
    )
    return f"<pre>{escape(text)}</pre>" if text else ""


def _timeline(d: Diagnosis) -> str:
    t = d.crash_timeline
    if not t.crashes:
        return ""
    rows = "".join(
        f"<tr><td>{'undated' if c.at is None else f'{datetime.fromtimestamp(c.at, UTC):%Y-%m-%d %H:%M:%S}'}</td>"
        f"<td>{escape(c.kind)}</td><td>{escape(c.text.strip())}<br>"
        f'<span class="dim">{"<br>".join(escape(b) for b in c.before)}</span></td></tr>'
        for c in t.crashes
    )
    stats = "".join(
        f"<tr><td>{escape(c.activity)}</td><td>{c.followed} of {c.crashes}</td><td>{c.expected:.2g}</td>"
        f"<td>{'' if c.p_value is None else f'{c.p_value:.2g}'}</td><td>{escape(c.says)}</td></tr>"
        for c in t.coincidences
    )
    table = (
        f"<table><tr><th>activity</th><th>crashes after it</th><th>expected</th><th>p</th><th></th></tr>{stats}</table>"
        if stats
        else ""
    )
    return f"<h2>Crash timeline</h2><table>{rows}</table>{table}<p>{escape(t.says)}</p>"
