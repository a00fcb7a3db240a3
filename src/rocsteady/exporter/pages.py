"""The page at ``/``."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from rocsteady import __version__
from rocsteady.model import Gap

LINKS = (
    ("/metrics", "metrics in the Prometheus text format"), ("/healthz", "whether the exporter works"),
    ("/v1/gpu-health", "state of each GPU, JSON"), ("/v1/gpu-health/stream", "the same as server-sent events"),
)  # fmt: skip


def front_page(health: dict[str, Any], notes: Sequence[Gap]) -> str:
    """State of each GPU and what could not be read, as HTML."""
    rows = "".join(
        f"<tr><td>{escape(gpu['bdf'])}</td><td>{escape(gpu['partition'])}</td><td>{escape(gpu['state'])}</td>"
        f"<td>{escape('; '.join(reason['text'] for reason in gpu['reasons']))}</td><td>{escape(gpu['advice'])}</td></tr>"
        for gpu in health["gpus"]
    )
    missing = "".join(f"<li>{escape(gap.path)}: {escape(gap.why)}</li>" for gap in notes) or "<li>nothing</li>"
    links = "".join(f'<li><a href="{path}">{path}</a>: {text}</li>' for path, text in LINKS)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rocsteady exporter</title></head><body>'
        f"<h1>rocsteady {escape(__version__)} on {escape(health['node'])}</h1><ul>{links}</ul><h2>GPUs</h2>"
        "<table><tr><th>GPU</th><th>partition</th><th>state</th><th>reasons</th><th>advice</th></tr>"
        f"{rows}</table><h2>Not read in the last scrape</h2><ul>{missing}</ul></body></html>\n"
    )


def escape(value: object) -> str:
    """Text for HTML."""
    return "" if value is None else html.escape(str(value))
