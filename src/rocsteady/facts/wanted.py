"""Which files and commands the fact readers can use: what a snapshot takes. Data only, shared with the script.

Patterns match component by component, a last ``**`` takes all files below, ``{gpu process}`` stands for the
process numbers that KFD lists. A test holds that everything the readers open is in here.
"""

_PCI = (
    "vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision", "config", "resource", "numa_node",
    "local_cpulist", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "power_state",
    "d3cold_allowed", "reset_method", "driver", "iommu_group", "uevent", "enable", "irq", "sriov_numvfs",
    "sriov_totalvfs", "physfn", "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal", "power/runtime_status",
    "power/control",
)  # fmt: skip
_GPU = (
    "*", "ras/*", "fw_version/*", "hwmon/hwmon*/*", "xgmi_hive_info/*", "power/*", "pm_policy/*",
    "compute_partition_config/**", "gpu_od/**", "board/*", "xcp/*", "ip_discovery/die/*/*/*/*", "iommu_group/type",
)  # fmt: skip
_GPU_MODULES = (
    "amdgpu", "amd*", "ttm", "gpu_sched", "drm*", "kvm*", "vfio*", "mlx5*", "bnxt*", "ib_*", "pci*", "nouveau",
    "nvidia*", "radeon",
)  # fmt: skip
_MODULE = ("version", "srcversion", "taint", "refcnt", "initstate")

FILES = (
    "etc/os-release", "usr/lib/os-release", "etc/hostname", "etc/passwd", "etc/group", "etc/machine-id", ".dockerenv",
    "run/.containerenv", "etc/modprobe.d/*", "run/modprobe.d/*", "usr/lib/modprobe.d/*", "lib/modprobe.d/*",
    "etc/modules-load.d/*", "etc/default/grub", "etc/security/limits.conf", "etc/security/limits.d/*",
    "etc/sysctl.conf", "etc/sysctl.d/*", "etc/udev/rules.d/*", "etc/docker/daemon.json", "etc/logrotate.conf",
    "etc/logrotate.d/*", "etc/crontab", "etc/cron.d/*", "etc/rdma/**", "etc/libibverbs.d/*",
    "proc/version", "proc/cmdline", "proc/cpuinfo", "proc/meminfo", "proc/modules", "proc/mounts", "proc/1/mounts",
    "proc/stat", "proc/uptime", "proc/loadavg", "proc/swaps", "proc/interrupts", "proc/iomem", "proc/devices",
    "proc/buddyinfo", "proc/vmstat", "proc/zoneinfo", "proc/pressure/*", "proc/self/status", "proc/self/limits",
    "proc/self/cgroup", "proc/self/mounts", "proc/self/mountinfo", "proc/net/dev", "proc/config.gz",
    "proc/{gpu process}/status", "proc/{gpu process}/limits", "proc/{gpu process}/cgroup",
    "proc/{gpu process}/cmdline",
    "proc/sys/kernel/*", "proc/sys/kernel/random/boot_id", "proc/sys/kernel/yama/*", "proc/sys/vm/*", "proc/sys/fs/*",
    "proc/sys/fs/inotify/*", "proc/sys/net/core/*", "proc/sys/net/ipv4/ip_local_port_range", "proc/sys/user/*",
    "dev", "dev/kfd", "dev/dri/*", "dev/infiniband/*", "dev/shm",
    "sys/bus/pci/devices", *("sys/bus/pci/devices/*/" + name for name in _PCI), "sys/bus/pci/drivers/amdgpu/*",
    "sys/class/drm", "sys/class/drm/card*", "sys/class/drm/renderD*", "sys/class/drm/renderD*/device",
    "sys/class/drm/renderD*/dev", "sys/class/drm/card*/dev", *("sys/class/drm/card*/device/" + name for name in _GPU),
    "sys/class/kfd/kfd/topology/*", "sys/class/kfd/kfd/topology/nodes/**", "sys/class/kfd/kfd/proc/*",
    "sys/class/kfd/kfd/proc/*/*", "sys/class/kfd/kfd/proc/*/*/*", "sys/class/kfd/kfd/proc/*/queues/*/*",
    *("sys/module/*/" + name for name in _MODULE),
    *("sys/module/" + module + "/parameters/*" for module in _GPU_MODULES),
    "sys/kernel/iommu_groups", "sys/kernel/iommu_groups/*/type", "sys/kernel/iommu_groups/*/devices/*",
    "sys/class/iommu", "sys/class/iommu/*", "sys/class/infiniband/*", "sys/class/infiniband/*/*",
    "sys/class/infiniband/*/ports/*/*", "sys/class/infiniband/*/ports/*/counters/*",
    "sys/class/infiniband/*/ports/*/hw_counters/*", "sys/class/infiniband/*/device/driver",
    "sys/class/dmi/id/*", "sys/devices/system/node/*", "sys/devices/system/node/node*/*",
    "sys/devices/system/node/node*/hugepages/*/*", "sys/devices/system/cpu/online", "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "sys/kernel/mm/hugepages/*/*",
    "sys/kernel/mm/transparent_hugepage/*", "sys/kernel/security/lockdown", "sys/kernel/livepatch/*",
    "sys/firmware/efi/efivars/SecureBoot-*", "sys/power/mem_sleep",
    "sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/memory.*", "sys/fs/cgroup/pids.*", "sys/fs/cgroup/cpuset.cpus*",
    "sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes",
    "sys/kernel/debug/dri/*/amdgpu_firmware_info", "sys/kernel/debug/dri/*/amdgpu_fence_info",
    "sys/kernel/debug/dri/*/ras/ras_eeprom_table", "sys/kernel/debug/kfd/mem_limit",
    "opt", "opt/rocm*", "opt/rocm*/.info/*", "opt/rocm*/share/amdgpu/*", "var/lib/dkms", "var/lib/dkms/*",
    "var/lib/dkms/*/*", "var/lib/dkms/*/*/*", "var/lib/dpkg/status", "installed-debs", "installed-rpms",
    "usr/lib/firmware/amdgpu", "lib/firmware/updates/amdgpu", "lib/modules/*/modules.dep",
)  # fmt: skip

COMMANDS = (
    ("uname", "-a"), ("id",), ("env",), ("lspci", "-nnvvv"), ("lsmod",), ("lscpu",), ("modinfo", "amdgpu"),
    ("dkms", "status"), ("rpm", "-qa"), ("pacman", "-Q"), ("python3", "-m", "pip", "list"), ("mokutil", "--sb-state"),
    ("df", "-PT"), ("df", "-Pi"), ("numactl", "-H"), ("ldconfig", "-p"), ("rdma", "link"), ("ibv_devinfo",),
    ("systemd-detect-virt",), ("systemctl", "--failed", "--no-pager"),
    ("systemctl", "list-timers", "--all", "--no-pager"), ("docker", "ps", "-a", "--no-trunc"), ("uptime",),
)  # fmt: skip
