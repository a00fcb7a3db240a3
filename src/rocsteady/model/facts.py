"""What was read about a node. A value that could not be read is None and its ``Gap`` is listed.

Units are in the names where a bare number would be ambiguous. Dictionaries are keyed by the name that
the interface itself uses (module parameter, environment variable, package, BDF).

A catalog rule names a fact by its dotted path: ``kernel.release``, ``modules.amdgpu.parameters.noretry``,
``gpu.ras.umc.ue`` (``gpu`` is the GPU that the rule is looking at).
"""

from __future__ import annotations

import msgspec

from rocsteady.model.base import Evidence, Gap
from rocsteady.model.platform import Iommu, Rdma


class Host(msgspec.Struct, kw_only=True):
    """The machine and its operating system."""

    name: str | None = None
    os_id: str | None = None
    """As ID in os-release: ubuntu, rhel, rocky, debian, fedora, sles, arch, ..."""
    os_version: str | None = None
    os_name: str | None = None
    """PRETTY_NAME, or what a note calls it."""
    arch: str | None = None
    vendor: str | None = None
    product: str | None = None
    board: str | None = None
    bios_version: str | None = None
    bios_date: str | None = None
    virtualization: str | None = None
    """none, kvm, vmware, ...; None = not known."""
    container: str | None = None
    """The runtime, where the input was taken inside a container."""
    boot_id: str | None = None
    cpu: str | None = None
    cpu_vendor: str | None = None
    sockets: int | None = None
    init: str | None = None


class Kernel(msgspec.Struct, kw_only=True):
    """The running kernel."""

    release: str | None = None
    build: str | None = None
    command_line: dict[str, str] | None = None
    """Parameter -> value; a bare word has the value ''."""
    command_line_text: str | None = None
    config: dict[str, str] = {}
    """Build options as CONFIG_HSA_AMD -> y, m, n (``is not set``)."""
    tainted: int | None = None
    lockdown: str | None = None
    secure_boot: bool | None = None


class Module(msgspec.Struct, kw_only=True):
    """One kernel module."""

    loaded: bool | None = None
    version: str | None = None
    """Of amdgpu: present for the DKMS driver, absent for the in-tree one."""
    srcversion: str | None = None
    filename: str | None = None
    signer: str | None = None
    vermagic: str | None = None
    """Kernel release that the module file was built for."""
    present: bool | None = None
    """Whether a module file was found for the running kernel."""
    taint: str | None = None
    refcount: int | None = None
    used_by: tuple[str, ...] = ()
    parameters: dict[str, str] = {}
    """Values in force (/sys/module/*/parameters)."""
    options: dict[str, str] = {}
    """Values asked for (modprobe.d, kernel command line)."""
    blacklisted: bool | None = None


class Dkms(msgspec.Struct, kw_only=True):
    """One line of ``dkms status``."""

    name: str
    version: str
    kernel: str | None = None
    state: str | None = None


class PcieLink(msgspec.Struct, kw_only=True):
    """Speed in GT/s, width in lanes."""

    speed: float | None = None
    width: int | None = None
    max_speed: float | None = None
    max_width: int | None = None


class Bar(msgspec.Struct, kw_only=True):
    """One base address region; size in bytes; ``assigned`` False where the firmware gave no address."""

    index: int
    size: int | None = None
    prefetchable: bool | None = None
    wide: bool | None = None
    assigned: bool | None = None


class PciDevice(msgspec.Struct, kw_only=True):
    """One PCI function. Ids are lower-case hexadecimal without 0x."""

    bdf: str
    vendor: str | None = None
    device: str | None = None
    subsystem_vendor: str | None = None
    subsystem_device: str | None = None
    class_code: str | None = None
    name: str | None = None
    driver: str | None = None
    numa_node: int | None = None
    iommu_group: str | None = None
    link: PcieLink = msgspec.field(default_factory=PcieLink)
    bars: tuple[Bar, ...] = ()
    acs: bool | None = None
    """ACS redirect bits on: peer-to-peer goes through the root complex."""
    atomics_routing: bool | None = None
    atomics_completer: bool | None = None
    atomics_requester: bool | None = None
    aer_correctable: dict[str, int] | None = None
    aer_nonfatal: dict[str, int] | None = None
    aer_fatal: dict[str, int] | None = None
    aer_status: dict[str, bool] = {}
    """Bits that lspci shows as set in the error status registers: ``UESta.CmpltTO``, ``CESta.BadTLP``."""
    memory_enabled: bool | None = None
    """False where lspci shows a region as disabled."""
    unreachable: bool | None = None
    """Configuration space reads as all ones: the device fell off the bus."""
    parent: str | None = None
    is_bridge: bool | None = None
    power_state: str | None = None
    runtime_status: str | None = None


