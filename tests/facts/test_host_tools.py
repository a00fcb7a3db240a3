"""Device files, modules, packages, machine descriptions, pasted files: the forms of several tools and languages."""

from __future__ import annotations

import pytest

from tests.facts.reading import facts_of, paths_of


@pytest.mark.parametrize(
    ("text", "path", "mode", "group"),
    [
        ("crw-rw---- 1 root render 236, 0 Nov 30 12:00 /dev/kfd", "/dev/kfd", "0660", "render"),
        ("$ ls -la /dev | grep kfd\ncrw-------   1 root    root    234,   0 Mai 21 05:13 kfd", "/dev/kfd", "0600", "root"),
        ("crw-rw----+ 1 root video 226, 128 2025-01-02 10:00 /dev/dri/renderD128", "/dev/dri/renderD128", "0660", "video"),
        ("/dev/dri:\ntotal 0\ncrw-rw----+ 1 root render 226, 129 11月 30 12:00 renderD129", "/dev/dri/renderD129", "0660", "render"),
        ("452 0 crw-rw-rw- 1 root render 511, 0 30. Nov 12:00 /dev/kfd", "/dev/kfd", "0666", "render"),
        ("  File: /dev/kfd\nAccess: (0660/crw-rw----)  Uid: (    0/    root)   Gid: (  109/  render)", "/dev/kfd", "0660", "render"),
    ],
)  # fmt: skip
def test_device_files(text: str, path: str, mode: str, group: str) -> None:
    """Locales, options, relative names, ACLs."""
    device = facts_of(text).devices[path]
    assert (device.exists, device.mode, device.group, device.owner) == (True, mode, group, "root")


@pytest.mark.parametrize(
    "text",
    [
        "ls: cannot access '/dev/kfd': No such file or directory",
        "ls: Zugriff auf '/dev/kfd' nicht möglich: Datei oder Verzeichnis nicht gefunden",
        "ls: impossible d'accéder à '/dev/kfd': Aucun fichier ou dossier de ce type",
        "stat: cannot statx '/dev/kfd': No such file or directory",
        'openat(AT_FDCWD, "/dev/kfd", O_RDWR|O_CLOEXEC) = -1 ENOENT (No such file or directory)',
    ],
)
def test_missing_devices(text: str) -> None:
    """Languages."""
    assert facts_of(text).devices["/dev/kfd"].exists is False


def test_numbers_traces_and_groups() -> None:
    """Group numbers, errno of a trace, the user's groups, getent."""
    device = facts_of("crw-rw---- 1 0 109 236, 0 Nov 30 12:00 /dev/kfd").devices["/dev/kfd"]
    assert (device.owner, device.group, device.gid) == ("root", None, 109)
    traced = facts_of('[pid 1] openat(AT_FDCWD, "/dev/kfd", O_RDWR) = -1 EACCES (Permission denied)').devices[
        "/dev/kfd"
    ]
    assert (traced.exists, traced.error) == (True, "EACCES")
    user = facts_of("uid=1000(user) gid=1000(user) Gruppen=1000(user),44(video),109(render)").user
    assert (user.name, user.uid, user.groups, user.gids) == ("user", 1000, ("user", "video", "render"), (1000, 44, 109))
    assert facts_of("$ groups\nuser adm video\n").user.groups == ("user", "adm", "video")
    assert facts_of("render:x:109:user\nvideo:x:44:\n").groups == {"render": 109, "video": 44}


