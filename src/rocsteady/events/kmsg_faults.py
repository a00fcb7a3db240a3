"""GPU page faults as the kernel log shows them, and the same fault as the ROCm runtime reports it.

The lines of one fault belong together by PCI address; ``amdgpu`` prints them rate limited and interleaved with
those of other GPUs. Layouts: gmc_v9_0.c (MI100 to MI350), gmc_v10_0.c, gmc_v11_0.c, gmc_v12_0.c, gmc_v8_0.c.
A status word that reads 0 or all ones says nothing: it was cleared, or nobody answered.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_GMC = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/amdgpu/"
_HSA = "https://github.com/ROCm/rocm-systems/blob/develop/projects/rocr-runtime/runtime/hsa-runtime/core/runtime/runtime.cpp"

_STATUS = r"(?:GC|MM)?VM_L2_PROTECTION_FAULT_STATUS ?:? ?(?P<status>0x[0-9a-f]+)"
_MORE = (
    r"(?:for|in)? ?process (?P<process>\S+) pid (?P<pid>\d+)"
    r"|in page starting at address (?P<address>0x[0-9a-f]+) from (?:IH )?client (?P<client>0x[0-9a-f]+|\d+)"
    r"|cookie node_id \d+ fault from die (?P<die>\S+)"
    r"|" + _STATUS + r"|Faulty UTCL2 client ID: (?P<utcl2>[^(]*[^( ])"
    r"|MORE_FAULTS|WALKER_ERROR: (?P<walker>0x[0-9a-f]+)|PERMISSION_FAULTS: (?P<permission>0x[0-9a-f]+)"
    r"|MAPPING_ERROR: (?P<mapping>0x[0-9a-f]+)|\bRW: (?P<rw>0x[0-9a-f]+)"
)

KINDS = (
    Kind(
        name="gpu-page-fault",
        needles=("page fault (src_id", "in page starting at address", "PROTECTION_FAULT_STATUS:0x", "VMC page fault"),
        pattern=r"\[(?P<hub>\w+)\] (?:VMC )?(?P<retry>(?:no-)?retry )?page fault \(src_id:\d+ ring:\d+ vmid:(?P<vmid>\d+) pasid:(?P<pasid>\d+)"
        r"(?:,? for process (?P<process>\S+) pid (?P<pid>\d+))?|in page starting at address (?P<address>0x[0-9a-f]+)|"
        + _STATUS,
        more=_MORE.replace("?P<process>", "?P<process2>")
        .replace("?P<pid>", "?P<pid2>")
        .replace("?P<address>", "?P<page>"),
        sample=(
            "[  593.942278] amdgpu 0000:63:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:153 vmid:8 pasid:32803)",
            "amdgpu 0000:63:00.0: amdgpu: [mmhub0] no-retry page fault (src_id:0 ring:40 vmid:8 pasid:32769)",
            "amdgpu 0000:0b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770, for process python pid 1796 thread python pid 1796)",
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
    Kind(
        name="retry-fault-unhandled",
        needles=("handle page fault (",),
        pattern=r"Can't handle page fault \((?P<code>-?\d+)\)",
        sample="amdgpu 0000:c1:00.0: amdgpu: Can't handle page fault (-14)",
        source=_GMC + "amdgpu_vm.c",
    ),
    Kind(
        name="hsa-memory-fault",
        needles=("Memory access fault by GPU",),
        pattern=r"Memory access fault by GPU node-(?P<device_node>\d+)(?: \(Agent handle: \S+\))? on address (?P<address>\(nil\)|0x[0-9a-f]+)"
        r"(?:\. Reason: (?P<reason>[^.\n]+))?",
        sample="Memory access fault by GPU node-1 (Agent handle: 0x5570f8146df0) on address 0x7ff96a9ac000. Reason: Page not present or supervisor privilege.",
        source=_HSA,
        about="node",
    ),
    Kind(
        name="hsa-gpu-hang",
        needles=("HW Exception by GPU",),
        pattern=r"HW Exception by GPU node-(?P<device_node>\d+).*?reason ?: ?(?P<reason>[\w ]+)",
        sample="HW Exception by GPU node-4 (Agent handle: 0x1ebc04e0) reason :GPU Hang",
        source=_HSA,
        about="node",
    ),
    Kind(
        name="hsa-queue-aborted",
        needles=("aborting with error", "HSAIL operation resulted in a hardware exception"),
        pattern=r"aborting with error ?: ?(?P<error>HSA_STATUS_\w+)(?:.*?code: ?(?P<code>0x[0-9a-f]+))?"
        r"|(?P<hsail>HSAIL operation resulted in a hardware exception)(?:.*?code: ?(?P<hsail_code>0x[0-9a-f]+))?",
        sample=":0:rocdevice.cpp :2982: 1234567 us: Callback: Queue 0x7f2c4c000000 aborting with error : "
        "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016",
        source="https://github.com/ROCm/rocm-systems/blob/develop/projects/clr/rocclr/device/rocm/rocdevice.cpp",
        about="node",
    ),
)