class RasBlock(msgspec.Struct, kw_only=True):
    """Error counts of one RAS block since driver load."""

    ue: int | None = None
    ce: int | None = None
    de: int | None = None


class XgmiLink(msgspec.Struct, kw_only=True):
    """One link of a GPU to a peer."""

    peer: str
    state: str | None = None
    width: int | None = None
    speed: float | None = None
    weight: int | None = None
    hops: int | None = None
    errors: int | None = None


class Memory(msgspec.Struct, kw_only=True):
    """Bytes by kind."""

    vram_total: int | None = None
    vram_used: int | None = None
    visible_total: int | None = None
    visible_used: int | None = None
    gtt_total: int | None = None
    gtt_used: int | None = None
    vendor: str | None = None


class Sensors(msgspec.Struct, kw_only=True):
    """Temperatures in degrees Celsius, power in watts, clocks in MHz, fan in RPM."""

    edge: float | None = None
    junction: float | None = None
    mem: float | None = None
    edge_crit: float | None = None
    junction_crit: float | None = None
    mem_crit: float | None = None
    hbm: dict[str, float] = {}
    power: float | None = None
    power_cap: float | None = None
    power_cap_default: float | None = None
    power_cap_max: float | None = None
    sclk: float | None = None
    sclk_max: float | None = None
    mclk: float | None = None
    mclk_max: float | None = None
    fan: int | None = None
    fan_percent: float | None = None
    busy_percent: float | None = None
    voltage_mv: float | None = None
    throttle_status: int | None = None
    throttled: bool | None = None


class Gpu(msgspec.Struct, kw_only=True):
    """One GPU: a physical package with one BDF (an MI250X GCD is one too, as ROCm shows it)."""

    key: str | None = None
    """What the facts call it: the BDF, else smi:N, hip:N, kfd:N, card:N (see the builder)."""
    bdf: str | None = None
    smi_index: int | None = None
    hip_index: int | None = None
    drm_card: int | None = None
    render_minor: int | None = None
    kfd_node_id: int | None = None
    gpu_id: int | None = None
    unique_id: str | None = None
    name: str | None = None
    product_name: str | None = None
    gfx: str | None = None
    """LLVM target without feature suffixes, e.g. gfx942."""
    vendor: str | None = None
    device: str | None = None
    subsystem_device: str | None = None
    driver: str | None = None
    vbios: str | None = None
    serial: str | None = None
    firmware: dict[str, str] = {}
    """Block -> version as printed; ``firmware_age`` rules compare them numerically."""
    memory: Memory = msgspec.field(default_factory=Memory)
    sensors: Sensors = msgspec.field(default_factory=Sensors)
    link: PcieLink = msgspec.field(default_factory=PcieLink)
    performance_level: str | None = None
    power_profile: str | None = None
    runtime_status: str | None = None
    runtime_control: str | None = None
    compute_mode: str | None = None
    memory_mode: str | None = None
    partitions: int | None = None
    cu_count: int | None = None
    ecc: bool | None = None
    ras: dict[str, RasBlock] | None = None
    retired_pages: int | None = None
    pending_pages: int | None = None
    unreservable_pages: int | None = None
    hive_id: str | None = None
    xgmi_links: tuple[XgmiLink, ...] = ()
    numa_node: int | None = None
    pcie_replays: int | None = None
    is_apu: bool | None = None
    metrics_version: str | None = None
    reset_methods: tuple[str, ...] = ()
    slot_link: PcieLink = msgspec.field(default_factory=PcieLink)
    """Of the slot: Radeon boards hold a switch of their own between slot and GPU."""
    iommu_type: str | None = None
    """identity (pass-through), DMA or DMA-FQ."""
    board_type: str | None = None
    manufacturer: str | None = None
    product_number: str | None = None
    xgmi_physical_id: int | None = None
    xgmi_links_up: int | None = None
    xgmi_links_down: int | None = None
    poison_consumed: int | None = None
    fatal_errors: int | None = None


class KfdLink(msgspec.Struct, kw_only=True):
    """One io_link or p2p_link; bandwidth in MB/s, 0 in the file = unknown = None here."""

    type: int
    node_from: int
    node_to: int
    weight: int | None = None
    max_bandwidth: int | None = None
    flags: int | None = None


