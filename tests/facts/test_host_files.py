"""Parsers of the host's files on what kernels and distributions print, and the facts that come of them."""

from __future__ import annotations

import struct

from rocsteady.facts import Builder
from rocsteady.facts.cgroup import parse_limit, parse_runtime
from rocsteady.facts.device_nodes import octal_mode, parse_listing
from rocsteady.facts.dkms import read_dkms
from rocsteady.facts.dmi import Cpu, parse_cpuinfo
from rocsteady.facts.drm_fdinfo import DrmClient, parse_fdinfo, read_drm_clients
from rocsteady.facts.infiniband import parse_rate, parse_state
from rocsteady.facts.iommu import read_iommu
from rocsteady.facts.kernel import parse_command_line, parse_lockdown, parse_secure_boot, parse_version
from rocsteady.facts.limits import Limit, ProcessIdentity, parse_identity, parse_limits
from rocsteady.facts.meminfo import parse_meminfo
from rocsteady.facts.modules import LoadedModule, parse_modprobe, parse_modules
from rocsteady.facts.mounts import Mount, parse_mounts
from rocsteady.facts.numa import parse_cpu_list
from rocsteady.facts.packages import parse_dpkg, parse_installed_debs, parse_installed_rpms
from rocsteady.facts.parse_file import Malformed
from rocsteady.facts.pci import parse_aer, parse_link_speed, parse_resource, read_pci, upstream_port
from rocsteady.facts.pci_config import ConfigSpace, parse_config
from rocsteady.facts.pressure import Stall, parse_pressure
from rocsteady.facts.rocm_install import RocmInstall, read_rocm_installs
from rocsteady.facts.tree import read_tree
from rocsteady.hostfs import HostFS
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.hostfs.store import FileStat
from rocsteady.model import NodeFacts
from rocsteady.model.facts import Bar, DeviceNode, Dkms, Package


def fs(files: dict[str, str | bytes], modes: dict[str, FileStat] | None = None) -> HostFS:
    return HostFS(MemoryStore(files, modes), live=False)


def facts(files: dict[str, str | bytes], modes: dict[str, FileStat] | None = None) -> NodeFacts:
    builder = Builder()
    builder.add(read_tree(fs(files, modes)))
    return builder.build()


def test_kernel() -> None:
    version = parse_version(
        "Linux version 6.8.0-60-generic (buildd@host) (gcc-13 (Ubuntu 13.3.0) 13.3.0) #63-Ubuntu SMP\n"
    )
    assert not isinstance(version, Malformed)
    assert (version.release, version.build) == ("6.8.0-60-generic", "#63-Ubuntu SMP")
    assert parse_command_line('ro iommu=pt amdgpu.no-retry=0 dyndbg="file a +p" quiet\n') == {
        "ro": "", "iommu": "pt", "amdgpu.no_retry": "0", "dyndbg": "file a +p", "quiet": "",
    }  # fmt: skip
    assert parse_lockdown("none [integrity] confidentiality\n") == "integrity"
    assert parse_secure_boot(b"\x06\0\0\0\x01") is True and parse_secure_boot(b"\x06\0\0\0\0") is False


def test_modules() -> None:
    text = "amdgpu 19529728 12 - Live 0x0000000000000000 (OE)\nttm 110592 1 amdgpu, Live 0x0000000000000000\n"
    assert parse_modules(text) == {
        "amdgpu": LoadedModule(name="amdgpu", size=19529728, refcount=12, used_by=(), state="Live", taint="OE", line=1),
        "ttm": LoadedModule(name="ttm", size=110592, refcount=1, used_by=("amdgpu",), state="Live", taint=None, line=2),
    }  # fmt: skip
    lines = parse_modprobe(
        "x.conf", "# a\noptions amdgpu noretry=0 vm-size=8\nblacklist amd-kfd\ninstall radeon /bin/false\n"
    )
    assert [(x.kind, x.module, x.values) for x in lines] == [
        ("options", "amdgpu", {"noretry": "0", "vm-size": "8"}), ("blacklist", "amd_kfd", {}), ("disabled", "radeon", {}),
    ]  # fmt: skip


