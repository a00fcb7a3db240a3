"""RCCL (and NCCL, same wording) logs: what ``NCCL_DEBUG=WARN`` and ``INFO`` print at start and on failure.

Lines look like ``node1:402:402 [0] src/init.cc:179 NCCL WARN text``. Several warnings are printed by healthy runs
as well (IOMMU, NUMA balancing, no libibverbs): they are notices and never evidence of a failure by themselves.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_RCCL = "https://github.com/ROCm/rccl/blob/develop/src/"

KINDS = (
    Kind(
        name="rccl-iommu-missing",
        needles=('"iommu=pt" from kernel', '"amd_iommu=on" from kernel'),
        pattern=r'Missing "(?P<option>(?:amd_)?iommu=\w+)" from kernel command line',
        sample=(
            'node1:402:402 [0] /src/init.cc:179 NCCL WARN Missing "iommu=pt" from kernel command line '
            "which can lead to system instablity or hang!"
        ),
        source=_RCCL + "init.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="rccl-numa-balancing",
        needles=("NUMA auto balancing enabled",),
        pattern=r"NUMA auto balancing enabled",
        sample=(
            "node1:402:402 [0] /src/init.cc:160 NCCL WARN NUMA auto balancing enabled which can lead to "
            'variability in the RCCL performance! Disable by "sudo sysctl kernel.numa_balancing=0"'
        ),
        source=_RCCL + "init.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="rccl-fine-grain-missing",
        needles=('"HSA_FORCE_FINE_GRAIN_PCIE=1" from',),
        pattern=r'Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment',
        sample='n1:1:1 [0] NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment which can lead to low RCCL '
        "performance, system instablity or hang!",
        source=_RCCL + "init.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="rccl-no-ibverbs",
        needles=("Failed to open libibverbs",),
        pattern=r"Failed to open libibverbs\.so",
        sample="node1:461:461 [1] NCCL INFO Failed to open libibverbs.so[.1]",
        source=_RCCL + "misc/ibvsymbols.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="rccl-ib-no-device",
        needles=("NET/IB : No device found",),
        pattern=r"NET/IB : No device found",
        sample="node [0] NCCL INFO NET/IB : No device found.",
        source=_RCCL + "transport/net_ib.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="ibverbs-no-driver",
        needles=("libibverbs: Warning: no userspace device-specific driver", "libibverbs: Warning: couldn't load driver"),
        pattern=r"libibverbs: Warning: (?:no userspace device-specific driver found for (?P<device>\S+)"
        r"|couldn't load driver '?(?P<driver>[\w./-]+?)'?:)",
        sample=(
            "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0",
            "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so': libbnxt_re-rdmav34.so: cannot open shared "
            "object file: No such file or directory",
        ),
        source="https://github.com/linux-rdma/rdma-core/blob/master/libibverbs/init.c",
        about="node",
    ),
    Kind(
        name="rccl-net-socket",
        needles=("NET/Socket : Using", "Using network Socket"),
        pattern=r"NET/Socket : Using (?P<interfaces>.*)|Using network Socket",
        sample="node1:461:461 [1] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.86<0> [1]br-0:172.19.0.1<0>",
        source=_RCCL + "transport/net_socket.cc",
        level="info",
        about="node",
    ),
    Kind(
        name="rccl-multi-node",
        needles=(" nnodes ", "nNodes "),
        pattern=r"(?:NCCL INFO|comm 0x).*\bn[nN]odes (?P<nodes>[2-9]|[1-9]\d+)\b",
        sample="n1:1:1 [0] NCCL INFO comm 0x5581 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
        source=_RCCL + "init.cc",
        level="info",
        about="node",
    ),
    Kind(
        name="rccl-init-complete",
        needles=("Init COMPLETE",),
        pattern=r"nccl\w*Init\w* .*Init COMPLETE",
        sample="n1:8:8 [0] NCCL INFO ncclCommInitRank comm 0x7f rank 0 nranks 2 cudaDev 0 busId c1000 - Init COMPLETE",
        source=_RCCL + "init.cc",
        level="info",
        about="node",
    ),
    Kind(
        name="rccl-gdr-off",
        needles=("GDRDMA not enabled",),
        pattern=r"GDRDMA not enabled\. Could not find memory_peers directory or peer_memory symbol",
        sample="n1:8:8 [0] NCCL INFO GDRDMA not enabled. Could not find memory_peers directory or peer_memory symbol",
        source=_RCCL + "transport/net_ib.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="rccl-optional-absent",
        needles=("NET/Plugin: Could not find", "Dmabuf feature disabled without", "NET/Plugin : Plugin load"),
        pattern=r"NET/Plugin ?: (?:Could not find|Plugin load)|Dmabuf feature disabled without NCCL_DMABUF_ENABLE",
        sample="node1:461:461 [1] NCCL INFO NET/Plugin: Could not find: librccl-net.so. Using internal network plugin.",
        source=_RCCL + "misc/socket.cc",
        level="noise",
        about="node",
    ),
    Kind(
        name="rccl-gpu-call-failed",
        needles=("Cuda failure", "HIP failure", "NCCL WARN Failed to CUDA", "NCCL WARN Failed to HIP"),
        pattern=r"(?:^|NCCL WARN |Last error: ?)(?:Cuda|HIP) failure:? (?:\d+ )?'(?P<error>[^']*)'"
        r"|NCCL WARN (?P<failed>Failed to (?:CUDA|HIP) \w+(?: \w+)? \d+ bytes)",
        sample=(
            "n1:8:8 [0] /src/init.cc:900 NCCL WARN HIP failure 'out of memory'",
            "n1:8:8 [0] /src/include/alloc.h:178 NCCL WARN Failed to CUDA calloc async 6291456 bytes",
            "ERROR 08-01 10:00:20 [core.py:700] Cuda failure 'out of memory'",
        ),
        source=_RCCL + "include/checks.h",
        about="node",
    ),
    Kind(
        name="rccl-ipc-failed",
        needles=("NCCL WARN hipIpc", "NCCL WARN cudaIpc"),
        pattern=r"NCCL WARN (?P<call>(?:hip|cuda)Ipc\w+) failed ?: (?P<error>.+)",
        sample="NCCL WARN hipIpcGetMemHandle failed : invalid argument",
        source=_RCCL + "transport/p2p.cc",
        about="node",
    ),
    Kind(
        name="rccl-peer-access-failed",
        needles=("NCCL WARN failed to peer with device",),
        pattern=r"NCCL WARN failed to peer with device (?P<device>\d+)\S*: (?P<error>.+)",
        sample="n1:8:8 [0] /src/transport/p2p.cc:200 NCCL WARN failed to peer with device 1(=c6000): 217 peer access is "
        "not supported between these two devices",
        source=_RCCL + "transport/p2p.cc",
        about="node",
    ),
    Kind(
        name="rccl-shm-failed",
        needles=("/dev/shm/nccl-", "nccl-shm-", "posix_fallocate failed"),
        pattern=r"(?:Error(?:: failed to extend| while (?:creating|attaching to) shared memory segment)"
        r" (?P<path>\S*nccl\S*).*?(?:error: (?P<error>[^(]+).*)?$|Call to posix_fallocate failed ?: (?P<error2>.+))",
        sample=(
            "a:1:114 [2] misc/shmutils.cc:128 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-97p6hH "
            "(size 9637888), error: No space left on device (28)",
            "a:1:115 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-gVcCAD to 9637892 bytes, "
            "error: No space left on device (28)",
            "g:2143:2561 [1] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device",
            "Error while creating shared memory segment /dev/shm/nccl-F9ffgB (size 9637888)",
        ),
        source=_RCCL + "misc/shmutils.cc",
        about="node",
    ),
    Kind(
        name="rccl-ibv-failed",
        needles=("Call to ibv_", "ibv_reg_mr failed", "ibv_reg_mr_iova2 failed", "ibv_create_cq failed", "ibv_create_qp failed"),
        pattern=r"(?:Call to )?(?P<call>ibv_\w+)(?:\([^)]*\))? failed(?:(?: with error|:) (?P<error>.+?))?(?: errno \d+)?\s*$",
        sample=(
            "n1:4:4 [2] misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
            "n1:4:4 [2] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory",
            "UCX ERROR ibv_reg_mr failed: Cannot allocate memory",
        ),
        source=_RCCL + "misc/ibvwrap.cc",
        about="node",
    ),
    Kind(
        name="rccl-ib-completion",
        needles=("NET/IB : Got completion", "NET/IB: Got completion"),
        pattern=r"NET/IB ?: Got completion (?:from peer (?P<peer>\S+) )?with (?:status=|error )(?P<status>\d+)"
        r".*?vendor err (?P<vendor>\d+)",
        sample=(
            "n1:8:9 [0] src/transport/net_ib.cc:1700 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<44321> with "
            "status=12 opcode=0 len=0 vendor err 129 (Send) localGid fe80::1 remoteGids fe80::2",
            "transport/net_ib.cu:788 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 21938, vendor err 129",
        ),
        source=_RCCL + "transport/net_ib.cc",
        about="node",
    ),
    Kind(
        name="rccl-ib-port-event",
        needles=("Got async event",),
        pattern=r"NET/IB ?: (?P<port>\S+) Got async event ?: (?P<event>.+)",
        sample="n1:8:9 [0] src/transport/net_ib.cc:96 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error",
        source=_RCCL + "transport/net_ib.cc",
        level="notice",
        about="node",
    ),
    Kind(
        name="rccl-connect-failed",
        needles=("socketStartConnect: Connect to", "socketPollConnect: Connect to", "Call to connect to", "exceeded retries (",
                 "exceeded timeouts (", "Call to connect returned"),
        pattern=r"NCCL WARN .*?(?:onnect to (?P<peer>\S+?)(?:<\d+>)? (?:failed ?: |returned )(?P<error>.+)"
        r"|onnect returned (?P<error2>.+)|(?P<gave_up>exceeded (?:retries|timeouts) \(\d+\)))",
        sample=(
            "n1:8:9 [0] src/misc/socket.cc:507 NCCL WARN socketStartConnect: Connect to 172.17.0.1<42719> failed : "
            "No route to host",
            "n1:8:9 [0] NCCL WARN socketPollConnect: Connect to 10.0.0.2<42719> returned 111(Connection refused) errno 115(Op)",
            "n1:8:9 [0] NCCL WARN socketStartConnect: exceeded retries (20000)",
            "n1:8:9 [0] NCCL WARN Call to connect returned Connection timed out",
        ),
        source=_RCCL + "misc/socket.cc",
        about="node",
    ),
    Kind(
        name="rccl-peer-closed",
        needles=("closed by remote peer", "Call to recv from", "Error encountered progressing operation", "Failed to execute operation"),
        pattern=r"NCCL WARN .*?(?:Connection closed by remote peer (?P<peer>\S+)|Call to recv from (?P<peer2>\S+) failed"
        r"|Error encountered progressing operation=\w+|Failed to execute operation \w+ from rank (?P<rank>\d+))",
        sample=(
            "n1:8:9 [0] src/misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n2<48820>",
            "n1:8:9 [0] NCCL WARN [Proxy Service 10] Failed to execute operation Connect from rank 10, retcode 3",
        ),
        source=_RCCL + "misc/socket.cc",
        about="node",
    ),
    Kind(
        name="rccl-no-interface",
        needles=("no socket interface found", "NET/Socket : no interface found", "No usable listening interface", "No IP interface found"),
        pattern=r"(?:Bootstrap|NET/Socket|NET/IB) ?: (?P<what>no (?:socket )?interface found|No usable listening interface found"
        r"|No IP interface found)",
        sample=(
            "n1:8:9 [0] src/bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found",
            "n1:8:9 [0] src/transport/net_socket.cc:51 NCCL WARN NET/Socket : no interface found",
        ),
        source=_RCCL + "bootstrap.cc",
        about="node",
    ),
    Kind(
        name="rccl-duplicate-gpu",
        needles=("Duplicate GPU detected",),
        pattern=r"Duplicate GPU detected ?: rank (?P<rank>\d+) and rank (?P<other>\d+) both on (?:CUDA|HIP) device(?: (?P<busid>\w+))?",
        sample="n1:8:9 [0] src/init.cc:780 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 43000",
        source=_RCCL + "init.cc",
        about="node",
    ),
    Kind(
        name="rccl-message-truncated",
        needles=("message truncated", "Message truncated"),
        pattern=r"essage truncated ?: rec(?:eiv|v)\w* (?P<got>\d+) bytes instead of (?P<want>\d+)",
        sample="n1:8:9 [0] src/bootstrap.cc:80 NCCL WARN Message truncated : received 1024 bytes instead of 256",
        source=_RCCL + "bootstrap.cc",
        about="node",
    ),
    Kind(
        name="rccl-version-mismatch",
        needles=("Mismatched NCCL version",),
        pattern=r"Mismatched NCCL version detected ?: rank (?P<rank>\d+) version (?P<version>\d+) rank (?P<other>\d+) "
        r"version (?P<other_version>\d+)",
        sample="n1:8:9 [0] src/init.cc:700 NCCL WARN Mismatched NCCL version detected : rank 0 version 22203 rank 8 version 22606",
        source=_RCCL + "init.cc",
        about="node",
    ),
    Kind(
        name="rccl-error",
        needles=("NCCL error in", "NCCL error:", "ncclSystemError", "ncclUnhandledCudaError", "ncclRemoteError",
                 "ncclInternalError", "unhandled cuda error", "unhandled system error", "unhandled hip error",
                 "Test NCCL failure"),
        pattern=r"(?P<error>unhandled (?:cuda|hip|system) error|nccl(?:System|UnhandledCuda|Remote|Internal)Error"
        r"|internal error - please report|remote process exited or there was a network error)",
        sample=(
            "torch.distributed.DistBackendError: NCCL error in: /app/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, "
            "unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.22.3",
            "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
            "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
        ),
        source=_RCCL + "init.cc",
        about="node",
    ),
)  # fmt: skip