def test_modules() -> None:
    """lsmod, modinfo, dkms of two versions, Secure Boot, Kconfig, sysctl."""
    facts = facts_of(
        "Module                  Size  Used by\namdgpu              17424384  4\namdkcl  45056  3 amd_sched,amdttm,amdgpu\n"
        "filename:       /lib/modules/6.8.0-60-generic/updates/dkms/amdgpu.ko.zst\nversion:        6.12.12\nvermagic:       6.8.0-60-generic SMP mod_unload\n"
        "amdgpu/6.12.12-2187269.22.04, 6.8.0-60-generic, x86_64: installed (original_module exists)\namdgpu, 6.2.4-1607914.22.04: added\n"
        "SecureBoot enabled\nCONFIG_HSA_AMD=y\n# CONFIG_DEVICE_PRIVATE is not set\nkernel.numa_balancing = 1\n"
    )
    amdgpu = facts.modules["amdgpu"]
    assert (amdgpu.loaded, amdgpu.version, amdgpu.vermagic, amdgpu.present) == (
        True,
        "6.12.12",
        "6.8.0-60-generic",
        True,
    )
    assert [(d.version, d.kernel, d.state) for d in facts.dkms] == [
        ("6.12.12-2187269.22.04", "6.8.0-60-generic", "installed"), ("6.2.4-1607914.22.04", None, "added"),
    ]  # fmt: skip
    assert facts.kernel.secure_boot is True and facts.sysctl == {"kernel.numa_balancing": "1"}
    assert facts.kernel.config == {"CONFIG_HSA_AMD": "y", "CONFIG_DEVICE_PRIVATE": "n"}
    assert facts_of("modinfo: ERROR: Module amdgpu not found.").modules["amdgpu"].present is False


def test_a_filtered_module_list_denies_nothing() -> None:
    """Only the whole list shows that a module is not there."""
    rows = "".join(f"mod{i}  16384  0\n" for i in range(30))
    head = "Module                  Size  Used by\n"
    assert facts_of("$ lsmod\n" + head + rows).modules["amdgpu"].loaded is False
    assert "amdgpu" not in facts_of("$ lsmod | grep mod\n" + head + rows).modules
    assert "amdgpu" not in facts_of("$ lsmod\n" + head + rows + "...\n").modules


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("ii  amdgpu-dkms  1:6.8.5.60202-2041575.24.04  all  driver", "amdgpu-dkms", "1:6.8.5.60202-2041575.24.04"),
        ("rocm-core/jammy,now 6.2.2.60202-116~22.04 amd64 [installed]", "rocm-core", "6.2.2.60202-116~22.04"),
        ("linux-firmware:\n  Installed: 20220329.git681281e4-0ubuntu3.36\n  Candidate: 2\n", "linux-firmware", "20220329.git681281e4-0ubuntu3.36"),
        ("rocm-core-6.2.0.60200-66.el9.x86_64", "rocm-core", "6.2.0.60200-66.el9"),
        ("amdgpu-dkms.noarch    1:6.8.5-2041575.el9    @amdgpu", "amdgpu-dkms", "1:6.8.5-2041575.el9"),
        ("linux-firmware 20251125-1", "linux-firmware", "20251125-1"),
        ("i+ | rocm-core | package | 6.2.0-66 | x86_64 | rocm", "rocm-core", "6.2.0-66"),
        ("Setting up amdgpu-dkms (1:6.8.5.60202-2041575.24.04) ...", "amdgpu-dkms", "1:6.8.5.60202-2041575.24.04"),
    ],
)  # fmt: skip
def test_package_lists(text: str, name: str, version: str) -> None:
    """Each tool."""
    assert facts_of(text).packages[name].version == version


