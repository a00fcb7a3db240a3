"""Tells lines of logs from output of commands: what a log says is an event, not the state that a tool reads."""

from __future__ import annotations

import re

LOG_LINE = re.compile(
    r"^\s*(?:"
    r"\[\s*\d+\.\d+\]|<\d+>|kernel: (?=\[|amdgpu|pci|drm|\w+ \d{4}:)|"  # kernel ring buffer
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|"  # ISO time stamps
    r"\[?(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|"  # syslog, dmesg -T
    r"\[?\d\d:\d\d:\d\d[\].,: ]|"
    r"\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b[\]:]? |"  # Python, vLLM
    r"\([A-Za-z_]\w*(?: pid=\d+|(?:_\w+)? pid=\d+)[^)]*\)|"  # vLLM processes
    r"[IWEF]\d{4} \d\d:\d\d|time=\S+ level=|"  # klog, slog
    r"\{\"(?:level|ts|time|log|msg|timestamp)\"|"
    r"\[(?:rank\d+|pod/[^\]]+)\]|"
    r"[\w.-]+:\d+:\d+ \[\d+\] |"  # RCCL
    r"(?:srv|slot|main|llama_\w+|ggml_\w+|load_\w+|print_info)\s*:|"  # llama.cpp
    r"Traceback \(|  File \"|    raise |\w+(?:Error|Exception): )"
)


def is_log_line(line: str) -> bool:
    """Whether the line starts as lines of logs do."""
    return LOG_LINE.match(line) is not None
