"""File systems near their end, and what ran shortly before a crash."""

from __future__ import annotations

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.diagnose.lookup import lookup
from rocsteady.diagnose.timeline import WINDOW, activity_name
from rocsteady.model import Evidence, Gpu, Subject
from rocsteady.model.facts import Disk

NEARLY = 0.98
"""Share in use above which the remaining room is looked at. Own judgement: 2 % of the largest system disks in the
snapshots that we have is some 40 GB, so the share alone says little and only the next figure decides."""
TOO_LITTLE = 1 << 30
"""Bytes. Own judgement, no source: less than one shard of a small model or one layer of an engine image."""
SMALL = 8 << 30
"""Bytes. Own judgement, no source: smaller file systems (boot, EFI, loop mounts) are often full by design."""
PSEUDO = (
    "/snap",
    "/boot",
    "/run",
    "/sys",
    "/proc",
    "/dev",
    "/var/lib/docker/",
    "/var/lib/containers/",
    "/var/lib/kubelet/pods",
)
READ_ONLY_KINDS = {"squashfs", "iso9660", "tmpfs", "devtmpfs", "overlay", "efivarfs"}


def _evidence(world: World, disk: Disk, field: str) -> tuple[Evidence, ...]:
    found = lookup(world.facts, f"disks.{disk.mount}.{field}").evidence
    return () if found is None else (found,)


def _nearly_full(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """A file system of some size with almost nothing left."""
    if not world.facts.disks:
        return Probed(None)
    for disk in world.facts.disks.values():
        if disk.total is None or disk.available is None or disk.total < SMALL:
            continue
        if disk.mount.startswith(PSEUDO) or (disk.kind or "") in READ_ONLY_KINDS:
            continue
        used = 1 - disk.available / disk.total
        if used >= NEARLY and disk.available < TOO_LITTLE:
            free = f"{disk.available / (1 << 20):.0f} MiB"
            bindings = {"mount": disk.mount, "percent": f"{100 * used:.0f}", "free": free}
            return Probed(True, _evidence(world, disk, "available"), bindings)
    return Probed(False)


def _out_of_inodes(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """A file system whose inodes are all in use."""
    known = [d for d in world.facts.disks.values() if d.inodes_used_percent is not None]
    if not known:
        return Probed(None)
    for disk in known:
        percent = disk.inodes_used_percent or 0.0
        if percent >= 100 and not disk.mount.startswith("/snap"):
            bindings = {"mount": disk.mount, "percent": f"{percent:.0f}"}
            return Probed(True, _evidence(world, disk, "inodes_used_percent"), bindings)
    return Probed(False)


def _activity_before_crash(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The last dated activity within the timeline's window before the first dated crash."""
    crashes = [e for e in world.log.events if e.mark == "crash" and e.at is not None]
    near = [
        (crash.at - a.at, a, crash)
        for crash in crashes
        for a in world.log.events
        if a.mark == "activity" and a.at is not None and crash.at is not None and 0 <= crash.at - a.at <= WINDOW
    ]
    if not near:
        return Probed(False)
    gap, activity, crash = min(near, key=lambda row: row[0])
    bindings = {"activity": activity_name(activity)[:60], "seconds": f"{gap:.0f}"}
    return Probed(True, (activity.evidence, crash.evidence), bindings, (activity,))


PROBES: dict[str, Probe] = {
    "disk_nearly_full": _nearly_full,
    "disk_out_of_inodes": _out_of_inodes,
    "activity_shortly_before_crash": _activity_before_crash,
}