class KfdNode(msgspec.Struct, kw_only=True):
    """One topology entry, CPUs included. ``gpu_id`` is a hash, 0 on a CPU."""

    id: int
    gpu_id: int | None = None
    name: str | None = None
    properties: dict[str, int] = {}
    memory_bytes: int | None = None
    links: tuple[KfdLink, ...] = ()


class DeviceNode(msgspec.Struct, kw_only=True):
    """A file below /dev, or a statement that it is not there."""

    path: str
    exists: bool
    mode: str | None = None
    """Octal, e.g. 0660."""
    error: str | None = None
    """Why a program could not open it: EACCES, ENOENT, EPERM, ..."""
    owner: str | None = None
    group: str | None = None
    gid: int | None = None
    acl: bool | None = None


class User(msgspec.Struct, kw_only=True):
    """The user the input was taken as."""

    name: str | None = None
    uid: int | None = None
    groups: tuple[str, ...] | None = None
    gids: tuple[int, ...] | None = None
    missing_groups: tuple[str, ...] | None = None
    """Groups that a tool says the user is not in."""


class Package(msgspec.Struct, kw_only=True):
    """One installed package of the distribution or of Python; ``source`` dpkg, rpm, pip, conda, pacman."""

    name: str
    version: str
    source: str
    state: str | None = None


class HostMemory(msgspec.Struct, kw_only=True):
    """Bytes, except page counts."""

    total: int | None = None
    available: int | None = None
    swap_total: int | None = None
    swap_free: int | None = None
    hugepages_total: int | None = None
    hugepages_free: int | None = None
    hugepage_bytes: int | None = None
    thp: str | None = None
    shm_size: int | None = None
    shm_used: int | None = None
    numa_nodes: int | None = None
    commit_limit: int | None = None
    unevictable: int | None = None


class Disk(msgspec.Struct, kw_only=True):
    """One mounted file system, as df prints it. Bytes."""

    mount: str
    device: str | None = None
    total: int | None = None
    used: int | None = None
    available: int | None = None
    used_percent: float | None = None
    inodes_used_percent: float | None = None
    kind: str | None = None


class ContainerSpec(msgspec.Struct, kw_only=True):
    """What a docker run line, ``docker inspect`` or a pod spec gives a container."""

    image: str | None = None
    devices: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] | None = None
    security: tuple[str, ...] | None = None
    ipc: str | None = None
    shm_size: int | None = None
    ulimits: dict[str, str] | None = None
    privileged: bool | None = None
    network: str | None = None
    volumes: tuple[str, ...] | None = None
    memory_limit: int | None = None
    pids_limit: int | None = None
    cpuset: str | None = None
    user: str | None = None
    runtime: str | None = None
    """docker, podman, apptainer, kubernetes, or the OCI runtime that was asked for."""
    gpus: str | None = None
    """What --gpus, --rocm, --nv ask for."""
    gpu_request: int | None = None
    gpu_resource: str | None = None
    """Resource name of the request: amd.com/gpu, nvidia.com/gpu."""
    command: str | None = None
    state: str | None = None
    reason: str | None = None
    """Of the present state: CrashLoopBackOff, ..."""
    last_reason: str | None = None
    """Of the last end: OOMKilled, Error, Completed."""
    exit_code: int | None = None
    restarts: int | None = None


class Pod(msgspec.Struct, kw_only=True):
    """One line of ``kubectl get pods``."""

    status: str | None = None
    ready: str | None = None
    restarts: int | None = None
    node: str | None = None


class Kubernetes(msgspec.Struct, kw_only=True):
    """What kubectl says about a node and the pods on it. Counts are of ``amd.com/gpu``."""

    node_ready: bool | None = None
    node_unschedulable: bool | None = None
    gpu_capacity: int | None = None
    gpu_allocatable: int | None = None
    gpu_requested: int | None = None
    conditions: dict[str, str] = {}
    """MemoryPressure, DiskPressure, ... -> True, False, Unknown."""
    taints: tuple[str, ...] | None = None
    labels: dict[str, str] = {}
    """Labels that name a GPU: amd.com/..., feature.node.kubernetes.io/..., beta.amd.com/..."""
    pods: dict[str, Pod] = {}
    kubelet_version: str | None = None
    container_runtime: str | None = None


