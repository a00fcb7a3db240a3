"""Writes what was generated: the whole directory, or nothing."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import msgspec

from rocsteady.alerts.alertmanager import alertmanager_file, prometheus_file
from rocsteady.alerts.generate import rule_files
from rocsteady.alerts.grafana import dashboard_files
from rocsteady.alerts.settings import Settings
from rocsteady.alerts.unit_tests import test_files
from rocsteady.model import InputError

MANIFEST = "rocsteady-alerts.json"
SCHEMA = "rocsteady.alert-files/1"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Lists the files that we wrote, so that the next run can replace them."""

    schema: str = SCHEMA
    files: tuple[str, ...]


def documents(settings: Settings) -> dict[str, str]:
    """Everything that is written, by path below the directory."""
    return {
        **rule_files(settings),
        **test_files(settings),
        "alertmanager.yml": alertmanager_file(settings),
        "prometheus.yml": prometheus_file(settings),
        **dashboard_files(settings),
    }


def write(directory: Path, settings: Settings) -> list[str]:
    """Write into a new or empty directory, or over an earlier run's; returns the paths written.

    Raises:
        InputError: the directory holds something else, or cannot be written.
    """
    files = documents(settings)
    try:
        before = _before(directory)
        staged = Path(tempfile.mkdtemp(prefix=".rocsteady-alerts-", dir=directory.resolve().parent))
        try:
            for name, text in files.items():
                path = staged / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            manifest = msgspec.json.format(msgspec.json.encode(Manifest(files=tuple(files))), indent=1)
            (staged / MANIFEST).write_bytes(manifest + b"\n")
            _move(staged, directory, [*files, MANIFEST], [name for name in before if name not in files])
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{error.filename or directory}: {error.strerror}") from error
    return [*files, MANIFEST]


def _before(directory: Path) -> tuple[str, ...]:
    """Files of an earlier run."""
    if not directory.exists():
        return ()
    if not directory.is_dir():
        raise InputError(f"{directory}: not a directory")
    if not any(directory.iterdir()):
        return ()
    try:
        manifest = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest)
    except (FileNotFoundError, msgspec.DecodeError):
        raise InputError(f"{directory}: not empty, and not written by 'rocsteady alerts write'") from None
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in manifest.files):
        raise InputError(f"{directory}/{MANIFEST}: names files outside of the directory")
    return manifest.files


def _move(staged: Path, directory: Path, names: list[str], gone: list[str]) -> None:
    for name in names:
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (staged / name).replace(target)
    for name in gone:
        (directory / name).unlink(missing_ok=True)
