"""Splits loose text into sections: which command printed what, in a paste of several commands' output.

People paste terminal sessions, Markdown fences, quoted mails, files joined by headings, ``docker logs`` with a
prefix. A section is a run of lines that one command printed; its lines keep their numbers in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.prompts import TICKED, bare_command, heading_command, prompt_command
from rocsteady.hostfs.textual import clean
from rocsteady.model import Evidence, Fact

__all__ = ["LOG", "Section", "bare_command", "sections"]

LOG = "(log)"
"""The command of a section that holds lines of a log: no reader of command output gets it."""
LOG_RUN = 12
"""So many log lines in a row are a log; fewer may be part of a tool's output."""

FENCE = re.compile(r"^\s*(?:>\s*)?(?:```|~~~)\s*\w*\s*$|^\s*</?(?:details|pre|code)>\s*$")
QUOTE = re.compile(r"^ {0,3}>(?: ?> ?)*( |$)")
CONTAINER_PREFIXES = (
    re.compile(r"^[\w.-]+ +\| ?"),  # docker compose logs
    re.compile(r"^\[pod/[^\]]+\] ?"),  # kubectl logs --prefix
    re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}(?:Z|[+-]\d\d:\d\d) (?!\[? *\d)"),  # docker logs --timestamps
    re.compile(r"^[\w.-]+: (?=\S)"),  # pdsh, clush, ansible: host in front
)
WRAPPED_SHARE = 0.9


class Section(msgspec.Struct, frozen=True):
    """Lines of one command, or of a file without prompts. ``first`` is the number of ``lines[0]``.

    ``lines`` are without quoting and container prefixes; ``raw`` as they stand in the file.
    """

    file: str
    first: int
    lines: tuple[str, ...]
    command: str | None = None
    raw: tuple[str, ...] | None = None
    as_root: bool | None = None
    """Whether the command ran as root, as far as sudo or the prompt says."""

    def evidence(self, index: int) -> Evidence:
        """Quote one line by its index in this section."""
        return Evidence(self.file, self.first + index, (self.raw or self.lines)[index])

    def fact(self, path: str, value: object, index: int | None, rank: int = 2) -> Fact:
        """A fact that one line states; index None quotes the file as a whole."""
        where = Evidence(self.file, None, "") if index is None else self.evidence(index)
        return Fact(path, value, where, rank)

    @property
    def text(self) -> str:
        """The lines joined."""
        return "\n".join(self.lines)

    def find(self, pattern: str, start: int = 0) -> int | None:
        """Index of the first line at or behind ``start`` that holds the text."""
        return next((i for i in range(start, len(self.lines)) if pattern in self.lines[i]), None)


def sections(file: str, text: str, command: str | None = None) -> Iterator[Section]:
    """Cut one loose file into sections. ``command``: what is known to have printed the file."""
    raw = [line.rstrip("\r").replace("\0", "") for line in text.split("\n")]
    if raw and raw[-1] == "":
        raw.pop()
    lines = _unwrap([clean(line) for line in raw])

    root: bool | None = None

    def cut(start: int, end: int, by: str | None) -> Iterator[Section]:
        if any(line.strip() for line in lines[start:end]):
            yield Section(file, start + 1, tuple(lines[start:end]), by, tuple(raw[start:end]), root if by else None)

    start, number = 0, 0
    while number < len(lines):
        line = lines[number]
        run = _log_run(lines, number)
        if run:
            yield from cut(start, number, command)
            yield from cut(number, number + run, LOG)
            number += run
            start = number
            continue
        typed = prompt_command(line)
        if typed is not None:
            yield from cut(start, number, command)
            end = _typed_end(lines, number)
            if typed:
                first = line[line.rindex(typed) :] if typed in line else typed
                words = (first, *lines[number + 1 : end])
                yield Section(file, number + 1, words, "shell: " + bare_command(typed), tuple(raw[number:end]))
            command = bare_command(typed) if typed else None
            root = _as_root(line, typed)
            start = number = end
            continue
        if FENCE.match(line):
            yield from cut(start, number, command)
            if not line.strip().startswith("<") and start != number:
                command = None
            start = number + 1
        elif (named := heading_command(line)) is not None:
            yield from cut(start, number, command)
            command = named or None
            start = number + 1
        number += 1
    yield from cut(start, len(lines), command)


def _as_root(line: str, typed: str) -> bool | None:
    """What sudo and the prompt say about the user; None where they say nothing."""
    prompt = line[: line.rindex(typed)] if typed and typed in line else line
    if (
        re.match(r"(?:\w+=\S+ +)*sudo\b", typed)
        or re.search(r"root[@㉿]|^\s*#", prompt)
        or prompt.rstrip().endswith("#")
    ):
        return True
    return False if prompt.rstrip().endswith("$") else None


def _typed_end(lines: list[str], number: int) -> int:
    """End of a command line that a backslash continues."""
    end = number + 1
    while end < len(lines) and lines[end - 1].rstrip().endswith("\\"):
        end += 1
    return end


def _log_run(lines: list[str], start: int) -> int:
    """How many log lines start here, 0 for fewer than a log has."""
    end = start
    while end < len(lines) and is_log_line(lines[end]):
        end += 1
    return end - start if end - start >= LOG_RUN else 0


def _unwrap(raw: list[str]) -> list[str]:
    """Lines without mail quoting (each quoted block) and without a prefix that nearly all of them have."""
    lines = raw
    filled = [line for line in lines if line.strip()]
    if len(filled) >= 3:
        for prefix in CONTAINER_PREFIXES:
            found = [match[0] for line in filled if (match := prefix.match(line))]
            one_host = prefix is not CONTAINER_PREFIXES[-1] or len(set(found)) == 1
            if len(found) >= WRAPPED_SHARE * len(filled) and one_host:
                lines = [prefix.sub("", line, count=1) for line in lines]
                break
    lines = [line.strip().strip("`") if TICKED.match(line) else line for line in lines]
    out: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and QUOTE.match(lines[end]):
            end += 1
        if end - start >= 2 and not all(prompt_command(line) for line in lines[start:end]):
            out += [QUOTE.sub("", line, count=1) for line in lines[start:end]]
            start = end
        else:
            out.append(lines[start])
            start += 1
    return out
