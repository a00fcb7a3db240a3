"""The knowledge: failure modes with provenance and examples. Reads no host."""

from rocsteady.catalog.load import Catalog, load_catalog
from rocsteady.catalog.modes import Mode

__all__ = ["Catalog", "Mode", "load_catalog"]
