"""Kernel ring buffer: crashes, stuck tasks and stuck processors whose stack goes through the GPU driver; host memory errors.

A stack is several lines; the first line is the event and the rest fill in fields: ``gpu_work`` (workqueue item of amdgpu),
``gpu_frame`` (first function of a GPU module), ``kernel`` (release from the "Not tainted" line).
Texts: kernel/hung_task.c, kernel/watchdog.c, kernel/rcu/tree_stall.h, arch/x86/mm/fault.c, arch/x86/kernel/traps.c.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"

_GPU_MODULE = r"\[(?:amdgpu|amdkfd|amdttm|amdkcl|amd_sched|amddrm\w*|gpu_sched|ttm|drm_exec|drm_buddy|amddrm_buddy)\b"
_STACK = (
    r"(?:Not tainted|Tainted:(?: [A-Z])+) +(?P<kernel>\d+\.\d+\S*)|hung_task_timeout_secs|^task:"
    r"|Workqueue: \S+ (?P<gpu_work>\w+)(?:\.\w+)* "
    + _GPU_MODULE
    + r"|Workqueue:|RIP: \S+?:(?P<gpu_rip>[\w.]+)\+\S+ "
    + _GPU_MODULE
    + r"|RIP:|IP: (?P<gpu_ip>[\w.]+)\+\S+ "
    + _GPU_MODULE
    + r"|Call Trace|</?TASK>|</?IRQ>"
    r"|^\s*\??\s*(?P<gpu_frame>[\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+ " + _GPU_MODULE + r"|\w[\w.]*\+0x[0-9a-f]+/0x"
    r"|#PF:|PGD |P4D |Oops:|CPU: \d+|Hardware name|Modules linked in|Comm:|Code:|R[A-Z0-9]{2}:|[EFG]S: |CR[0-9]: |DR[0-9]: |Kernel panic|^\[last unloaded"
    r"|cut here|end trace|PKRU|Call trace|pc :|lr :|sp :|x\d+ *:"
)

KINDS = (
    Kind(
        name="hung-task",
        needles=("blocked for more than",),
        pattern=r"INFO: task (?P<process>.+?):(?P<pid>\d+) (?:is )?blocked for more than (?P<seconds>\d+) seconds",
        more=_STACK,
        more_limit=60,
        sample="[  246.947584] INFO: task kworker/2:4:944 blocked for more than 122 seconds.",
        source=_TREE + "kernel/hung_task.c",
        about="node",
        facts={"kernel.release": "{kernel}"},
    ),
    Kind(
        name="cpu-stuck",
        needles=(
            "soft lockup",
            "hard LOCKUP",
            "self-detected stall",
            "detected stalls on CPUs",
            "detected expedited stalls",
        ),
        pattern=r"soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s|hard LOCKUP on cpu (?P<hard_cpu>\d+)|rcu\w* (?:self-)?detected (?:expedited )?stalls?",
        more=_STACK,
        more_limit=60,
        sample="watchdog: BUG: soft lockup - CPU#5 stuck for 26s! [kworker/5:1:1234]",
        source=_TREE + "kernel/watchdog.c",
        about="node",
    ),
    Kind(
        name="kernel-oops",
        needles=(
            "BUG: unable to handle",
            "kernel NULL pointer dereference",
            "general protection fault",
            "kernel BUG at",
            "Unable to handle kernel",
            "list_del corruption",
            "refcount_t: underflow",
        ),
        pattern=r"BUG: unable to handle (?P<fault>[\w ]+?)(?: for address| at)|(?P<null>kernel NULL pointer dereference)|(?P<gpf>general protection fault)"
        r"|kernel BUG at (?P<place>\S+)|Unable to handle kernel (?P<arm>[\w ]+?) at|(?P<list>list_del corruption|refcount_t: underflow)",
        more=_STACK,
        more_limit=60,
        sample="BUG: kernel NULL pointer dereference, address: 0000000000000018",
        source=_TREE + "arch/x86/mm/fault.c",
        about="node",
        facts={"kernel.release": "{kernel}"},
    ),
    Kind(
        name="gpu-driver-warning",
        needles=("WARNING: CPU:",),
        pattern=r"WARNING: CPU: \d+ PID: \d+ at (?P<place>\S*(?:amdgpu|amdkfd|ttm|gpu_sched)\S*)",
        sample="WARNING: CPU: 58 PID: 3595454 at amd/amdgpu/amdgpu_xcp.c:242 amdgpu_xcp_query_partition_mode+0xa8/0x130 [amdgpu]",
        source=_TREE + "kernel/panic.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="host-memory-uncorrected",
        needles=("Memory failure:", "Uncorrected hardware memory error", "Uncorrected DRAM", "Uncorrected, software"),
        pattern=r"Memory failure: 0x[0-9a-f]+|Uncorrected hardware memory error|mce: .*Uncorrected",
        sample="mce: Uncorrected hardware memory error in user-access at 3f5a2c0000",
        source=_TREE + "mm/memory-failure.c",
        about="node",
    ),
    Kind(
        name="ttm-eviction-failed",
        needles=("[TTM] Failed to find memory space", "[TTM] Buffer eviction failed"),
        pattern=r"\[TTM\] (?:Failed to find memory space for buffer|Buffer eviction failed)",
        sample="[TTM] Buffer eviction failed",
        source=_TREE + "drivers/gpu/drm/ttm/ttm_bo.c",
    ),
    Kind(
        name="ttm-host-memory-short",
        needles=("[TTM] Failed allocating page table", "Failed allocating swap storage"),
        pattern=r"\[TTM\] (?P<what>Failed allocating page table|Failed allocating swap storage)",
        sample="[TTM] Failed allocating page table",
        source=_TREE + "drivers/gpu/drm/ttm/ttm_tt.c",
    ),
    Kind(
        name="svm-system-memory-limit",
        needles=("exceeds resident system memory limit",),
        pattern=r"SVM mapping failed, exceeds resident system memory limit",
        sample="amdgpu: SVM mapping failed, exceeds resident system memory limit",
        source=_TREE + "drivers/gpu/drm/amd/amdkfd/kfd_svm.c",
    ),
    Kind(
        name="cpu-machine-check",
        needles=("Machine Check: 0 Bank",),
        pattern=r"CPU (?P<cpu>\d+): Machine Check: \d+ Bank (?P<bank>\d+): (?P<mc_status>[0-9a-f]{16})",
        sample="mce: [Hardware Error]: CPU 9: Machine Check: 0 Bank 5: bea0000000000108",
        source=_TREE + "arch/x86/kernel/cpu/mce/core.c",
        about="node",
    ),
    Kind(
        name="cpu-machine-check-fatal",
        needles=("data fabric sync flood", "[Hardware Error]: System Fatal error", "_STATUS[-|UE", "_STATUS[Over|UE"),
        pattern=r"(?P<what>data fabric sync flood|System Fatal error|MC(?P<bank>\d+)_STATUS\[(?:-|Over)\|UE)",
        sample="[Hardware Error]: CPU:21 (19:21:0) MC5_STATUS[-|UE|MiscV|AddrV|PCC|TCC|SyndV|-|-|-]: 0xbea0000000000108",
        source="https://github.com/CachyOS/linux-cachyos/issues/1038",
        level="error",
        about="node",
    ),
    Kind(
        name="virtual-display-only",
        needles=("SVGA II Adapter", "Virtio GPU", "QXL paravirtual", "Hyper-V virtual VGA"),
        pattern=r"(?P<adapter>SVGA II Adapter|Virtio (?:1\.0 )?GPU|QXL paravirtual graphic card|Hyper-V virtual VGA)",
        sample="       product: SVGA II Adapter",
        source="https://github.com/ROCm/legacy-rocm-build/issues/1626",
        level="notice",
        about="node",
    ),
)
