"""What the exporter says about itself and about what it could not read."""

from __future__ import annotations

from rocsteady.metrics.declare import Metric

OWN = "the exporter"
COLLECTOR_SUCCESS = Metric(
    name="collector_success", kind="gauge", labels=("collector",), source=OWN, read="exporter",
    help="1 where a collector answered in time and read what it should; 0 otherwise, see the reasons.",
)  # fmt: skip
COLLECTOR_DURATION = Metric(
    name="collector_duration_seconds", kind="gauge", unit="seconds", labels=("collector",), source=OWN,
    read="exporter", help="Time that the last run of a collector took; of a run that hangs, the time so far.",
)  # fmt: skip
COLLECTOR_AGE = Metric(
    name="collector_last_success_age_seconds", kind="gauge", unit="seconds", labels=("collector",), source=OWN,
    read="exporter", help="Age of the newest values of a collector.",
)  # fmt: skip
COLLECTOR_CPU = Metric(
    name="collector_cpu_seconds_total", kind="counter", unit="seconds", labels=("collector",), source=OWN,
    read="exporter", help="CPU time that a collector has used.",
)  # fmt: skip
COLLECTOR_UNREADABLE = Metric(
    name="collector_unreadable", kind="gauge", labels=("collector", "reason"), source=OWN, read="exporter",
    help="Values or files without a sample in this scrape, by reason: denied, malformed, timeout, failed, skipped.",
)  # fmt: skip
EXPORTER_INFO = Metric(
    name="exporter_info", kind="info", labels=("version",), source=OWN, read="exporter",
    help="Version of the exporter.",
)  # fmt: skip
EXPORTER_PAUSED = Metric(
    name="exporter_paused", kind="gauge", source=OWN, read="exporter",
    help="1 while the exporter has let go of the node on request.",
)  # fmt: skip
EXPORTER_CPU = Metric(
    name="exporter_cpu_seconds_total", kind="counter", unit="seconds", source=OWN, read="exporter",
    help="CPU time that the exporter has used.",
)  # fmt: skip
EXPORTER_MEMORY = Metric(
    name="exporter_resident_memory_bytes", kind="gauge", unit="bytes", source="/proc/self/statm of the exporter",
    read="exporter", help="Memory that the exporter holds.",
)  # fmt: skip
EXPORTER_FILES = Metric(
    name="exporter_open_files", kind="gauge", source="/proc/self/fd of the exporter", read="exporter",
    help="Files that the exporter has open.",
)  # fmt: skip
SCRAPE_DURATION = Metric(
    name="exporter_scrape_duration_seconds", kind="gauge", unit="seconds", source=OWN, read="exporter",
    help="Time from the request to the text of this scrape.",
)  # fmt: skip
SCRAPES = Metric(
    name="exporter_scrapes_total", kind="counter", source=OWN, read="exporter", help="Scrapes answered.",
)  # fmt: skip

METRICS = (
    COLLECTOR_SUCCESS, COLLECTOR_DURATION, COLLECTOR_AGE, COLLECTOR_CPU, COLLECTOR_UNREADABLE, EXPORTER_INFO,
    EXPORTER_PAUSED, EXPORTER_CPU, EXPORTER_MEMORY, EXPORTER_FILES, SCRAPE_DURATION, SCRAPES,
)  # fmt: skip
