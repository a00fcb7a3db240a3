"""Tracebacks: one event each, whatever the prefix, and other kinds still see the line that says what is wrong."""

from __future__ import annotations

import io

from rocsteady.events.registry import KINDS
from rocsteady.events.scan import Scanner
from rocsteady.model import Event

PREFIX = "(EngineCore_DP0 pid=100) ERROR 06-01 10:00:40 [core.py:842] "
TRACE = (
    "Traceback (most recent call last):",
    '  File "/opt/app/vllm/v1/worker/gpu_worker.py", line 233, in load_model',
    "    self.model_runner.load_model()",
    '  File "/usr/lib/python3.12/site-packages/torch/utils/_device.py", line 103, in __torch_function__',
    "    return func(*args, **kwargs)",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 63.98 GiB "
    "of which 624.00 MiB is free. Of the allocated memory 62.85 GiB is allocated by PyTorch, and 23.44 MiB is reserved "
    "by PyTorch but unallocated.",
)


def scanned(lines: tuple[str, ...]) -> tuple[Scanner, dict[str, list[Event]]]:
    scanner = Scanner(KINDS, 2026)
    scanner.scan("log", io.BytesIO("\n".join(lines).encode() + b"\n"))
    found: dict[str, list[Event]] = {}
    for event in scanner.events():
        found.setdefault(event.kind, []).append(event)
    return scanner, found


def test_traceback_is_one_event_with_stage_and_own_frame() -> None:
    for prefix in ("", PREFIX):
        scanner, found = scanned(tuple(prefix + line for line in TRACE))
        (trace,) = found["python-traceback"]
        assert trace.fields["exception"] == "torch.OutOfMemoryError"
        assert trace.fields["stage"] == "load_model"
        assert trace.fields["last_file"] == "/opt/app/vllm/v1/worker/gpu_worker.py"
        assert len(trace.more) == len(TRACE) - 1
        assert found["torch-out-of-memory"][0].fields["allocated"] == "62.85 GiB"
        assert not scanner.unexplained()


def test_chained_traceback_is_an_event_of_its_own() -> None:
    chained = (
        "Traceback (most recent call last):",
        '  File "/opt/app/a.py", line 1, in one',
        "KeyError: 'x'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/opt/app/b.py", line 1, in two',
        "RuntimeError: no x",
    )
    scanner, found = scanned(chained)
    assert [e.fields["exception"] for e in found["python-traceback"]] == ["KeyError", "RuntimeError"]
    assert not scanner.unexplained()
