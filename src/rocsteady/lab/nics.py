"""RDMA NICs: PCI function, network interface, ports with their counters."""

from __future__ import annotations

import random

from rocsteady.lab.host import cpu_list
from rocsteady.lab.pci import Function, add_function, bdf_of, root_port
from rocsteady.lab.shapes import Nic, Shape
from rocsteady.lab.tree import Tree

CONNECTX7 = 0x1021
MELLANOX = 0x15B3
COUNTERS = (
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors",
    "port_rcv_data", "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
    "port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets",
)  # fmt: skip
HW_COUNTERS = (
    "duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "np_cnp_sent", "np_ecn_marked_roce_packets",
    "out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error", "req_cqe_flush_error",
    "req_remote_access_errors", "req_remote_invalid_request", "resp_cqe_error", "resp_cqe_flush_error",
    "resp_local_length_error", "resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans",
    "roce_adp_retrans_to", "roce_slow_restart", "roce_slow_restart_cnps", "roce_slow_restart_trans",
    "rp_cnp_handled", "rp_cnp_ignored", "rx_atomic_requests", "rx_icrc_encapsulated", "rx_read_requests",
    "rx_write_requests",
)  # fmt: skip
MOVING = {
    "port_rcv_data": 10**12, "port_xmit_data": 10**12, "port_rcv_packets": 10**9, "port_xmit_packets": 10**9,
    "unicast_rcv_packets": 10**9, "unicast_xmit_packets": 10**9, "multicast_rcv_packets": 10**5,
    "rx_write_requests": 10**8, "rx_read_requests": 10**6,
}  # fmt: skip


def add_nic(tree: Tree, shape: Shape, number: int, nic: Nic, group: int, rng: random.Random) -> None:
    """One NIC with one active Ethernet port of 400 Gbit/s."""
    socket = shape.sockets[number]
    port = root_port(nic.bus - 1, 3, socket, cpu_list(shape.host, socket), 32.0, group)
    add_function(tree, port)
    bdf = bdf_of(nic.bus)
    place = f"{port.place}/{bdf}"
    add_function(
        tree,
        Function(
            bdf=bdf, place=place, vendor=MELLANOX, device=CONNECTX7, subsystem=(MELLANOX, 0x0023), class_code=0x020000,
            numa_node=socket, cpus=port.cpus, speed=32.0, width=16, driver="mlx5_core", iommu_group=group + 1,
            bars=((0x90000000000 + number * (1 << 26), 1 << 25, 0x14220C),),
        ),
    )  # fmt: skip
    base = f"sys/devices/{place}/infiniband/{nic.name}"
    tree.link(f"sys/class/infiniband/{nic.name}", base)
    tree.link(f"{base}/device", f"sys/devices/{place}")
    for name, value in (("fw_ver", "28.41.1000"), ("hca_type", "MT4129"), ("node_type", "1: CA"), ("board_id", "MT_0000000838"),
                        ("node_desc", f"synthetic {nic.name}"), ("node_guid", f"0000:0000:0000:{number + 1:04x}")):  # fmt: skip
        tree.text(f"{base}/{name}", value)
    for name, value in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "400 Gb/sec (4X NDR)"),
                        ("link_layer", "Ethernet"), ("lid", "0x0"), ("sm_lid", "0x0"), ("cap_mask", "0x00010000")):  # fmt: skip
        tree.text(f"{base}/ports/1/{name}", value)
    for folder, names in (("counters", COUNTERS), ("hw_counters", HW_COUNTERS)):
        for name in names:
            top = MOVING.get(name)
            tree.text(f"{base}/ports/1/{folder}/{name}", rng.randrange(top // 10, top) if top else 0)
    tree.text(f"{base}/ports/1/hw_counters/lifespan", "10")
    interface = f"sys/devices/{place}/net/eth{number + 2}"
    tree.link(f"sys/class/net/eth{number + 2}", interface)
    tree.link(f"{interface}/device", f"sys/devices/{place}")
    for name, value in (("operstate", "up"), ("speed", "400000"), ("mtu", "9000"), ("carrier", "1")):
        tree.text(f"{interface}/{name}", value)
