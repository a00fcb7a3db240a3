"""Kernel ring buffer: GPU page faults of every generation.

The lines of one fault belong together by PCI address; ``amdgpu`` prints them rate limited and interleaved with
those of other GPUs. Layouts: gmc_v9_0.c (MI100 to MI350), gmc_v10_0.c, gmc_v11_0.c, gmc_v12_0.c, gmc_v8_0.c.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_GMC = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/amdgpu/"

_MORE = (
    r"(?:for|in)? ?process (?P<process>\S+) pid (?P<pid>\d+)"
    r"|in page starting at address (?P<address>0x[0-9a-f]+) from (?:IH )?client (?P<client>0x[0-9a-f]+|\d+)"
    r"|cookie node_id \d+ fault from die (?P<die>\S+)"
    r"|(?:GC|MM)?VM_L2_PROTECTION_FAULT_STATUS ?:? ?(?P<status>0x[0-9a-f]+)"
    r"|Faulty UTCL2 client ID: (?P<utcl2>[^(]+)"
    r"|MORE_FAULTS|WALKER_ERROR: (?P<walker>0x[0-9a-f]+)|PERMISSION_FAULTS: (?P<permission>0x[0-9a-f]+)"
    r"|MAPPING_ERROR: (?P<mapping>0x[0-9a-f]+)|\bRW: (?P<rw>0x[0-9a-f]+)"
)

KINDS = (
    Kind(
        name="gpu-page-fault",
        needles=("page fault (src_id", "in page starting at address"),
        pattern=r"\[(?P<hub>\w+)\] (?:(?:no-)?retry )?page fault \(src_id:\d+ ring:\d+ vmid:(?P<vmid>\d+) pasid:(?P<pasid>\d+)"
        r"|in page starting at address (?P<address>0x[0-9a-f]+)",
        more=_MORE,
        sample=(
            "[  593.942278] amdgpu 0000:63:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:153 vmid:8 pasid:32803)",
            "amdgpu 0000:63:00.0: amdgpu: [mmhub0] no-retry page fault (src_id:0 ring:40 vmid:8 pasid:32769)",
        ),
        source=_GMC + "gmc_v9_0.c",
    ),
    Kind(
        name="gpu-vm-fault-gfx8",
        needles=("GPU fault detected",),
        pattern=r"GPU fault detected: \d+ 0x[0-9a-f]+(?: for process (?P<process>\S+) pid (?P<pid>\d+))?",
        more=r"VM_CONTEXT1_PROTECTION_FAULT|VM fault \(",
        sample="amdgpu 0000:01:00.0: GPU fault detected: 146 0x0c80440c for process Xorg pid 1 thread Xorg:cs0 pid 2",
        source=_GMC + "gmc_v8_0.c",
    ),
)
