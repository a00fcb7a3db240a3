"""Probes about driver, kernel and PCI that the closed words cannot say: comparisons of two facts, searches in maps."""

from __future__ import annotations

from rocsteady.diagnose.evaluate import Probe, Probed, World
from rocsteady.model import Evidence, Gpu, NodeFacts, Subject

NO = Probed(False)
UNKNOWN = Probed(None)
GPU_CLASSES = ("0300", "0302", "0380", "1200")
"""PCI classes of GPUs: VGA, 3D, other display, processing accelerator."""


def gpus_missing(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """Fewer GPUs are seen than are said to be installed."""
    facts = world.facts
    if facts.gpus_expected is None or facts.gpus_seen is None:
        return UNKNOWN
    if facts.gpus_seen >= facts.gpus_expected:
        return NO
    found = [facts.origins[k] for k in ("gpus_seen", "gpus_expected") if k in facts.origins]
    return Probed(True, tuple(found), {"seen": str(facts.gpus_seen), "expected": str(facts.gpus_expected)})


def dkms_not_for_running_kernel(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """DKMS knows amdgpu, but no installed module is for the running kernel."""
    running = world.facts.kernel.release
    rows = [(d.kernel, d.state) for d in world.facts.dkms if d.name == "amdgpu"]
    evidence: list[Evidence] = [e for k, e in world.facts.origins.items() if k.startswith("dkms.")][:2]
    for event in world.events(("dkms-status-installed", "dkms-status-not-installed")):
        state = "installed" if event.kind == "dkms-status-installed" else event.fields.get("state")
        rows.append((event.fields.get("kernel"), state))
        evidence.append(event.evidence)
    if not rows or running is None:
        return UNKNOWN
    if any(kernel == running and (state or "").startswith("installed") for kernel, state in rows):
        return NO
    built = sorted({kernel for kernel, state in rows if kernel and (state or "").startswith("installed")})
    return Probed(
        True,
        tuple(dict.fromkeys(evidence))[:4],
        {"running": running, "built": ", ".join(built) or "no kernel"},
    )


def gpu_bound_to_vfio(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """An AMD display or accelerator function is held by vfio-pci or pci-stub on this host."""
    found = {
        bdf: device.driver
        for bdf, device in world.facts.pci.items()
        if device.vendor == "1002" and device.driver and _is_gpu(world.facts, bdf)
    }
    if not found:
        return UNKNOWN
    bound = [bdf for bdf, driver in found.items() if driver in ("vfio-pci", "pci-stub", "xen-pciback")]
    if not bound:
        return NO
    evidence = [e for k, e in world.facts.origins.items() if k.startswith(f"pci.{bound[0]}.driver")]
    return Probed(
        True, tuple(evidence[:2]), {"bdf": bound[0], "driver": found[bound[0]] or "", "bound": ", ".join(bound)}
    )


def _is_gpu(facts: NodeFacts, bdf: str) -> bool:
    code = (facts.pci[bdf].class_code or "").lower().removeprefix("0x")
    return code[:4] in GPU_CLASSES or (not code and any(g.bdf == bdf for g in facts.gpus))


def kfd_node_root_only(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """/dev/kfd belongs to root:root and nobody else may open it."""
    node = world.facts.devices.get("/dev/kfd")
    listed = world.events(("kfd-node-root-only",))
    if listed:
        return Probed(True, (listed[0].evidence,), {"mode": listed[0].fields.get("mode", "")}, (listed[0],))
    if node is None or node.mode is None or node.owner is None:
        return UNKNOWN
    group = node.group or ("root" if node.gid == 0 else None)
    if group is None:
        return UNKNOWN
    try:
        bits = int(node.mode, 8)
    except ValueError:
        return UNKNOWN
    shut = node.owner in ("root", "0") and not bits & 0o006 and (group in ("root", "0") or not bits & 0o060)
    evidence = [e for k, e in world.facts.origins.items() if k.startswith("devices./dev/kfd")]
    return Probed(shut and not node.acl, tuple(evidence[:2]), {"mode": node.mode, "group": group})


def user_lacks_kfd_group(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The user is in none of the groups that may open /dev/kfd, is not root, and the mode shuts out others."""
    facts = world.facts
    node = facts.devices.get("/dev/kfd")
    group = node.group if node is not None else None
    mode = node.mode if node is not None else None
    listed = world.events(("kfd-node-in-render",))
    evidence = [e for k, e in facts.origins.items() if k.startswith(("devices./dev/kfd", "user.groups"))][:3]
    if group is None and listed:
        group, mode = listed[0].fields["group"], "0660"
        evidence.append(listed[0].evidence)
    if group is None or mode is None or facts.user.groups is None:
        return UNKNOWN
    try:
        others = int(mode, 8) & 0o006
    except ValueError:
        return UNKNOWN
    names = {name.lower() for name in facts.user.groups}
    root = facts.user.uid == 0 or facts.user.name == "root" or "root" in names
    if others or root or group.lower() in names or (node is not None and node.acl):
        return NO
    return Probed(True, tuple(evidence), {"group": group, "groups": ", ".join(facts.user.groups)})


def link_below_card(world: World, _subject: Subject, gpu: Gpu | None) -> Probed:
    """The slot's link of a GPU has fewer lanes than both ends can take. Asked about the node, any GPU's counts."""
    known = False
    for candidate in [gpu] if gpu is not None else world.facts.gpus:
        name = "slot_link" if candidate.slot_link.width else "link"
        link = getattr(candidate, name)
        if not link.width or not link.max_width:
            continue
        known = True
        if link.width < link.max_width:
            place = f"gpus.{candidate.bdf}.{name}."
            origins = world.facts.origins
            evidence = tuple(origins[place + field] for field in ("width", "max_width") if place + field in origins)
            bindings = {"width": str(link.width), "capable_width": str(link.max_width), "at": candidate.bdf or ""}
            return Probed(True, evidence, bindings)
    return NO if known else UNKNOWN


def no_amd_gpu_on_pci(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """A whole lspci listing without any AMD GPU, and nothing else of the input shows one."""
    facts = world.facts
    if facts.pci_listed is None:
        return UNKNOWN
    shown = facts.gpus_by_tool.get("lspci") or any(g.bdf or g.gfx for g in facts.gpus)
    started = world.events(("amdgpu-start", "gpu-memory-ready", "drm-device-ready", "device-lost", "pciehp-link-down"))
    if shown or started:
        return NO
    found = facts.origins.get("pci_listed")
    return Probed(True, () if found is None else (found,), {"functions": str(facts.pci_listed)})


def in_tree_driver_though_dkms(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """DKMS installed amdgpu for the running kernel, but the module that started did not print its version.

    The DKMS module prints ``amdgpu version:`` right behind ``amdgpu kernel modesetting enabled``, the kernel's own
    does not.
    """
    facts = world.facts
    running = facts.kernel.release
    installed = [e for e in world.events(("dkms-status-installed",)) if e.fields.get("kernel") == running]
    rows = [d for d in facts.dkms if d.name == "amdgpu" and d.kernel == running and "installed" in (d.state or "")]
    loaded = world.events(("amdgpu-loaded",))
    if running is None or not loaded or not (installed or rows):
        return UNKNOWN
    module = facts.modules.get("amdgpu")
    if world.events(("amdgpu-version",)) or (module is not None and module.version):
        return NO
    evidence = [loaded[0].evidence, *(e.evidence for e in installed[:1])]
    evidence += [e for k, e in facts.origins.items() if k.startswith("dkms.")][:1]
    version = installed[0].fields.get("version", "") if installed else rows[0].version
    return Probed(True, tuple(evidence[:3]), {"version": version, "running": running}, (loaded[0],))


def new_kernel_without_dkms_build(world: World, _subject: Subject, _gpu: Gpu | None) -> Probed:
    """The package log shows the running kernel being installed, on a node with amdgpu-dkms, and no build for it."""
    facts = world.facts
    running = facts.kernel.release
    packages = world.events(("kernel-package-changed",))
    if running is None or not packages:
        return UNKNOWN
    came = [
        e for e in packages if (e.fields.get("kernel") or "").removesuffix(".x86_64") == running.removesuffix(".x86_64")
    ]
    driver = world.events(("driver-package-changed", "dkms-amdgpu", "dkms-status-installed"))
    has_dkms = driver or "amdgpu-dkms" in facts.packages or any(d.name == "amdgpu" for d in facts.dkms)
    if not came or not has_dkms:
        return NO
    built = {d.kernel for d in facts.dkms if d.name == "amdgpu" and "installed" in (d.state or "")}
    built |= {e.fields.get("kernel") for e in world.events(("dkms-status-installed",))}
    if running in built:
        return NO
    evidence = [came[-1].evidence, *(e.evidence for e in driver[:1])]
    return Probed(True, tuple(evidence), {"running": running}, (came[-1],))


PROBES: dict[str, Probe] = {
    "no_amd_gpu_on_pci": no_amd_gpu_on_pci,
    "in_tree_driver_though_dkms": in_tree_driver_though_dkms,
    "new_kernel_without_dkms_build": new_kernel_without_dkms_build,
    "gpus_missing": gpus_missing,
    "dkms_not_for_running_kernel": dkms_not_for_running_kernel,
    "gpu_bound_to_vfio": gpu_bound_to_vfio,
    "kfd_node_root_only": kfd_node_root_only,
    "link_below_card": link_below_card,
    "user_lacks_kfd_group": user_lacks_kfd_group,
}
