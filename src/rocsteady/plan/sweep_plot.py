"""The sweep as a picture: SVG by hand, HTML around it, PNG drawn as bars without any library."""

from __future__ import annotations

import struct
import zlib
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
BAR, GAP, LEFT, WIDE = 14, 4, 330, 560


def chosen(sweep: Sweep) -> list[Row]:
    """One bar per combination at the largest context, so that the picture stays readable."""
    top = max((r.context for r in sweep.rows), default=0)
    return [r for r in sweep.rows if r.context == top]


def svg(sweep: Sweep) -> str:
    """KV tokens by combination; a hollow bar does not fit."""
    rows = chosen(sweep)
    most = max((r.kv_tokens for r in rows), default=1) or 1
    height = 60 + len(rows) * (BAR + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 130}" height="{height}" font-family="sans-serif" font-size="11">'
    ]
    context = rows[0].context if rows else 0
    out.append(
        f'<text x="8" y="20" font-size="14">{escape(sweep.model)} on {escape(sweep.gpu)}: KV cache in tokens, context {context}</text>'
    )
    for index, r in enumerate(rows):
        y = 40 + index * (BAR + GAP)
        length = WIDE * r.kv_tokens / most
        colour = "#{:02x}{:02x}{:02x}".format(*COLOURS[r.quantization])
        label = f"{r.quantization}, KV {r.kv_cache_dtype}, TP {r.tp}, PP {r.pp}, weights {r.weights_gib:.1f} GiB ({r.support})"
        fill = colour if r.fits else "none"
        out.append(f'<text x="{LEFT - 6}" y="{y + BAR - 3}" text-anchor="end">{escape(label)}</text>')
        out.append(
            f'<rect x="{LEFT}" y="{y}" width="{max(1.0, length):.1f}" height="{BAR}" fill="{fill}" stroke="{colour}"/>'
        )
        value = f"{r.kv_tokens:,} ({r.max_concurrency:.1f}x)" if r.fits else "does not fit"
        out.append(f'<text x="{LEFT + max(1.0, length) + 5:.1f}" y="{y + BAR - 3}">{value}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def html(sweep: Sweep) -> str:
    """A page with the picture and the table."""
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(sweep.model)}</title><body>{svg(sweep)}<pre>{escape(table(sweep))}</pre></body></html>\n'


def png(sweep: Sweep) -> bytes:
    """Bars only, in the order of the table (a PNG with text would need a font): the SVG has the labels."""
    rows = chosen(sweep)
    most = max((r.kv_tokens for r in rows), default=1) or 1
    width, height = WIDE + 20, 20 + len(rows) * (BAR + GAP)
    white = bytes([255, 255, 255])
    lines = [bytearray(white * width) for _ in range(height)]
    for index, r in enumerate(rows):
        colour = bytes(COLOURS[r.quantization])
        length = max(1, int(WIDE * r.kv_tokens / most))
        for dy in range(BAR):
            hollow = not r.fits and 0 < dy < BAR - 1
            line = lines[10 + index * (BAR + GAP) + dy]
            for x in (0, length - 1) if hollow else range(length):
                line[3 * (10 + x) : 3 * (11 + x)] = colour
    raw = b"".join(b"\0" + bytes(line) for line in lines)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


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
