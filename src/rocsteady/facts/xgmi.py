"""XGMI: the hive a GPU belongs to, and its ports.

Source: /sys/class/drm/card*/device/{xgmi_device_id, xgmi_physical_id, xgmi_hive_info, xgmi_num_hops,
        xgmi_num_links, xgmi_port_num}
Samples: ``xgmi_port_num`` = ``01:02 ->  02:05`` (own node:port -> peer node:port, nodes counted from 1);
``xgmi_num_hops`` = ``00 41 41 41``, two hexadecimal digits per node in hive order.
``xgmi_error`` is not read: reading clears it.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import Folder, Malformed, shown

PORT = re.compile(
    r"^[ \t]*([0-9a-fA-F]{2}):([0-9a-fA-F]{2})[ \t]*->[ \t]*([0-9a-fA-F]{2}):([0-9a-fA-F]{2})[ \t]*$", re.MULTILINE
)


class XgmiPort(msgspec.Struct, frozen=True):
    """One connection: node numbers count from 1 in hive order."""

    node: int
    port: int
    peer_node: int
    peer_port: int


class Xgmi(msgspec.Struct, frozen=True, kw_only=True):
    """``hive_id`` and ``device_id`` as the driver prints them, in decimal."""

    hive_id: int | None
    device_id: int | None
    physical_id: int | None
    hops: tuple[int, ...] = ()
    links: tuple[int, ...] = ()
    ports: tuple[XgmiPort, ...] = ()


def parse_ports(text: str) -> tuple[XgmiPort, ...] | Malformed:
    """Lines of ``xgmi_port_num``."""
    ports = tuple(XgmiPort(*(int(group, 16) for group in m.groups())) for m in PORT.finditer(text))
    return ports if ports else Malformed(f"lines 'node:port -> node:port' were wanted, found {shown(text)}")


def parse_per_node(text: str) -> tuple[int, ...] | Malformed:
    """``xgmi_num_hops`` and ``xgmi_num_links``: hexadecimal numbers, one per node of the hive."""
    words = text.split()
    if not words or not all(re.fullmatch(r"[0-9a-fA-F]{1,4}", w) for w in words):
        return Malformed(f"hexadecimal numbers were wanted, found {shown(text)}")
    return tuple(int(w, 16) for w in words)


def read_xgmi(folder: Folder) -> Xgmi | None:
    """XGMI files of one card's device directory; None where the GPU is in no hive."""
    device_id = folder.integer("xgmi_device_id")
    hive_id = folder.integer("xgmi_hive_info/xgmi_hive_id")
    if device_id is None and hive_id is None:
        return None
    return Xgmi(
        hive_id=hive_id,
        device_id=device_id,
        physical_id=folder.integer("xgmi_physical_id"),
        hops=folder.parsed("xgmi_num_hops", parse_per_node) or (),
        links=folder.parsed("xgmi_num_links", parse_per_node) or (),
        ports=folder.parsed("xgmi_port_num", parse_ports) or (),
    )
