"""ROCm user space below /opt.

Source: /opt/rocm*/.info/version; the link /opt/rocm names the default one
Sample: ``6.4.1-83``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, gap_of, is_absent, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

OPT = "opt"
VERSION = re.compile(r"\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:[-.\w]{0,40})?")


class RocmInstall(msgspec.Struct, frozen=True, kw_only=True):
    """One tree; ``default`` where /opt/rocm is it or points to it."""

    path: str
    version: str
    default: bool


def parse_rocm_version(text: str) -> str | Malformed:
    """The version without the build number."""
    line = text.strip()
    match = VERSION.fullmatch(line)
    return line.partition("-")[0] if match else Malformed(f"a version was wanted, found {shown(text)}")


def read_rocm_installs(fs: HostFS) -> tuple[list[RocmInstall], list[Gap]]:
    """All trees with a version file, each once."""
    try:
        names = [n for n in fs.names(OPT) if n.startswith("rocm")]
    except ReadError as error:
        gap = gap_of(OPT, error)
        return [], [] if is_absent(gap) else [gap]
    found: dict[str, RocmInstall] = {}
    gaps: list[Gap] = []
    try:
        default = fs.real(f"{OPT}/rocm") if "rocm" in names else ""
    except ReadError:
        default = ""
    for name in names:
        version = parse_file(fs, f"{OPT}/{name}/.info/version", parse_rocm_version)
        if isinstance(version, Gap):
            gaps += [] if is_absent(version) else [version]
            continue
        try:
            real = fs.real(f"{OPT}/{name}")
        except ReadError:
            continue
        if real not in found:
            found[real] = RocmInstall(path=f"/{real}", version=version, default=real == default)
    return list(found.values()), gaps
