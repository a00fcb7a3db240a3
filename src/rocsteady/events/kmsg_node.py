"""Kernel ring buffer: the host around the GPU: which kernel runs, its memory, and crashes inside the driver.

Formats: init/main.c, kernel/panic.c, mm/page_alloc.c, mm/hugetlb.c, kernel/dma/swiotlb.c, drivers/gpu/drm/ttm,
drivers/edac, arch/x86/kernel/dumpstack.c.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_LINUX = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"

KINDS = (
    Kind(
        name="kernel-boot",
        needles=("Linux version ",),
        pattern=r"^Linux version (?P<release>\d+\.\d+\S*) \(",
        sample="[    0.000000] Linux version 5.15.0-97-generic (buildd@host) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0) #107-Ubuntu SMP",
        source=_LINUX + "init/version.c",
        level="info",
        about="node",
        facts={"kernel.release": "{release}"},
    ),
    Kind(
        name="kernel-in-trace",
        needles=("Not tainted ", "Tainted: "),
        pattern=r"(?:Not tainted|Tainted: [A-Z ]+?) +(?P<release>\d+\.\d+\.?\S*) #\d+",
        sample=(
            "[  246.947588]       Not tainted 6.17.5-arch1-1 #1",
            "[   39.506426] CPU: 0 PID: 7 Comm: kworker/0:0 Tainted: G           OE     5.15.0-130-generic #140-Ubuntu",
        ),
        source=_LINUX + "kernel/panic.c",
        level="info",
        about="node",
        facts={"kernel.release": "{release}"},
    ),
    Kind(
        name="kernel-command-line",
        needles=("Kernel command line:", "Command line: BOOT_IMAGE"),
        pattern=r"^(?:Kernel command line|Command line): (?P<line>\S.*)$",
        sample="[    0.070283] Kernel command line: BOOT_IMAGE=/boot/vmlinuz-6.14.0 root=UUID=1 ro iommu=pt",
        source=_LINUX + "init/main.c",
        level="info",
        about="node",
        facts={"kernel.command_line_text": "{line}"},
    ),
    Kind(
        name="host-model",
        needles=("Hardware name: ", "DMI: "),
        pattern=r"^(?:Hardware name|DMI): (?P<product>[^,]{2,80}), BIOS (?P<bios>\S+) (?P<date>\d\d/\d\d/\d{4})",
        sample="[   39.516890] Hardware name: Advantech SKY-602E3/SKY-602E3, BIOS G1.11 07/31/2024",
        source=_LINUX + "drivers/firmware/dmi_scan.c",
        level="info",
        about="node",
        facts={"host.product": "{product}", "host.bios_version": "{bios}", "host.bios_date": "{date}"},
    ),
    # --- crashes and stalls inside the driver -------------------------------------------------------
    Kind(
        name="tlb-fence-worker-blocked",
        needles=("amdgpu_tlb_fence_work",),
        pattern=r"Workqueue: \w+ amdgpu_tlb_fence_work|amdgpu_tlb_fence_work\+0x",
        sample="[  246.947604] Workqueue: events amdgpu_tlb_fence_work [amdgpu]",
        source="https://github.com/ROCm/legacy-rocm-build/issues/5536",
        about="node",
    ),
    Kind(
        name="five-level-paging-bug",
        needles=("sync_global_pgds_l5",),
        pattern=r"RIP: \w+:sync_global_pgds_l5|sync_global_pgds_l5\+0x",
        sample="[   39.530021] RIP: 0010:sync_global_pgds_l5+0x111/0x1de",
        source="https://github.com/ROCm/rocm-install-on-linux/issues/385",
        about="node",
    ),
    Kind(
        name="kfd-resume-failed",
        needles=("Failed to resume KFD",),
        pattern=r"Failed to resume KFD",
        sample="[ 2399.645506] amdgpu: amdgpu_amdkfd_restore_userptr_worker: Failed to resume KFD",
        source=_LINUX + "drivers/gpu/drm/amd/amdgpu/amdgpu_amdkfd_gpuvm.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="dimm-error-uncorrected",
        needles=("EDAC MC",),
        pattern=r"EDAC MC(?P<mc>\d+): (?P<number>\d+) UE ",
        sample="[ 7123.100231] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0",
        source=_LINUX + "drivers/edac/edac_mc.c",
        about="node",
    ),
    # --- host memory --------------------------------------------------------------------------------
    Kind(
        name="page-allocation-failure",
        needles=("page allocation failure",),
        pattern=r"(?P<process>[\w./:-]+): page allocation failure: order:(?P<order>\d+)",
        more=r"gfp_mask|mode:|CPU: |Call Trace|\? ?\w+\+0x|\w+\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?|<TASK>|Hardware name",
        more_limit=40,
        sample="[ 4123.100231] python3: page allocation failure: order:9, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)",
        source=_LINUX + "mm/page_alloc.c",
        about="node",
    ),
    Kind(
        name="swiotlb-full",
        needles=("swiotlb buffer is full",),
        pattern=r"(?P<driver>\w+) (?P<bdf>[0-9a-f:.]{7,12}): swiotlb buffer is full \(sz: (?P<size>\d+) bytes\)(?:, total (?P<total>\d+) \(slots\), used (?P<used>\d+))?",
        sample="[  174.100231] amdgpu 0000:0d:00.0: swiotlb buffer is full (sz: 2097152 bytes), total 32768 (slots), used 0 (slots)",
        source="https://github.com/QubesOS/qubes-issues/issues/5670",
    ),
    Kind(
        name="memory-encryption-on",
        needles=("Memory Encryption Features active", "Memory encryption is active"),
        pattern=r"Memory Encryption Features active: (?:AMD )?(?P<what>SME|SEV[\w -]*)|Memory encryption is active",
        sample="[    0.226125] AMD Memory Encryption Features active: SME",
        source=_LINUX + "arch/x86/mm/mem_encrypt.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="cma-failed",
        needles=("cma_alloc:", "cma: "),
        pattern=r"cma(?:_alloc)?: .*alloc failed, req-size: (?P<pages>\d+) pages, ret: (?P<error>-\d+)",
        sample="[   12.100231] cma: cma_alloc: reserved: alloc failed, req-size: 1024 pages, ret: -12",
        source=_LINUX + "mm/cma.c",
        about="node",
    ),
    Kind(
        name="hugepages-short",
        needles=("HugeTLB: allocating",),
        pattern=r"HugeTLB: allocating (?P<wanted>\d+) of page size (?P<size>[\d.]+ \w+) failed\. +Only allocated (?P<got>\d+) hugepages",
        sample="[    0.900231] HugeTLB: allocating 1024 of page size 1.00 GiB failed.  Only allocated 502 hugepages.",
        source=_LINUX + "mm/hugetlb.c",
        about="node",
    ),
    Kind(
        name="kernel-bo-failed",
        needles=("failed to allocate kernel", "failed to reserve kernel bo", "kernel bo pin failed"),
        pattern=r"\((?P<error>-?\d+)\) (?:failed to (?P<what>allocate|reserve) kernel bo|kernel bo (?P<what2>pin) failed)|failed to allocate kernel memory",
        sample="[   45.100231] amdgpu 0000:01:00.0: (-12) failed to allocate kernel bo",
        source=_LINUX + "drivers/gpu/drm/amd/amdgpu/amdgpu_object.c",
    ),
    Kind(
        name="dimm-error-corrected",
        needles=("EDAC MC",),
        pattern=r"EDAC MC(?P<mc>\d+): (?P<number>\d+) CE .*?(?: on |\()(?P<dimm>[\w#-]+)",
        sample="[ 7123.100231] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x12 offset:0x0 grain:32)",
        source=_LINUX + "drivers/edac/edac_mc.c",
        level="notice",
        about="node",
    ),
)