def test_module_facts_hold_both_values() -> None:
    node = facts(
        {
            "proc/modules": "drm 622592 1 - Live 0x0\n", "proc/cmdline": "ro amdgpu.noretry=1 modprobe.blacklist=ast,radeon\n",
            "sys/module/amdgpu/parameters/noretry": "-1\n", "sys/module/amdgpu/version": "6.12.12\n",
            "etc/modprobe.d/a.conf": "options amdgpu vm_size=8\n",
        }
    ).modules  # fmt: skip
    assert node["amdgpu"].parameters == {"noretry": "-1"} and node["amdgpu"].version == "6.12.12"
    assert node["amdgpu"].options == {"vm_size": "8", "noretry": "1"} and node["amdgpu"].loaded is True
    assert node["ast"].blacklisted and node["radeon"].blacklisted and node["drm"].loaded


def test_a_driver_that_is_not_loaded() -> None:
    assert facts({"proc/modules": "drm 622592 1 - Live 0x0\n"}).modules["amdgpu"].loaded is False
    assert "amdgpu" not in facts({"proc/version": "Linux version 6.8.0 #1\n"}).modules


def test_device_listing() -> None:
    text = (
        "crw-rw----+ 1 0 109 236,   0 Nov 25 03:11 /dev/kfd\n\n/dev/dri:\ntotal 0\n"
        "drwxr-xr-x 2 0 0 120 Nov 25 03:11 by-path\ncrw-rw---- 1 root video 226, 0 2026-11-25 03:11 card0\n"
        "ls: cannot access '/dev/infiniband': No such file or directory\n"
    )
    rows = [row.node for row in parse_listing("x", text)]
    assert rows == [
        DeviceNode(path="/dev/kfd", exists=True, mode="0660", owner="root", gid=109, acl=True),
        DeviceNode(path="/dev/dri/card0", exists=True, mode="0660", owner="root", group="video", acl=False),
        DeviceNode(path="/dev/infiniband", exists=False),
    ]
    assert octal_mode("rwxr-xr-T") == "0754"


def test_device_files_of_a_snapshot() -> None:
    modes = {
        "dev/kfd": FileStat("other", 0, 0o660, 0, 109), "dev/dri/renderD128": FileStat("other", 0, 0o666, 0, 109),
    }  # fmt: skip
    node = facts({"etc/group": "render:x:109:\n", "dev/kfd": "", "dev/dri/renderD128": "", "dev/dri/x": ""}, modes)
    assert node.devices["/dev/kfd"] == DeviceNode(
        path="/dev/kfd", exists=True, mode="0660", owner="root", group="render", gid=109
    )
    assert node.devices["/dev/dri/renderD128"].mode == "0666" and node.groups == {"render": 109}


def test_pci() -> None:
    assert parse_link_speed("16.0 GT/s PCIe\n") == 16.0 and parse_link_speed("8 GT/s\n") == 8.0
    assert isinstance(parse_link_speed("Unknown\n"), Malformed)
    text = (
        "0x0000060000000000 0x0000060fffffffff 0x000000000014220c\n"
        "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
        "0x0000000000000000 0x00000000001fffff 0x000000002014220c\n"
    )
    assert parse_resource(text) == (
        Bar(index=0, size=1 << 36, prefetchable=True, wide=True, assigned=True),
        Bar(index=2, size=1 << 21, prefetchable=True, wide=True, assigned=False),
    )
    assert parse_aer("RxErr 3\nBadTLP 0\nTOTAL_ERR_COR 3\n") == {"RxErr": 3, "BadTLP": 0, "TOTAL_ERR_COR": 3}


def config(*, acs: int | None, atomics: int, size: int = 4096) -> bytes:
    data = bytearray(4096)
    struct.pack_into("<HHHH", data, 0, 0x1022, 0x14AB, 0, 0x10)
    data[0x34], data[0x40], data[0x41] = 0x40, 0x01, 0x50
    data[0x50] = 0x10
    struct.pack_into("<I", data, 0x50 + 0x24, atomics)
    struct.pack_into("<I", data, 0x100, 0x0001 | 1 << 16 | 0x200 << 20)
    if acs is not None:
        struct.pack_into("<I", data, 0x200, 0x000D | 1 << 16)
        struct.pack_into("<HH", data, 0x204, 0x5F, acs)
    return bytes(data[:size])


