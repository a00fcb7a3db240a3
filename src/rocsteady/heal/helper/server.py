"""The unix socket of the helper. Who asks is known from the kernel (SO_PEERCRED); one request a connection."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
import stat
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import msgspec

from rocsteady.heal.helper.desk import LARGEST, Answer, Desk, Log
from rocsteady.heal.helper.fan import EVERY, Fans
from rocsteady.heal.helper.host import LiveHost
from rocsteady.heal.helper.memory import Saved
from rocsteady.heal.helper.verbs import TIMER, UNIT, VERBS, Parts, Rules
from rocsteady.model import InputError

SECONDS = 2.0
"""How long somebody may take to send a line."""
AT_ONCE = 16
CREDENTIALS = struct.Struct("3i")
"""struct ucred of Linux: pid, uid, gid."""


def load_rules(path: Path) -> Rules:
    """``helper.toml``; only root may be able to write it.

    Raises:
        InputError: it cannot be read, says something unknown, or others may write it.
    """
    try:
        info = path.stat()
        rules = msgspec.toml.decode(path.read_bytes(), type=Rules)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    if info.st_uid not in (0, os.geteuid()) or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(f"{path}: others than root may write it")
    if unknown := set(rules.verbs) - set(VERBS):
        raise InputError(f"{path}: verbs: no verb is called {', '.join(sorted(unknown))}")
    for names, shape in ((rules.timers, TIMER), (rules.units, UNIT)):
        if wrong := [name for name in names if not shape.fullmatch(name)]:
            raise InputError(f"{path}: {wrong[0]!r} is no name of a unit")
    return rules


def user_ids(users: tuple[str, ...]) -> frozenset[int]:
    """Numbers of users by name or number.

    Raises:
        InputError: there is no such user, or nobody is named.
    """
    found = set()
    for user in users:
        try:
            found.add(int(user) if user.isdecimal() else pwd.getpwnam(user).pw_uid)
        except KeyError:
            raise InputError(f"users: no user is called {user!r}") from None
    if not found:
        raise InputError("users: nobody may ask")
    return frozenset(found)


class Server:
    """Listens until ``close``."""

    def __init__(self, path: Path, allowed: frozenset[int], desk: Desk, log: Log) -> None:
        """Bind the socket.

        Raises:
            InputError: it cannot be bound.
        """
        self._path = path
        self._allowed = allowed
        self._desk = desk
        self._log = log
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_socket():
                path.unlink()
            self._socket.bind(str(path))
            path.chmod(0o666)  # who may ask is decided by the credentials of the peer, not by the file
            self._socket.listen(AT_ONCE)
        except OSError as error:
            self._socket.close()
            raise InputError(f"{path}: {error.strerror or error}") from error

    def serve(self) -> None:
        """Until the socket is closed."""
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            if not self._slots.acquire(blocking=False):
                peer.close()
                continue
            threading.Thread(target=self._one, args=(peer,), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _one(self, peer: socket.socket) -> None:
        try:
            with peer:
                peer.settimeout(SECONDS)
                pid, uid, _ = CREDENTIALS.unpack(
                    peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
                )
                who = f"uid {uid} pid {pid}"
                if uid not in self._allowed:
                    self._log(f"{who} refused: not in users")
                    answer = Answer("refused", "not in users")
                else:
                    answer = self._desk.answer(_line(peer), who)
                peer.sendall(msgspec.json.encode(answer) + b"\n")
        except OSError:
            pass  # the peer went away or was too slow; it asks again
        finally:
            self._slots.release()


def _line(peer: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        piece = peer.recv(LARGEST + 1 - len(data))
        if not piece:
            break
        data += piece
        if len(data) > LARGEST:
            return b""
    return data


def run(rules: Rules, root: Path, ready: Callable[[str], None], log: Log) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        InputError: a user is unknown or the socket cannot be bound.
    """
    host = LiveHost(root)
    saved = Saved(host)
    fans = Fans(host, saved)
    desk = Desk(Parts(host, saved, fans, rules), log)
    server = Server(Path(rules.socket), user_ids(rules.users), desk, log)
    desk.recover()
    ended = threading.Event()

    def end(_: int, __: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    worker = threading.Thread(target=desk.work, name="verbs", daemon=True)
    worker.start()
    threading.Thread(target=server.serve, name="socket", daemon=True).start()
    ready(rules.socket)
    while not ended.wait(EVERY):
        fans.round()
    server.close()
    desk.close()
    worker.join(5.0)
