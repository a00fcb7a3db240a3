"""Rows of kernel modules, dkms, packages and ROCm installs."""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts import kernel
from rocsteady.facts.dkms import read_dkms
from rocsteady.facts.modules import (
    DRIVER_MODULES,
    PROC_MODULES,
    LoadedModule,
    ModprobeLine,
    ModuleDetails,
    read_modprobe,
    read_module,
    read_modules,
)
from rocsteady.facts.packages import read_packages
from rocsteady.facts.rocm_install import read_rocm_installs
from rocsteady.facts.tree_rows import Row, from_file, known, worth_listing
from rocsteady.hostfs import HostFS
from rocsteady.model import Evidence, Gap

DKMS_DRIVER = ("amdgpu-dkms", "amdgpu-core")
BLACKLIST = ("modprobe.blacklist", "module_blacklist", "rd.driver.blacklist")
"""Kernel parameters that keep modules from loading."""


def software_rows(fs: HostFS) -> Iterator[Row]:
    """Rows of all software that the tree shows."""
    yield from _modules(fs)
    yield from _options(fs)
    trees, gaps = read_dkms(fs)
    for tree, path in trees:
        key = f"{tree.name}/{tree.version}/{tree.kernel or ''}"
        yield from known(f"dkms[{key}]", tree, Evidence(path, None, f"{key} {tree.state}"))
    yield from gaps
    packages, gaps = read_packages(fs)
    for package, where in packages:
        yield from known(f"packages[{package.name}]", package, where)
    yield from gaps
    installs, gaps = read_rocm_installs(fs)
    for install in installs:
        where = Evidence(f"{install.path[1:]}/.info/version", 1, install.version)
        yield from known(f"rocm.installs[{install.path}]", install.version, where)
        if install.default or len(installs) == 1:
            yield from known("rocm.version", install.version, where)
    yield from gaps


def _modules(fs: HostFS) -> Iterator[Row]:
    loaded = read_modules(fs)
    if isinstance(loaded, Gap):
        yield from worth_listing(loaded)
        table: dict[str, LoadedModule] = {}
    else:
        table = loaded
        lines = fs.text(PROC_MODULES).splitlines()
        for name, module in table.items():
            where = Evidence(PROC_MODULES, module.line, lines[module.line - 1])
            yield from known(f"modules[{name}].loaded", True, where)
            if name in DRIVER_MODULES:
                yield from known(f"modules[{name}].refcount", module.refcount, where)
                yield from known(f"modules[{name}].used_by", module.used_by, where)
                yield from known(f"modules[{name}].taint", module.taint, where)
    for name in DRIVER_MODULES:
        details = read_module(fs, name)
        if details is not None:
            yield from _details(name, details, name in table)
    if table and "amdgpu" not in table and read_module(fs, "amdgpu") is None:
        where = Evidence(PROC_MODULES, None, "amdgpu is not in the list of loaded modules")
        yield from known("modules[amdgpu].loaded", False, where)


def _details(name: str, details: ModuleDetails, listed: bool) -> Iterator[Row]:
    folder = details.folder
    if not listed:
        yield from known(f"modules[{name}].loaded", True, Evidence(folder.path, None, "the module's directory"))
    yield from from_file(f"modules[{name}].version", folder, "version", details.version)
    yield from from_file(f"modules[{name}].srcversion", folder, "srcversion", details.srcversion)
    for parameter, value in details.parameters.items():
        path = f"modules[{name}].parameters[{parameter}]"
        yield from from_file(path, folder, f"parameters/{parameter}", value)
    if name == "amdgpu":
        yield from from_file("rocm.driver", folder, "version", details.version)
    yield from folder.gaps


def _options(fs: HostFS) -> Iterator[Row]:
    lines, gaps = read_modprobe(fs)
    yield from gaps
    for line in lines:
        yield from _directive(line)
    parameters = kernel.read_command_line(fs)
    if isinstance(parameters, Gap):
        return
    where = Evidence(kernel.COMMAND_LINE, 1, fs.line(kernel.COMMAND_LINE))
    for name, value in parameters.items():
        module, dot, option = name.partition(".")
        if name in BLACKLIST:
            for blocked in value.split(","):
                yield from known(f"modules[{blocked.replace('-', '_')}].blacklisted", True, where)
        elif dot and module in DRIVER_MODULES:
            yield from known(f"modules[{module}].options[{option}]", value, where)


def _directive(line: ModprobeLine) -> Iterator[Row]:
    if line.kind != "options":
        yield from known(f"modules[{line.module}].blacklisted", True, line.evidence)
        return
    for name, value in line.values.items():
        yield from known(f"modules[{line.module}].options[{name}]", value, line.evidence)
