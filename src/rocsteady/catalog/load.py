"""Loads the catalog: the compiled file that the package carries, or the YAML beside it when that is newer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from rocsteady.catalog.modes import Mode, decode
from rocsteady.model import CatalogError

HERE = Path(__file__).parent
MODES = HERE / "modes"
COMPILED = HERE / "_compiled.json"


class Catalog(msgspec.Struct, frozen=True):
    """All failure modes, by id."""

    modes: dict[str, Mode]

    def by_slug(self, slug: str) -> Mode | None:
        """The mode with this slug or alias."""
        for mode in self.modes.values():
            if mode.slug == slug or slug in mode.aliases:
                return mode
        return None


def load_catalog(extra: Path | None = None) -> Catalog:
    """The built-in catalog, and a user's own modes from ``extra`` on top of it.

    Raises:
        CatalogError: a file is malformed, or two modes share an id or slug.
    """
    modes = _builtin()
    if extra is not None:
        modes = modes + [decode(raw, where) for where, raw in read_folder(extra)]
    return collect(modes)


def collect(modes: list[Mode]) -> Catalog:
    """Index by id; ids and slugs are unique."""
    by_id: dict[str, Mode] = {}
    slugs: dict[str, str] = {}
    for mode in modes:
        if mode.id in by_id:
            raise CatalogError(f"{mode.id}: two modes have this id ({by_id[mode.id].slug}, {mode.slug})")
        if mode.slug in slugs:
            raise CatalogError(f"{mode.slug}: slug of both {slugs[mode.slug]} and {mode.id}")
        by_id[mode.id] = mode
        slugs[mode.slug] = mode.id
    return Catalog(by_id)


def _builtin() -> list[Mode]:
    if COMPILED.is_file() and not _stale():
        try:
            return msgspec.json.decode(COMPILED.read_bytes(), type=list[Mode])
        except msgspec.DecodeError:
            pass  # written by another version; the YAML is the truth
    return [decode(raw, where) for where, raw in read_folder(MODES)]


def _stale() -> bool:
    if not MODES.is_dir():
        return False
    written = COMPILED.stat().st_mtime_ns
    return any(p.stat().st_mtime_ns > written for p in MODES.rglob("*") if p.suffix == ".yaml" or p.is_dir())


def read_folder(folder: Path) -> list[tuple[str, Any]]:
    """Parsed YAML of every mode file below a folder, with the path to name in errors."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    out: list[tuple[str, Any]] = []
    for path in sorted(folder.rglob("*.yaml")):
        try:
            raw = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        except (OSError, yaml.YAMLError) as error:
            raise CatalogError(f"{path}: {' '.join(str(error).split())}") from error
        out.append((str(path.relative_to(folder)), raw))
    return out


def compile_modes(target: Path = COMPILED) -> int:
    """Write the compiled catalog; returns the number of modes. Called when the package is built."""
    modes = [decode(raw, where) for where, raw in read_folder(MODES)]
    collect(modes)
    target.write_bytes(msgspec.json.encode(modes))
    return len(modes)
