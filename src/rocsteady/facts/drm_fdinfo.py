"""Use of GPUs by the DRM clients of one process: memory by region, engine time.

Source: /proc/<pid>/fdinfo/<fd> of an open /dev/dri node
Docs:   https://docs.kernel.org/gpu/drm-usage-stats.html
Sample: ``drm-driver:	amdgpu``, ``drm-pdev:	0000:c1:00.0``, ``drm-memory-vram:	123456 KiB``, ``drm-engine-gfx:	987 ns``.
Queues that HIP makes through KFD do not count here; their memory is in ``kfd_processes``. Two descriptors of one
client show the same client id: count each (pdev, client id) once, as ``read_drm_clients`` does.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Malformed, gap_of, parse_file, shown
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap, ReadError

LINE = re.compile(r"^([a-z0-9-]{1,60}):[ \t]*(\S{1,64})(?:[ \t]+(KiB|MiB|ns))?[ \t]*$", re.MULTILINE)
FACTORS = {"KiB": 1 << 10, "MiB": 1 << 20}
SIZES = ("drm-memory-", "drm-total-", "drm-shared-", "drm-resident-", "drm-purgeable-", "drm-active-", "amd-")


class DrmClient(msgspec.Struct, frozen=True, kw_only=True):
    """One client. ``memory``: bytes by key without its ``drm-`` (``memory-vram``, ``resident-gtt``, ``evicted-vram``);
    ``engines``: nanoseconds by engine (``gfx``, ``compute``, ``dec``)."""

    driver: str
    bdf: str | None
    client: int | None
    pasid: int | None
    memory: dict[str, int]
    engines: dict[str, int]


def parse_fdinfo(text: str) -> DrmClient | Malformed:
    """One file; ``Malformed`` for descriptors that are no DRM client."""
    values: dict[str, tuple[str, str]] = {name: (value, unit) for name, value, unit in LINE.findall(text)}
    driver = values.get("drm-driver")
    if driver is None:
        return Malformed(f"no DRM client: {shown(text)}")
    memory: dict[str, int] = {}
    engines: dict[str, int] = {}
    for name, (value, unit) in values.items():
        if not (value.isascii() and value.isdigit() and len(value) <= 20):
            continue
        if name.startswith("drm-engine-") and unit == "ns":
            engines[name.removeprefix("drm-engine-")] = int(value)
        elif name.startswith(SIZES):
            memory[re.sub(r"^(?:drm|amd)-", "", name)] = int(value) * FACTORS.get(unit, 1)
    return DrmClient(
        driver=driver[0], bdf=values.get("drm-pdev", (None, ""))[0], client=_number(values.get("drm-client-id")),
        pasid=_number(values.get("pasid")), memory=memory, engines=engines,
    )  # fmt: skip


def _number(found: tuple[str, str] | None) -> int | None:
    text = found[0] if found else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


def read_drm_clients(fs: HostFS, pid: int) -> tuple[DrmClient, ...] | Gap:
    """amdgpu clients of one process, each once. Another user's process needs ptrace rights (denied)."""
    folder = f"proc/{pid}/fdinfo"
    try:
        names = fs.names(folder)
    except ReadError as error:
        return gap_of(folder, error)
    clients: dict[tuple[str | None, int | None], DrmClient] = {}
    for name in names:
        client = parse_file(fs, f"{folder}/{name}", parse_fdinfo)
        if isinstance(client, DrmClient) and client.driver == "amdgpu":
            clients.setdefault((client.bdf, client.client), client)
    return tuple(clients.values())
