"""A run as one SVG picture: how the times are distributed, and what happened when."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rocsteady.bench.samples import Run

WIDTH, HEIGHT, LEFT, TOP, GAP = 900, 230, 70, 40, 70
COLOURS = {"TTFT": "#1f6feb", "E2E": "#8250df", "good": "#2da44e", "failed": "#cf222e"}
MOST_POINTS = 400
BARS = 100


def picture(run: Run) -> str:
    """SVG text: cumulative share of TTFT and E2E above, answered and failed requests over time below."""
    good = [s for s in run.steady if s.good]
    series = {"TTFT": sorted(t for s in good if (t := s.ttft) is not None), "E2E": sorted(s.e2e for s in good)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {2 * HEIGHT + 3 * GAP}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{2 * HEIGHT + 3 * GAP}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(run.model)}, {escape(run.load)}, {escape(run.started)}</text>',
        *_shares(series, TOP),
        *_timeline(run, TOP + HEIGHT + GAP),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _frame(top: int, label: str, ticks: Sequence[tuple[float, str]], marks: Sequence[tuple[float, str]]) -> list[str]:
    """Axes: ``ticks`` of x and ``marks`` of y as shares of the length, with their text."""
    right, bottom = WIDTH - 20, top + HEIGHT
    out = [f'<path d="M{LEFT} {top}V{bottom}H{right}" stroke="black" fill="none"/>']
    for share, text in ticks:
        x = LEFT + share * (right - LEFT)
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>')
    for share, text in marks:
        y = bottom - share * HEIGHT
        out.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    out.append(f'<text x="{(LEFT + right) / 2}" y="{bottom + 34}" text-anchor="middle">{escape(label)}</text>')
    return out


def _shares(series: dict[str, list[float]], top: int) -> list[str]:
    largest = max((values[-1] for values in series.values() if values), default=0.0)
    if largest <= 0:
        return [f'<text x="{LEFT}" y="{top + 20}">no request was answered</text>']
    right, bottom = WIDTH - 20, top + HEIGHT
    ticks = [(i / 5, f"{largest * i / 5 * 1000:.0f}") for i in range(6)]
    out = _frame(top, "milliseconds", ticks, [(i / 4, f"{i * 25} %") for i in range(5)])
    for number, (name, values) in enumerate(series.items()):
        if not values:
            continue
        step = max(1, len(values) // MOST_POINTS)
        points = [(values[i], (i + 1) / len(values)) for i in range(0, len(values), step)] + [(values[-1], 1.0)]
        path = " ".join(
            f"{LEFT + x / largest * (right - LEFT):.1f},{bottom - share * HEIGHT:.1f}" for x, share in points
        )
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        out.append(
            f'<text x="{right - 90}" y="{bottom - 34 + 16 * number}" fill="{COLOURS[name]}">{name} ({len(values)})</text>'
        )
    return out


def _timeline(run: Run, top: int) -> list[str]:
    end = max((s.ended for s in run.samples), default=0.0)
    if end <= 0:
        return []
    counts = {"good": [0] * BARS, "failed": [0] * BARS}
    for sample in run.samples:
        counts["good" if sample.good else "failed"][min(BARS - 1, int(sample.ended / end * BARS))] += 1
    most = max(a + b for a, b in zip(counts["good"], counts["failed"], strict=True))
    right, bottom = WIDTH - 20, top + HEIGHT
    wide = (right - LEFT) / BARS
    slot = end / BARS
    ticks = [(i / 5, f"{end * i / 5:.0f}") for i in range(6)]
    out = _frame(top, "seconds after the start", ticks, [(i / 4, f"{most * i / 4 / slot:.1f}/s") for i in range(5)])
    for i in range(BARS):
        base = float(bottom)
        for name in ("good", "failed"):
            tall = counts[name][i] / most * HEIGHT
            if tall:
                base -= tall
                out.append(
                    f'<rect x="{LEFT + i * wide:.1f}" y="{base:.1f}" width="{wide:.1f}" height="{tall:.1f}" fill="{COLOURS[name]}"/>'
                )
    start, stop = (LEFT + at / end * (right - LEFT) for at in run.window)
    out.append(f'<path d="M{start:.1f} {top}V{bottom}M{stop:.1f} {top}V{bottom}" stroke="#888" stroke-dasharray="4"/>')
    for number, name in enumerate(("good", "failed")):
        total = sum(counts[name])
        out.append(f'<text x="{LEFT + 8 + 110 * number}" y="{top - 6}" fill="{COLOURS[name]}">{name} ({total})</text>')
    return out
