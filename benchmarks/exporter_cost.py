"""What the exporter costs: CPU per exported sample against node_exporter, a scrape of a CPX node, memory over time.

Writes synthetic nodes with `rocsteady lab write`, serves each tree on loopback with both exporters, scrapes them in
turn and measures CPU time (user + system of the whole process, from /proc). node_exporter runs with its drm, hwmon and
infiniband collectors and nothing else. A peer that is not installed is null. Prints ratios; a goal that is missed is
printed as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

PEER = "prometheus-node-exporter"
CLOCK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Served:
    """One exporter process."""

    def __init__(self, command: list[str], url: str) -> None:
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = url
        for _ in range(200):
            try:
                self.scrape()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise SystemExit(f"{command[0]} does not answer")

    def scrape(self) -> int:
        """Samples of one scrape."""
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            return sum(1 for line in answer.read().splitlines() if line and not line.startswith(b"#"))

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK

    def memory(self) -> float:
        """Resident MiB."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * PAGE / (1 << 20)

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def ours(tree: Path) -> Served:
    """Our exporter on a tree."""
    port = free_port()
    command = [sys.executable, "-m", "rocsteady", "exporter", "--root", str(tree), "--listen", f"127.0.0.1:{port}"]
    return Served(command, f"http://127.0.0.1:{port}/metrics")


def theirs(tree: Path) -> Served | None:
    """node_exporter on the same tree, with the three collectors that see GPUs and NICs."""
    binary = shutil.which(PEER)
    if binary is None:
        return None
    port = free_port()
    command = [
        binary, f"--path.sysfs={tree}/sys", f"--path.procfs={tree}/proc", "--collector.disable-defaults",
        "--web.disable-exporter-metrics", "--collector.drm", "--collector.hwmon", "--collector.infiniband",
        f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    return Served(command, f"http://127.0.0.1:{port}/metrics")


def per_sample(served: Served, scrapes: int) -> tuple[float, float, int]:
    """CPU seconds per sample, per scrape, and samples of a scrape."""
    before, samples = served.cpu(), 0
    for _ in range(scrapes):
        samples += served.scrape()
    used = served.cpu() - before
    return used / samples, used / scrapes, samples // scrapes


def pairs(tree: Path, rounds: int, scrapes: int) -> dict[str, Any]:
    """Both in turn; the ratio of each round, so that what else the machine does falls on both."""
    mine, peer = ours(tree), theirs(tree)
    try:
        for served in (mine, peer):
            if served is not None:
                per_sample(served, 5)
        rows = [
            (per_sample(mine, scrapes), per_sample(peer, scrapes) if peer is not None else None) for _ in range(rounds)
        ]
    finally:
        mine.stop()
        if peer is not None:
            peer.stop()
    ratios = [a[0] / b[0] for a, b in rows if b is not None and b[0] > 0]
    scrape = statistics.median(a[1] for a, _ in rows)
    return {
        "samples": rows[0][0][2], "cpu_per_sample_us": round(statistics.median(a[0] for a, _ in rows) * 1e6, 3),
        "cpu_per_scrape_ms": round(scrape * 1e3, 2), "core_share_at_15s": round(scrape / 15, 5),
        "node_exporter": None if not ratios else {
            "samples": rows[0][1][2] if rows[0][1] else None,
            "cpu_per_sample_us": round(statistics.median(b[0] for _, b in rows if b) * 1e6, 3),
            "cpu_per_scrape_ms": round(statistics.median(b[1] for _, b in rows if b) * 1e3, 2),
        },
        "ratio_per_sample": None if not ratios else
            {"median": round(statistics.median(ratios), 3), "min": round(min(ratios), 3), "max": round(max(ratios), 3)},
    }  # fmt: skip


def memory(tree: Path, scrapes: int) -> dict[str, Any]:
    """Resident memory while it is scraped again and again."""
    served = ours(tree)
    marks: dict[str, float] = {}
    wanted = sorted({1, min(100, scrapes), min(1000, scrapes), scrapes})
    try:
        for number in range(1, scrapes + 1):
            served.scrape()
            if number in wanted:
                marks[str(number)] = round(served.memory(), 1)
                sys.stderr.write(f"{number} scrapes: {marks[str(number)]} MiB\n")
    finally:
        served.stop()
    return {"scrapes": scrapes, "resident_mib": marks}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--rounds", type=int, default=7, help="pairs of measurements")
    parser.add_argument("--scrapes", type=int, default=40, help="scrapes of one measurement")
    parser.add_argument(
        "--memory-scrapes", type=int, default=10_000, help="scrapes of the memory test; 0 leaves it out"
    )
    arguments = parser.parse_args()
    document: dict[str, Any] = {"schema": "rocsteady.exporter-cost/1", "shapes": {}, "memory": None}
    with tempfile.TemporaryDirectory() as folder:
        for shape in ("mi300x8", "mi300x8-cpx"):
            tree = Path(folder) / shape
            subprocess.run(
                [sys.executable, "-m", "rocsteady", "lab", "write", shape, str(tree)], check=True, capture_output=True
            )
            document["shapes"][shape] = pairs(tree, arguments.rounds, arguments.scrapes)
            sys.stderr.write(f"{shape}: {document['shapes'][shape]}\n")
        if arguments.memory_scrapes:
            document["memory"] = memory(Path(folder) / "mi300x8", arguments.memory_scrapes)
    if arguments.json:
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        for shape, row in document["shapes"].items():
            sys.stdout.write(f"{shape}: {json.dumps(row)}\n")
        sys.stdout.write(f"memory: {json.dumps(document['memory'])}\n")


if __name__ == "__main__":
    main()