def test_machine_tools() -> None:
    """hostnamectl, lsb_release, lscpu, dmidecode, free, df, ulimit, numactl, inxi."""
    facts = facts_of(
        "   Operating System: Ubuntu 22.04.5 LTS\n             Kernel: Linux 6.8.0-60-generic\n   Virtualization: kvm\n"
    )
    assert (facts.host.os_id, facts.kernel.release, facts.host.virtualization) == ("ubuntu", "6.8.0-60-generic", "kvm")
    assert facts_of("Distributor ID:\tUbuntu\nDescription:\tUbuntu 24.04.1 LTS\n").host.os_version == "24.04"
    cpu = facts_of(
        "Architecture:  x86_64\nModel name:  AMD EPYC 9654\nSocket(s):  2\nNUMA node(s):  2\nVirtualization:  AMD-V\n"
    )
    assert (cpu.host.cpu, cpu.host.sockets, cpu.memory.numa_nodes, cpu.host.virtualization) == (
        "AMD EPYC 9654",
        2,
        2,
        None,
    )
    assert facts_of("Base Board Information\n\tManufacturer: X\n\tProduct Name: H12\n").host.board == "H12"
    memory = facts_of(
        "               total        used        free\nMem:           503Gi        12Gi       400Gi\nSwap:          8.0Gi          0B       8.0Gi\n"
    ).memory
    assert (memory.total, memory.swap_total) == (503 << 30, 8 << 30)
    disks = facts_of(
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1       100G  100G     0 100% /\nshm  64M  4.0K 64M 1% /dev/shm\n"
    )
    assert (disks.disks["/"].available, disks.disks["/"].used_percent, disks.memory.shm_size) == (0, 100.0, 64 << 20)
    assert (
        facts_of("Filesystem  Inodes  IUsed IFree IUse% Mounted on\n/dev/sda1  1000 1000 0 100% /\n")
        .disks["/"]
        .inodes_used_percent
        == 100.0
    )
    limits = facts_of(
        "max locked memory           (kbytes, -l) 64\nopen files                          (-n) 1024\n"
    ).limits
    assert limits == {"memlock": "65536", "nofile": "1024"}
    assert facts_of("$ ulimit -n\n1024\n").limits == {"nofile": "1024"}
    assert facts_of("available: 2 nodes (0-1)\n").memory.numa_nodes == 2
    inxi = facts_of(
        "Graphics:  Device-1: Advanced Micro Devices [AMD/ATI] Navi 31 driver: amdgpu v: kernel bus-ID: 03:00.0 chip-ID: 1002:744c\n"
    )
    assert (inxi.gpus[0].bdf, inxi.gpus[0].device, inxi.modules) == ("0000:03:00.0", "744c", {})


def test_uname() -> None:
    """With all, with one option."""
    facts = facts_of(
        "Linux node1 6.8.0-60-generic #63-Ubuntu SMP PREEMPT_DYNAMIC Tue Apr 15 19:04:15 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux"
    )
    assert (facts.kernel.release, facts.host.arch) == ("6.8.0-60-generic", "x86_64")
    assert facts.kernel.build == "#63-Ubuntu SMP PREEMPT_DYNAMIC Tue Apr 15 19:04:15 UTC 2025"
    assert facts_of("$ uname -r\n6.18.0-arch1-1\n").kernel.release == "6.18.0-arch1-1"


def test_pasted_files() -> None:
    """By command, by name in front of the value, by content; evidence is the line of the paste."""
    facts = facts_of(
        "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=UUID=x ro iommu=pt amdgpu.noretry=1\n$ cat /sys/module/amdgpu/version\n6.12.12\n"
    )
    assert facts.kernel.command_line is not None and facts.kernel.command_line["iommu"] == "pt"
    assert facts.modules["amdgpu"].options == {"noretry": "1"} and facts.rocm.driver == "6.12.12"
    assert facts.origins["kernel.command_line"].line == 2
    named = facts_of(
        "/sys/class/drm/card1/device/power/runtime_status=suspended\n/sys/class/drm/card1/device/mem_info_vram_total=100\n/sys/module/amdgpu/parameters/noretry:-1\n/proc/sys/vm/swappiness = 10\n"
    )
    assert (named.gpus[0].key, named.gpus[0].runtime_status) == ("card:1", "suspended")
    assert named.modules["amdgpu"].parameters == {"noretry": "-1"} and named.sysctl == {"vm.swappiness": "10"}
    assert facts_of('PRETTY_NAME="Rocky Linux 9.6"\nID="rocky"\nVERSION_ID="9.6"\n').host.os_id == "rocky"
    assert facts_of("MemTotal:       1056004844 kB\n").memory.total == 1056004844 << 10
    assert facts_of("==> /proc/sys/kernel/numa_balancing <==\n1\n").sysctl == {"kernel.numa_balancing": "1"}
    assert not paths_of(
        "$ cat /sys/module/amdgpu/version\ncat: /sys/module/amdgpu/version: No such file or directory\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "The module amdgpu is loaded 3 times.", "We saw crw-rw---- on the kfd file.", "installed: yes\nversion: new",
        "[    1.000000] amdgpu: module verification failed\n", "I opened /dev/kfd and it said no such file.",
    ],
)  # fmt: skip
def test_near_misses(text: str) -> None:
    """Prose and logs."""
    assert not {p for p in paths_of(text) if not p.startswith("host.os")}
