"""Installed packages as the tools list them: dpkg -l, apt list, apt policy, rpm -qa, dnf list, zypper, pacman -Q.

Only packages that matter to GPU serving are kept (``packages.WANTED``).
Samples: ``ii  amdgpu-dkms  1:6.8.5.60202-2041575.24.04  all``; ``rocm-core/jammy,now 6.2.2.60202-116~22.04 amd64 [installed]``;
``linux-firmware 20251125-1`` (pacman); ``amdgpu-dkms.noarch  1:6.8.5-2041575.el9  @amdgpu``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.packages import WANTED, parse_installed_debs, parse_installed_rpms
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

DPKG = re.compile(r"^[ \t]*[uihrp][nucfaWtHi]R?\s+[a-z0-9][a-z0-9+.:-]+\s+\d\S*", re.MULTILINE)
RPM = re.compile(
    r"^[ \t]*[\w+.-]+-\d[^-\s]*-[^-\s]*\.(?:el\d\w*|fc\d+|lp\d+|\w+)(?:\.\w+)?\.(?:x86_64|noarch|aarch64|i686)\s*$",
    re.MULTILINE,
)
APT_LIST = re.compile(
    r"^\s*(?P<name>[a-z0-9][a-z0-9+.-]+)/(?P<suite>\S+) (?P<version>\d\S*) (?:amd64|all|arm64|i386)(?: \[(?P<state>[^\]]*)\])?"
)
POLICY = re.compile(r"^\s*(?P<name>[a-z0-9][a-z0-9+.-]+):\s*$")
POLICY_INSTALLED = re.compile(r"^\s+Installed: (?P<version>\S+)")
DNF = re.compile(r"^\s*(?P<name>[\w+.-]+)\.(?:x86_64|noarch|aarch64|i686)\s+(?P<version>(?:\d+:)?\d\S*)\s+@\S+")
ZYPPER = re.compile(r"^\s*i\+?\s*\|\s*(?P<name>[\w+.-]+)\s*\|\s*package\s*\|\s*(?P<version>\d\S*)")
PACMAN = re.compile(
    r"^\s*(?:(?:core|extra|local|multilib|cachyos\S*)/)?(?P<name>linux(?:-[a-z]+)*|rocm-[\w-]+|hip\w*-[\w-]+|mesa|amdgpu[\w-]*|python-pytorch[\w-]*|ollama[\w-]*|miopen-hip|rccl) (?P<version>(?:\d+:)?\d[\w.+-]*-\d+(?:\.\d+)?)\s*(?:\[.*\])?\s*$"
)
SETTING_UP = re.compile(
    r"^\s*(?:Setting up|Unpacking|Preparing to unpack .*?)\s*(?P<name>[a-z0-9][a-z0-9+.-]+)(?::\w+)? \((?P<version>\d\S*)\)"
)
DPKG_TITLE = re.compile(r"^\s*\|/ (?:Name|Err)")


def parse_lists(section: Section) -> Iterator[Row]:
    """The kept packages of every list."""
    lines = [line.strip() for line in section.lines]
    for package, number, _ in (
        *parse_installed_debs(lines),
        *(parse_installed_rpms(lines) if RPM.search(section.text) else ()),
    ):
        yield section.fact(f"packages[{package.name}]", package, number - 1)
        yield from _stack(section, package.name, package.version, number - 1)
    policy = ""
    for index, line in enumerate(section.lines):
        if match := POLICY.match(line):
            policy = match["name"]
            continue
        if match := APT_LIST.match(line):
            if match["state"] and re.match(r"installed|upgradable|residual", match["state"]):
                state = "installed" if "installed" in match["state"] else None
                if state:
                    yield from _row(section, match, "dpkg", state, index)
        elif policy and (match := POLICY_INSTALLED.match(line)):
            if match["version"][0].isdigit() and WANTED.match(policy):
                yield from _named(section, policy, match["version"], "dpkg", "installed", index)
            policy = ""
        elif match := DNF.match(line) or ZYPPER.match(line):
            yield from _row(section, match, "rpm", "installed", index)
        elif match := PACMAN.match(line):
            yield from _named(section, match["name"], match["version"], "pacman", "installed", index)
        elif match := SETTING_UP.match(line):
            yield from _row(section, match, "dpkg", "unpacked", index)


def _row(section: Section, match: re.Match[str], source: str, state: str, index: int) -> Iterator[Row]:
    if WANTED.match(match["name"]):
        yield from _named(section, match["name"], match["version"], source, state, index)


def _named(section: Section, name: str, version: str, source: str, state: str, index: int) -> Iterator[Row]:
    for field, value in (("name", name), ("version", version), ("source", source), ("state", state)):
        yield section.fact(f"packages[{name}].{field}", value, index)
    yield from _stack(section, name, version, index)


def _stack(section: Section, name: str, version: str, index: int) -> Iterator[Row]:
    """What the versions of two packages say of the whole: ROCm by rocm-core, the driver by amdgpu-dkms."""
    bare = version.partition(":")[2] if re.match(r"\d+:", version) else version
    number = re.match(r"\d+\.\d+(?:\.\d+)?", bare)
    if number is None:
        return
    if name == "rocm-core":
        yield section.fact("rocm.version", number[0], index, rank=1)
    elif name == "amdgpu-dkms":
        yield section.fact("rocm.driver", number[0], index, rank=1)


READER = TextReader(
    name="package lists",
    commands=re.compile(r"(?:dpkg|apt|apt-cache|apt-get|rpm|dnf|yum|zypper|pacman)\b"),
    sniff=re.compile(
        rf"{DPKG.pattern}|{RPM.pattern}|^\s*[a-z0-9][a-z0-9+.-]+/\S+ \d\S* (?:amd64|all|arm64)|^\s+Installed: |^\s*[\w+.-]+\.(?:x86_64|noarch)\s+\S+\s+@"
        rf"|^\s*i\+?\s*\|\s|{re.sub(r'[?]P<.*?>', '?:', PACMAN.pattern)}|^\s*(?:Setting up|Unpacking) [a-z]",
        re.MULTILINE,
    ),
    parse=parse_lists,
)
