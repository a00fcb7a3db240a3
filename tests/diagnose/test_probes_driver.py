"""Probes on driver, PCI and device nodes: the answer is yes, no, or not known."""

from __future__ import annotations

import pytest

from rocsteady.catalog import load_catalog
from rocsteady.diagnose.evaluate import World
from rocsteady.diagnose.probes_driver import PROBES
from rocsteady.model import NODE, EventLog, Gpu, NodeFacts
from rocsteady.model.facts import DeviceNode, Dkms, Kernel, PciDevice, PcieLink, User
from tests.support import heap, judged

KFD = "/dev/kfd"


def answer(name: str, facts: NodeFacts, gpu: Gpu | None = None) -> bool | None:
    return PROBES[name](World(facts, EventLog()), NODE, gpu).value


@pytest.mark.parametrize(
    ("expected", "seen", "value"), [(2, 1, True), (2, 2, False), (2, None, None), (None, 1, None), (8, 0, True)]
)
def test_gpus_missing(expected: int | None, seen: int | None, value: bool | None) -> None:
    assert answer("gpus_missing", NodeFacts(gpus_expected=expected, gpus_seen=seen)) is value


@pytest.mark.parametrize(
    ("rows", "running", "value"),
    [
        ([("5.4.0-91-generic", "installed")], "5.4.0-97-generic", True),
        ([("5.4.0-97-generic", "installed")], "5.4.0-97-generic", False),
        ([("5.4.0-97-generic", "installed (Original modules exist)")], "5.4.0-97-generic", False),
        ([(None, "added")], "5.4.0-97-generic", True),
        ([], "5.4.0-97-generic", None),
        ([("5.4.0-97-generic", "installed")], None, None),
    ],
)
def test_dkms_not_for_running_kernel(
    rows: list[tuple[str | None, str]], running: str | None, value: bool | None
) -> None:
    dkms = tuple(Dkms(name="amdgpu", version="6.12.12", kernel=k, state=s) for k, s in rows)
    assert answer("dkms_not_for_running_kernel", NodeFacts(dkms=dkms, kernel=Kernel(release=running))) is value


@pytest.mark.parametrize(
    ("driver", "class_code", "value"),
    [("vfio-pci", "0300", True), ("amdgpu", "0300", False), ("vfio-pci", "0403", None), (None, "0300", None)],
)
def test_gpu_bound_to_vfio(driver: str | None, class_code: str, value: bool | None) -> None:
    device = PciDevice(bdf="0000:44:00.0", vendor="1002", class_code=class_code, driver=driver)
    assert answer("gpu_bound_to_vfio", NodeFacts(pci={device.bdf: device})) is value


@pytest.mark.parametrize(
    ("mode", "owner", "group", "value"),
    [
        ("0600", "root", "root", True),
        ("0660", "root", "root", True),
        ("0660", "root", "render", False),
        ("0666", "root", "root", False),
        (None, "root", "root", None),
        ("junk", "root", "root", None),
    ],
)
def test_kfd_node_root_only(mode: str | None, owner: str, group: str, value: bool | None) -> None:
    node = DeviceNode(path=KFD, exists=True, mode=mode, owner=owner, group=group)
    assert answer("kfd_node_root_only", NodeFacts(devices={KFD: node})) is value


@pytest.mark.parametrize(
    ("groups", "uid", "mode", "value"),
    [
        (("alice", "video"), 1000, "0660", True),
        (("alice", "render"), 1000, "0660", False),
        (("alice",), 0, "0660", False),
        (("alice",), 1000, "0666", False),
        (None, 1000, "0660", None),
    ],
)
def test_user_lacks_kfd_group(groups: tuple[str, ...] | None, uid: int, mode: str, value: bool | None) -> None:
    node = DeviceNode(path=KFD, exists=True, mode=mode, owner="root", group="render")
    facts = NodeFacts(devices={KFD: node}, user=User(name="alice", uid=uid, groups=groups))
    assert answer("user_lacks_kfd_group", facts) is value


@pytest.mark.parametrize(("width", "most", "value"), [(4, 16, True), (16, 16, False), (None, 16, None)])
def test_link_below_card(width: int | None, most: int, value: bool | None) -> None:
    gpu = Gpu(bdf="0000:c1:00.0", link=PcieLink(width=width, max_width=most))
    assert answer("link_below_card", NodeFacts(gpus=(gpu,)), gpu) is value


def test_a_line_that_several_kinds_know_is_explained_by_one() -> None:
    line = "[   33.100231] [drm:psp_hw_start [amdgpu]] *ERROR* PSP create ring failed!\n"
    fatal = "[   33.300231] amdgpu 0000:c7:00.0: amdgpu: Fatal error during GPU init\n"
    answer = judged(heap({"dmesg.txt": line + fatal}), load_catalog())
    assert answer.findings
    assert not [e for e in answer.unexplained if "PSP create ring" in e.text]
