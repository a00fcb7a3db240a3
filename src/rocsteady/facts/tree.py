"""All facts of a tree: each reader's values as rows with the place to quote.

Files that a GPU, a driver or a kernel does not have are no gaps; a Gap is listed only for what exists and could
not be read. Rank 3: a kernel interface beats what a command or a log says.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocsteady.facts.tree_devices import device_rows, pci_rows, rdma_rows
from rocsteady.facts.tree_gpus import gpu_rows
from rocsteady.facts.tree_host import host_rows
from rocsteady.facts.tree_software import software_rows
from rocsteady.hostfs import HostFS
from rocsteady.model import Fact, Gap


def read_tree(fs: HostFS) -> Iterator[Fact | Gap]:
    """Rows of every interface that the tree holds."""
    yield from host_rows(fs)
    yield from software_rows(fs)
    yield from device_rows(fs)
    functions, rows = pci_rows(fs)
    yield from rows
    yield from gpu_rows(fs, functions)
    yield from rdma_rows(fs)
