"""The machine around the GPUs: distribution, kernel, memory, modules, packages, devices, limits."""

from __future__ import annotations

from rocsteady.lab.gpu import Slot, drm_step, has_console
from rocsteady.lab.module_parameters import DEFAULTS
from rocsteady.lab.shapes import Host, Shape
from rocsteady.lab.tree import Tree

HOST_NAME = "node-a"
KIB_PER_GIB = 1 << 20
GROUPS = {"root": 0, "adm": 4, "sudo": 27, "video": 44, "kvm": 108, "render": 109, "docker": 998}
RELEASES = {
    "ubuntu-22.04": ("22.04", "Ubuntu 22.04.5 LTS", "jammy"),
    "ubuntu-24.04": ("24.04", "Ubuntu 24.04.2 LTS", "noble"),
}
SYSCTLS = {
    "fs/aio-max-nr": "1048576", "fs/file-max": "9223372036854775807", "fs/inotify/max_user_instances": "8192",
    "fs/inotify/max_user_watches": "1048576", "fs/nr_open": "1048576", "kernel/dmesg_restrict": "1",
    "kernel/hung_task_timeout_secs": "120", "kernel/numa_balancing": "0", "kernel/panic": "0",
    "kernel/panic_on_oops": "0", "kernel/perf_event_paranoid": "4", "kernel/pid_max": "4194304",
    "kernel/randomize_va_space": "2", "kernel/shmall": "18446744073692774399", "kernel/shmmax": "18446744073692774399",
    "kernel/threads-max": "8255427", "kernel/unprivileged_userns_clone": "1", "kernel/watchdog_thresh": "10",
    "kernel/yama/ptrace_scope": "1", "net/core/rmem_max": "212992", "net/core/somaxconn": "4096",
    "net/core/wmem_max": "212992", "net/ipv4/ip_local_port_range": "32768\t60999",
    "user/max_user_namespaces": "4127713", "vm/dirty_background_ratio": "10", "vm/dirty_ratio": "20",
    "vm/max_map_count": "262144", "vm/min_free_kbytes": "90112", "vm/nr_hugepages": "0",
    "vm/oom_kill_allocating_task": "0", "vm/overcommit_memory": "0", "vm/overcommit_ratio": "50",
    "vm/panic_on_oom": "0", "vm/swappiness": "60", "vm/vfs_cache_pressure": "100", "vm/zone_reclaim_mode": "0",
}  # fmt: skip
DKMS_MODULES = ("amdgpu", "amddrm_ttm_helper", "amdttm", "amddrm_buddy", "amdxcp", "amd_sched", "amdkcl")
OTHER_MODULES = (
    ("drm_kms_helper", 311296), ("drm", 622592), ("i2c_algo_bit", 16384), ("nvme", 49152), ("nvme_core", 143360),
    ("ahci", 49152), ("ipmi_si", 69632), ("ipmi_devintf", 20480), ("kvm_amd", 151552), ("kvm", 1032192),
    ("overlay", 151552), ("br_netfilter", 32768), ("xt_conntrack", 16384), ("nf_nat", 49152),
)  # fmt: skip


def add_host(tree: Tree, shape: Shape) -> None:
    """Everything that does not depend on single GPUs."""
    host = shape.host
    version, name, code = RELEASES[host.os]
    tree.text(
        "etc/os-release",
        f'PRETTY_NAME="{name}"\nNAME="Ubuntu"\nVERSION_ID="{version}"\nVERSION_CODENAME={code}\nID=ubuntu\nID_LIKE=debian',
    )
    tree.text("etc/group", "\n".join(f"{group}:x:{number}:" for group, number in GROUPS.items()))
    build = f"#{host.kernel.split('-')[1]}-Ubuntu SMP"
    tree.text("proc/version", f"Linux version {host.kernel} (buildd@synthetic) (gcc version 11.4.0) {build}")
    tree.text("proc/cmdline", f"BOOT_IMAGE=/vmlinuz-{host.kernel} root=/dev/mapper/vg-root ro amd_iommu=on iommu=pt")
    tree.text("proc/sys/kernel/hostname", HOST_NAME)
    tree.text("proc/sys/kernel/random/boot_id", "5f0f3a52-6c1b-4b7e-9a51-0c4d5e6f7a81")
    tree.text("proc/sys/kernel/tainted", "12288" if shape.part else "0")
    for path, value in SYSCTLS.items():
        tree.text(f"proc/sys/{path}", value)
    tree.text("sys/kernel/security/lockdown", "[none] integrity confidentiality")
    for file, value in (("sys_vendor", host.vendor), ("product_name", host.product), ("board_name", host.product),
                        ("bios_version", "2.7"), ("bios_date", "08/12/2025")):  # fmt: skip
        tree.text(f"sys/class/dmi/id/{file}", value)
    _cpu(tree, host)
    _memory(tree, host)
    _process(tree, host)
    tree.text("proc/uptime", "432000.00 41000000.00")
    tree.text("proc/loadavg", "5.12 4.80 4.61 6/2401 51234")
    tree.text("sys/class/iommu/ivhd0/amd-iommu/cap", "0")
    tree.text("sys/class/drm/version", "drm 1.1.0 20060810")


