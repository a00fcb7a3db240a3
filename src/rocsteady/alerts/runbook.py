"""The failure mode behind a rule, and the address of its page."""

from __future__ import annotations

from functools import cache

from rocsteady.catalog import Mode, load_catalog
from rocsteady.catalog.observed import Observed, observed
from rocsteady.catalog.observed import anchor as observed_anchor
from rocsteady.catalog.pages import anchor
from rocsteady.model import CatalogError


@cache
def modes() -> dict[str, Mode | Observed]:
    """Failure modes by id: those of the catalog and those that only a time series shows."""
    return {**load_catalog().modes, **observed()}


def mode_of(name: str, where: str) -> Mode | Observed:
    """The mode with this id.

    Raises:
        CatalogError: there is none.
    """
    try:
        return modes()[name]
    except KeyError:
        raise CatalogError(f"{where}: no failure mode {name}") from None


def runbook(name: str, base: str) -> str:
    """Address of the page of a mode."""
    mode = mode_of(name, "runbook")
    place = observed_anchor(mode) if isinstance(mode, Observed) else anchor(mode)
    return f"{base.rstrip('/')}/{place}"
