"""What the gateway says about itself. ``process``: number of the gateway process."""

from __future__ import annotations

from rocsteady.metrics.declare import Metric

OWN = "the gateway"
REQUESTS = Metric(
    name="gateway_requests_total", kind="counter", labels=("process", "path", "result"), source=OWN, read="gateway",
    help="Requests by result: ok, client (its own fault), refused (429), failed, cut (a stream that broke), left (the client went away).",
)  # fmt: skip
STAGES = Metric(
    name="gateway_stage_answers_total", kind="counter", labels=("process", "stage", "worker"), source=OWN,
    read="gateway", help="Requests by the stage of the ladder and the worker that had them last.",
)  # fmt: skip
RETRIES = Metric(
    name="gateway_retries_total", kind="counter", labels=("process",), source=OWN, read="gateway",
    help="Further tries before the first byte.",
)  # fmt: skip
BUDGET_EMPTY = Metric(
    name="gateway_retry_budget_exhausted_total", kind="counter", labels=("process",), source=OWN, read="gateway",
    help="Retries that were not made because the budget was used up.",
)  # fmt: skip
CONTINUED = Metric(
    name="gateway_streams_continued_total", kind="counter", labels=("process",), source=OWN, read="gateway",
    help="Streams that went on on another worker after the first byte.",
)  # fmt: skip
CUT = Metric(
    name="gateway_streams_cut_total", kind="counter", labels=("process", "reason"), source=OWN, read="gateway",
    help="Streams that ended with an error event, by why they could not go on.",
)  # fmt: skip
REFUSED = Metric(
    name="gateway_refused_total", kind="counter", labels=("process", "reason"), source=OWN, read="gateway",
    help="Requests that were not admitted.",
)  # fmt: skip
FAILURES = Metric(
    name="gateway_worker_failures_total", kind="counter", labels=("process", "worker", "kind"), source=OWN,
    read="gateway", help="Tries that failed by the worker's fault, by kind.",
)  # fmt: skip
BUSY = Metric(
    name="gateway_worker_busy_total", kind="counter", labels=("process", "worker"), source=OWN, read="gateway",
    help="Answers of a worker that it has no room (429, 408, 529).",
)  # fmt: skip
LATE = Metric(
    name="gateway_worker_late_total", kind="counter", labels=("process", "worker"), source=OWN, read="gateway",
    help="Suspicions of a frozen engine that proved wrong: it was only busy.",
)  # fmt: skip
CANARIES = Metric(
    name="gateway_canaries_total", kind="counter", labels=("process", "worker"), source=OWN, read="gateway",
    help="One-token requests to see whether a worker still works.",
)  # fmt: skip
CHANGES = Metric(
    name="gateway_worker_changes_total", kind="counter", labels=("process", "worker", "state"), source=OWN,
    read="gateway", help="Changes of a worker's health into a state.",
)  # fmt: skip
STATE = Metric(
    name="gateway_worker_state", kind="gauge", labels=("process", "worker", "state"), source=OWN, read="gateway",
    help="1 for the state a worker is in: new, healthy, suspect, ejected, half-open.",
)  # fmt: skip
WORKER = Metric(
    name="gateway_worker_info", kind="info", labels=("worker", "model", "precision", "node"), source=OWN,
    read="gateway", help="A worker as the configuration names it.",
)  # fmt: skip
BLOCKED = Metric(
    name="gateway_worker_blocked", kind="gauge", labels=("process", "worker"), source=OWN, read="gateway",
    help="1 where no new request goes to a worker: its health, its GPU, or a drain.",
)  # fmt: skip
INFLIGHT = Metric(
    name="gateway_worker_inflight", kind="gauge", labels=("process", "worker"), source=OWN, read="gateway",
    help="Requests that are with a worker.",
)  # fmt: skip
OPEN = Metric(
    name="gateway_open_requests", kind="gauge", labels=("process",), source=OWN, read="gateway",
    help="Requests of clients that are open.",
)  # fmt: skip
BROKEN_BY_EXIT = Metric(
    name="gateway_process_exit_broken_requests_total", kind="counter", labels=("process",),
    source="shared memory of the supervisor", read="gateway",
    help="Requests that were open in a gateway process when it died.",
)  # fmt: skip
EXITS = Metric(
    name="gateway_process_exits_total", kind="counter", labels=("process",), source="shared memory of the supervisor",
    read="gateway", help="Deaths of a gateway process that was then started again.",
)  # fmt: skip
GPU_LOST = Metric(
    name="gateway_gpu_health_lost_total", kind="counter", labels=("process", "node"), source=OWN, read="gateway",
    help="Times that the GPU health of a node could not be read.",
)  # fmt: skip
RELOADS = Metric(
    name="gateway_reloads_total", kind="counter", labels=("process", "result"), source=OWN, read="gateway",
    help="Configurations read again: taken or refused.",
)  # fmt: skip
LOG_LOST = Metric(
    name="gateway_log_lines_lost_total", kind="counter", labels=("process",), source=OWN, read="gateway",
    help="Lines of the access log that could not be written.",
)  # fmt: skip
STORE_ERRORS = Metric(
    name="gateway_store_errors_total", kind="counter", labels=("process",), source=OWN, read="gateway",
    help="Reads or writes of the state file that failed.",
)  # fmt: skip
SECONDS = Metric(
    name="gateway_request_duration_seconds", kind="histogram", unit="seconds", labels=("process",), source=OWN,
    read="gateway", help="From the arrival of a request to its last byte.",
)  # fmt: skip
FIRST_BYTE = Metric(
    name="gateway_first_byte_seconds", kind="histogram", unit="seconds", labels=("process",), source=OWN,
    read="gateway", help="From the arrival of a request to the first byte of its answer.",
)  # fmt: skip

METRICS = (
    REQUESTS, STAGES, RETRIES, BUDGET_EMPTY, CONTINUED, CUT, REFUSED, FAILURES, BUSY, LATE, CANARIES, CHANGES, STATE,
    WORKER, BLOCKED, INFLIGHT, OPEN, BROKEN_BY_EXIT, EXITS, GPU_LOST, RELOADS, LOG_LOST, STORE_ERRORS, SECONDS, FIRST_BYTE,
)  # fmt: skip
