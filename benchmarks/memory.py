"""Peak memory of `rocsteady diagnose` on inputs of growing size: it must not grow with the input.

Measures the peak resident size (VmHWM of the process) and CPU time for a kernel log of the wanted size as a
plain file, through a pipe, as .gz, as .zst, inside a .tar.zst beside a tree, and as one line without an end. All
content is synthetic. Needs free disk of about twice the size in TMPDIR (or /var/tmp) for the piped and packed runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scan_speed import write_log

GOAL = 400 * 10**6
"""Bytes: what a log of 5 GB may need at most."""
MEASURE = (
    "import resource, runpy, sys\n"
    "sys.argv = ['rocsteady', *sys.argv[1:]]\n"
    "try:\n    runpy.run_module('rocsteady', run_name='__main__')\n"
    "finally:\n    use = resource.getrusage(resource.RUSAGE_SELF)\n"
    "    peak = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) * 1024\n"
    "    sys.stderr.write(f'{peak} {use.ru_utime + use.ru_stime}\\n')\n"
)


def measure(arguments: list[str], stdin: IO[bytes] | None = None) -> dict[str, float | int | bool]:
    """Run one diagnosis; peak bytes, CPU seconds, exit code."""
    command = [sys.executable, "-c", MEASURE, "diagnose", *arguments, "--format", "json"]
    done = subprocess.run(command, stdin=stdin or subprocess.DEVNULL, capture_output=True, check=False)
    peak, seconds = done.stderr.decode().splitlines()[-1].split()
    return {
        "peak_bytes": int(peak), "cpu_seconds": round(float(seconds), 2), "exit_code": done.returncode,
        "within_goal": int(peak) < GOAL,
    }  # fmt: skip


def packed(log: Path, target: Path, opener: Callable[[IO[bytes]], IO[bytes]]) -> Path:
    """Compress a log."""
    with log.open("rb") as source, target.open("wb") as out, opener(out) as stream:
        shutil.copyfileobj(source, stream, 1 << 20)
    return target


def tarred(log: Path, target: Path) -> Path:
    """A tree that holds the log, as .tar.zst."""
    with (
        target.open("wb") as out,
        zstandard.ZstdCompressor(level=1).stream_writer(out) as stream,
        tarfile.open(fileobj=stream, mode="w|") as archive,
    ):
        archive.add(log, "node/var/log/kern.log")
        archive.add(__file__, "node/etc/readme")
    return target


def one_line(target: Path, size: int) -> Path:
    """A file without a line end; one message that is known in each MB."""
    message = b" amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] page fault (src_id:0 ring:24 vmid:3 pasid:32770) "
    block = b"x" * ((1 << 20) - len(message)) + message
    with target.open("wb") as out:
        for _ in range(max(1, size // len(block))):
            out.write(block)
    return target


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=5.0, help="GB of the log (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=["file", "pipe", "gzip", "zstd", "tar", "line"], default=[])
    parser.add_argument("--dir", default=None, help="where to put the files (default: TMPDIR)")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    options = parser.parse_args()
    wanted = options.only or ["file", "pipe", "gzip", "zstd", "tar", "line"]
    size = int(options.size * 10**9)
    results: dict[str, dict[str, float | int | bool]] = {}
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        log = Path(folder) / "kern.log"
        if set(wanted) - {"line"}:
            write_log(log, size, 1000)
        for name in wanted:
            sys.stderr.write(f"{name} ...\n")
            if name == "file":
                results[name] = measure([str(log)])
            elif name == "pipe":
                with log.open("rb") as stream:
                    results[name] = measure(["-"], stream)
            elif name == "gzip":
                target = Path(folder) / "kern.log.gz"
                with log.open("rb") as source, target.open("wb") as out:
                    subprocess.run(["gzip", "-1", "-c"], stdin=source, stdout=out, check=True)
                results[name] = measure([str(target)])
                target.unlink()
            elif name == "zstd":
                target = packed(log, Path(folder) / "kern.log.zst", zstandard.ZstdCompressor(level=1).stream_writer)
                results[name] = measure([str(target)])
                target.unlink()
            elif name == "tar":
                target = tarred(log, Path(folder) / "node.tar.zst")
                results[name] = measure([str(target)])
                target.unlink()
            else:
                if log.exists():
                    os.unlink(log)  # noqa: PTH108
                results[name] = measure([str(one_line(Path(folder) / "line.log", size))])
    answer = {
        "schema": "rocsteady.memory/1", "log_bytes": size, "goal_bytes": GOAL, "runs": results,
        "peak_bytes": max(int(r["peak_bytes"]) for r in results.values()),
    }  # fmt: skip
    if options.json:
        print(json.dumps(answer, indent=1))
    else:
        for name, run in results.items():
            print(
                f"{name:<6} {int(run['peak_bytes']) / 1e6:7.0f} MB peak  {run['cpu_seconds']:8} s CPU  exit {run['exit_code']}"
            )
    return 0 if all(run["within_goal"] for run in results.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
