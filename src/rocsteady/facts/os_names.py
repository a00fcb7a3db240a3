"""From what people and tools call a distribution to the ``ID`` and ``VERSION_ID`` of its os-release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row
from rocsteady.facts.sections import Section

_NAMES = (
    (r"ubuntu|kubuntu|xubuntu", "ubuntu"), (r"debian", "debian"), (r"red hat enterprise linux coreos|rhcos", "rhcos"),
    (r"red hat enterprise linux|rhel|red ?hat", "rhel"), (r"rocky(?: linux)?", "rocky"), (r"almalinux|alma linux", "almalinux"),
    (r"centos stream|centos(?: linux)?", "centos"), (r"oracle linux(?: server)?", "ol"), (r"fedora(?: linux)?", "fedora"),
    (r"suse linux enterprise server|sles", "sles"), (r"opensuse tumbleweed", "opensuse-tumbleweed"),
    (r"opensuse leap", "opensuse-leap"), (r"arch ?linux|arch", "arch"), (r"manjaro(?: linux)?", "manjaro"),
    (r"cachyos", "cachyos"), (r"endeavouros", "endeavouros"), (r"linux mint|mint", "linuxmint"), (r"pop!?_?os", "pop"),
    (r"nixos", "nixos"), (r"gentoo(?: linux)?", "gentoo"), (r"proxmox(?: ve)?", "debian"), (r"azure linux|mariner", "azurelinux"),
    (r"amazon linux", "amzn"), (r"talos(?: linux)?", "talos"), (r"solus", "solus"), (r"void(?: linux)?", "void"),
    (r"unraid(?: os)?", "unraid"), (r"truenas(?: scale)?", "truenas"),
)  # fmt: skip
NAME = re.compile(
    r"^\s*(?:" + "|".join(f"(?P<n{i}>{pattern})" for i, (pattern, _) in enumerate(_NAMES)) + r")(?![\w-])",
    re.IGNORECASE,
)
VERSION = re.compile(r"(?:release |version |v)?(?P<version>\d+(?:\.\d+){0,2})(?: ?SP(?P<sp>\d))?", re.IGNORECASE)


def identify(name: str) -> tuple[str, str | None] | None:
    """Id and version of a distribution; None for what is no name that we know.

    >>> identify("Ubuntu 22.04.5 LTS (x86_64)")
    ('ubuntu', '22.04')
    >>> identify("Red Hat Enterprise Linux release 9.4 (Plow)")
    ('rhel', '9.4')
    >>> identify("SLES 15 SP6")
    ('sles', '15.6')
    """
    match = NAME.match(name)
    if match is None:
        return None
    found = next(i for i, _ in enumerate(_NAMES) if match[f"n{i}"])
    version = VERSION.search(name, match.end())
    if version is None:
        return _NAMES[found][1], None
    text = version["version"] + (f".{version['sp']}" if version["sp"] else "")
    if _NAMES[found][1] == "ubuntu":
        text = ".".join(text.split(".")[:2])
    return _NAMES[found][1], text


def os_rows(section: Section, name: str, index: int, rank: int = 2) -> Iterator[Row]:
    """Name, id and version as facts."""
    name = re.sub(r" \((?:x86_64|aarch64|amd64)\)$", "", name.strip().strip('"'))
    known = identify(name)
    if known is None:
        return
    yield section.fact("host.os_name", name, index, rank)
    yield section.fact("host.os_id", known[0], index, rank)
    if known[1]:
        yield section.fact("host.os_version", known[1], index, rank)
