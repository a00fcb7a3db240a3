"""Which files of an input are logs."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.hostfs import HostFS, Input
from rocsteady.model import ReadError

LOG_GLOBS = (
    "var/log/dmesg", "var/log/dmesg.[0-9]", "var/log/kern.log", "var/log/kern.log.[0-9]", "var/log/messages",
    "var/log/messages-*", "var/log/syslog", "var/log/syslog.[0-9]", "var/log/journal.txt", "var/log/cron",
    "var/log/*.log", "var/log/vllm/*", "var/log/sglang/*", "var/log/ollama/*", "var/log/rocsteady/*",
    "sos_commands/kernel/dmesg*", "sos_commands/logs/journalctl*", "sos_commands/logs/*dmesg*",
    "commands/*", "logs/*", "logs/*/*",
)  # fmt: skip
"""Of a tree: where distributions, sosreport and our snapshot keep logs and what commands printed."""


def log_files(source: Input) -> Iterator[str]:
    """Paths to scan for events, each once: all files of a heap, the known places of a tree."""
    if source.kind == "heap":
        yield from source.fs.walk()
        return
    seen: set[str] = set()
    for pattern in LOG_GLOBS:
        for path in source.fs.glob(pattern):
            if path not in seen and _is_file(source.fs, path):
                seen.add(path)
                yield path


def _is_file(fs: HostFS, path: str) -> bool:
    try:
        return fs.stat(path).kind == "file"
    except ReadError:
        return False