def test_configuration_space() -> None:
    on = parse_config(config(acs=0x1D, atomics=0x40))
    assert on == ConfigSpace(
        off_bus=False, acs_capable=True, acs_control=0x1D, acs_redirect=True, atomics_routing=True,
        atomics_completer=False, atomics_requester=False, atomics_egress_blocked=False,
    )  # fmt: skip
    without = parse_config(config(acs=None, atomics=0x180))
    assert isinstance(without, ConfigSpace) and (without.acs_capable, without.acs_redirect) == (False, False)
    plain = parse_config(config(acs=0x1D, atomics=0x40, size=64))
    assert plain == ConfigSpace(off_bus=False)
    assert parse_config(b"\xff" * 64) == ConfigSpace(off_bus=True)
    looped = bytearray(config(acs=None, atomics=0))
    looped[0x41] = 0x40
    assert isinstance(parse_config(bytes(looped)), ConfigSpace)


def test_the_slot_is_above_the_board_s_own_switch() -> None:
    base = "sys/devices/pci0000:00/0000:00:01.1"
    files: dict[str, str | bytes] = {}
    for bdf, place, vendor in (
        ("0000:00:01.1", base, "0x1022"), ("0000:01:00.0", f"{base}/0000:01:00.0", "0x1002"),
        ("0000:02:00.0", f"{base}/0000:01:00.0/0000:02:00.0", "0x1002"),
        ("0000:03:00.0", f"{base}/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0x1002"),
    ):  # fmt: skip
        files[f"{place}/vendor"] = f"{vendor}\n"
        files[f"sys/bus/pci/devices/{bdf}"] = f"link:../../../devices/{place.removeprefix('sys/devices/')}"
    functions = read_pci(fs(files))
    assert isinstance(functions, dict) and upstream_port(functions, "0000:03:00.0") == "0000:01:00.0"


def test_limits_and_identity() -> None:
    text = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         unlimited            unlimited            bytes     \n"
    )
    assert parse_limits(text) == {"nofile": Limit(1024, 1048576), "memlock": Limit(None, None)}
    assert parse_identity("Uid:\t1000\t1001\t0\t0\nGid:\t5\t6\t6\t6\nGroups:\t44 109 \n") == ProcessIdentity(
        1001, (6, 44, 109)
    )
    own = facts(
        {"proc/self/status": "Uid:\t1\t1\t1\t1\nGid:\t5\t5\t5\t5\nGroups:\t109 \n", "etc/group": "render:x:109:\n"}
    )
    assert own.user.gids == (5, 109) and own.user.groups == ("5", "render")
    foreign = facts({"proc/self": "link:4711", "proc/4711/limits": text})
    assert foreign.limits == {}


def test_small_files() -> None:
    assert parse_meminfo("MemTotal:       131900416 kB\nHugePages_Total:       5\n") == {
        "MemTotal": 131900416 * 1024,
        "HugePages_Total": 5,
    }
    assert parse_cpu_list("0-2,8\n") == (0, 1, 2, 8) and isinstance(parse_cpu_list("0-99999999\n"), Malformed)
    assert parse_mounts("tmpfs /dev/shm tmpfs rw,size=65536k 0 0\nnone /a\\040b tmpfs rw 0 0\n") == (
        Mount(device="tmpfs", place="/dev/shm", kind="tmpfs", options=("rw", "size=65536k"), size=64 << 20, line=1),
        Mount(device="none", place="/a b", kind="tmpfs", options=("rw",), size=None, line=2),
    )
    assert parse_pressure("some avg10=1.50 avg60=0.20 avg300=0.00 total=99\n") == {"some": Stall(1.5, 0.2, 0.0, 99)}
    assert parse_runtime("0::/kubepods.slice/kubepods-burstable.slice\n") == "kubernetes"
    assert isinstance(parse_runtime("0::/user.slice/user-1000.slice\n"), Malformed)
    assert (
        parse_limit("max\n") is None and parse_limit("9223372036854771712\n") is None and parse_limit("4096\n") == 4096
    )
    assert parse_state("4: ACTIVE\n") == "ACTIVE" and parse_rate("400 Gb/sec (4X NDR)\n") == 400.0
    cpu = parse_cpuinfo(
        "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: EPYC\nphysical id\t: 0\nflags\t: fpu hypervisor\n"
    )
    assert cpu == Cpu(name="EPYC", vendor="AuthenticAMD", sockets=1, threads=1, hypervisor=True)


