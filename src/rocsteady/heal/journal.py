"""State and audit in SQLite. An intent is on disk before the act, a receipt after it.

Write-ahead log with ``synchronous=FULL``: what was committed survives kill -9 and a loss of power. One ``heal run`` holds
the lock file beside the database; ``status``, ``approve`` and their like open it as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from rocsteady.heal.records import Action, Boot, Fault, Pause
from rocsteady.heal.state import AlertSeen, FindingSeen, Notice, State
from rocsteady.model import InputError

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS faults (id TEXT PRIMARY KEY, open INTEGER NOT NULL, ended REAL, document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS actions (id TEXT PRIMARY KEY, open INTEGER NOT NULL, ended REAL, document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS receipts (action TEXT PRIMARY KEY, at REAL NOT NULL, outcome TEXT NOT NULL, document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, what TEXT NOT NULL,
  subject TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS inbox (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS pauses (node TEXT PRIMARY KEY, document BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS approvals (action TEXT PRIMARY KEY, by TEXT NOT NULL, yes INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS notices (key TEXT PRIMARY KEY, at REAL NOT NULL, text TEXT NOT NULL, sent REAL);
CREATE TABLE IF NOT EXISTS workers (name TEXT PRIMARY KEY, document BLOB NOT NULL);
"""
VERSION = 1
BUSY = 10.0
"""Seconds to wait for another process that writes: status and approve write for milliseconds."""
LOCK_TRIES, LOCK_PAUSE = 5, 0.1
KEEP = 86400.0
"""Seconds that finished actions stay in the state: the repeat window. On disk they stay for good."""
Inbox = AlertSeen | FindingSeen
T = TypeVar("T")


NUMBERS = re.compile(r"\d+")
"""An age that only grew is no news."""


class Approval(msgspec.Struct, frozen=True):
    """What a person said about an action."""

    action: str
    by: str
    yes: bool
    at: float


