"""Files that are left alone while their GPU sleeps. Part of the stand-alone script.

Older drivers wake a runtime-suspended GPU when such a file is read, newer ones refuse. ``power/runtime_status`` and
what the PCI core knows can be read without waking it.
"""

import fnmatch
import re

AWAKE_ONLY = (
    "gpu_metrics", "pm_metrics", "pp_*", "*_busy_percent", "mem_info_*_used", "power_dpm_*", "fw_version", "*_input",
    "*_average", "pcie_replay_count", "current_compute_partition", "current_memory_partition", "*_err_count", "aca_*",
    "event_state", "gpu_vram_bad_pages", "pm_policy", "gpu_od", "board", "vbios_version", "config", "xcp_metrics",
)  # fmt: skip
"""Names of files, or of folders of files, that ask the GPU itself."""
WHY = "skipped: the GPU is asleep and reading would wake it"
DEVICE = re.compile(r"(sys/devices/.*/[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/(.+)")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401


class Sleepers:
    """Remembers which devices sleep; ``read`` gives the text of a file, '' where it cannot be read."""

    def __init__(self, read):  # type: (Callable[[str], str]) -> None
        self._read = read
        self._asleep = {}  # type: dict[str, bool]

    def keep_from(self, real):  # type: (str) -> bool
        """Whether reading the file (a path without links, relative to the root) would wake a sleeping GPU."""
        match = DEVICE.match(real)
        if match is None:
            return False
        if not any(fnmatch.fnmatchcase(p, pattern) for p in match.group(2).split("/") for pattern in AWAKE_ONLY):
            return False
        device = match.group(1)
        if device not in self._asleep:
            self._asleep[device] = self._read(device + "/power/runtime_status").strip() == "suspended"
        return self._asleep[device]
