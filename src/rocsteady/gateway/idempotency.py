"""``Idempotency-Key``: a request that a client sends again is not run again.

The key counts per API key. While the first request runs, a second one gets 409; afterwards it gets the stored answer; with
another body it gets 422. Streams are protected while they run; what they said is not stored. Answers are kept in the state
file, so the promise holds over all processes and a restart where ``state`` is set, else for one process.
"""

from __future__ import annotations

import hashlib
import re

from rocsteady.gateway.store import Answer, Store

KEY = re.compile(r"[\x21-\x7e]{1,255}")
"""Lengths as the draft of the IETF for this header and Stripe's limit of 255."""
MOST_STORED = 1_048_576
"""Bytes of an answer that is stored."""
KEEP = 3600.0
"""Seconds that an answer is kept: clients retry within minutes."""


class Idempotency:
    """The keys of one process. ``owner``: the number of the process; what it had begun before a restart is free again."""

    def __init__(self, store: Store, owner: str, now: float) -> None:
        self._store = store
        self._owner = owner
        store.tidy(now - KEEP, owner)

    def claim(self, client: str, key: str, path: str, body: bytes, now: float) -> tuple[str, Answer | None, bool]:
        """Claim a key. Returns its name, what is there already (None: go on), and whether that is of the same request.

        Raises:
            ValueError: the key cannot be used.
        """
        if not KEY.fullmatch(key):
            raise ValueError("Idempotency-Key: 1 to 255 printable characters without spaces were wanted")
        name = f"{client}\n{key}"
        digest = hashlib.sha256(path.encode() + b"\n" + body).digest()
        found = self._store.claim(name, digest, now, self._owner)
        return name, found, found is None or found.digest == digest

    def done(self, name: str, answer: tuple[int, str, bytes] | None) -> None:
        """Keep an answer (status, content type, body), or free the key where there is none to keep."""
        if answer is not None and answer[0] < 500 and answer[0] != 429 and len(answer[2]) <= MOST_STORED:
            self._store.remember(name, *answer)
        else:
            self._store.forget(name)

    def tidy(self, now: float) -> None:
        """Drop what is old."""
        self._store.tidy(now - KEEP)
