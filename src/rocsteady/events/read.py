"""Reads all logs of one input."""

from __future__ import annotations

import re

from rocsteady.events.clock import align
from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner
from rocsteady.events.sources import log_sources
from rocsteady.hostfs import Input
from rocsteady.model import Absent, EventLog, Fact, Gap, ReadError


def read_logs(source: Input, year: int, boot_time: float | None = None) -> tuple[EventLog, list[Fact | Gap]]:
    """Scan every log; returns events, and the facts that log lines state.

    ``year`` completes time stamps without one; ``boot_time`` dates boot-relative ones (default: btime of /proc/stat).
    """
    scanner = Scanner(KINDS, year)
    gaps: list[Gap] = []
    for log in log_sources(source):
        try:
            with log.open() as stream:
                scanner.scan(log.path, stream)
        except Absent:
            continue  # a command that this machine does not have, a file that went away
        except ReadError as error:
            gaps.append(Gap(log.path, error.why))
        except OSError as error:
            gaps.append(Gap(log.path, f"failed: {error.strerror}"))
    events, notes = align(scanner.events(), boot_time if boot_time is not None else _boot_time(source))
    found = EventLog(
        events, scanner.unexplained(), tuple(scanner.files), (*notes, *scanner.notes), tuple(scanner.spans)
    )
    return found, [*scanner.facts, *gaps, *source.fs.gaps]


def _boot_time(source: Input) -> float | None:
    """When the machine of a tree booted, in seconds since 1970. Source: line ``btime`` of /proc/stat."""
    if source.kind == "heap":
        return None
    try:
        match = re.search(r"^btime (\d{1,12})$", source.fs.text("proc/stat"), re.MULTILINE)
    except ReadError:
        return None
    return float(match[1]) if match else None
