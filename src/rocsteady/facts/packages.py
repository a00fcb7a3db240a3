"""Installed packages of the distribution, as far as they matter to GPU serving.

Source: /var/lib/dpkg/status; lists that sosreport leaves: installed-debs, installed-rpms
Docs:   https://man7.org/linux/man-pages/man5/deb-control.5.html
Samples: ``Package: amdgpu-dkms`` / ``Status: install ok installed`` / ``Version: 1:6.12.12...``;
         ``ii  rocm-core  6.4.1...``; ``amdgpu-core-6.4-2164967.el9.noarch   Mon 01 Sep 2025``.
The rpm database is not read: it has no text form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocsteady.facts.parse_file import gap_of, is_absent
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap, ReadError
from rocsteady.model.facts import Package

DPKG, DEBS, RPMS = "var/lib/dpkg/status", "installed-debs", "installed-rpms"
LARGEST = 64 << 20
WANTED = re.compile(
    r"(?:amd-?gpu|amd-smi|amd64-microcode|amd-ucode|rocm|rocr|roc[a-z]+|hip|hsa|rccl|miopen|comgr|comp(?:ose|utility)|"
    r"linux-(?:firmware|image|headers|modules|generic|oem)|kernel|firmware-amd|dkms|rdma-core|libibverbs|ibverbs|"
    r"libdrm|mesa|ucx|openmpi|libopenmpi|docker|containerd|podman|nvidia|cuda|libnuma|numactl|python3$|python3\.|"
    r"mlnx|ofed|bnxt|grub|libelf|gcc|libstdc|glibc|libc6)",
    re.IGNORECASE,
)
STATES = {"installed": "installed", "half-configured": "half-configured", "half-installed": "half-installed",
          "unpacked": "unpacked", "config-files": "removed", "triggers-pending": "installed"}  # fmt: skip
DEB_LINE = re.compile(r"^(?P<state>[uihrp][ncHUFWti]R?)\s+(?P<name>[a-z0-9][a-z0-9+.-]*)(?::\w+)?\s+(?P<version>\S+)")
RPM_LINE = re.compile(
    r"^(?P<name>[\w+.-]+?)-(?P<version>[^-\s]+-[^-\s]+?)(?:\.(?:x86_64|noarch|i686|aarch64))?(?:\s|$)"
)


def parse_dpkg(lines: Iterable[str]) -> list[tuple[Package, int, str]]:
    """Wanted packages of a dpkg status file, with number and text of the line that states the version."""
    found: list[tuple[Package, int, str]] = []
    name = state = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("Package: "):
            name, state = line[9:].strip(), ""
        elif line.startswith("Status: "):
            state = line.rpartition(" ")[2].strip()
        elif line.startswith("Version: ") and name and WANTED.match(name) and state in STATES:
            version = line[9:].strip()
            found.append(
                (Package(name=name, version=version, source="dpkg", state=STATES[state]), number, line.strip())
            )
    return found


def parse_installed_debs(lines: Iterable[str]) -> list[tuple[Package, int, str]]:
    """``dpkg -l`` lines."""
    found: list[tuple[Package, int, str]] = []
    for number, line in enumerate(lines, 1):
        match = DEB_LINE.match(line)
        if match and WANTED.match(match["name"]):
            state = (
                "installed" if match["state"].startswith("ii") else "removed" if match["state"] == "rc" else "broken"
            )
            package = Package(name=match["name"], version=match["version"], source="dpkg", state=state)
            found.append((package, number, line.rstrip()))
    return found


def parse_installed_rpms(lines: Iterable[str]) -> list[tuple[Package, int, str]]:
    """``rpm -qa`` lines: name-version-release.arch."""
    found: list[tuple[Package, int, str]] = []
    for number, line in enumerate(lines, 1):
        match = RPM_LINE.match(line[:300])
        if match and WANTED.match(match["name"]):
            package = Package(name=match["name"], version=match["version"], source="rpm", state="installed")
            found.append((package, number, line.rstrip()))
    return found


def read_packages(fs: HostFS) -> tuple[list[tuple[Package, Evidence]], list[Gap]]:
    """All wanted packages with the line that states them."""
    found: list[tuple[Package, Evidence]] = []
    gaps: list[Gap] = []
    for path, parse in ((DPKG, parse_dpkg), (DEBS, parse_installed_debs), (RPMS, parse_installed_rpms)):
        try:
            text = fs.text(path, LARGEST)
        except ReadError as error:
            gap = gap_of(path, error)
            gaps += [] if is_absent(gap) else [gap]
            continue
        found.extend((package, Evidence(path, number, line)) for package, number, line in parse(text.split("\n")))
    return found, gaps
