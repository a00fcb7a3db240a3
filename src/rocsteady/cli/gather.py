"""From inputs to a diagnosis: the one place where readers and the judge meet."""

from __future__ import annotations

import time

from rocsteady.catalog import Catalog
from rocsteady.diagnose import diagnose
from rocsteady.events import read_logs
from rocsteady.facts import Builder, read_facts
from rocsteady.hostfs import Input
from rocsteady.model import Diagnosis, EventLog, NodeFacts


def gather(source: Input, now: float) -> tuple[NodeFacts, EventLog]:
    """Facts and events of one input."""
    builder = Builder()
    builder.add(read_facts(source))
    log, rows = read_logs(source, time.gmtime(now).tm_year)
    builder.add(rows)
    return builder.build(), log


def diagnose_input(source: Input, catalog: Catalog, now: float) -> Diagnosis:
    """Read and judge one input."""
    facts, log = gather(source, now)
    return diagnose(facts, log, catalog, now)
