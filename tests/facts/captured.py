"""Real trees from the read-only material beside the checkout, put where a root file system has them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from tests.support import SHARED

CAPTURES = SHARED / "captures"
LACT = CAPTURES / "lact-sysfs-snapshots" / "amd"
PLUGIN = CAPTURES / "rocm-k8s-device-plugin"
TOPOLOGY = "sys/class/kfd/kfd/topology"


def card_tree(folder: Path) -> dict[str, str | bytes]:
    """A LACT snapshot (``rx7800xt``) as ``sys/class/drm/card<N>`` and ``sys/class/kfd/kfd``."""
    files: dict[str, str | bytes] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if not path.is_file():
            continue
        if inside.startswith("card"):
            files[f"sys/class/drm/{inside}"] = path.read_bytes()
        elif inside.startswith("kfd/"):
            files[f"sys/class/kfd/{inside}"] = path.read_bytes()
    return files


def folder_tree(folder: Path, place: str) -> dict[str, str | bytes]:
    """All files of a folder below ``place``."""
    return {
        f"{place}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def packed_topology(name: str) -> dict[str, str | bytes]:
    """A packed KFD topology."""
    files: dict[str, str | bytes] = {}
    with tarfile.open(fileobj=io.BytesIO((PLUGIN / name).read_bytes())) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[f"{TOPOLOGY}/{member.name.removeprefix('topology/')}"] = content.read()
    return files
