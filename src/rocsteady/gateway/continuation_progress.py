"""What a broken generation has produced, and from which token it can go on so that not a character is lost or doubled.

A worker shows less text than its tokens hold: it keeps back the bytes of an unfinished character, and with stop strings as
many characters as may turn out to be the start of one. A new worker does not know what was kept back. So a generation goes
on from a *seam*: a token at which the length of the text is known. Tokens after the seam are generated again; the text
that the client has seen of them must come out equal, and is not sent twice.

The length is known after an event of a single token that showed new text: a tokeniser shows nothing while a character is
unfinished, so the text that was shown is all of it, but for the characters held back for stop strings.
"""

from __future__ import annotations

from array import array
from collections import deque

import msgspec


class Seam(msgspec.Struct, frozen=True, gc=False):
    """After ``tokens`` output tokens the text has ``length`` characters."""

    tokens: int
    length: int


class News(msgspec.Struct, frozen=True):
    """What an event adds to what the client has."""

    text: str
    ids: list[int]


class Progress:
    """Token ids and text of one generation, over as many workers as it takes."""

    def __init__(self, held: int, lookback: int, max_tokens: int | None, compare_ids: bool) -> None:
        self.ids = array("Q")
        self.sent = 0
        """Characters that the client has."""
        self._held, self._lookback, self._max_tokens, self._compare = held, lookback, max_tokens, compare_ids
        self._seams: deque[Seam] = deque([Seam(0, 0)])
        self._tail = ""
        self._tail_from = 0
        self._shown = 0
        self._shown_here = 0
        self._again: list[int] = []
        """Ids that the client has and that are generated again."""

    def seam(self) -> Seam:
        """Where a new worker would start."""
        return self._seams[0]

    def seen_after(self, seam: Seam) -> bool:
        """Whether the client has something of what comes after the seam, which therefore must come out equal."""
        return seam.length < self.sent or (self._compare and seam.tokens < len(self.ids) + len(self._again))

    def add(self, text: str, ids: list[int]) -> News | None:
        """Take in an event; returns what is new to the client, None where it contradicts what the client has."""
        if not self._again and self._shown == self.sent:
            self._plain(text, ids)
            return News(text, ids)
        self.ids.extend(ids)
        new = self._add_text(text)
        if new is None:
            return None
        new_ids = ids
        if self._again:
            known = self._again[: len(ids)]
            if self._compare and known != ids[: len(known)]:
                return None
            new_ids = ids[len(known) :]
            del self._again[: len(known)]
        if text and len(ids) == 1:
            self._seams.append(Seam(len(self.ids), self._shown + self._held))
            self._forget()
        return News(new, new_ids)

    def _plain(self, text: str, ids: list[int]) -> None:
        """The same for the usual case, that nothing is generated again."""
        self.ids.extend(ids)
        if not text:
            return
        self._shown = self.sent = self._shown + len(text)
        if len(ids) != 1:
            self._tail += text
        elif self._held or self._lookback or len(self.ids) == self._max_tokens or len(self._seams) > 1:
            self._tail += text
            self._seams.append(Seam(len(self.ids), self._shown + self._held))
            self._forget()
        else:
            self._seams[0] = Seam(len(self.ids), self._shown)
            self._tail, self._tail_from = "", self._shown

    def _add_text(self, text: str) -> str | None:
        start, self._shown = self._shown, self._shown + len(text)
        if start >= self.sent:
            new = text
        else:
            known = self._tail[start - self._tail_from : self._shown - self._tail_from]
            if not text.startswith(known):
                return None
            new = text[len(known) :]
        if new:
            self.sent = self._shown
            self._tail += new
        return new

    def ends_early(self) -> bool:
        """Whether an answer that ended now would be shorter than what the client has."""
        return self._shown < self.sent

    def rewind(self) -> Seam:
        """Go back to the seam: a new worker is about to generate what comes after it."""
        seam = self._seams[0]
        self._seams = deque([seam])
        self._again = [*self.ids[seam.tokens :], *self._again]
        del self.ids[seam.tokens :]
        self._shown = seam.length
        return seam

    def _forget(self) -> None:
        """Drop seams that a later one makes useless, and the text before the first one left.

        The new worker must see ``lookback`` characters that the old one has looked at, or a stop string across the seam
        would be missed; and one token must be left to generate.
        """
        reach = min(self.sent, self.sent + self._held - self._lookback)
        while len(self._seams) > 1:
            second = self._seams[1]
            if second.length > reach or (self._max_tokens is not None and second.tokens >= self._max_tokens):
                break
            self._seams.popleft()
        first = self._seams[0].length
        if first > self._tail_from:
            self._tail = self._tail[first - self._tail_from :]
            self._tail_from = first
