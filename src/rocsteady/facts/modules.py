"""Kernel modules: what is loaded, with which parameters, and what was asked for.

Source: /proc/modules, /sys/module/<name>/{version, srcversion, taint, refcnt, parameters/*},
        /etc/modprobe.d, /usr/lib/modprobe.d, /lib/modprobe.d, /run/modprobe.d (*.conf)
Samples: ``amdgpu 19529728 12 - Live 0x0000000000000000 (OE)``; ``options amdgpu noretry=0``; ``blacklist radeon``.
Of amdgpu ``version`` exists for the DKMS driver only.
"""

from __future__ import annotations

import re
import shlex
from functools import partial

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, gap_of, is_absent, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap, ReadError

PROC_MODULES = "proc/modules"
MODPROBE_FOLDERS = ("etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d")
LINE = re.compile(
    r"(?P<name>[\w-]{1,64}) (?P<size>\d{1,12}) (?P<refs>-?\d{1,9}|-) (?P<users>\S{1,4000}) (?P<state>\w+) \S+"
    r"(?: \((?P<taint>[A-Z+-]+)\))?\s*"
)
DRIVER_MODULES = (
    "amdgpu", "ttm", "amdttm", "amdkcl", "amdxcp", "amd_sched", "gpu_sched", "drm_buddy", "amddrm_buddy",
    "amddrm_ttm_helper", "amd_iommu_v2", "amdkfd", "radeon", "mlx5_core", "mlx5_ib", "bnxt_en", "bnxt_re", "ib_core",
    "ib_uverbs", "ib_peer_mem", "vfio_pci", "nouveau", "nvidia",
)  # fmt: skip
"""Modules whose details matter to GPU work; of all others only whether they are loaded is kept."""


class LoadedModule(msgspec.Struct, frozen=True, kw_only=True):
    """One line of /proc/modules. ``refcount`` None where the kernel cannot unload modules."""

    name: str
    size: int
    refcount: int | None
    used_by: tuple[str, ...]
    state: str
    taint: str | None
    line: int


class ModuleDetails(msgspec.Struct, frozen=True, kw_only=True):
    """/sys/module/<name>; ``parameters`` hold the values in force, as printed."""

    version: str | None
    srcversion: str | None
    taint: str | None
    refcount: int | None
    parameters: dict[str, str]
    folder: Folder


class ModprobeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One directive: ``options`` (with ``values``), ``blacklist``, or ``disabled`` (install MODULE /bin/false)."""

    kind: str
    module: str
    values: dict[str, str]
    evidence: Evidence


def parse_modules(text: str) -> dict[str, LoadedModule] | Malformed:
    """All lines of /proc/modules by module name."""
    modules: dict[str, LoadedModule] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = LINE.fullmatch(line)
        if match is None:
            continue
        users = tuple(u for u in match["users"].split(",") if u and u not in ("-", "[permanent]"))
        refs = match["refs"]
        modules[match["name"]] = LoadedModule(
            name=match["name"], size=int(match["size"]), refcount=None if refs == "-" else int(refs),
            used_by=users, state=match["state"], taint=match["taint"], line=number,
        )  # fmt: skip
    return modules if modules else Malformed(f"lines of /proc/modules were wanted, found {shown(text)}")


def read_modules(fs: HostFS) -> dict[str, LoadedModule] | Gap:
    """Loaded modules; modules built into the kernel are not in it."""
    return parse_file(fs, PROC_MODULES, parse_modules)


def read_module(fs: HostFS, name: str) -> ModuleDetails | None:
    """Details of one module; None where it is not there."""
    folder = Folder(fs, f"sys/module/{name}")
    if not folder.names():
        return None
    parameters: dict[str, str] = {}
    for parameter in folder.names("parameters"):
        value = folder.parsed(f"parameters/{parameter}", lambda text: text.strip(), empty=False)
        if value is not None:
            parameters[parameter] = value
    return ModuleDetails(
        version=folder.word("version"),
        srcversion=folder.word("srcversion"),
        taint=folder.word("taint"),
        refcount=folder.integer("refcnt"),
        parameters=parameters,
        folder=folder,
    )


def parse_modprobe(path: str, text: str) -> list[ModprobeLine]:
    """Directives of one file; ``-`` and ``_`` in module names are the same to modprobe."""
    found: list[ModprobeLine] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        words = _split(line)
        if len(words) < 2:
            continue
        kind, module, rest = words[0], words[1].replace("-", "_"), words[2:]
        where = Evidence(path, number, raw)
        if kind == "options" and rest:
            found.append(ModprobeLine(kind="options", module=module, values=assignments(rest), evidence=where))
        elif kind == "blacklist":
            found.append(ModprobeLine(kind="blacklist", module=module, values={}, evidence=where))
        elif kind == "install" and rest and rest[0].rpartition("/")[2] in ("false", "true"):
            found.append(ModprobeLine(kind="disabled", module=module, values={}, evidence=where))
    return found


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def assignments(words: list[str]) -> dict[str, str]:
    """``noretry=0`` -> {'noretry': '0'}; a bare word has the value ''."""
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def read_modprobe(fs: HostFS) -> tuple[list[ModprobeLine], list[Gap]]:
    """All directives in the order modprobe takes them: by file name, the first folder that has a name wins."""
    files: dict[str, str] = {}
    gaps: list[Gap] = []
    for folder in MODPROBE_FOLDERS:
        try:
            names = fs.names(folder)
        except ReadError as error:
            gap = gap_of(folder, error)
            gaps += [] if is_absent(gap) else [gap]
            continue
        for name in names:
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    found: list[ModprobeLine] = []
    for name in sorted(files):
        lines = parse_file(fs, files[name], partial(parse_modprobe, files[name]))
        if isinstance(lines, Gap):
            gaps.append(lines)
        else:
            found.extend(lines)
    return found, gaps