def test_packages() -> None:
    status = "Package: rocm-core\nStatus: install ok installed\nVersion: 6.4.1\n\nPackage: vim\nStatus: install ok installed\nVersion: 9\n"
    assert parse_dpkg(status.split("\n"))[0][0] == Package(
        name="rocm-core", version="6.4.1", source="dpkg", state="installed"
    )
    assert len(parse_dpkg(status.split("\n"))) == 1
    debs = parse_installed_debs(
        ["ii  amdgpu-dkms  1:6.12.12-1 all  driver", "iF  rocm-core 6.4 amd64 x", "ii  vim 9 amd64 x"]
    )
    assert [(p.name, p.state) for p, _, _ in debs] == [("amdgpu-dkms", "installed"), ("rocm-core", "broken")]
    rpms = parse_installed_rpms(["kernel-core-5.14.0-503.el9.x86_64      Mon 01 Sep 2025", "bash-5.1-1.el9.x86_64"])
    assert [(p.name, p.version) for p, _, _ in rpms] == [("kernel-core", "5.14.0-503.el9")]


def test_dkms_and_rocm() -> None:
    files: dict[str, str | bytes] = {
        "var/lib/dkms/amdgpu/6.12.12-1/6.8.0-60-generic/x86_64/log/make.log": "x",
        "var/lib/dkms/amdgpu/6.12.12-1/6.8.0-62-generic/x86_64/log/make.log": "x",
        "var/lib/dkms/amdgpu/kernel-6.8.0-60-generic-x86_64": "link:6.12.12-1/6.8.0-60-generic/x86_64",
        "var/lib/dkms/other/1.0/source": "link:/usr/src/other-1.0",
        "opt/rocm-6.4.1/.info/version": "6.4.1-83\n", "opt/rocm": "link:rocm-6.4.1",
        "opt/rocm-5.7.0/.info/version": "5.7.0-63\n",
    }  # fmt: skip
    assert [d for d, _ in read_dkms(fs(files))[0]] == [
        Dkms(name="amdgpu", version="6.12.12-1", kernel="6.8.0-60-generic", state="installed"),
        Dkms(name="amdgpu", version="6.12.12-1", kernel="6.8.0-62-generic", state="built"),
        Dkms(name="other", version="1.0", state="added"),
    ]
    installs, gaps = read_rocm_installs(fs(files))
    assert not gaps and sorted(installs, key=lambda i: i.path) == [
        RocmInstall(path="/opt/rocm-5.7.0", version="5.7.0", default=False),
        RocmInstall(path="/opt/rocm-6.4.1", version="6.4.1", default=True),
    ]
    assert facts(files).rocm.version == "6.4.1"


def test_iommu() -> None:
    state = read_iommu(
        fs({"sys/kernel/iommu_groups/3/type": "identity\n", "sys/kernel/iommu_groups/3/devices/0000:01:00.0": "x"})
    )
    assert state.active and state.groups[0].type == "identity" and state.groups[0].devices == ("0000:01:00.0",)
    assert read_iommu(fs({"sys/kernel/iommu_groups/": ""})).active is False
    assert read_iommu(fs({})).active is None


def test_drm_clients_count_once() -> None:
    text = (
        "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:c1:00.0\npasid:\t32770\n"
        "drm-memory-vram:\t2048 KiB\namd-evicted-vram:\t4 KiB\ndrm-engine-gfx:\t987 ns\n"
    )
    client = DrmClient(
        driver="amdgpu", bdf="0000:c1:00.0", client=7, pasid=32770,
        memory={"memory-vram": 2 << 20, "evicted-vram": 4096}, engines={"gfx": 987},
    )  # fmt: skip
    assert parse_fdinfo(text) == client
    assert read_drm_clients(
        fs({"proc/9/fdinfo/3": text, "proc/9/fdinfo/4": text, "proc/9/fdinfo/5": "pos:\t0\n"}), 9
    ) == (client,)
