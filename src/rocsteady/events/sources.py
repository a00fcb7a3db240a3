"""Which files and commands of an input are logs, in the order in which they are read."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from rocsteady.events import wanted
from rocsteady.hostfs import HostFS, Input
from rocsteady.hostfs.commands import slug
from rocsteady.model import ReadError

LOG_GLOBS = (
    *wanted.LOGS, "commands/journalctl*", "commands/dmesg*", "commands/docker_logs*", "commands/podman_logs*",
    "sos_commands/logs/journalctl*", "sos_commands/kernel/dmesg*", "sos_commands/logs/*dmesg*",
    "sos_commands/*/docker_logs*", "sos_commands/*/podman_logs*", "logs/*", "logs/*/*", "etc/logrotate.d/*",
)  # fmt: skip
"""Of a tree: where distributions, sosreport and our snapshot keep logs. What has wall-clock times comes first."""
OLDER = re.compile(
    r"^(?P<base>.*?)(?:-(?P<date>\d{8}(?:-\d+)?)|\.(?P<number>\d{1,4}))?(?P<packed>\.(?:gz|xz|bz2|zst))?$"
)


class LogSource(msgspec.Struct, frozen=True):
    """One log: the path that evidence quotes, and how to open it (raises ReadError)."""

    path: str
    open: Callable[[], BinaryIO]


def log_sources(source: Input) -> Iterator[LogSource]:
    """Everything to scan for events, each once: all files of a heap, the known places of a tree or machine."""
    fs = source.fs
    if fs.live:
        for argv in wanted.COMMANDS:
            yield LogSource(f"commands/{slug(argv)}", _runner(fs, argv))
    for path in fs.walk() if source.kind == "heap" else _places(fs):
        yield LogSource(path, _opener(fs, path))


def _places(fs: HostFS) -> Iterator[str]:
    seen: set[str] = set()
    for pattern in LOG_GLOBS:
        for path in sorted(fs.glob(pattern), key=_age):
            if path not in seen and _is_file(fs, path):
                seen.add(path)
                yield path


def _age(path: str) -> tuple[str, int, str, int]:
    """Rotated logs before the current one, oldest first: the boots then come in order."""
    match = OLDER.match(path)
    if match is None or not (match["date"] or match["number"]):
        return (path, 1, "", 0)
    return (match["base"], 0, match["date"] or "", -int(match["number"] or 0))


def _opener(fs: HostFS, path: str) -> Callable[[], BinaryIO]:
    return lambda: fs.open(path)


def _runner(fs: HostFS, argv: tuple[str, ...]) -> Callable[[], BinaryIO]:
    return lambda: io.BytesIO(fs.command(argv).text.encode())


def _is_file(fs: HostFS, path: str) -> bool:
    try:
        return fs.stat(path).kind == "file"
    except ReadError:
        return False
