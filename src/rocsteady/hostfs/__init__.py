"""One way to read files, links and read-only commands of a machine, a snapshot or loose files.

Never interprets content, never writes to the host, never follows a link out of its root.
"""

from rocsteady.hostfs.fs import HostFS, Output
from rocsteady.hostfs.inputs import Input, open_inputs
from rocsteady.hostfs.store import DirectoryStore, FilesStore, FileStat, Store

__all__ = ["DirectoryStore", "FileStat", "FilesStore", "HostFS", "Input", "Output", "Store", "open_inputs"]
