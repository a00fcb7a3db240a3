"""Pairs of versions that AMD's support tables do not list: driver, operating system, GPU and PyTorch against ROCm.

A pair counts only where both versions were read and the ROCm release has a table of its own: a table of a neighbour
release, a missing version or a missing table say nothing.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.catalog.compatibility import Combination, Row, check, find_release, system_of
from rocsteady.catalog.knowledge import compat
from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.model import Evidence, Gpu, NodeFacts, Subject

NO = Probed(False)
UNKNOWN = Probed(None)
CLASSIC = re.compile(r"^(?:\d+:)?\d+\.\d+\.\d+\.(?P<major>\d)(?P<minor>\d\d)(?P<patch>\d\d)-")
"""``1:6.10.5.60303-2119913.24.04``: the package of the driver of ROCm 6.3.3."""
SEPARATE = re.compile(r"^(?:\d+:)?\d+\.\d+\.\d+\.(?P<major>[3-9]\d)(?P<minor>\d\d)(?P<patch>\d\d)(?P<build>\d\d)-")
"""``1:6.14.14.30100000-2193512.24.04``: the package of driver release 30.10."""


class _Read(msgspec.Struct, frozen=True):
    """A version and the line that states it."""

    version: str
    evidence: Evidence


def driver_release(facts: NodeFacts) -> _Read | None:
    """The driver release by the package's version, as the tables count it.

    The module's own version (6.2.4, 6.12.12) counts differently and overlaps with release numbers, so it is not used.
    """
    package = facts.packages.get("amdgpu-dkms")
    found = lookup(facts, "packages.amdgpu-dkms").evidence
    if package is None or found is None or (package.state or "installed") not in ("installed", "unpacked", "ii"):
        return None
    if match := SEPARATE.match(package.version):
        return _Read(".".join(str(int(n)) for n in (match["major"], match["minor"])), found)
    if match := CLASSIC.match(package.version):
        return _Read(".".join(str(int(match[n])) for n in ("major", "minor", "patch")), found)
    return None


def _fact(facts: NodeFacts, path: str) -> _Read | None:
    found = lookup(facts, path)
    if not isinstance(found.value, str) or found.evidence is None:
        return None
    return _Read(found.value, found.evidence)


def _judge(rocm: _Read | None, other: _Read | None, field: str, pair: str) -> Probed:
    """Unsupported by a table of the release itself: both lines and what the table says."""
    if rocm is None or other is None:
        return UNKNOWN
    release, neighbour = find_release(rocm.version, compat())
    if release is None or neighbour is not None:
        return UNKNOWN
    wanted = msgspec.structs.replace(Combination(rocm=rocm.version), **{field: other.version})
    row = next((r for r in check(wanted, compat()) if r.pair.startswith(pair)), None)
    if row is None or row.status == "unknown":
        return UNKNOWN
    if row.status == "supported":
        return NO
    return Probed(True, (other.evidence, rocm.evidence), _bindings(row, rocm, other))


def _bindings(row: Row, rocm: _Read, other: _Read) -> dict[str, str]:
    move = (row.move_to or "a combination that the table lists")[:150]
    return {"version": other.version, "rocm": rocm.version, "listed": move}


def driver_not_for_rocm(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The installed driver package is outside of what AMD tested with this ROCm user space.

    Either side's table is enough to call a pair tested. A driver newer than a release's table was not known when the
    table was written, so only the driver's own row can refuse it. Patch levels are not compared.
    """
    facts = world.facts
    rocm, driver = _fact(facts, "rocm.version"), driver_release(facts)
    if rocm is None or driver is None or facts.host.container:
        return UNKNOWN
    release, neighbour = find_release(rocm.version, compat())
    have, space = _minor(driver.version), _minor(rocm.version)
    if release is None or neighbour is not None or have is None or space is None:
        return UNKNOWN
    own = [row for row in compat().driver_tested if _minor(row.driver) == have]
    drivers = [m for d in release.drivers if (m := _minor(d)) is not None]
    if have in drivers or any(_minor(u) == space for row in own for u in row.user_space):
        return NO
    if own:
        listed = f"driver {own[0].driver} was tested with ROCm {', '.join(own[0].user_space)}"
    elif drivers and have < min(drivers):
        listed = f"ROCm {release.version} was tested with driver {', '.join(release.drivers)}"
    else:
        return UNKNOWN
    if own and space > max(m for u in own[0].user_space if (m := _minor(u)) is not None) and not drivers:
        return UNKNOWN  # the driver's table is older than this ROCm, and that has no list of drivers
    bindings = {"version": driver.version, "rocm": rocm.version, "listed": listed}
    return Probed(True, (driver.evidence, rocm.evidence), bindings)


def _minor(version: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def os_not_for_rocm(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The operating system is in no row of this ROCm's table.

    Point releases (Ubuntu 24.04.3 where 24.04.2 is listed) count as listed: they get the same packages.
    """
    facts = world.facts
    os = _fact(facts, "host.os_name")
    if facts.host.container or os is None:
        return UNKNOWN
    probed = _judge(_fact(facts, "rocm.version"), os, "os", "OS x")
    name, version = system_of(os.version)
    numbers = re.findall(r"\d+", version)[:2]
    if not probed.value or len(numbers) < 2 or not name:
        return probed if probed.value is not True else UNKNOWN
    release, _ = find_release(facts.rocm.version or "", compat())
    first = name.split()[0].lower()
    listed = [s for s in release.systems if s.name.lower().startswith(first)] if release else []
    near = any(re.findall(r"\d+", s.version)[:2] == numbers for s in listed)
    return NO if near else probed


def gpu_not_for_rocm(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """The GPU's target is in no row of this ROCm's table."""
    if gpu is None or gpu.gfx is None:
        return UNKNOWN
    found = lookup(world.facts, "gpu.gfx", gpu).evidence
    target = None if found is None else _Read(gpu.gfx, found)
    return _judge(_fact(world.facts, "rocm.version"), target, "gfx", "GPU x")


def pytorch_not_for_rocm(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The PyTorch version is not in the table of the ROCm that it was built for.

    Wheels carry their own ROCm, so the release that torch itself states counts, not the one in /opt/rocm.
    """
    return _judge(
        _fact(world.facts, "python.torch_hip"), _fact(world.facts, "python_packages.torch"), "pytorch", "PyTorch x"
    )


PROBES: dict[str, Probe] = {
    "driver_not_for_rocm": driver_not_for_rocm,
    "os_not_for_rocm": os_not_for_rocm,
    "gpu_not_for_rocm": gpu_not_for_rocm,
    "pytorch_not_for_rocm": pytorch_not_for_rocm,
}
