"""The part of a log line before the message: time stamps, host, process, level, wrappers of log collectors.

``split`` peels known prefixes until none fits. Times become seconds since 1970; a stamp without a zone is
taken as UTC, one without a year gets ``year``; the caller says so in its clock notes.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable

import msgspec

from rocsteady.hostfs.textual import ANSI

MONTHS = {
    m: i + 1 for i, m in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
}
MONTHS |= {"mai": 5, "mär": 3, "mrz": 3, "okt": 10, "dez": 12}  # German journals, seen in reports

_UPTIME = re.compile(r"(?:<\d+>)?\[ *(\d+\.\d{1,9})\](?:\[ *[TC]\d+\])? ?")
_CTIME = re.compile(r"\[?(?:\w{3}) (\w{3}) +(\d+) (\d\d):(\d\d):(\d\d)(?:\.\d+)? (?:[A-Z]{3,5} )?(\d{4})\]?:? ?")
_ISO = re.compile(
    r"\[?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?: ?(Z|UTC|[+-]\d\d:?\d\d))?(?: (?:TP|DP|PP|EP)\d+)*\]?[:,]? ?"
)
_SYSLOG = re.compile(r"(?:<\d+>)?([A-Za-zä]{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d+))? ")
_HOST = re.compile(r"(?!\w+:)[\w.()-]+ (?=[\w./()@-]+(?:\[\d+\])?: )")
_SOURCE = re.compile(r"(kernel|[\w./@-]+\[\d+\]|systemd|dockerd|containerd|kubelet|CRON|logrotate|rsyslogd): ?")
_VLLM = re.compile(
    r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.\d+)? (?:\[[^\]]*\]|[\w./]+:\d+\])? ?"
)
_KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.\d+ +\d+ [\w./-]+:\d+\] ?")
_RANK = re.compile(r"\[rank\d+\]:?(?:\[[WEIF]\d* ?[\d:.]* ?[\w.]+:\d+\])? ?")
_OLLAMA = re.compile(r"time=(\S+) level=\w+ (?:source=\S+ )?(?:msg=)?")
_WRAP = re.compile(
    r"(?:\[pod/[^\]]+\] |\((?:\w+ ?)?(?:pid=\d+)?[^()]{0,60}\) |(?:stdout|stderr) [FP] |[\w.-]+ +\| "
    r"|\[(?:Info|Error|Warning|Debug|Warn)\] (?:\(\w+\) )?|\(\w+\) |\{\d+\}\[Hardware Error\]: (?=x)|> ?)"
)
_JSON_KEYS = ("MESSAGE", "log", "msg", "message", "MSG")


class Split(msgspec.Struct, frozen=True):
    """A line taken apart. ``kernel`` is True where the prefix says that the kernel wrote it."""

    message: str
    at: float | None = None
    uptime: float | None = None
    kernel: bool = False
    zone: bool = False
    dated: bool = True


def split(line: str, year: int) -> Split:
    """Peel prefixes off one line.

    >>> split("[  593.942278] amdgpu 0000:63:00.0: amdgpu: ring gfx timeout", 2026).uptime
    593.942278
    """
    if "\x1b" in line:
        line = ANSI.sub("", line)
    stripped = line.strip()
    if stripped.startswith("{") and stripped.endswith("}"):
        parsed = _json(stripped, year)
        if parsed is not None:
            return parsed
    at: float | None = None
    uptime: float | None = None
    kernel = zone = False
    dated = True
    rest = line
    for _ in range(8):
        for kind, regex in _ORDER:
            match = regex.match(rest)
            if match is None or match.end() == 0:
                continue
            if kind == "uptime":
                uptime = float(match[1]) if uptime is None else uptime
                kernel = True
            elif kind == "source":
                kernel = kernel or match[1] == "kernel"
            elif kind in _TIMES and at is None:
                at, has_zone, dated = _TIMES[kind](match, year)
                zone = zone or has_zone
                if kind == "syslog":
                    host = _HOST.match(rest, match.end())
                    rest = rest[host.end() if host else match.end() :]
                    break
                if kind == "iso":
                    host = _HOST.match(rest, match.end())
                    rest = rest[host.end() if host else match.end() :]
                    break
            rest = rest[match.end() :]
            break
        else:
            break
    return Split(rest, at, uptime, kernel, zone, dated)


def _epoch(y: int, mo: int, d: int, h: int, mi: int, s: int) -> float | None:
    if not (1 <= mo <= 12 and 1 <= d <= 31 and h < 24 and mi < 60 and s < 62):
        return None
    return float(calendar.timegm((y, mo, d, h, mi, s, 0, 0, 0)))


Time = tuple[float | None, bool, bool]


def _ctime(m: re.Match[str], _year: int) -> Time:
    month = MONTHS.get(m[1].lower(), 0)
    return _epoch(int(m[6]), month, int(m[2]), int(m[3]), int(m[4]), int(m[5])), False, True


def _iso(m: re.Match[str], _year: int) -> Time:
    at = _epoch(*(int(m[i]) for i in range(1, 7)))
    if at is None:
        return None, False, True
    if m[7]:
        at += float("0." + m[7])
    zone = m[8]
    if zone and zone not in ("Z", "UTC"):
        sign = -1 if zone[0] == "-" else 1
        at -= sign * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    return at, zone is not None, True


def _syslog(m: re.Match[str], year: int) -> Time:
    month = MONTHS.get(m[1].lower(), 0)
    return _epoch(year, month, int(m[2]), int(m[3]), int(m[4]), int(m[5])), False, False


def _month_day(m: re.Match[str], year: int) -> Time:
    return _epoch(year, *(int(m[i]) for i in range(1, 6))), False, False


def _ollama(m: re.Match[str], year: int) -> Time:
    iso = _ISO.match(m[1])
    return _iso(iso, year) if iso else (None, False, True)


_TIMES: dict[str, Callable[[re.Match[str], int], Time]] = {
    "ctime": _ctime, "iso": _iso, "syslog": _syslog, "vllm": _month_day, "klog": _month_day, "ollama": _ollama,
}  # fmt: skip
_ORDER: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("uptime", _UPTIME), ("ctime", _CTIME), ("iso", _ISO), ("syslog", _SYSLOG), ("vllm", _VLLM),
    ("klog", _KLOG), ("ollama", _OLLAMA), ("rank", _RANK), ("wrap", _WRAP), ("source", _SOURCE),
)  # fmt: skip


def _json(line: str, year: int) -> Split | None:
    """``journalctl -o json``, docker's json-file driver, structured loggers."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    for key in _JSON_KEYS:
        message = record.get(key)
        if isinstance(message, list):  # journald writes non-UTF-8 messages as a list of byte values
            message = bytes(b for b in message if isinstance(b, int) and 0 <= b < 256).decode("utf-8", "replace")
        if isinstance(message, str):
            break
    else:
        return None
    inner = split(message.rstrip("\n"), year) if key == "log" else Split(message.rstrip("\n"))
    at = inner.at
    stamp = record.get("__REALTIME_TIMESTAMP")
    if isinstance(stamp, str) and stamp.isdigit():
        at = int(stamp) / 1e6
    elif isinstance(record.get("time"), str):
        iso = _ISO.match(record["time"])
        at = _iso(iso, year)[0] if iso else at
    elif isinstance(record.get("ts"), (int, float)):
        at = float(record["ts"])
    extra = " ".join(str(record[k]) for k in ("error", "err", "reason") if isinstance(record.get(k), str))
    text = f"{inner.message} {extra}".rstrip()
    return Split(text, at, inner.uptime, record.get("_TRANSPORT") == "kernel" or inner.kernel, at is not None)