class Engine(msgspec.Struct, kw_only=True):
    """An inference engine as launched: name, version and flags as given, with _ for - (``--max-model-len`` -> ``max_model_len``)."""

    name: str | None = None
    version: str | None = None
    model: str | None = None
    flags: dict[str, str] = {}


class Rocm(msgspec.Struct, kw_only=True):
    """ROCm user space."""

    version: str | None = None
    installs: dict[str, str] = {}
    """Path -> version of each tree below /opt."""
    driver: str | None = None
    """amdgpu driver release as AMD numbers it (6.12.12, 30.10, ...)."""
    components: dict[str, str] = {}
    runtime_works: bool | None = None
    """Whether rocminfo listed agents, as the user in question."""
    runtime_works_as_root: bool | None = None
    features: dict[str, str] = {}
    """What rocminfo prints of the system: dmabuf, xnack, vmm -> YES, NO."""
    low_power_warning: bool | None = None
    """rocm-smi says that a GPU is in a low-power state, so that its values may be missing or wrong."""
    opencl_platforms: int | None = None


class Python(msgspec.Struct, kw_only=True):
    """The Python environment that runs the engine."""

    version: str | None = None
    executable: str | None = None
    torch_hip: str | None = None
    torch_cuda: str | None = None
    torch_build: str | None = None
    """rocm, cuda or cpu."""
    torch_has_hip: bool | None = None
    """False where torch.version.hip is None."""
    torch_sees_gpu: bool | None = None
    """torch.cuda.is_available()."""
    index_urls: tuple[str, ...] = ()
    """Indexes that an install command names."""
    wheels: dict[str, str] = {}
    """File names of wheels -> installed, or named (a list of what an index has, a download page)."""
    in_virtualenv: bool | None = None


class Note(msgspec.Struct, frozen=True):
    """A ``key: value`` line that a person wrote."""

    key: str
    value: str
    evidence: Evidence


class NodeFacts(msgspec.Struct, kw_only=True):
    """Everything that was read about one node."""

    host: Host = msgspec.field(default_factory=Host)
    kernel: Kernel = msgspec.field(default_factory=Kernel)
    modules: dict[str, Module] = {}
    dkms: tuple[Dkms, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    gpus_expected: int | None = None
    gpus_seen: int | None = None
    gpus_by_tool: dict[str, int] = {}
    """How many GPUs each tool showed: rocminfo, rocm-smi, amd-smi, lspci, torch."""
    kfd_nodes: tuple[KfdNode, ...] = ()
    pci: dict[str, PciDevice] = {}
    pci_listed: int | None = None
    """PCI functions of an lspci listing that was not filtered; None when it was, or was not there."""
    devices: dict[str, DeviceNode] = {}
    user: User = msgspec.field(default_factory=User)
    groups: dict[str, int] = {}
    """Group name -> number, from /etc/group."""
    packages: dict[str, Package] = {}
    python: Python = msgspec.field(default_factory=Python)
    python_packages: dict[str, str] = {}
    python_packages_missing: dict[str, bool] = {}
    """Packages that pip says are not there."""
    env: dict[str, str] = {}
    sysctl: dict[str, str] = {}
    limits: dict[str, str] = {}
    """``nofile``, ``memlock``, ... as a number, 'unlimited', or as printed."""
    memory: HostMemory = msgspec.field(default_factory=HostMemory)
    disks: dict[str, Disk] = {}
    rocm: Rocm = msgspec.field(default_factory=Rocm)
    engine: Engine = msgspec.field(default_factory=Engine)
    container: ContainerSpec | None = None
    kubernetes: Kubernetes = msgspec.field(default_factory=Kubernetes)
    iommu: Iommu = msgspec.field(default_factory=Iommu)
    rdma: dict[str, Rdma] = {}
    pressure: dict[str, float] = {}
    """Percent of time stalled: ``memory.some.avg10``, ... (pressure stall information)."""
    commands_missing: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    gaps: tuple[Gap, ...] = ()
    origins: dict[str, Evidence] = {}
    """Dotted path -> the line or file the value came from."""


class Fact(msgspec.Struct, frozen=True):
    """One value on its way into ``NodeFacts``: where it belongs, what it is, and where it was read.

    ``rank`` says how good the source is: 3 a kernel interface, 2 the output of a command, 1 a log line,
    0 a person's note. The better source wins; of two equal ones the later.
    """

    path: str
    value: object
    evidence: Evidence
    rank: int = 2
