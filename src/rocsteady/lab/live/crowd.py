"""Idle processes that hold the GPUs open: notebooks that nobody closed, a thousand of them where wanted."""

from __future__ import annotations

from rocsteady.lab.gpu import Slot
from rocsteady.lab.kfd import KFD, gpu_id
from rocsteady.lab.tree import Tree

FIRST = 100_000
VRAM = 310 << 20
"""What a HIP context costs."""
MOST = 20_000


def add_crowd(tree: Tree, slots: list[Slot], count: int) -> None:
    """``count`` processes, spread over the GPUs."""
    for number in range(count):
        pid = FIRST + number
        tree.data(f"proc/{pid}/cmdline", b"python3\0-m\0ipykernel_launcher\0")
        tree.text(
            f"proc/{pid}/stat",
            f"{pid} (python3) S 1 1 1 0 -1 4194560 0 0 0 0 12 3 0 0 20 0 4 0 43000000 1 1" + " 0" * 28,
        )
        tree.text(f"proc/{pid}/cgroup", "0::/user.slice/user-1000.slice/session-3.scope")
        if not slots:
            continue
        key, base = gpu_id(slots[number % len(slots)], 0), f"{KFD}/proc/{pid}"
        for name, value in ((f"vram_{key}", VRAM), ("pasid", 33000 + number), (f"stats_{key}/evicted_ms", 0),
                            (f"stats_{key}/cu_occupancy", 0)):  # fmt: skip
            tree.text(f"{base}/{name}", value)
        tree.folder(f"{base}/queues")
