"""Writes the generated pages below docs/, or with --check says which are out of date (exit code 1)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rocsteady.alerts.pages import alert_pages
from rocsteady.catalog import load_catalog
from rocsteady.catalog.observed import PAGE, observed_page
from rocsteady.catalog.pages import pages
from rocsteady.metrics.pages import metric_pages

DOCS = Path(__file__).resolve().parents[1] / "docs"


def wanted() -> dict[Path, str]:
    """Every generated file and its content."""
    catalog = {DOCS / "catalog" / name: text for name, text in pages(load_catalog()).items()}
    catalog[DOCS / "catalog" / PAGE] = observed_page()
    return catalog | {DOCS / name: text for name, text in {**metric_pages(), **alert_pages()}.items()}


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a page is out of date")
    arguments = parser.parse_args()
    files = wanted()
    stale = [p for p, text in files.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]
    gone = [p for p in (DOCS / "catalog").glob("*.md") if p not in files]
    if arguments.check:
        for path in (*stale, *gone):
            sys.stdout.write(f"{path.relative_to(DOCS.parent)} is out of date: run make docs\n")
        return 1 if stale or gone else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    for path in gone:
        path.unlink()
    sys.stdout.write(f"{len(stale)} pages written, {len(gone)} removed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
