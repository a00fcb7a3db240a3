"""The sweep as a picture: SVG, HTML around it, PNG by Pillow (extra ``[plot]``)."""

from __future__ import annotations

import io
from pathlib import Path
from xml.sax.saxutils import escape

from rocsteady.model import InputError
from rocsteady.plan.sweep import Row, Sweep, table

COLOURS = {
    "bf16": (68, 114, 196),
    "fp8": (237, 125, 49),
    "int8": (165, 165, 165),
    "awq": (255, 192, 0),
    "gptq": (91, 155, 213),
    "mxfp4": (112, 173, 71),
}
BAR, GAP, LEFT, WIDE = 14, 4, 360, 560
SCALE = 2
"""Pixels of the bitmap for one unit of the SVG, so that it stays sharp on a page."""


def chosen(sweep: Sweep) -> list[Row]:
    """One bar per combination at the largest context, so that the picture stays readable."""
    top = max((r.context for r in sweep.rows), default=0)
    return [r for r in sweep.rows if r.context == top]


def title(sweep: Sweep, rows: list[Row]) -> str:
    """What the picture shows."""
    context = rows[0].context if rows else 0
    return f"{sweep.model} on {sweep.gpu}: KV cache in tokens, context {context}"


def label(row: Row) -> str:
    """Which combination a bar is of."""
    return f"{row.quantization}, KV {row.kv_cache_dtype}, TP {row.tp}, PP {row.pp}, weights {row.weights_gib:.1f} GiB ({row.support})"


def value(row: Row) -> str:
    """What stands behind a bar; an exclamation mark where a problem is known."""
    text = f"{row.kv_tokens:,} ({row.max_concurrency:.1f}x)" if row.fits else "does not fit"
    return text + (" !" if any(risk.level != "check" for risk in row.risks) else "")


def svg(sweep: Sweep) -> str:
    """KV tokens by combination; a hollow bar does not fit."""
    rows = chosen(sweep)
    most = max((r.kv_tokens for r in rows), default=1) or 1
    height = 60 + len(rows) * (BAR + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 170}" height="{height}" font-family="sans-serif" font-size="11">'
    ]
    out.append(f'<text x="8" y="20" font-size="14">{escape(title(sweep, rows))}</text>')
    for index, r in enumerate(rows):
        y = 40 + index * (BAR + GAP)
        length = WIDE * r.kv_tokens / most
        colour = "#{:02x}{:02x}{:02x}".format(*COLOURS[r.quantization])
        fill = colour if r.fits else "none"
        out.append(f'<text x="{LEFT - 6}" y="{y + BAR - 3}" text-anchor="end">{escape(label(r))}</text>')
        out.append(
            f'<rect x="{LEFT}" y="{y}" width="{max(1.0, length):.1f}" height="{BAR}" fill="{fill}" stroke="{colour}"/>'
        )
        out.append(f'<text x="{LEFT + max(1.0, length) + 5:.1f}" y="{y + BAR - 3}">{escape(value(r))}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def html(sweep: Sweep) -> str:
    """A page with the picture and the table."""
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(sweep.model)}</title><body>{svg(sweep)}<pre>{escape(table(sweep))}</pre></body></html>\n'


def png(sweep: Sweep) -> bytes:
    """The same as a bitmap.

    Raises:
        InputError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415
    except ImportError:
        raise InputError("a PNG needs Pillow: pip install 'rocsteady[plot]'; .svg and .html need nothing") from None
    rows = chosen(sweep)
    most = max((r.kv_tokens for r in rows), default=1) or 1
    font, small = ImageFont.load_default(28), ImageFont.load_default(22)
    image = Image.new("RGB", (SCALE * (LEFT + WIDE + 170), SCALE * (60 + len(rows) * (BAR + GAP))), "white")
    draw = ImageDraw.Draw(image)
    draw.text((SCALE * 8, SCALE * 6), title(sweep, rows), "black", font=font)
    for index, r in enumerate(rows):
        top = SCALE * (40 + index * (BAR + GAP))
        right = SCALE * LEFT + max(2, int(SCALE * WIDE * r.kv_tokens / most))
        draw.text((SCALE * (LEFT - 6), top + BAR), label(r), "black", font=small, anchor="rm")
        box = (SCALE * LEFT, top, right, top + SCALE * BAR)
        draw.rectangle(box, fill=COLOURS[r.quantization] if r.fits else None, outline=COLOURS[r.quantization])
        draw.text((right + SCALE * 5, top + BAR), value(r), "black", font=small, anchor="lm")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def write_plot(sweep: Sweep, path: Path) -> None:
    """By suffix: .svg, .html or .png.

    Raises:
        InputError: another suffix, or the file cannot be written.
    """
    writers = {".svg": lambda: svg(sweep).encode(), ".html": lambda: html(sweep).encode(), ".png": lambda: png(sweep)}
    write = writers.get(path.suffix.lower())
    if write is None:
        raise InputError(f"--plot {path}: give a name that ends in .svg, .html or .png")
    try:
        path.write_bytes(write())
    except OSError as error:
        raise InputError(f"--plot {path}: {error.strerror}") from error
