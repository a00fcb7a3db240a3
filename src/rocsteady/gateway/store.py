"""What survives a restart: workers that a person drained, and which ones were out. SQLite, shared by all processes.

Health is remembered as a doubt, not as a verdict: after a restart a worker that was out has to prove itself first
(it may have been repaired meanwhile), while a drain stays until a person ends it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from rocsteady.model import InputError

SCHEMA = """
CREATE TABLE IF NOT EXISTS drained (worker TEXT PRIMARY KEY, reason TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS out (worker TEXT PRIMARY KEY, reason TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS answer (
  key TEXT PRIMARY KEY, digest BLOB NOT NULL, status INTEGER, type TEXT, body BLOB, at REAL NOT NULL, owner TEXT NOT NULL
);
"""


class Answer(msgspec.Struct, frozen=True):
    """A remembered answer to a request with an idempotency key; ``status`` None: it is still being made."""

    digest: bytes
    status: int | None
    type: str
    body: bytes
    at: float


class Store:
    """The state file; '' keeps it in memory, for this process only.

    Reads and writes are small and local. An error of the disk is counted in ``errors`` and does not stop requests.
    """

    def __init__(self, path: str) -> None:
        self.errors = 0
        try:
            if path:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=2.0)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"state {path}: {error}") from None
        self._version = -1

    def _run(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error:
            self.errors += 1
            return []

    def changed(self) -> bool:
        """Whether another process wrote since the last call."""
        rows = self._run("PRAGMA data_version")
        version = int(str(rows[0][0])) if rows else self._version
        if version == self._version:
            return False
        self._version = version
        return True

    def drains(self) -> dict[str, str]:
        """Worker -> reason."""
        return {str(name): str(reason) for name, reason in self._run("SELECT worker, reason FROM drained")}

    def drain(self, worker: str, reason: str, at: float) -> bool:
        """Remember a drain. False where the disk refused it."""
        before = self.errors
        self._run("INSERT OR REPLACE INTO drained VALUES (?, ?, ?)", worker, reason, at)
        return self.errors == before

    def undrain(self, worker: str) -> bool:
        """Forget it."""
        before = self.errors
        self._run("DELETE FROM drained WHERE worker = ?", worker)
        return self.errors == before

    def outs(self) -> dict[str, str]:
        """Workers that were out when last seen -> reason."""
        return {str(name): str(reason) for name, reason in self._run("SELECT worker, reason FROM out")}

    def note(self, worker: str, reason: str, at: float) -> None:
        """A worker went out (reason) or came back ('')."""
        if reason:
            self._run("INSERT OR REPLACE INTO out VALUES (?, ?, ?)", worker, reason, at)
        else:
            self._run("DELETE FROM out WHERE worker = ?", worker)

    def claim(self, key: str, digest: bytes, at: float, owner: str) -> Answer | None:
        """Claim an idempotency key for a request; what is there already where it was claimed before."""
        rows = self._run(
            "INSERT INTO answer (key, digest, type, body, at, owner) VALUES (?, ?, '', x'', ?, ?) "
            "ON CONFLICT DO NOTHING RETURNING key", key, digest, at, owner,
        )  # fmt: skip
        if rows:
            return None
        for found, status, kind, body, when in self._run(
            "SELECT digest, status, type, body, at FROM answer WHERE key = ?", key
        ):
            number = None if status is None else int(str(status))
            content = body if isinstance(body, bytes) else b""
            return Answer(found if isinstance(found, bytes) else b"", number, str(kind), content, float(str(when)))
        return None

    def remember(self, key: str, status: int, kind: str, body: bytes) -> None:
        """Keep the answer."""
        self._run("UPDATE answer SET status = ?, type = ?, body = ? WHERE key = ?", status, kind, body, key)

    def forget(self, key: str) -> None:
        """The request was not carried out: its key is free again."""
        self._run("DELETE FROM answer WHERE key = ?", key)

    def tidy(self, before: float, owner: str = "") -> None:
        """Drop old answers, and what a process that is gone had claimed and not finished."""
        self._run("DELETE FROM answer WHERE at < ?", before)
        if owner:
            self._run("DELETE FROM answer WHERE owner = ? AND status IS NULL", owner)

    def close(self) -> None:
        """Close the file."""
        self._db.close()
