"""A small synthetic node on disk: one GPU behind a bridge, its logs, and things that must not leave the machine."""

from __future__ import annotations

import struct
from pathlib import Path

HOST, USER = "gpunode17", "roberta"
SECRETS = ("hf_ABCDEFGHIJKLMNOPQRST", "hunter2hunter2", "PCB052349-7788", "10.20.30.40", "00:11:22:aa:bb:cc", "roberta", "gpunode17",
           "0f3a1b2c-1234-5678-9abc-def012345678", "alice@example.org", "1234567890abcdef")  # fmt: skip
GPU = "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0"
FAULT = (
    "amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32770, for process python3 pid 4242 thread python3 pid 4242)",
    "amdgpu 0000:c1:00.0: amdgpu:   in page starting at address 0x00007f2c00000000 from IH client 0x1b (UTCL2)",
)

FILES: dict[str, str | bytes] = {
    "proc/version": "Linux version 6.8.0-45-generic (buildd@x) (gcc 13.2.0) #45-Ubuntu SMP PREEMPT_DYNAMIC\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=0f3a1b2c-1234-5678-9abc-def012345678 ro amd_iommu=on\n",
    "proc/meminfo": "MemTotal:       1585342464 kB\nMemAvailable:   1500000000 kB\n",
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9554\nphysical id\t: 0\nflags\t\t: fpu\n",
    "proc/stat": "cpu  1 2 3\nbtime 1795000000\n",
    "proc/modules": "amdgpu 19763200 12 - Live 0x0000000000000000 (OE)\n",
    "proc/self": "link:4321",
    "proc/4321/limits": "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 1048576              files\nMax locked memory         8388608              8388608              bytes\n",
    "proc/4321/status": "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nGroups:\t44 1000\n",
    "proc/4321/cgroup": "0::/user.slice/user-1000.slice\n",
    "proc/4321/mounts": "tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n",
    "proc/sys/kernel/hostname": f"{HOST}\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/sys/kernel/tainted": "12288\n",
    "etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
    "etc/hostname": f"{HOST}\n",
    "etc/passwd": f"root:x:0:0:root:/root:/bin/bash\n{USER}:x:1000:1000:Roberta Meyer:/home/{USER}:/bin/bash\n",
    "etc/group": f"root:x:0:\nvideo:x:44:{USER}\nrender:x:109:\n{USER}:x:1000:\n",
    "etc/modprobe.d/amdgpu.conf": "options amdgpu noretry=1 vm_fragment_size=9\n",
    "sys/bus/pci/devices/0000:c1:00.0": "link:../../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0",
    "sys/class/drm/card1": "link:../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/drm/card1",
    f"{GPU}/drm/card1/device": "link:../../../0000:c1:00.0",
    f"{GPU}/drm/card1/dev": "226:1\n",
    f"{GPU}/driver": "link:../../../../bus/pci/drivers/amdgpu",
    "sys/bus/pci/drivers/amdgpu/module": "link:../../../../module/amdgpu",
    "sys/module/amdgpu/version": "6.8.5\n",
    "sys/module/amdgpu/parameters/noretry": "1\n",
    f"{GPU}/vendor": "0x1002\n",
    f"{GPU}/device": "0x74a1\n",
    f"{GPU}/class": "0x120000\n",
    f"{GPU}/uevent": "DRIVER=amdgpu\nPCI_ID=1002:74A1\nPCI_SLOT_NAME=0000:c1:00.0\n",
    f"{GPU}/current_link_speed": "32.0 GT/s PCIe\n",
    f"{GPU}/current_link_width": "16\n",
    f"{GPU}/unique_id": "1234567890abcdef\n",
    f"{GPU}/serial_number": "PCB052349-7788\n",
    f"{GPU}/vbios_version": "113-M3000100-103\n",
    f"{GPU}/mem_info_vram_total": "206141652992\n",
    f"{GPU}/gpu_metrics": struct.pack("<HBB", 4, 1, 3),
    f"{GPU}/ras/umc_err_count": "ue: 0\nce: 2\n",
    f"{GPU}/power/runtime_status": "active\n",
    "sys/class/kfd/kfd/topology/nodes/1/gpu_id": "51234\n",
    "sys/class/kfd/kfd/topology/nodes/1/name": "ip discovery\n",
    "sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\nlocation_id 49408\ndomain 0\nunique_id 1311768467294899695\n",
    "sys/kernel/iommu_groups/17/type": "DMA-FQ\n",
    "var/log/kern.log": "".join(f"2026-11-30T10:00:0{i}.000000+00:00 {HOST} kernel: {line}\n" for i, line in enumerate(FAULT)),
    "var/log/vllm/engine.log": f"INFO 11-30 09:59:00 [api_server.py:1] HF_TOKEN=hf_ABCDEFGHIJKLMNOPQRST --api-key hunter2hunter2 listening on 10.20.30.40:8000\nINFO contact alice@example.org, /home/{USER}/models, link/ether 00:11:22:aa:bb:cc\n",
    # never read: the first would reset the GPU, the second clears a counter, the third sleeps
    "sys/kernel/debug/dri/1/amdgpu_gpu_recover": "harm\n",
    f"{GPU}/xgmi_error": "harm\n",
    f"{GPU}/pcie_bw": "harm\n",
    f"{GPU}/resource0": b"\0" * 64,
}  # fmt: skip


def write_node(root: Path, extra: dict[str, str | bytes] | None = None) -> Path:
    """Write the node below ``root``."""
    return write_files(root, {**FILES, **(extra or {})})


def write_files(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, links (``link:``) and empty folders (a name that ends in '/')."""
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("link:"):
            path.symlink_to(content[5:])
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root
