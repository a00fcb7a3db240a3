"""Reads all logs of one input."""

from __future__ import annotations

from rocsteady.events.clock import align
from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner
from rocsteady.events.sources import log_files
from rocsteady.hostfs import Input
from rocsteady.model import EventLog, Fact, Gap, ReadError


def read_logs(source: Input, year: int, boot_time: float | None = None) -> tuple[EventLog, list[Fact | Gap]]:
    """Scan every log; returns events, and the facts that log lines state.

    ``year`` completes time stamps without one; ``boot_time`` (btime of /proc/stat) dates boot-relative ones.
    """
    scanner = Scanner(KINDS, year)
    gaps: list[Gap] = []
    for path in log_files(source):
        try:
            with source.fs.open(path) as stream:
                scanner.scan(path, stream)
        except ReadError as error:
            gaps.append(Gap(path, error.why))
        except OSError as error:
            gaps.append(Gap(path, f"failed: {error.strerror}"))
    events, notes = align(scanner.events(), boot_time)
    log = EventLog(events, scanner.unexplained(), tuple(scanner.files), notes, tuple(scanner.spans))
    return log, [*scanner.facts, *gaps, *source.fs.gaps]
