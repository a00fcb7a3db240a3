"""Short ways to convert a text in a test."""

from __future__ import annotations

from rocsteady.port.context import Note, Options
from rocsteady.port.convert import Result, convert_bytes


def convert(text: str, path: str = "kernel.cu", **options: object) -> Result:
    """Convert one text."""
    return convert_bytes(text.encode("utf-8"), path, Options(**options))  # type: ignore[arg-type]


def output(text: str, path: str = "kernel.cu", **options: object) -> str:
    """The converted text."""
    return convert(text, path, **options).data.decode("utf-8")


def notes(text: str, path: str = "kernel.cu", **options: object) -> list[Note]:
    """The notes of a text."""
    return convert(text, path, **options).report.reviews


def rule_ids(text: str, path: str = "kernel.cu", **options: object) -> set[str]:
    """The rules that a text raises."""
    return {note.rule for note in notes(text, path, **options)}
