"""Reads all facts of one input: kernel interfaces of a tree, text of commands and notes."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts.readers import Row, read_section
from rocsteady.facts.registry import TEXT_READERS
from rocsteady.facts.sections import sections
from rocsteady.facts.tree import read_tree
from rocsteady.hostfs import Input
from rocsteady.model import Gap, ReadError, TooLarge

TEXT_FILE = 8 << 20
"""Command output beyond this is a log: the event scanner streams it, no text reader gets it."""


def read_facts(source: Input) -> Iterator[Row]:
    """All rows, for a ``Builder``."""
    yield from source.gaps
    if source.kind != "heap":
        yield from read_tree(source.fs)
    for path in text_files(source):
        yield from read_text_file(source, path)


def text_files(source: Input) -> Iterator[str]:
    """Files that may hold what a command printed."""
    if source.kind == "heap":
        yield from source.fs.walk()
        return
    for pattern in ("commands/*", "sos_commands/*/*"):
        yield from source.fs.glob(pattern)


def read_text_file(source: Input, path: str) -> Iterator[Row]:
    """Facts of one loose file."""
    try:
        if source.fs.stat(path).size > TEXT_FILE:
            return
        text = source.fs.text(path, TEXT_FILE)
    except TooLarge:
        return
    except ReadError as error:
        yield Gap(path, error.why)
        return
    for section in sections(path, text):
        yield from read_section(TEXT_READERS, section)
