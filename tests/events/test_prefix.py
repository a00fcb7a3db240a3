"""Each known prefix is peeled, and its time is read."""

from __future__ import annotations

import pytest

from rocsteady.events.prefix import split

THREE = 1796007600.0
"""2026-11-30T03:00:00Z."""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2026-11-30T03:00:00.000000+00:00 node-a kernel: amdgpu: gone", "amdgpu: gone"),
        ("Nov 30 03:00:00 node-a kernel: amdgpu: gone", "amdgpu: gone"),
        ("[Mon Nov 30 03:00:00 2026] amdgpu: gone", "amdgpu: gone"),
        ("2026-11-30T05:00:00+0200 node-a vllm[77]: gone", "gone"),
        ("E1130 03:00:00.000000    4711 pod_workers.go:1298] gone", "gone"),
        ("ERROR 11-30 03:00:00 [core.py:588] gone", "gone"),
        ("time=2026-11-30T03:00:00Z level=ERROR source=server.go:12 msg=gone", "gone"),
        ('{"log": "gone\\n", "stream": "stderr", "time": "2026-11-30T03:00:00Z"}', "gone"),
    ],
)
def test_message_and_time(line: str, message: str) -> None:
    parts = split(line, 2026)
    assert (parts.message.strip(), parts.at) == (message, THREE)


def test_seconds_since_boot_are_no_time_of_day() -> None:
    parts = split("[  593.942278] amdgpu 0000:63:00.0: gone", 2026)
    assert (parts.message, parts.uptime, parts.at, parts.kernel) == (
        "amdgpu 0000:63:00.0: gone",
        593.942278,
        None,
        True,
    )


def test_a_line_without_prefix_is_its_own_message() -> None:
    parts = split("HSA_STATUS_ERROR_OUT_OF_RESOURCES", 2026)
    assert (parts.message, parts.at, parts.uptime) == ("HSA_STATUS_ERROR_OUT_OF_RESOURCES", None, None)
