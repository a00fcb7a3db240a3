"""Bytes of tokens to text, whole characters only."""

from __future__ import annotations

import codecs


class Utf8:
    """Holds back the bytes of a character that is not complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def step(self, data: bytes) -> str:
        """The text that these bytes complete."""
        return self._decoder.decode(data)
