"""Words of an error in prompts, source code, documents and our own reports are no errors; a person's report is one."""

from __future__ import annotations

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.events.quoted import document, quoted
from tests.support import heap, judged

CATALOG = load_catalog()

REQUEST = (
    "INFO 07-02 10:07:30 [logger.py:43] Received request chatcmpl-1: prompt: 'Why torch.OutOfMemoryError: HIP out of "
    "memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 191.98 GiB', params: SamplingParams(n=1)\n"
)
CHAT = (
    '{"messages":[{"role":"user","content":"RuntimeError: No HIP GPUs are available; amdgpu: GPU reset begin!"},'
    '{"role":"assistant","content":"Unable to open /dev/kfd read-write: Permission denied is typical."}]}\n'
)
PYTHON = (
    "import torch\nfrom os import path\n\ndef load(x):\n    try:\n        return x.cuda()\n"
    '    except RuntimeError as e:\n        raise RuntimeError("HIP error: invalid device function")\n'
    'MSG = "Memory access fault by GPU node-1 (Agent handle: 0x55d) on address 0x7f1. Reason: Unknown."\n'
)
DRIVER = (
    '#include "amdgpu.h"\nstatic int recover(struct amdgpu_device *adev)\n{\n'
    '\tdev_info(adev->dev, "GPU reset begin!\\n");\n\tdev_err(adev->dev, "Fatal error during GPU init\\n");\n}\n'
)
COMMITS = (
    "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A Person <a@example.com>\n\n    drm/amdgpu: fix leaks\n\n"
    "    [   30.1] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=100, emitted seq=102\n"
)
SHORT = "a1b2c3d4e5f6 drm/amdgpu: Fix Fatal error during GPU init\n" * 6
MANUAL = (
    'OOM(5)   File Formats   OOM(5)\n\nNAME\n  oom\nDESCRIPTION\n  "Too many open files" is EMFILE. GPU reset begin!\n'
)
ADVICE = (
    "# Troubleshooting\nIf you see `torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a "
    "total capacity of 191.98 GiB`, lower the limit.\n`RuntimeError: No HIP GPUs are available` means a closed container.\n"
)


@pytest.mark.parametrize("text", [REQUEST, CHAT, PYTHON, DRIVER, COMMITS, SHORT, MANUAL, ADVICE])
def test_quotations_are_no_findings(text: str) -> None:
    """Nothing above info."""
    answer = judged(heap({"input.txt": text}), CATALOG)
    assert [f.slug for f in answer.findings if f.role == "cause" or f.severity != "info"] == []
    assert answer.verdict in ("healthy", "unknown")


def test_own_reports_are_no_logs() -> None:
    """A JSON or text report given back to the command raises nothing, and the note says why."""
    line = "[   16.324195] amdgpu 0000:48:00.0: amdgpu: Fatal error during GPU init"
    answer = judged(
        heap({"old.json": '{\n "schema": "rocsteady.diagnosis/1",\n "findings": [{"text": "' + line + '"}]}\n'}),
        CATALOG,
    )
    assert not answer.findings
    assert any("old.json is a report of rocsteady" in note for note in answer.notes)
    assert not judged(heap({"old.txt": f"FAILING  node\n     dmesg.txt:8  {line}\n"}), CATALOG).findings


def test_every_failure_mode_file_is_recognised() -> None:
    """The catalog's own files are full of error lines."""
    from rocsteady.catalog.load import MODES

    for path in MODES.rglob("*.yaml"):
        assert document(path.read_text(encoding="utf-8")[:16384]) == "a failure mode of a catalog", path


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: No HIP GPUs are available",
        "I get `HIP out of memory` when I start the server",
        'When I run it, it says "Memory access fault by GPU node-1"',
        "[   30.1] amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
        "ERROR 12-26 04:34:07 [core.py:879] RuntimeError: HIP error: invalid device function",
    ],
)
def test_reports_of_people_and_log_lines_stay(line: str) -> None:
    """What was seen is evidence."""
    assert not quoted(line, len(line) - 4)


def test_scripts_beside_logs_do_not_hide_them() -> None:
    """A reproducer in the same paste as its traceback is read."""
    text = (
        "import torch\nfrom vllm import LLM\ndef main():\n    llm = LLM('x')\n\nTraceback (most recent call last):\n"
        '  File "a.py", line 4, in main\n    raise RuntimeError("No HIP GPUs are available")\n'
        "RuntimeError: No HIP GPUs are available\n"
    )
    assert document(text) is None
    assert judged(heap({"paste.txt": text}), CATALOG).findings


def test_needles_with_quotes_are_found_in_json_lines() -> None:
    """JSON writers escape quotation marks, and Go also <, > and &."""
    line = (
        '{"log":"[    5.1] amdgpu 0000:03:00.0: [drm] *ERROR* hw_init of IP block \\u003cpsp\\u003e failed -22\\n",'
        '"stream":"stdout","time":"2026-11-30T10:00:00Z"}\n'
    )
    assert judged(heap({"a.log": line}), CATALOG).verdict == "failing"
