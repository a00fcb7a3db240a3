"""The metrics as a document: ``rocsteady metrics list`` and docs/metrics.md."""

from __future__ import annotations

from rocsteady.metrics.comparison import comparison_page
from rocsteady.metrics.declare import Metric
from rocsteady.metrics.registry import METRICS

HEAD = """# Metrics

Generated from the declarations in `src/rocsteady/metrics/`; do not edit. Every name starts with `rocsteady_`. Units are
base units, shares are 0 to 1, counters end in `_total`, identities in `_info` (always 1). `gpu` is the PCI address. A
value that cannot be read has no sample; `rocsteady_collector_unreadable` counts why.
"""


def as_dict(metric: Metric) -> dict[str, object]:
    """One row of the JSON document."""
    return {
        "name": metric.full_name, "kind": metric.kind, "unit": metric.unit, "labels": list(metric.labels),
        "source": metric.source, "help": metric.help, "read": metric.read, "since": metric.since,
        "renamed_to": metric.renamed_to,
    }  # fmt: skip


def metric_pages() -> dict[str, str]:
    """Generated pages by path below docs/."""
    rows = [HEAD, "| name | kind | unit | labels | what | source | since |", "|---|---|---|---|---|---|---|"]
    rows += [
        f"| `{m.full_name}` | {m.kind} | {m.unit} | {', '.join(m.labels)} | {cell(m.help)} | {cell(m.source)} | {cell(m.since)} |"
        for m in METRICS
    ]
    return {"metrics.md": "\n".join(rows) + "\n", "metrics-comparison.md": comparison_page()}


def cell(text: str) -> str:
    """Text inside a table: asterisks and bars are not markup."""
    return text.replace("|", "\\|").replace("*", "\\*")
