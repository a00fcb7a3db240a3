"""Writing results: JSON documents, text for a terminal or a pipe, files."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import msgspec
from rich.console import Console, RenderableType

from rocsteady.model import Diagnosis, InputError

PIPE_WIDTH = 120


def document(diagnoses: Sequence[Diagnosis]) -> str:
    """One JSON document: the diagnosis, or all of them under ``nodes`` where there are several nodes."""
    if len(diagnoses) == 1:
        raw: object = diagnoses[0]
    else:
        raw = {"schema": "rocsteady.diagnoses/1", "nodes": list(diagnoses)}
    return msgspec.json.format(msgspec.json.encode(raw), indent=1).decode() + "\n"


def write_text(text: str, output: Path | None) -> None:
    """To standard output, or to a file that is complete or not there."""
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with tempfile.NamedTemporaryFile("w", dir=output.parent, prefix=".rocsteady-", delete=False) as file:
            file.write(text)
        Path(file.name).chmod(0o644)
        Path(file.name).replace(output)
    except OSError as error:
        raise InputError(f"{output}: {error.strerror}") from error


def print_text(parts: Sequence[RenderableType], output: Path | None = None) -> None:
    """Render for a terminal; plain, of fixed width and without trailing blanks in a pipe or file."""
    if output is None and sys.stdout.isatty():
        console = Console(highlight=False)
        for part in parts:
            console.print(part)
        return
    buffer = StringIO()
    console = Console(highlight=False, width=PIPE_WIDTH, color_system=None, file=buffer)
    for part in parts:
        console.print(part)
    write_text("".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines()), output)
