"""Kernel ring buffer and RCCL: the IOMMU, and peer-to-peer access between GPUs.

Formats: drivers/iommu/amd/iommu.c, drivers/iommu/intel/dmar.c, drivers/iommu/iommu.c, drivers/pci/p2pdma.c,
amdgpu_device.c.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_LINUX = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/"

KINDS = (
    Kind(
        name="amd-iommu-page-fault",
        needles=("IO_PAGE_FAULT",),
        pattern=r"(?:\b(?P<driver>\w{1,40}) )?(?:(?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):? ?)?AMD-Vi: Event logged \[IO_PAGE_FAULT (?:device=(?P<device_address>[0-9a-f:.]+) )?"
        r"domain=(?P<domain>0x[0-9a-f]+) address=(?P<address>0x[0-9a-f]+) flags=(?P<flags>0x[0-9a-f]+)",
        sample=(
            "[82387.667174] amdgpu 0000:0c:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0014 address=0xf081000000 flags=0x0020]",
            "[   90.120033] AMD-Vi: Event logged [IO_PAGE_FAULT device=0c:00.0 domain=0x0014 address=0xf081000000 flags=0x0020]",
        ),
        source="https://github.com/ollama/ollama/issues/5450",
    ),
    Kind(
        name="amd-iommu-other-event",
        needles=(
            "AMD-Vi: Completion-Wait loop timed out",
            "AMD-Vi: Event logged [I",
            "AMD-Vi: Event logged [D",
            "AMD-Vi: Event logged [H",
        ),
        pattern=r"AMD-Vi: Completion-Wait loop timed out"
        r"|AMD-Vi: Event logged \[(?P<event>ILLEGAL_DEV_TABLE_ENTRY|INVALID_DEVICE_REQUEST|DEV_TAB_HARDWARE_ERROR|PAGE_TAB_HARDWARE_ERROR|IOTLB_INV_TIMEOUT)",
        sample=(
            "[  120.120033] AMD-Vi: Completion-Wait loop timed out",
            "[  120.120033] AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=0000:0c:00.0 address=0x0000000100000000]",
        ),
        source=_LINUX + "drivers/iommu/amd/iommu.c",
    ),
    Kind(
        name="intel-iommu-fault",
        needles=("DMAR: [DMA", "DMAR:[DMA", "DMAR: DRHD: handling fault"),
        pattern=r"DMAR: ?\[DMA (?P<what>Read|Write)[^\]]*\] Request device \[(?P<bdf>[0-9a-f:.]+)\] (?:PASID \w+ )?fault addr (?:0x)?(?P<address>[0-9a-f]+)",
        sample="[   77.120033] DMAR: [DMA Write NO_PASID] Request device [c3:00.0] fault addr 0xf0810000 [fault reason 0x05] PTE Write access is not set",
        source=_LINUX + "drivers/iommu/intel/dmar.c",
    ),
    Kind(
        name="iommu-translated",
        needles=("Default domain type: Translated", "iommu: Default domain type: DMA"),
        pattern=r"iommu: Default domain type: (?P<mode>Translated)",
        sample="[    0.460158] iommu: Default domain type: Translated",
        source=_LINUX + "drivers/iommu/iommu.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="iommu-passthrough",
        needles=("Default domain type: Passthrough",),
        pattern=r"iommu: Default domain type: Passthrough",
        sample="[    0.460158] iommu: Default domain type: Passthrough (set via kernel command line)",
        source=_LINUX + "drivers/iommu/iommu.c",
        level="info",
        about="node",
    ),
    Kind(
        name="p2p-host-bridge",
        needles=("cannot be used for peer-to-peer DMA", "is not supported by the chipset"),
        pattern=r"cannot be used for peer-to-peer DMA as (?P<why>the client and provider)"
        r"|PCIe P2P access from peer device (?P<peer>[0-9a-f:.]+) is not supported by the chipset",
        sample=(
            "[   30.120033] amdgpu 0000:07:00.0: cannot be used for peer-to-peer DMA as the client and provider (0000:03:00.0) do not share an upstream bridge or whitelisted host bridge",
            "[   30.120033] amdgpu 0000:07:00.0: amdgpu: PCIe P2P access from peer device 0000:03:00.0 is not supported by the chipset",
        ),
        source=_LINUX + "drivers/pci/p2pdma.c",
        level="notice",
    ),
    Kind(
        name="p2p-acs-redirect",
        needles=("ACS redirect",),
        pattern=r"ACS redirect is set between the client and provider|to disable ACS redirect for this path",
        sample="[   30.120033] amdgpu 0000:07:00.0: ACS redirect is set between the client and provider (0000:03:00.0)",
        source=_LINUX + "drivers/pci/p2pdma.c",
        level="notice",
    ),
)
