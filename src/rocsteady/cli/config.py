"""Where configuration is looked for, and what it may say.

First found wins: ``--config FILE``, ``$ROCSTEADY_CONFIG``, ``./rocsteady.toml``,
``$XDG_CONFIG_HOME/rocsteady/rocsteady.toml`` (``~/.config``), ``/etc/rocsteady/rocsteady.toml``.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from rocsteady.model import InputError, Suppression


class CatalogConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[catalog]``."""

    directory: str | None = None
    """A folder with failure modes of your own, beside the built-in ones."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    catalog: CatalogConfig = CatalogConfig()
    suppress: tuple[Suppression, ...] = ()


def candidates(environ: dict[str, str]) -> list[Path]:
    """Places that are looked at, in order."""
    home = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "/")) / ".config")
    named = [Path(environ["ROCSTEADY_CONFIG"])] if environ.get("ROCSTEADY_CONFIG") else []
    return [*named, Path("rocsteady.toml"), home / "rocsteady/rocsteady.toml", Path("/etc/rocsteady/rocsteady.toml")]


def load_config(file: Path | None = None) -> tuple[Config, Path | None]:
    """The configuration and the file it came from; defaults where there is none.

    Raises:
        InputError: the file cannot be read or says something unknown; the message names file and key.
    """
    if file is None:
        file = next((p for p in candidates(dict(os.environ)) if p.is_file()), None)
        if file is None:
            return Config(), None
    try:
        return msgspec.toml.decode(file.read_bytes(), type=Config), file
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from error
