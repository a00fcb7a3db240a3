"""Processes of inference engines: vLLM and SGLang, by their command line or process title.

Source: /proc/<pid>/cmdline, /proc/<pid>/stat, /proc/<pid>/ns/net
Docs:   https://man7.org/linux/man-pages/man5/proc.5.html
        https://github.com/vllm-project/vllm/pull/21780 (titles of vLLM's processes)
Samples: ``python3\\0/usr/bin/vllm\\0serve\\0model\\0--port\\08001``; ``VLLM::EngineCore``; ``VLLM::Worker_TP0``;
``sglang::scheduler_TP0``. The title replaces the command line. VLLM_PROCESS_NAME_PREFIX may change the first word.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, gap_of, parse_bytes
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

USER_HZ = 100
"""Ticks a second in which Linux states CPU times to programs, whatever its own clock. Docs: time(7)."""
TITLE = re.compile(
    r"(?:(?P<vllm>\w+)::(?P<part>APIServer|EngineCore(?:Proc)?|Worker|Coordinator|DPCoordinator)"
    r"|(?P<sglang>sglang)::(?P<other>[a-z]+))\w*"
)
SERVERS = (
    ("vllm", re.compile(r"(?:^|/)vllm$"), "serve", 8000),
    ("vllm", re.compile(r"^vllm\.entrypoints\.(?:openai\.)?api_server$"), None, 8000),
    ("sglang", re.compile(r"^sglang\.launch_server$"), None, 30000),
    ("sglang", re.compile(r"(?:^|/)sglang$"), "serve", 30000),
)
"""Engine, word of the command line, the word behind it where one is needed, default port (documented by both)."""
STATES = {"R": "running", "S": "sleeping", "D": "uninterruptible", "T": "stopped", "t": "stopped", "Z": "zombie",
          "I": "idle"}  # fmt: skip
MOST_WORDS = 400


class EngineProcess(msgspec.Struct, frozen=True):
    """What a command line says: engine (vllm, sglang), role (server, engine-core, worker, ...), port of a server."""

    engine: str
    role: str
    port: int | None = None


class ProcessState(msgspec.Struct, frozen=True):
    """Of /proc/<pid>/stat: state in words, CPU seconds, threads, resident pages, start in ticks after boot."""

    state: str
    cpu_seconds: float
    threads: int
    resident_pages: int
    started: int


def parse_command(data: bytes) -> EngineProcess | None:
    """The engine that a command line starts; None for every other program."""
    words = data.decode(errors="replace").rstrip("\0").split("\0")[:MOST_WORDS]
    if title := TITLE.fullmatch(words[0].split(" ", 1)[0]):
        part = title["part"] or title["other"]
        role = {"APIServer": "server", "EngineCore": "engine-core", "EngineCoreProc": "engine-core"}.get(part, part)
        return EngineProcess("vllm" if title["part"] else "sglang", role.lower())
    for position, word in enumerate(words[:6]):
        for engine, name, verb, port in SERVERS:
            follows = words[position + 1 : position + 2]
            if name.search(word) and (verb is None or follows == [verb]):
                return EngineProcess(engine, "server", _port(words[position:], port))
    return None


def _port(words: list[str], default: int) -> int | None:
    found: str | None = None
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == "--port":
            found = after
        elif word.startswith("--port="):
            found = word[len("--port=") :]
    if found is None:
        return default
    return int(found) if found.isascii() and found.isdigit() and len(found) <= 5 and 0 < int(found) < 65536 else None


def parse_state(data: bytes) -> ProcessState | Malformed:
    """Fields behind the name in parentheses, which may itself hold spaces and parentheses."""
    fields = data.rpartition(b")")[2].split()
    try:
        return ProcessState(
            STATES.get(fields[0].decode(), "other"), (int(fields[11]) + int(fields[12])) / USER_HZ, int(fields[17]),
            int(fields[21]), int(fields[19]),
        )  # fmt: skip
    except (ValueError, IndexError):
        return Malformed("not the fields of a process")


def read_command(fs: HostFS, pid: int) -> EngineProcess | Gap | None:
    """The engine that a process is of; None for another program."""
    path = f"proc/{pid}/cmdline"
    try:
        return parse_command(fs.bytes(path, 1 << 16))
    except ReadError as error:
        return gap_of(path, error)


def read_state(fs: HostFS, pid: int) -> ProcessState | Gap:
    """State and use of one process."""
    return parse_bytes(fs, f"proc/{pid}/stat", parse_state)


def read_pids(fs: HostFS) -> list[int] | Gap:
    """All processes."""
    try:
        return [int(name) for name in fs.names("proc") if name.isascii() and name.isdigit() and len(name) < 10]
    except ReadError as error:
        return gap_of("proc", error)


def read_network(fs: HostFS, pid: int | str) -> str | None:
    """Name of the network namespace of a process, such as ``net:[4026531840]``; None where it may not be seen."""
    try:
        return fs.link(f"proc/{pid}/ns/net")
    except ReadError:
        return None
