"""What would supply a missing fact: the command to run on the node, or the file to send."""

from __future__ import annotations

from rocsteady.model import EventLog, Gap, NodeFacts

HOW: tuple[tuple[str, str], ...] = (
    ("event nccl", "the engine's log with NCCL_DEBUG=INFO"),
    ("event rccl", "the engine's log with NCCL_DEBUG=INFO"),
    ("event", "dmesg, journalctl -k, or the engine's log"),
    ("a note", "a file with lines such as 'same workload on kernel 6.16: ok'"),
    ("notes", "a file with lines such as 'same workload on kernel 6.16: ok'"),
    ("kernel.command_line", "cat /proc/cmdline"),
    ("kernel.secure_boot", "mokutil --sb-state"),
    ("kernel", "uname -a"),
    ("host.bios", "dmidecode -t bios, or cat /sys/class/dmi/id/bios_version"),
    ("host.virtualization", "systemd-detect-virt"),
    ("host", "cat /etc/os-release"),
    ("modules.", "lsmod; grep . /sys/module/amdgpu/parameters/*"),
    ("dkms", "dkms status"),
    ("pci", "lspci -vvv"),
    ("gpu.link", "lspci -vvv"),
    ("gpu.ras", "grep . /sys/class/drm/card*/device/ras/*_err_count"),
    ("gpu.runtime", "grep . /sys/class/drm/card*/device/power/runtime_status"),
    ("gpu.sensors", "amd-smi metric, or rocm-smi -a"),
    ("gpu.firmware", "amd-smi firmware, or cat /sys/kernel/debug/dri/*/amdgpu_firmware_info"),
    ("gpu", "rocminfo; amd-smi static"),
    ("gpus", "rocminfo; ls -l /dev/dri"),
    ("kfd_nodes", "grep . /sys/class/kfd/kfd/topology/nodes/*/properties"),
    ("devices", "ls -ln /dev/kfd /dev/dri"),
    ("user", "id"),
    ("groups", "getent group render video"),
    ("packages", "dpkg -l, or rpm -qa"),
    ("python_packages", "python3 -m pip list"),
    ("python", "python3 -m torch.utils.collect_env"),
    ("env", "env, taken where the engine runs"),
    ("sysctl", "sysctl -a"),
    ("limits", "ulimit -a, taken where the engine runs"),
    ("memory.shm", "df -h /dev/shm"),
    ("memory", "cat /proc/meminfo"),
    ("disks", "df -h"),
    ("rocm", "cat /opt/rocm/.info/version; cat /sys/module/amdgpu/version"),
    ("engine", "the engine's command line and log"),
    ("kubernetes", "kubectl describe node NODE"),
    ("container", "docker inspect CONTAINER, or kubectl get pod POD -o yaml"),
)
"""First prefix that fits a missing path -> what to run or send."""


def how_to_supply(path: str) -> str | None:
    """The command or file that would state the fact at ``path``."""
    return next((how for prefix, how in HOW if path.startswith(prefix)), None)


def basics(facts: NodeFacts, log: EventLog) -> tuple[Gap, ...]:
    """What to send when nothing was recognised and the input does not show enough to call the node healthy."""
    wanted: list[Gap] = []
    if not any("amdgpu" in e.evidence.text.lower() for e in log.events):
        wanted.append(Gap("kernel log", "absent: nothing of amdgpu was seen; supplied by: dmesg, or journalctl -k"))
    if not facts.gpus:
        wanted.append(
            Gap("GPUs", "absent: no GPU was seen; supplied by: rocminfo; ls -ln /dev/kfd /dev/dri; lspci -vv")
        )
    if facts.engine.name is None and not facts.python_packages:
        wanted.append(Gap("engine", "absent: no engine was seen; supplied by: its command line and its whole log"))
    return tuple(wanted)
