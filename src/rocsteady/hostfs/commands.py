"""Read-only commands: which may run, how long, and under which name their output is kept.

This module is also part of the stand-alone snapshot script, so it keeps to Python 3.6 and the standard library.

No command here opens the GPU. rocminfo, rocm-smi, amd-smi and clinfo open /dev/kfd or a render node: on a node
whose GPU hangs they hang too, they wake sleeping GPUs and can change what is to be diagnosed. Their output is
read where somebody recorded it, never made by us.
"""

import os
import re
import selectors
import signal
import subprocess
import time

ALLOWED = (
    ("dmesg",),
    ("journalctl", "-k", "-b", "-o", "short-iso", "--no-pager", "-n", "200000"),
    (
        "journalctl", "-b", "-o", "short-iso", "--no-pager", "-n", "50000",
        "_TRANSPORT=stdout", "_TRANSPORT=syslog", "_TRANSPORT=journal",
    ),
    ("uname", "-a"),
    ("lsmod",),
    ("lscpu",),
    ("lspci", "-nnvvv"),
    ("modinfo", "amdgpu"),
    ("dkms", "status"),
    ("dpkg", "-l"),
    ("rpm", "-qa"),
    ("pacman", "-Q"),
    ("python3", "-m", "pip", "list"),
    ("mokutil", "--sb-state"),
    ("df", "-PT"),
    ("df", "-Pi"),
    ("id",),
    ("env",),
    ("numactl", "-H"),
    ("ldconfig", "-p"),
    ("rdma", "link"),
    ("ibv_devinfo",),
    ("systemd-detect-virt",),
    ("systemctl", "--failed", "--no-pager"),
    ("systemctl", "list-timers", "--all", "--no-pager"),
    ("docker", "ps", "-a", "--no-trunc"),
    ("uptime",),
)  # fmt: skip
"""Nothing else is ever run. Each prints and changes nothing; whole command lines, so that no argument slips in."""

CONTAINER_LOGS = (
    ("docker", "logs", "--timestamps", "--tail", "200000"),
    ("podman", "logs", "--timestamps", "--tail", "200000"),
)
"""Run with one container name behind, only for a name that a person gave."""
CONTAINER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Commands of the system, not of the caller's PATH."""
SECONDS = 20.0
"""``pip list`` and ``lspci`` of a large node take a few seconds; a hung one must not hold up the rest."""
OUTPUT = 64 * 1024 * 1024
"""200,000 journal lines have 30 MB."""


def slug(argv):  # type: (tuple[str, ...]) -> str
    """The file name of a command's output; the rule of sosreport, so both are found the same way.

    >>> slug(("/usr/sbin/lspci", "-nnvvv"))
    'lspci_-nnvvv'
    """
    name = re.sub(r"^/(usr/|)(bin|sbin)/", "", " ".join(argv))
    name = re.sub(r"[^\w\-./]+", "_", name)
    return name.replace("/", ".").strip(" ._-")[:200]


def prints_log(path):  # type: (str) -> bool
    """Whether a recorded output is a log, by its file name: events are read from it, no facts."""
    return path.rpartition("/")[2].startswith(("dmesg", "journalctl", "docker_logs", "podman_logs"))


def allowed(argv):  # type: (tuple[str, ...]) -> bool
    """Whether the command is on the list."""
    if argv in ALLOWED:
        return True
    return argv[:-1] in CONTAINER_LOGS and CONTAINER_NAME.match(argv[-1]) is not None


def environment_text():  # type: () -> str
    """What ``env`` would print of this process."""
    pairs = sorted(os.environ.items())
    return "".join(f"{k}={v}\n" for k, v in pairs).encode("utf-8", "replace").decode("utf-8", "replace")


def run(argv, seconds=SECONDS, limit=OUTPUT):  # type: (tuple[str, ...], float, int) -> tuple[str, bytes, str]
    """Run one command of the list without a shell; returns (status, output, detail).

    status: ok, absent, denied, timeout, failed. Output of a command that was cut off is kept with status timeout
    or, where it became too long, with status ok and a detail.
    """
    if not allowed(argv):
        return "failed", b"", "not on the list of read-only commands"
    if argv == ("env",):  # the caller's own environment, not the cleaned one that commands get
        return "ok", environment_text().encode("utf-8", "replace"), ""
    env = {
        "PATH": SEARCH_PATH,
        "LC_ALL": "C",
        "LANG": "C",
        "HOME": "/nonexistent",
        "PAGER": "cat",
        "SYSTEMD_COLORS": "0",
    }
    program = _find(argv[0])
    if program is None:
        return "absent", b"", "no such command"
    try:
        process = subprocess.Popen(
            (program, *argv[1:]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=env, cwd="/", start_new_session=True, close_fds=True,
        )  # fmt: skip
    except OSError as error:
        return ("denied" if error.errno in (1, 13) else "failed"), b"", error.strerror or str(error)
    out, err, cut = _collect(process, time.monotonic() + seconds, limit)
    message = err.decode("utf-8", "replace").strip()
    detail = message.partition("\n")[0][:300]
    if cut == "time":
        return "timeout", out, f"no end after {seconds:g} s"
    if cut == "size":
        return "ok", out, f"cut after {limit} bytes"
    denied = re.search(r"not permitted|permission denied|insufficient permissions", message, re.IGNORECASE)
    if denied and (not out.strip() or out.strip() == b"-- No entries --"):
        return "denied", b"", detail
    if process.returncode and not out.strip():
        return "failed", b"", f"exit code {process.returncode} {detail}".strip()
    if argv[0] in ("docker", "podman") and argv[1] == "logs":
        out += err  # both streams of the container
    return "ok", out, detail


def _find(program):  # type: (str) -> str | None
    for folder in SEARCH_PATH.split(":"):
        path = folder + "/" + program
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


def _collect(process, deadline, limit):  # type: (subprocess.Popen[bytes], float, int) -> tuple[bytes, bytes, str]
    """Both outputs, and ``time`` or ``size`` where the command had to be stopped."""
    assert process.stdout is not None and process.stderr is not None
    streams = {process.stdout.fileno(): [], process.stderr.fileno(): []}  # type: dict[int, list[bytes]]
    size = 0
    cut = ""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() and not cut:
            left = deadline - time.monotonic()
            if left <= 0:
                cut = "time"
                break
            for key, _ in selector.select(min(left, 0.5)):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                streams[key.fd].append(data)
                size += len(data)
                if size > limit:
                    cut = "size"
    if not cut:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            cut = "time"
    if cut:
        try:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(1)
        except (OSError, subprocess.TimeoutExpired):
            pass  # a process in uninterruptible sleep cannot be killed; it is left behind
    out, err = (b"".join(streams[s.fileno()]) for s in (process.stdout, process.stderr))
    process.stdout.close()
    process.stderr.close()
    return out, err, cut