class AuditLine(msgspec.Struct, frozen=True):
    """One line of the audit log."""

    number: int
    at: float
    what: str
    subject: str
    detail: str


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker is to run. ``generation``: the action and step that wanted it so, '' at first."""

    name: str
    run: bool = True
    devices: tuple[str, ...]
    visible: str = ""
    render_nodes: str = ""
    without_links: str = ""
    generation: str = ""


class Journal:
    """The database of one healer."""

    def __init__(self, path: Path) -> None:
        """Open or make it.

        Raises:
            InputError: the file cannot be opened, is no database, or is of a newer version.
        """
        self.path = path
        self.follow: Callable[[float, str, str, str], None] = lambda *_: None
        """Called with each line of the audit log, for the log of a daemon."""
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise InputError(f"{path}: written by a newer rocsteady (version {version}, we know {VERSION})")
            self._db.executescript(SCHEMA)
            self._db.execute(f"PRAGMA user_version={VERSION:d}")
            path.chmod(0o600)
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error

    def close(self) -> None:
        """Close it."""
        self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. May be nested; the outermost counts."""
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def state(self, now: float) -> State:
        """What is on disk: no documents and workers, those are seen anew."""
        with self._lock:
            faults = self._all("SELECT document FROM faults WHERE open OR ended > ?", Fault, now - KEEP)
            actions = self._all("SELECT document FROM actions WHERE open OR ended > ?", Action, now - KEEP)
            pauses = self._all("SELECT document FROM pauses", Pause)
            meta = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
        decode = msgspec.json.decode
        since = decode(meta.get("breaker_since", b"null"), type=float | None)
        return State(
            faults=tuple(faults), actions=tuple(actions), pauses=tuple(pauses),
            boots=decode(meta.get("boots", b"{}"), type=dict[str, Boot]),
            resets=decode(meta.get("resets", b"{}"), type=dict[str, float]),
            over=decode(meta.get("over", b"{}"), type=dict[str, float]),
            breaker_since=since, breaker_cleared=decode(meta.get("breaker_cleared", b"0.0"), type=float),
        )  # fmt: skip

    def _all(self, sql: str, kind: type[T], *arguments: object) -> list[T]:
        return [msgspec.json.decode(row[0], type=kind) for row in self._db.execute(sql, arguments)]

    def save(self, before: State, after: State, now: float) -> None:
        """Write what changed, with an audit line for each change. One transaction."""
        with self.transaction():
            old = {fault.id: fault for fault in before.faults}
            for fault in after.faults:
                if old.get(fault.id) != fault:
                    self._fault(old.get(fault.id), fault, now)
            known = {action.id: action for action in before.actions}
            for action in after.actions:
                if known.get(action.id) != action:
                    self._action(known.get(action.id), action, now)
            for name in ("boots", "resets", "over", "breaker_since", "breaker_cleared"):
                value = getattr(after, name)
                if getattr(before, name) != value:
                    self._db.execute("REPLACE INTO meta VALUES (?, ?)", (name, msgspec.json.encode(value)))
            if after.breaker_since is not None and before.breaker_since is None:
                self.audit(now, "breaker-open", "fleet", "")

    def _fault(self, old: Fault | None, fault: Fault, now: float) -> None:
        self._db.execute(
            "REPLACE INTO faults VALUES (?, ?, ?, ?)",
            (fault.id, fault.closed_at is None, fault.closed_at, msgspec.json.encode(fault)),
        )
        if old is None:
            self.audit(now, "fault-opened", fault.id, f"{fault.node} {fault.subject} {fault.mode}: {fault.text}")
        elif fault.closed_at is not None and old.closed_at is None:
            self.audit(now, "fault-closed", fault.id, fault.closed_by)
        elif fault.held and NUMBERS.sub("", fault.held) != NUMBERS.sub("", old.held):
            self.audit(now, "held", fault.id, fault.held)

    def _action(self, old: Action | None, action: Action, now: float) -> None:
        self._db.execute(
            "REPLACE INTO actions VALUES (?, ?, ?, ?)",
            (action.id, action.open, action.finished_at, msgspec.json.encode(action)),
        )
        if old is None:
            self.audit(now, "approval-wanted" if action.phase == "approval" else "intent", action.id, action.detail)
        elif old.phase == "approval" and action.phase == "running":
            self.audit(now, "intent", action.id, f"approved by {action.approved_by}: {action.detail}")
        if not action.open and (old is None or old.open):
            self._db.execute(
                "INSERT INTO receipts VALUES (?, ?, ?, ?)",
                (action.id, action.finished_at or now, action.outcome or "", msgspec.json.encode(action)),
            )
            self.audit(now, "receipt", action.id, f"{action.outcome}: {action.detail}")

    def audit(self, at: float, what: str, subject: str, detail: str) -> None:
        """One line of the audit log."""
        self._db.execute(
            "INSERT INTO audit (at, what, subject, detail) VALUES (?, ?, ?, ?)", (at, what, subject, detail[:1000])
        )
        self.follow(at, what, subject, detail)

    def audit_lines(self, last: int, subject: str = "") -> list[AuditLine]:
        """The newest lines, oldest first."""
        where = "WHERE subject LIKE ? || '%'" if subject else ""
        rows = self._db.execute(
            f"SELECT number, at, what, subject, detail FROM audit {where} ORDER BY number DESC LIMIT ?",
            (*((subject,) if subject else ()), last),
        )
        return [AuditLine(*row) for row in rows][::-1]

    def receipts(self, last: int) -> list[Action]:
        """Finished actions, oldest first: each is its own receipt."""
        rows = self._db.execute("SELECT document FROM receipts ORDER BY at DESC, rowid DESC LIMIT ?", (last,))
        return [msgspec.json.decode(row[0], type=Action) for row in rows][::-1]

    def fault(self, prefix: str) -> Fault | None:
        """A fault by the beginning of its id, closed ones too; None where none or several begin so."""
        rows = self._db.execute(
            "SELECT document FROM faults WHERE substr(id, 1, ?) = ?", (len(prefix), prefix)
        ).fetchall()
        return msgspec.json.decode(rows[0][0], type=Fault) if len(rows) == 1 else None

    def action(self, name: str) -> Action | None:
        """An action by its id."""
        row = self._db.execute("SELECT document FROM actions WHERE id = ?", (name,)).fetchone()
        return msgspec.json.decode(row[0], type=Action) if row else None

    def post(self, events: list[Inbox], now: float) -> None:
        """Put events into the inbox; they are on disk when this returns."""
        with self.transaction():
            for event in events:
                self._db.execute("INSERT INTO inbox (at, document) VALUES (?, ?)", (now, msgspec.json.encode(event)))

    def inbox(self) -> list[tuple[int, Inbox]]:
        """What waits, oldest first."""
        rows = self._db.execute("SELECT number, document FROM inbox ORDER BY number LIMIT 1000").fetchall()
        return [(number, msgspec.json.decode(document, type=Inbox)) for number, document in rows]

    def took(self, number: int) -> None:
        """An event was taken into account; in the transaction that saves what came of it."""
        self._db.execute("DELETE FROM inbox WHERE number = ?", (number,))

    def pause(self, pause: Pause) -> None:
        """Pause a node, or all."""
        with self.transaction():
            self._db.execute("REPLACE INTO pauses VALUES (?, ?)", (pause.node, msgspec.json.encode(pause)))
            self.audit(pause.since, "paused", pause.node or "all", f"by {pause.by}: {pause.reason}")

    def resume(self, node: str, by: str, now: float) -> bool:
        """Lift a pause; ``''`` also closes the breaker. False where nothing was to lift."""
        with self.transaction():
            lifted = self._db.execute("DELETE FROM pauses WHERE node = ?", (node,)).rowcount > 0
            row = self._db.execute("SELECT value FROM meta WHERE key = 'breaker_since'").fetchone()
            if node == "" and row is not None and row[0] not in (b"null", "null"):
                self._db.execute("REPLACE INTO meta VALUES ('breaker_since', ?)", (b"null",))
                self._db.execute("REPLACE INTO meta VALUES ('breaker_cleared', ?)", (msgspec.json.encode(now),))
                lifted = True
            if lifted:
                self.audit(now, "resumed", node or "all", f"by {by}")
            return lifted

    def breaker(self) -> tuple[float | None, float]:
        """``breaker_since`` and ``breaker_cleared``: a person may have changed them."""
        meta = dict(self._db.execute("SELECT key, value FROM meta WHERE key LIKE 'breaker%'").fetchall())
        since = msgspec.json.decode(meta.get("breaker_since", b"null"), type=float | None)
        return since, msgspec.json.decode(meta.get("breaker_cleared", b"0.0"), type=float)

    def pauses(self) -> tuple[Pause, ...]:
        """Pauses that people set."""
        return tuple(self._all("SELECT document FROM pauses", Pause))

    def approve(self, approval: Approval) -> None:
        """Say yes or no to an action."""
        with self.transaction():
            self._db.execute(
                "REPLACE INTO approvals VALUES (?, ?, ?, ?)",
                (approval.action, approval.by, approval.yes, approval.at),
            )
            word = "approved" if approval.yes else "denied"
            self.audit(approval.at, word, approval.action, f"by {approval.by}")

    def approvals(self) -> list[Approval]:
        """What people said and nobody acted on yet."""
        rows = self._db.execute("SELECT action, by, yes, at FROM approvals").fetchall()
        return [Approval(action, by, bool(yes), at) for action, by, yes, at in rows]

    def heard(self, action: str) -> None:
        """An approval was acted on."""
        self._db.execute("DELETE FROM approvals WHERE action = ?", (action,))

    def notice(self, notice: Notice, now: float) -> None:
        """Something to tell people; the same key is told once."""
        self._db.execute("INSERT OR IGNORE INTO notices VALUES (?, ?, ?, NULL)", (notice.key, now, notice.text))

    def unsent(self) -> list[Notice]:
        """Notices that did not get through yet."""
        rows = self._db.execute("SELECT key, text FROM notices WHERE sent IS NULL ORDER BY at LIMIT 100").fetchall()
        return [Notice(key, text) for key, text in rows]

    def noticed(self, key: str) -> bool:
        """A notice with this key is on disk."""
        return self._db.execute("SELECT 1 FROM notices WHERE key = ?", (key,)).fetchone() is not None

    def sent(self, key: str, now: float) -> None:
        """A notice got through."""
        self._db.execute("UPDATE notices SET sent = ? WHERE key = ?", (now, key))

    def instance(self) -> str:
        """A name of this state that no other has; it marks the processes that belong to it."""
        with self.transaction():
            row = self._db.execute("SELECT value FROM meta WHERE key = 'instance'").fetchone()
            if row is None:
                name = secrets.token_hex(8)
                self._db.execute("INSERT INTO meta VALUES ('instance', ?)", (name.encode(),))
                return name
            return bytes(row[0]).decode()

    def desired(self, name: str) -> Desired | None:
        """How a worker is to run."""
        row = self._db.execute("SELECT document FROM workers WHERE name = ?", (name,)).fetchone()
        return msgspec.json.decode(row[0], type=Desired) if row else None

    def desire(self, desired: Desired) -> None:
        """Say how a worker is to run."""
        with self.transaction():
            self._db.execute("REPLACE INTO workers VALUES (?, ?)", (desired.name, msgspec.json.encode(desired)))


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the lock file beside the database.

    Raises:
        InputError: another ``heal run`` holds it.
    """
    handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOCK_PAUSE)  # heal status looks at it for an instant
        else:
            raise InputError(f"{path}: another heal run uses this state")
        yield
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """A ``heal run`` holds the lock."""
    try:
        handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
