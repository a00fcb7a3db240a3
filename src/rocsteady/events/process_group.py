"""PyTorch process groups: the NCCL watchdog, its heartbeat monitor, and the store where ranks meet.

The watchdog of every rank prints a dump of some tens of lines; one dump is one event.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_PG = "https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/"

_DUMP = (
    r"Timeout at NCCL work|failure detected by watchdog|Exception \(either an error or timeout\) detected by watchdog"
    r"|Stack trace of the failed collective|Some NCCL operations have failed or timed out|To avoid data inconsistency"
    r"|watchdog thread terminated with exception|Exception raised from|frame #\d+|terminate called after throwing"
    r"|what\(\):|^\s*$|Watchdog caught collective operation timeout|Received a (?:dump|timeout) signal"
)

KINDS = (
    Kind(
        name="collective-timeout",
        needles=("collective operation timeout",),
        pattern=r"(?:\[Rank (?P<rank>\d+)\] )?(?:Found key in store.*)?[Cc]aught collective operation timeout: "
        r"WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+).*?Timeout\(ms\)=(?P<timeout_ms>\d+)\)"
        r"(?: ran for (?P<ran_ms>\d+) milliseconds)?",
        more=_DUMP,
        more_limit=80,
        sample=(
            "[rank7]:[E419 10:42:28.858931807 ProcessGroupNCCL.cpp:616] [Rank 7] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=4486, OpType=ALLTOALL, NumelIn=46684160, NumelOut=46684160, Timeout(ms)=600000) ran for 600013 "
            "milliseconds before timing out."
        ),
        source=_PG + "ProcessGroupNCCL.cpp",
        mark="crash",
        about="node",
    ),
    Kind(
        name="process-group-heartbeat",
        needles=("Heartbeat monitor timed out", "watchdog got stuck for"),
        pattern=r"Heartbeat monitor timed out|watchdog got stuck for (?P<seconds>\d+) seconds",
        sample=(
            "[rank1]:[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 1] Heartbeat monitor timed out! Process will be terminated after "
            "dumping debug info. workMetaList_.size()=103",
            "[rank7]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 7] "
            "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
        ),
        source=_PG + "ProcessGroupNCCL.cpp",
        about="node",
    ),
    Kind(
        name="process-group-other-rank",
        needles=(
            "signal due to a collective timeout from",
            "flight recorder dump signal from another",
            "timeout signal from",
        ),
        pattern=r"(?:Received a (?:dump|timeout) signal|dump signal from another rank).*?(?:rank (?P<rank>\d+))?",
        sample="[rank3]:[E1010 ProcessGroupNCCL.cpp:1250] [PG 0 Rank 3] Received a dump signal due to a collective timeout from "
        "rank 5 and we will try our best to dump the debug info.",
        source=_PG + "ProcessGroupNCCL.cpp",
        level="notice",
        about="node",
    ),
    Kind(
        name="process-group-watchdog-exception",
        needles=("watchdog thread terminated with exception",),
        pattern=r"watchdog thread terminated with exception: (?P<what>.+)",
        more=r"Exception raised from|frame #\d+|HIP kernel errors|CUDA kernel errors|For debugging consider|Compile with",
        more_limit=40,
        sample="[rank0]:[E1010 ProcessGroupNCCL.cpp:1896] [PG ID 0 PG GUID 0 Rank 0] Process group watchdog thread terminated "
        "with exception: HIP error: an illegal memory access was encountered",
        source=_PG + "ProcessGroupNCCL.cpp",
        level="notice",
        about="node",
    ),
    Kind(
        name="torch-store-timeout",
        needles=("clients joined", "client socket has timed out after", "socket has timed out after"),
        pattern=r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<want>\d+) clients joined"
        r"|client socket has timed out after (?P<seconds2>\d+)\w* while trying to connect to \((?P<host>[^,]+), (?P<port>\d+)\)",
        sample=(
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
            "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to "
            "(10.0.0.1, 29500).",
        ),
        source=_PG + "TCPStore.cpp",
        about="node",
    ),
    Kind(
        name="torch-store-lost",
        needles=("failed to recv, got 0 bytes", "sendBytes failed on SocketImpl", "recvValue failed on SocketImpl"),
        pattern=r"failed to recv, got 0 bytes|(?:sendBytes|recvValue) failed on SocketImpl",
        sample="[rank1]:[W1010 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=84, addr=[localhost]:47066, "
        "remote=[localhost]:29501): failed to recv, got 0 bytes",
        source=_PG + "TCPStore.cpp",
        level="notice",
        about="node",
    ),
    Kind(
        name="gloo-connect-failed",
        needles=("connectFullMesh failed", "Gloo connect", "gloo/transport/tcp"),
        pattern=r"Gloo connectFullMesh failed with (?P<what>.+)|gloo/transport/tcp/\S+ .*?(?P<what2>(?:connect|timed out|"
        r"Unable to find address|Connection refused|Connection reset)[^\n]*)",
        sample=(
            "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/device.cc:84] Unable to find address for: bond9",
        ),
        source="https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/device.cc",
        about="node",
    ),
    Kind(
        name="gloo-loopback",
        needles=("connectFullMesh failed",),
        pattern=r"connectFullMesh failed",
        sample="[rank8] Gloo connectFullMesh failed ... timed out connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:14215",
        source="https://github.com/aws-samples/aws-do-eks/pull/50",
        level="error",
        about="service",
    ),
    Kind(
        name="gloo-address-unresolved",
        needles=("Using the loopback",),
        pattern=r"Unable to resolve hostname to a \(local\) address\. Using the loopback",
        sample="[W807 ProcessGroupGloo.cpp:516] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback.",
        source="https://github.com/aws-samples/aws-do-eks/pull/50",
        level="notice",
        about="service",
    ),
)
