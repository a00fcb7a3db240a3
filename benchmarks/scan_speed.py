"""Speed of the event scanner against `grep -c -F amdgpu` and a plain loop over `re`, on one core.

Makes a kernel log of the wanted size (healthy lines, half of them amdgpu's, one failure line in 1,000; a second
one in which every line is a failure), then measures CPU time (user + system of the whole process) of:

  grep       LC_ALL=C grep -c -F amdgpu FILE
  diagnose   rocsteady diagnose FILE --format json, whole catalog on
  loop       a plain Python loop that tries every pattern of the catalog on every line, on a sample of the file

Everything is synthetic. Prints ratios; a goal that is missed is printed as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HEALTHY_AMDGPU = (
    "amdgpu 0000:{b}:00.0: amdgpu: ring comp_1.{n}.0 uses VM inv eng {n} on hub 0",
    "amdgpu 0000:{b}:00.0: amdgpu: SE 4, SH per SE 2, CU per SH 10, active_cu_number 104",
    "[drm] amdgpu: {n}M of GTT memory ready.",
    "amdgpu 0000:{b}:00.0: amdgpu: VRAM: 65520M 0x0000008000000000 - 0x0000008FFEFFFFFF (65520M used)",
    "amdgpu 0000:{b}:00.0: amdgpu: SMU is initialized successfully!",
    "kfd kfd: amdgpu: added device 1002:740f",
)
HEALTHY_OTHER = (
    "pci 0000:{b}:1f.3: reg 0x10: [mem 0xfe428000-0xfe42bfff 64bit]",
    "usb 1-{n}: new high-speed USB device number {n} using xhci_hcd",
    "EXT4-fs (nvme{n}n1p2): mounted filesystem with ordered data mode. Opts: (null)",
    'audit: type=1400 audit(1690000000.123:{n}): apparmor="STATUS" operation="profile_load"',
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth{n}: link becomes ready",
    "systemd[1]: Started Session {n} of user root.",
)
FAILURES = (
    "amdgpu 0000:{b}:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:{n} pasid:32770)",
    "amdgpu 0000:{b}:00.0: amdgpu: ring sdma0 timeout, signaled seq={n}, emitted seq={n}",
    "amdgpu 0000:{b}:00.0: amdgpu: socket: 0, die: 0, {n} correctable hardware errors detected in umc block",
)
LOOP_SAMPLE = 2_000_000


def write_log(path: Path, size: int, every: int, seed: int = 1) -> int:
    """Write about ``size`` bytes, one failure in ``every`` lines; returns the number of lines."""
    rng = random.Random(seed)
    lines: list[str] = []
    for n in range(100_000):
        if every and rng.random() < 1 / every:
            text = rng.choice(FAILURES)
        else:
            text = rng.choice(HEALTHY_AMDGPU if n % 2 else HEALTHY_OTHER)
        lines.append(f"[{n / 10:12.6f}] " + text.format(b=f"{rng.choice((0x29, 0x43, 0x63, 0x83)):02x}", n=n % 8))
    block = "\n".join(lines) + "\n"
    written = count = 0
    with path.open("w", encoding="ascii") as file:
        while written < size:
            file.write(block)
            written += len(block)
            count += len(lines)
    return count


def cpu(argv: list[str], env: dict[str, str] | None = None) -> tuple[float, int]:
    """CPU seconds of one run, and the peak memory (KiB) of all runs so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # a pipe, not /dev/null: grep stops at its first match when nobody reads
    process = subprocess.run(argv, capture_output=True, env=env, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{argv[0]}: {process.stderr.decode()[:300]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss


def loop_seconds(path: Path) -> float:
    """CPU seconds of the plain loop for the whole file, scaled from a sample of it."""
    from rocsteady.events.registry import KINDS

    patterns = [re.compile(k.pattern, re.IGNORECASE) for k in KINDS]
    with path.open(encoding="ascii") as file:
        lines = file.read(LOOP_SAMPLE).splitlines()[:2000]
    start = time.process_time()
    for line in lines:
        for pattern in patterns:
            pattern.search(line)
    used = time.process_time() - start
    return used * path.stat().st_size / sum(len(x) + 1 for x in lines)


def measure(path: Path, runs: int) -> dict[str, float]:
    """Medians of alternating runs."""
    diagnose = [sys.executable, "-m", "rocsteady", "diagnose", str(path), "--format", "json"]
    grep = ["grep", "-c", "-F", "amdgpu", str(path)]
    pinned = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    env = {**os.environ, "LC_ALL": "C"}
    rows = []
    for run in range(runs):
        print(f"run {run + 1} of {runs}", file=sys.stderr)
        g, _ = cpu([*pinned, *grep], env)
        d, peak = cpu([*pinned, *diagnose], env)
        rows.append((d / g, g, d, peak))
    rows.sort()
    ratio, g, d, peak = rows[len(rows) // 2]
    loop = loop_seconds(path)
    return {
        "ratio_to_grep": round(ratio, 2),
        "grep_cpu_s": round(g, 2),
        "diagnose_cpu_s": round(d, 2),
        "loop_over_re_ratio_to_grep": round(loop / g, 1),
        "peak_mib": round(peak / 1024, 1),
    }


def bundle_cpu(folder: Path) -> dict[str, float]:
    """CPU seconds of diagnosing a snapshot of 10 MB: a synthetic MI210 node with 9 MB of kernel log."""
    tree = folder / "node"
    subprocess.run([sys.executable, "-m", "rocsteady", "lab", "write", "mi210x4", str(tree)], check=True, stdout=2)
    write_log(tree / "var/log/kern.log", 9 << 20, 1000)
    bundle = folder / "node.tar"
    with tarfile.open(bundle, "w") as archive:
        archive.add(tree, ".")
    used, _ = cpu([sys.executable, "-m", "rocsteady", "diagnose", str(bundle), "--format", "json"])
    content = sum(f.stat().st_size for f in tree.rglob("*") if f.is_file())
    return {"content_mb": round(content / 1e6, 1), "cpu_s": round(used, 2)}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024, help="size of the log (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, alternating (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
    out: dict[str, object] = {"schema": "rocsteady.scan-speed/1", "goal_ratio_to_grep": 5}
    shapes = (("healthy_1_in_1000", 1000, arguments.mib), ("every_line_matches", 1, max(1, arguments.mib // 16)))
    with tempfile.TemporaryDirectory(prefix="rocsteady-bench-") as folder:
        for name, every, size in shapes:
            path = Path(folder) / f"{name}.log"
            print(f"writing {name}", file=sys.stderr)
            write_log(path, size << 20, every)
            out[name] = {"mib": size, **measure(path, arguments.runs)}
            path.unlink()
        out["bundle"] = bundle_cpu(Path(folder))
        start, _ = cpu([sys.executable, "-m", "rocsteady", "--version"])
        out["version_cpu_s"] = round(start, 3)
    if arguments.json:
        print(json.dumps(out, indent=1))
    else:
        for key, value in out.items():
            print(f"{key}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
