"""Reads all facts of one input: kernel interfaces of a tree, text of commands and notes."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts import wanted
from rocsteady.facts.prompts import KNOWN, first_word
from rocsteady.facts.readers import Row, read_section
from rocsteady.facts.registry import TEXT_READERS
from rocsteady.facts.sections import sections
from rocsteady.facts.tree import read_tree
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.commands import prints_log, slug
from rocsteady.hostfs.fs import RECORDED
from rocsteady.model import Denied, Gap, ReadError, TimedOut, TooLarge

TEXT_FILE = 8 << 20
"""Command output beyond this is a log: the event scanner streams it, no text reader gets it."""


def read_facts(source: Input) -> Iterator[Row]:
    """All rows, for a ``Builder``."""
    yield from source.gaps
    if source.kind != "heap":
        yield from read_tree(source.fs)
    if source.fs.live:
        yield from live_commands(source.fs)
    for path in text_files(source):
        yield from read_text_file(source, path)


def live_commands(fs: HostFS) -> Iterator[Row]:
    """Rows of what read-only commands print now; the same as a snapshot of this machine gives."""
    for argv in wanted.COMMANDS:
        try:
            output = fs.command(argv)
        except (Denied, TimedOut) as error:
            yield Gap(error.path, error.why)
            continue
        except ReadError:
            continue  # not installed, no such module, no systemd: the kernel's interfaces say most of it too
        yield from _sectioned(output.path, output.text, " ".join(argv))


def text_files(source: Input) -> Iterator[str]:
    """Files that may hold what a command printed."""
    if source.kind == "heap":
        yield from source.fs.walk()
        return
    for pattern in (f"{RECORDED}/*", "sos_commands/*/*", "logs/*"):
        yield from (path for path in source.fs.glob(pattern) if not prints_log(path))


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
    yield from _sectioned(path, text, recorded_command(path) if source.kind != "heap" else None)


def recorded_command(path: str) -> str | None:
    """The command that a recorded file is named after: ``sos_commands/pci/lspci_-nnvv`` -> ``lspci -nnvv``."""
    name = path.rpartition("/")[2].removesuffix(".txt")
    if name in _COMMANDS:
        return " ".join(_COMMANDS[name])
    words = name.replace("_", " ")
    return words if first_word(words) in KNOWN else None


def _sectioned(path: str, text: str, command: str | None) -> Iterator[Row]:
    for section in sections(path, text, command):
        yield from read_section(TEXT_READERS, section)


_COMMANDS = {slug(argv): argv for argv in wanted.COMMANDS}
"""Name of a recorded output in a snapshot or sosreport -> the command."""
