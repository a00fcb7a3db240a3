"""``lsmod``, ``modinfo``, ``dkms status``, ``mokutil --sb-state``, Kconfig lines, ``sysctl``.

Samples: ``amdgpu              17424384  4``; ``amdgpu/6.12.12-2187269.22.04, 6.8.0-60-generic, x86_64: installed``;
``filename:       /lib/modules/6.8.0-60-generic/updates/dkms/amdgpu.ko.zst``; ``CONFIG_HSA_AMD=y``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

HEAD = re.compile(r"^\s*Module\s+Size\s+Used by")
GPU_MODULES = r"amdgpu|amdkcl|amdttm|amd_sched|amdxcp|amddrm_\w+|amdkfd|radeon|nvidia\w*|nouveau|gim|vfio_pci|ib_peer_mem|amdgpu_peer_mem"
ROW = re.compile(
    r"^\s*(?P<name>[A-Za-z]\w*)\s+(?P<size>\d+)\s+(?P<count>-?\d+)(?:\s+(?P<by>[\w,-]+(?:,)?|\[permanent\]))?\s*$"
)
DKMS = re.compile(
    r"^\s*(?P<name>[a-z][\w-]*)(?:/|, )(?P<version>\d[\w.:~+-]*)(?:, (?P<kernel>\d[\w.+~-]*), (?P<arch>x86_64|aarch64|ppc64le))?\s*: (?P<state>added|built|installed|broken)\b"
)
INFO = re.compile(r"^\s*(?P<key>filename|version|srcversion|signer|vermagic|name):\s+(?P<value>\S.*?)\s*$")
NOT_FOUND = re.compile(
    r"modinfo: ERROR: Module (?P<name>\w+) not found|modprobe: FATAL: Module (?P<probed>\w+) not found"
)
SECURE = re.compile(r"^\s*(?:SecureBoot|Secure Boot:) (?P<state>enabled|disabled)", re.IGNORECASE)
NO_EFI = re.compile(r"EFI variables are not supported on this system")
CONFIG = re.compile(
    r"^\s*(?:\S*/boot/config-\S+:)?(?:# )?(?P<name>CONFIG_[A-Z0-9_]+)(?:=(?P<value>[ymn]|\"[^\"]*\"|-?\w+)| is not set)\s*$"
)
SYSCTL = re.compile(r"^\s*(?P<name>(?:kernel|vm|net|fs|user|dev)\.[\w./-]+)\s*[=:]\s*(?P<value>\S.*?)\s*$")


def parse_modules(section: Section) -> Iterator[Row]:
    """Facts of each tool."""
    table = False
    command = section.command or ""
    rows: set[str] = set()
    cut = False
    module = ""
    if match := re.match(r"modinfo (?:-\S+ )*(\w+)", command):
        module = match[1]
    for index, line in enumerate(section.lines):
        if HEAD.match(line):
            table = True
        elif line.strip() in ("...", "…"):
            cut = True
        elif is_log_line(line):
            continue
        elif match := DKMS.match(line):
            key = f"dkms[{match['name']}/{match['version']}/{match['kernel'] or ''}]"
            for field in ("name", "version", "kernel", "state"):
                if match[field]:
                    yield section.fact(f"{key}.{field}", match[field], index)
        elif match := CONFIG.match(line):
            yield section.fact(f"kernel.config[{match['name']}]", (match["value"] or "n").strip('"'), index)
        elif match := SYSCTL.match(line):
            yield section.fact(f"sysctl[{match['name'].replace('/', '.')}]", " ".join(match["value"].split()), index)
        elif match := SECURE.match(line):
            yield section.fact("kernel.secure_boot", match["state"].lower() == "enabled", index)
        elif NO_EFI.search(line):
            yield section.fact("kernel.secure_boot", False, index)
        elif match := NOT_FOUND.search(line):
            yield section.fact(f"modules[{match['name'] or match['probed']}].present", False, index)
        elif match := INFO.match(line):
            if match["key"] == "filename" and (named := re.search(r"/(\w+)\.ko", match["value"])):
                module = named[1]
            if module in ("amdgpu", "radeon", "amdkcl"):
                yield from _info(section, module, match, index)
        elif (match := ROW.match(line)) and (
            table or command.startswith("lsmod") or re.fullmatch(GPU_MODULES, match["name"])
        ):
            rows.add(match["name"])
            yield section.fact(f"modules[{match['name']}].loaded", True, index)
            if re.fullmatch(GPU_MODULES, match["name"]):
                yield section.fact(f"modules[{match['name']}].refcount", int(match["count"]), index)
    if table and command in ("lsmod", "") and not cut and len(rows) > 20 and "amdgpu" not in rows:
        yield section.fact(
            "modules[amdgpu].loaded", False, next(i for i, line in enumerate(section.lines) if HEAD.match(line))
        )


def _info(section: Section, module: str, match: re.Match[str], index: int) -> Iterator[Row]:
    key, value = match["key"], match["value"]
    if key == "filename":
        yield section.fact(f"modules[{module}].present", True, index)
    if key in ("filename", "version", "srcversion", "signer"):
        yield section.fact(f"modules[{module}].{key}", value, index)
    elif key == "vermagic":
        yield section.fact(f"modules[{module}].vermagic", value.split()[0], index)


READER = TextReader(
    name="kernel modules",
    marks=(
        "Module",
        "amd",
        "radeon",
        "nvidia",
        "nouveau",
        "vfio",
        "gim",
        "filename",
        "dkms",
        ": installed",
        ": added",
        ": built",
        ": broken",
        "modinfo",
        "modprobe",
        "ecureBoot",
        "ecure Boot",
        "EFI",
        "CONFIG_",
        "kernel.",
        "vm.",
        "net.",
        "fs.",
        "x86_64",
    ),
    commands=re.compile(r"(?:lsmod|modinfo|dkms|mokutil|sysctl|zgrep|zcat|grep|modprobe)\b"),
    sniff=re.compile(
        rf"{HEAD.pattern}|^\s*(?:{GPU_MODULES})\s+\d+\s+-?\d+(?:\s|$)|{re.sub(r'[?]P<.*?>', '?:', DKMS.pattern)}|^\s*filename:\s+/|modinfo: ERROR|modprobe: FATAL"
        r"|^\s*(?:SecureBoot|Secure Boot:) |EFI variables are not supported|CONFIG_[A-Z0-9_]+(?:=| is not set)|^\s*(?:kernel|vm|net|fs)\.[\w./-]+\s*=",
        re.MULTILINE,
    ),
    parse=parse_modules,
)
