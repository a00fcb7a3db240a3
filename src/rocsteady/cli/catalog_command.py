"""``rocsteady catalog list|show|search|verify``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocsteady.catalog import Catalog, Mode
    from rocsteady.catalog.observed import Observed


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


Folder = Annotated[Path | None, typer.Option("--catalog", help="Folder with failure modes of your own.")]
Fmt = Annotated[Format, typer.Option("--format", "-f", help="Output format.")]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        help="The knowledge: failure modes, settings, claims, GPU parts, with sources.",
        no_args_is_help=True,
        epilog="Examples:\n\n  rocsteady catalog search page fault\n\n  rocsteady catalog show PCIE-0001",
    )
    group.command("list", epilog="Example:\n\n  rocsteady catalog list --category pcie")(list_modes)
    group.command(
        "show",
        epilog="Examples:\n\n  rocsteady catalog show FW-0001\n\n  rocsteady catalog show HSA_ENABLE_SDMA\n\n  rocsteady catalog show MI300X",
    )(show)
    group.command("search", epilog="Example:\n\n  rocsteady catalog search iommu hang")(search)
    group.command("verify", epilog="Example:\n\n  rocsteady catalog verify --catalog ./modes")(verify)
    app.add_typer(group, name="catalog")


def list_modes(
    category: Annotated[str | None, typer.Option(help="Only this category.")] = None,
    catalog: Folder = None,
    format: Fmt = Format.text,
) -> None:
    """List failure modes."""
    from rocsteady.catalog.observed import observed

    modes: list[Mode | Observed] = [*_load(catalog).modes.values(), *observed().values()]
    modes.sort(key=lambda m: m.id)
    if category is not None:
        known = {m.category for m in modes}
        if category not in known:
            from rocsteady.model import InputError

            raise InputError(f"--category {category!r}: one of {', '.join(sorted(known))}")
        modes = [m for m in modes if m.category == category]
    _print(modes, format)


def show(
    name: Annotated[
        str, typer.Argument(help="Id or slug of a failure mode or claim, name of a setting, or a GPU part or target.")
    ],
    catalog: Folder = None,
    format: Fmt = Format.text,
) -> None:
    """Show all that is known about a failure mode, a setting or a GPU part."""
    import msgspec

    from rocsteady.catalog.observed import find_observed, observed_entry
    from rocsteady.catalog.pages import entry, table_rows
    from rocsteady.model import InputError

    known = _load(catalog)
    mode = known.modes.get(name.upper()) or known.by_slug(name.lower())
    watched = find_observed(name) if mode is None else None
    if mode is not None:
        raw: object = mode
        text = entry(mode, linked=False)
    elif watched is not None:
        raw, text = watched, observed_entry(watched)
    else:
        rows = table_rows(name)
        if not rows:
            raise InputError(f"nothing is called {name!r}; 'rocsteady catalog search {name}' looks in the texts")
        raw = {"schema": "rocsteady.catalog-entry/1", "rows": rows}
        text = "".join(_lines(row) for row in rows)
    if format is Format.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(raw), indent=1).decode() + "\n")
    else:
        sys.stdout.write(text)


def _lines(row: object) -> str:
    """A table row as ``key: value`` lines; what is not known is left out."""
    import msgspec

    pairs = msgspec.to_builtins(row).items()
    shown = [(k, v) for k, v in pairs if k != "examples" and v is not None and v not in ([], (), {})]
    return "".join(f"{k}: {', '.join(map(str, v)) if isinstance(v, (list, tuple)) else v}\n" for k, v in shown) + "\n"


def search(
    words: Annotated[list[str], typer.Argument(help="Words; every one must occur.")],
    catalog: Folder = None,
    format: Fmt = Format.text,
) -> None:
    """Search failure modes by words in their text, causes, remedies and examples."""
    from rocsteady.catalog.find import find, search_observed

    _print([*find(_load(catalog), words), *search_observed(words)], format)


def verify(catalog: Folder = None, format: Fmt = Format.text) -> None:
    """Run every example of every failure mode and check references. Exit code 1 when one fails."""
    import msgspec

    from rocsteady.cli.verify import problems

    known = _load(catalog)
    found = problems(known)
    if format is Format.json:
        raw = {"schema": "rocsteady.catalog-verify/1", "modes": len(known.modes), "problems": found}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(raw), indent=1).decode() + "\n")
    else:
        for problem in found:
            sys.stdout.write(f"{problem}\n")
        sys.stdout.write(f"{len(known.modes)} failure modes, {len(found)} problems\n")
    raise typer.Exit(1 if found else 0)


def _load(folder: Path | None) -> Catalog:
    from rocsteady.catalog import load_catalog
    from rocsteady.cli.config import load_config
    from rocsteady.model import InputError

    config, _ = load_config()
    folder = folder or (Path(config.catalog.directory) if config.catalog.directory else None)
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    return load_catalog(folder)


def _print(modes: Sequence[Mode | Observed], format: Format) -> None:
    if format is Format.json:
        import msgspec

        rows = [
            {"id": m.id, "slug": m.slug, "category": m.category, "role": m.role, "severity": m.severity,
             "title": m.title}
            for m in modes
        ]  # fmt: skip
        raw = {"schema": "rocsteady.catalog/1", "modes": rows}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(raw), indent=1).decode() + "\n")
        return
    for m in modes:
        sys.stdout.write(f"{m.id:12} {m.role:8} {m.severity:9} {m.category:24} {m.slug}\n")
    sys.stdout.write(f"{len(modes)} failure modes\n")
