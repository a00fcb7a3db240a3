"""Command lines as people paste them: over several lines, with or without the backslashes, quoted, cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rocsteady.facts.prompts import KNOWN, first_word, prompt_command
from rocsteady.facts.sections import Section

_STARTERS = ("CMD", "ENTRYPOINT", "exec", "command", "-", "--", "$", "sudo", "nohup", "time", "then", "do", "&&", "+")
"""Words behind which a command begins."""
LONGEST = 400
"""Words of one command line that are looked at."""


class Word(msgspec.Struct, frozen=True):
    """One word with its quotes taken off, and the index of its line in the section."""

    text: str
    line: int


class CommandLine(msgspec.Struct, frozen=True):
    """Words of one command. ``whole`` False: the text says that something was left out."""

    words: tuple[Word, ...]
    whole: bool = True

    @property
    def texts(self) -> list[str]:
        """The words as text."""
        return [word.text for word in self.words]


def command_lines(section: Section, start: re.Pattern[str]) -> Iterator[CommandLine]:
    """Every command whose beginning the group ``command`` of ``start`` finds; its words."""
    index = 0
    while index < len(section.lines):
        match = start.search(section.lines[index])
        if match is None or not at_command(section, index, match.start("command")):
            index += 1
            continue
        line = words_from(section, index, match.start("command"))
        yield line
        index = max(index, line.words[-1].line if line.words else index) + 1


def at_command(section: Section, index: int, column: int) -> bool:
    """Whether a command may begin here: in prose the same words stand behind other words."""
    before = section.lines[index][:column].strip()
    if not before or before[-1] in "\"'`;&|($=:[,>#":
        return True
    if index and section.lines[index - 1].rstrip().endswith("\\"):
        return True
    words = before.split()
    if words[-1] in _STARTERS or all(re.match(r"`?\w+=", word) for word in words[-1:]):
        return True
    typed = prompt_command(section.lines[index][:column])
    return first_word(typed if typed else before) in KNOWN


def words_from(section: Section, index: int, column: int = 0) -> CommandLine:
    """Words from one place to the end of the command, over continued lines."""
    words: list[Word] = []
    whole = True
    text = section.lines[index][column:]
    before = section.lines[index][column - 1 : column]
    if before in ("'", '"', "`") and before in text:
        text = text[: text.index(before)]  # the whole command is quoted: bash -c "..."
    while True:
        text, continued = _continued(text)
        more, ended = _split(text, index)
        for word in more:
            if word.text in ("...", "…", "[...]"):
                whole = False
            else:
                words.append(word)
        following = section.lines[index + 1] if index + 1 < len(section.lines) else ""
        if ended or len(words) > LONGEST or index + 1 >= len(section.lines):
            break
        stripped = re.sub(r"^\s*(?:> )?", "", following)
        if not continued and not re.match(r"--?[A-Za-z]", stripped):
            break
        if continued and not stripped.strip():
            break
        index += 1
        text = stripped
    return CommandLine(tuple(words[:LONGEST]), whole)


def _continued(text: str) -> tuple[str, bool]:
    stripped = text.rstrip()
    if stripped.endswith(("\\", " ^", " `")):
        return stripped[:-1], True
    return text, False


def _split(text: str, line: int) -> tuple[list[Word], bool]:
    """Words of one line; True when the command ends in it."""
    words: list[Word] = []
    current: list[str] = []
    quoted = ""
    open_word = False
    position = 0
    while position < len(text):
        char = text[position]
        if quoted:
            if char == quoted:
                quoted = ""
            elif char == "\\" and quoted == '"' and text[position + 1 : position + 2] in ('"', "\\"):
                position += 1
                current.append(text[position])
            else:
                current.append(char)
        elif char in "\"'":
            quoted, open_word = char, True
        elif char.isspace():
            if open_word:
                words.append(Word("".join(current), line))
            current, open_word = [], False
        elif char == "\\" and position + 1 < len(text):
            position += 1
            current.append(text[position])
            open_word = True
        elif char in ";|`" or text.startswith("&&", position) or (char == "#" and not open_word):
            if open_word:
                words.append(Word("".join(current), line))
            return words, char != "#"
        elif char in "<>" and not open_word and not re.match(r"<[\w-]+>", text[position:]):
            return words, True
        else:
            current.append(char)
            open_word = True
        position += 1
    if open_word:
        words.append(Word("".join(current), line))
    return words, False
