"""Splits loose text into sections: which command printed what, in a paste of several commands' output.

People paste terminal sessions, Markdown fences, files joined by headings. A section is a run of lines that one
command printed; its lines keep their numbers in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocsteady.hostfs.textual import clean
from rocsteady.model import Evidence, Fact

PROMPT = re.compile(
    r"^\s*(?:\([\w./-]+\) ?)?"
    r"(?:\[?[\w.-]+@[\w.-]+[:\s]?[^\]#$%>]{0,80}\]?\s*[#$%] ?|[#$] |Singularity> |Apptainer> |PS [^>]*> |> (?=\w))"
    r"(?P<command>[\w./~(\[{\"'].*)$"
)
HEADING = re.compile(r"^\s*(?:={3,}|-{3,}|#{2,}|\*{3,}) *(?P<command>[^=*#-].*?) *(?:=+|-+|#+|\*+)?\s*$")
FENCE = re.compile(r"^\s*(?:```|~~~)\w*\s*$")
WRAPPERS = re.compile(
    r"^(?:sudo(?: -\w+)*|time|watch|env|exec|nohup|\w+=\S+)\s+|^(?:docker|podman|kubectl) exec (?:-\S+ )*\S+ (?:-- )?"
)


class Section(msgspec.Struct, frozen=True):
    """Lines of one command, or of a file without prompts. ``first`` is the number of ``lines[0]``."""

    file: str
    first: int
    lines: tuple[str, ...]
    command: str | None = None

    def evidence(self, index: int) -> Evidence:
        """Quote one line by its index in this section."""
        return Evidence(self.file, self.first + index, self.lines[index])

    def fact(self, path: str, value: object, index: int | None, rank: int = 2) -> Fact:
        """A fact that one line states; index None quotes the file as a whole."""
        where = Evidence(self.file, None, "") if index is None else self.evidence(index)
        return Fact(path, value, where, rank)

    @property
    def text(self) -> str:
        """The lines joined."""
        return "\n".join(self.lines)


def sections(file: str, text: str, command: str | None = None) -> Iterator[Section]:
    """Cut one loose file into sections. ``command``: what is known to have printed the file."""
    lines = [clean(line) for line in text.split("\n")]
    if lines and lines[-1] == "":
        lines.pop()
    start = 0
    for number, line in enumerate(lines):
        match = PROMPT.match(line)
        if match is None and FENCE.match(line):
            if number > start:
                yield Section(file, start + 1, tuple(lines[start:number]), command)
            start, command = number + 1, None
            continue
        if match is None:
            continue
        if number > start:
            yield Section(file, start + 1, tuple(lines[start:number]), command)
        start, command = number + 1, bare_command(match["command"])
        yield Section(file, number + 1, (line,), "shell: " + match["command"])
    if start < len(lines):
        yield Section(file, start + 1, tuple(lines[start:]), command)


def bare_command(command: str) -> str:
    """Without sudo, environment assignments and a leading path: ``/opt/rocm/bin/rocminfo -a`` -> ``rocminfo -a``."""
    previous = None
    while previous != command:
        previous = command
        command = WRAPPERS.sub("", command.strip())
    word, space, rest = command.partition(" ")
    return word.rpartition("/")[2] + space + rest
