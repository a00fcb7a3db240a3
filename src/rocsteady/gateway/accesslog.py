"""The access log: one JSON object per request, no body, no header, no secret.

Written from memory a few times a second. A log that cannot be written (disk full) loses lines, which are counted; it
never stops a request.
"""

from __future__ import annotations

import os
import re
import sys

import msgspec

MOST_WAITING = 4_194_304
"""Bytes kept while the file cannot be written: half a minute at a few thousand requests a second."""
SECRET = re.compile(r"(?i)\b(bearer\s+|sk-|hf_|api[_-]?key[=:]\s*|token[=:]\s*|password[=:]\s*)[^\s\"',;]{4,}")


def redact(text: str) -> str:
    """Text without what looks like a secret: what a worker says in an error may quote a header."""
    return SECRET.sub(lambda found: found.group(1) + "[redacted]", text)


class AccessLog:
    """``path``: a file, ``-`` for standard output, '' for none."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines: list[bytes] = []
        self._size = 0
        self._encode = msgspec.json.Encoder().encode
        self.lost = 0
        self.on = bool(path)

    def add(self, row: dict[str, object]) -> None:
        """Remember one line."""
        line = self._encode(row)
        if self._size + len(line) > MOST_WAITING:
            self.lost += 1
            return
        self._lines.append(line)
        self._size += len(line) + 1

    def flush(self) -> None:
        """Write what waits."""
        if not self._lines:
            return
        data = b"\n".join(self._lines) + b"\n"
        try:
            if self.path == "-":
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            else:  # opened anew each time: a rotated file is noticed
                number = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
                try:
                    os.write(number, data)
                finally:
                    os.close(number)
        except OSError:
            if self._size < MOST_WAITING // 2:
                return  # tried again later
            self.lost += len(self._lines)
        self._lines, self._size = [], 0