def _cpu(tree: Tree, host: Host) -> None:
    blocks: list[str] = []
    family = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat svm avx2 ibpb erms"
    for thread in range(host.cores * host.sockets):
        blocks.append(
            f"processor\t: {thread}\nvendor_id\t: AuthenticAMD\nmodel name\t: {host.cpu}\n"
            f"physical id\t: {thread // host.cores}\ncpu cores\t: {host.cores}\nflags\t\t: {family}\n"
        )
    tree.text("proc/cpuinfo", "\n".join(blocks))


def cpu_list(host: Host, socket: int) -> str:
    """CPUs of one socket."""
    return f"{host.cores * socket}-{host.cores * (socket + 1) - 1}"


def _memory(tree: Tree, host: Host) -> None:
    total = host.memory_gib * KIB_PER_GIB - 6 * KIB_PER_GIB // 4
    whole = total * host.sockets
    lines = {
        "MemTotal": whole, "MemFree": int(whole * 0.61), "MemAvailable": int(whole * 0.78), "Buffers": 2_151_004,
        "Cached": int(whole * 0.17), "SwapCached": 0, "SwapTotal": 8_388_604, "SwapFree": 8_388_604,
        "Unevictable": 30_712, "Mlocked": 27_640, "Shmem": 1_204_000, "CommitLimit": whole // 2 + 8_388_604,
        "Committed_AS": int(whole * 0.09),
    }  # fmt: skip
    text = "\n".join(f"{key + ':':<15} {value:>9} kB" for key, value in lines.items())
    text += "\nHugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB"
    tree.text("proc/meminfo", text)
    tree.text("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    nodes = "sys/devices/system/node"
    tree.text(f"{nodes}/online", f"0-{host.sockets - 1}" if host.sockets > 1 else "0")
    for socket in range(host.sockets):
        base = f"{nodes}/node{socket}"
        tree.text(
            f"{base}/meminfo",
            f"Node {socket} MemTotal:       {total} kB\nNode {socket} MemFree:        {int(total * 0.61)} kB\n"
            f"Node {socket} MemUsed:        {total - int(total * 0.61)} kB",
        )
        tree.text(f"{base}/cpulist", cpu_list(host, socket))
        tree.text(f"{base}/distance", " ".join("10" if s == socket else "32" for s in range(host.sockets)))
        tree.text(f"{base}/numastat", "numa_hit 912345678\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 5120\n"
                                      "local_node 912300000\nother_node 45678")  # fmt: skip
        for page in (2048, 1048576):
            for file in ("nr_hugepages", "free_hugepages", "surplus_hugepages"):
                tree.text(f"{base}/hugepages/hugepages-{page}kB/{file}", "0")
    for page in (2048, 1048576):
        for file in ("nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages"):
            tree.text(f"sys/kernel/mm/hugepages/hugepages-{page}kB/{file}", "0")
    for kind in ("cpu", "io", "memory"):
        line = "avg10=0.00 avg60=0.00 avg300=0.00"
        tree.text(f"proc/pressure/{kind}", f"some {line} total=8123456\nfull {line} total=2345678")


def _process(tree: Tree, host: Host) -> None:
    """The process that took the tree: a member of render and video with generous limits."""
    rows = (
        ("cpu time", "unlimited", "seconds"), ("file size", "unlimited", "bytes"), ("data size", "unlimited", "bytes"),
        ("stack size", "8388608", "bytes"), ("core file size", "0", "bytes"), ("resident set", "unlimited", "bytes"),
        ("processes", "4127713", "processes"), ("open files", "1048576", "files"),
        ("locked memory", "unlimited", "bytes"), ("address space", "unlimited", "bytes"),
    )  # fmt: skip
    lines = ["Limit                     Soft Limit           Hard Limit           Units     "]
    lines += [f"Max {name:<21} {value:<20} {value:<20} {unit:<10}" for name, value, unit in rows]
    tree.text("proc/self/limits", "\n".join(lines))
    tree.text("proc/self/status", "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
                                  "Groups:\t44 109 1000 ")  # fmt: skip
    tree.text("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope")
    tree.text(
        "proc/mounts",
        "sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0\nproc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n"
        f"tmpfs /dev/shm tmpfs rw,nosuid,nodev,size={host.memory_gib * KIB_PER_GIB // 2}k 0 0\n"
        "/dev/mapper/vg-root / ext4 rw,relatime 0 0\n/dev/nvme1n1 /models xfs rw,noatime 0 0",
    )


def add_driver(tree: Tree, shape: Shape, driver: str, rocm: str) -> None:
    """The DKMS driver, its parameters, packages and the ROCm install; with no GPU, no driver."""
    lines = [f"{name} {size} 1 - Live 0x0000000000000000" for name, size in OTHER_MODULES]
    if shape.part is not None:
        users = len(shape.buses) + 2
        sizes = (19853312, 16384, 131072, 20480, 16384, 61440, 204800)
        used_by = ("-", "amdgpu,", "amdgpu,amddrm_ttm_helper,", "amdgpu,", "amdgpu,", "amdgpu,",
                   "amdttm,amdgpu,amd_sched,")  # fmt: skip
        for name, size, users_of in zip(DKMS_MODULES, sizes, used_by, strict=True):
            count = users if name == "amdgpu" else users_of.count(",")
            lines.append(f"{name} {size} {count} {users_of} Live 0x0000000000000000 (OE)")
            tree.text(f"sys/module/{name}/refcnt", count)
            tree.text(f"sys/module/{name}/initstate", "live")
            tree.text(f"sys/module/{name}/taint", "OE")
        tree.text("sys/module/amdgpu/version", driver)
        tree.text("sys/module/amdgpu/srcversion", "6B1FD0AE0C4B7C2B0DF24A1")
        for name, value in DEFAULTS.items():
            tree.text(f"sys/module/amdgpu/parameters/{name}", value or "\n")
        tree.text("etc/modprobe.d/amdgpu.conf", "# written by nobody: the driver's defaults are in force")
        _software(tree, shape, driver, rocm)
    if shape.nics:
        for name, size, users_of in (("mlx5_ib", 462848, "-"), ("mlx5_core", 1949696, "mlx5_ib,"),
                                     ("ib_uverbs", 163840, "mlx5_ib,"), ("ib_core", 421888, "ib_uverbs,mlx5_ib,")):  # fmt: skip
            lines.append(f"{name} {size} {max(1, users_of.count(','))} {users_of} Live 0x0000000000000000")
            tree.text(f"sys/module/{name}/refcnt", max(1, users_of.count(",")))
    tree.text("proc/modules", "\n".join(lines))


def _software(tree: Tree, shape: Shape, driver: str, rocm: str) -> None:
    kernel = shape.host.kernel
    release = f"{driver}-2187269.{RELEASES[shape.host.os][0]}"
    place = f"var/lib/dkms/amdgpu/{release}"
    tree.text(f"{place}/{kernel}/x86_64/log/make.log", f"DKMS make.log for amdgpu-{release} for kernel {kernel}")
    tree.folder(f"{place}/{kernel}/x86_64/module")
    tree.link(f"var/lib/dkms/amdgpu/kernel-{kernel}-x86_64", f"{place}/{kernel}/x86_64")
    tree.text(f"opt/rocm-{rocm}/.info/version", f"{rocm}-83")
    tree.link("opt/rocm", f"opt/rocm-{rocm}")
    packages = {
        "amdgpu-dkms": f"1:{driver}-2187269.{RELEASES[shape.host.os][0]}",
        "amdgpu-dkms-firmware": f"1:{driver}-2187269.{RELEASES[shape.host.os][0]}",
        "rocm-core": f"{rocm}.83", "hsa-rocr": "1.15.0.83", "rccl": "2.22.3.83", "hip-runtime-amd": f"{rocm}.83",
        "linux-firmware": "20220329.git681281e4-0ubuntu3.39", f"linux-image-{kernel}": kernel.removesuffix("-generic"),
        f"linux-headers-{kernel}": kernel.removesuffix("-generic"), "dkms": "2.8.7-2ubuntu2.2",
        "rdma-core": "39.0-1", "libibverbs1": "39.0-1", "ibverbs-providers": "39.0-1",
    }  # fmt: skip
    tree.text(
        "var/lib/dpkg/status",
        "\n".join(
            f"Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {version}\n"
            for name, version in packages.items()
        ),
    )


def add_device_listing(tree: Tree, shape: Shape, slots: list[Slot]) -> None:
    """What ``ls -lnR`` prints of /dev: device files themselves need root to make."""
    date = "Nov 25 03:11"
    lines: list[str] = []

    def device(group: int, major: int, minor: int, name: str) -> str:
        return f"crw-rw---- 1 0 {group:>4} {major:>3}, {minor:>3} {date} {name}"

    if shape.part is None:
        lines.append("ls: cannot access '/dev/kfd': No such file or directory")
        lines += ["", "/dev/dri:", "total 0", device(GROUPS["video"], 226, 0, "card0")]
    else:
        lines.append(device(GROUPS["render"], 236, 0, "/dev/kfd"))
        lines += ["", "/dev/dri:", "total 0"]
        if has_console(shape):
            lines.append(device(GROUPS["video"], 226, 0, "card0"))
        every = [(s.card + i, s.minor + i) for s in slots for i in range(drm_step(shape))]
        lines += [device(GROUPS["video"], 226, card, f"card{card}") for card, _ in every]
        lines += [device(GROUPS["render"], 226, minor, f"renderD{minor}") for _, minor in every]
    if shape.nics:
        lines += ["", "/dev/infiniband:", "total 0"]
        lines.append(f"crw-rw-rw- 1 0    0  10, 122 {date} rdma_cm")
        lines += [f"crw-rw-rw- 1 0    0 231, {192 + i} {date} uverbs{i}" for i in range(len(shape.nics))]
    tree.text("commands/ls_-lnR_.dev.kfd_.dev.dri_.dev.infiniband", "\n".join(lines))
