"""Driver sources that dkms knows, and for which kernels they were built.

Source: /var/lib/dkms/<module>/<version>/<kernel>/<arch>/, or <version>/source alone when only added
Docs:   https://github.com/dkms-project/dkms/blob/main/README.md
Sample: ``var/lib/dkms/amdgpu/6.12.12-2187269.22.04/6.8.0-60-generic/x86_64/module``; a link
``kernel-<kernel>-<arch>`` beside the versions marks what is installed.
"""

from __future__ import annotations

import re

from rocsteady.facts.parse_file import Folder
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap
from rocsteady.model.facts import Dkms

PLACE = "var/lib/dkms"
INSTALLED = re.compile(r"kernel-(?P<kernel>.+)-(?P<arch>x86_64|aarch64|ppc64le)")
BOOKKEEPING = ("source", "build", "mok", "patches")


def read_dkms(fs: HostFS) -> tuple[list[tuple[Dkms, str]], list[Gap]]:
    """Each module version with its state (added, built, installed) and the path that shows it."""
    folder = Folder(fs, PLACE)
    found: list[tuple[Dkms, str]] = []
    for module in folder.names():
        if not folder.fs.is_dir(f"{PLACE}/{module}"):
            continue
        names = folder.names(module)
        installed = {m["kernel"]: folder.link(f"{module}/{m[0]}") for n in names if (m := INSTALLED.fullmatch(n))}
        for version in names:
            place = f"{PLACE}/{module}/{version}"
            if INSTALLED.fullmatch(version) or not fs.is_dir(place):
                continue
            kernels = [k for k in folder.names(f"{module}/{version}") if k not in BOOKKEEPING]
            for kernel in kernels:
                state = "installed" if kernel in installed else "built"
                found.append((Dkms(name=module, version=version, kernel=kernel, state=state), f"{place}/{kernel}"))
            if not kernels:
                found.append((Dkms(name=module, version=version, state="added"), place))
    return found, folder.gaps
