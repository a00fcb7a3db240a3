"""Text as people send it: terminal colours and Windows line ends taken off."""

from __future__ import annotations

import re

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()][AB0]")


def clean(line: str) -> str:
    """One line without colours, carriage return and NUL bytes."""
    if "\x1b" in line:
        line = ANSI.sub("", line)
    return line.rstrip("\r").replace("\0", "")
