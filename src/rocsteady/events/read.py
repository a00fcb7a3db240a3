"""Reads all logs of one input."""

from __future__ import annotations

from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner
from rocsteady.events.sources import log_files
from rocsteady.hostfs import Input
from rocsteady.model import EventLog, Fact, Gap, ReadError


def read_logs(source: Input, year: int) -> tuple[EventLog, list[Fact | Gap]]:
    """Scan every log; ``year`` completes time stamps that have none. Returns events, and facts of log lines."""
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
    log = EventLog(scanner.events(), scanner.unexplained(), tuple(scanner.files))
    return log, [*scanner.facts, *gaps]
