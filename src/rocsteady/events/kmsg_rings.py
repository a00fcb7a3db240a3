"""Kernel ring buffer: jobs that hang on a hardware ring, and the compute scheduler (KFD, MES, HIQ) that no longer answers.

The process that a ring timeout names is the one that waited, often not the one to blame. Texts: amdgpu_job.c, amdgpu_ring.c,
amdgpu_fence.c, mes_v11_0.c, mes_v12_0.c, kfd_device_queue_manager.c, kfd_events.c; older kernels print the same
with a ``[drm:function [amdgpu]] *ERROR*`` prefix and without a PCI address.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/amd/"
_JOB = _TREE + "amdgpu/amdgpu_job.c"
_DQM = _TREE + "amdkfd/kfd_device_queue_manager.c"

KINDS = (
    Kind(
        name="ring-timeout",
        needles=("signaled seq=",),
        pattern=r"ring (?P<ring>\S+) timeout, (?:last )?signaled seq=(?P<signaled>\d+), (?:last )?emitted seq=(?P<emitted>\d+)",
        more=r"Process(?: information: process)? (?P<process>.+?) pid (?P<pid>\d+) thread",
        sample=(
            "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=7292300, emitted seq=7292304",
            "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, last signaled seq=1, last emitted seq=3",
        ),
        source=_JOB,
    ),
    Kind(
        name="ring-soft-recovered",
        needles=("but soft recovered",),
        pattern=r"ring (?P<ring>\S+) timeout, but soft recovered",
        sample="amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered",
        source=_JOB,
    ),
    Kind(
        name="ring-reset-started",
        needles=("ring reset",),
        pattern=r"Starting (?P<ring>\S+) ring reset",
        sample="amdgpu 0000:03:00.0: amdgpu: Starting comp_1.1.0 ring reset",
        source=_JOB,
        level="notice",
    ),
    Kind(
        name="ring-reset-failed",
        needles=("reset failed", "reset failure", "support pipe reset"),
        pattern=r"\bRing (?P<ring>\S+) reset fail|reset via MES failed|CPFW hasn't support pipe reset",
        sample="amdgpu 0000:c5:00.0: amdgpu: Ring gfx_0.0.0 reset failed",
        source=_JOB,
        level="notice",
    ),
    Kind(
        name="ring-reset-succeeded",
        needles=("reset succeeded",),
        pattern=r"\bRing (?P<ring>\S+) reset succeeded",
        sample="amdgpu 0000:03:00.0: amdgpu: Ring comp_1.1.0 reset succeeded",
        source=_JOB,
        level="notice",
    ),
    Kind(
        name="ring-test-failed",
        needles=("test failed (", "IB test failed on", "IB test timed out", "ib ring test failed", "IB test on ring"),
        pattern=r"ring (?P<ring>\S+) test failed \((?P<code>-?\d+)\)"
        r"|IB test (?:failed on|timed out on|on ring) (?P<ib_ring>\w[\w.]*)|ib ring test failed \(",
        sample=(
            "amdgpu 0000:0c:00.0: [drm:amdgpu_ring_test_helper [amdgpu]] *ERROR* ring kiq_2.1.0 test failed (-110)",
            "amdgpu 0000:c1:00.0: amdgpu: IB test failed on sdma0 (-110).",
        ),
        source=_TREE + "amdgpu/amdgpu_ring.c",
    ),
    Kind(
        name="fence-interrupt-lost",
        needles=("Fence fallback timer expired",),
        pattern=r"Fence fallback timer expired on ring (?P<ring>\S+)",
        sample="amdgpu 0000:03:00.0: amdgpu: Fence fallback timer expired on ring sdma0",
        source=_TREE + "amdgpu/amdgpu_fence.c",
    ),
    Kind(
        name="tlb-flush-timeout",
        needles=("VM flush ACK", "in VM flush", "waiting for kiq fence", "flushing GPU TLB"),
        pattern=r"Timeout waiting for (?:VM flush ACK|sem acquire in VM flush)|timeout waiting for kiq fence"
        r"|Error flushing GPU TLB",
        sample="amdgpu 0000:01:00.0: amdgpu: timeout waiting for kiq fence",
        source=_TREE + "amdgpu/amdgpu_gmc.c",
    ),
    Kind(
        name="job-cancelled-after-reset",
        needles=("Failed to initialize parser",),
        pattern=r"Failed to initialize parser (?P<code>-125)",
        sample="[drm:amdgpu_cs_ioctl [amdgpu]] *ERROR* Failed to initialize parser -125!",
        source=_TREE + "amdgpu/amdgpu_cs.c",
        level="notice",
    ),
    Kind(
        name="gpu-coredump",
        needles=("device coredump file has been created",),
        pattern=r"AMDGPU device coredump file has been created",
        more=r"devcoredump",
        sample="amdgpu 0000:03:00.0: amdgpu: [drm] AMDGPU device coredump file has been created",
        source=_TREE + "amdgpu/amdgpu_dev_coredump.c",
        level="notice",
    ),
    Kind(
        name="queue-preemption-timeout",
        needles=(
            "preemption time out",
            "qcm fence wait loop timeout",
            "unsuccessful queues preemption",
            "unmapping queues failed",
        ),
        pattern=r"Queue preemption time ?out|qcm fence wait loop timeout expired|unsuccessful queues preemption"
        r"|unmapping queues failed",
        sample=(
            "amdgpu 0000:01:00.0: qcm fence wait loop timeout expired",
            "kfd kfd: amdgpu: HIQ MQD's queue_doorbell_id0 is not 0, Queue preemption time out",
        ),
        source=_DQM,
    ),
    Kind(
        name="mes-no-answer",
        needles=(
            "failed to respond to msg=",
            "MES failed to response msg",
            "MES ring buffer is full",
            "MES might be in unrecoverable",
            "reg_write_reg_wait",
        ),
        pattern=r"MES(?:\(\d+\))? failed to respon(?:d to|se) msg=(?P<msg>\d+|[A-Z_]+(?: ?\([A-Z_]+\))?)|MES ring buffer is full"
        r"|MES might be in unrecoverable state|failed to reg_write_reg_wait",
        sample=(
            "amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=MISC (WAIT_REG_MEM)",
            "amdgpu 0000:c1:00.0: amdgpu: MES(0) failed to respond to msg=REMOVE_QUEUE",
        ),
        source=_TREE + "amdgpu/mes_v11_0.c",
    ),
    Kind(
        name="mes-queue-failed",
        needles=(
            "hardware queue from MES",
            "hardware queue to MES",
            "unmap legacy queue",
            "map legacy queue",
            "reset legacy queue",
        ),
        pattern=r"failed to (?:add|remove) hardware queue (?:to|from) MES(?:, doorbell=(?P<doorbell>0x[0-9a-f]+))?"
        r"|failed to (?:un)?(?:map|reset) legacy queue",
        sample="amdgpu 0000:c1:00.0: amdgpu: failed to remove hardware queue from MES, doorbell=0x1002",
        source=_DQM,
    ),
    Kind(
        name="kfd-queue-reset",
        needles=("Queues reset on process", "is reset"),
        pattern=r"Queues reset on process (?P<process>\S+)|queue id 0x[0-9a-f]+ at pasid (?:0x)?[0-9a-f]+ is reset",
        sample="amdgpu 0000:c1:00.0: amdgpu: queue id 0x2 at pasid 0x8004 is reset",
        source=_DQM,
    ),
    Kind(
        name="kfd-eviction-failed",
        needles=(
            "Failed to evict queue",
            "Failed to evict process queues",
            "Failed to restore process queues",
            "Failed to quiesce KFD",
            "Failed to resume KFD",
            "Failed to suspend process",
        ),
        pattern=r"Failed to (?P<step>evict (?:queues?|process queues)|restore process queues|quiesce KFD|resume KFD|suspend process)",
        sample="amdgpu: amdgpu_amdkfd_restore_userptr_worker: Failed to resume KFD",
        source=_TREE + "amdgpu/amdgpu_amdkfd_gpuvm.c",
    ),
    Kind(
        name="queue-buffer-freed",
        needles=("Freeing queue vital buffer",),
        pattern=r"Freeing queue vital buffer (?P<address>0x[0-9a-f]+)",
        sample="amdgpu 0000:c1:00.0: amdgpu: Freeing queue vital buffer 0x7f2c4c000000, queue evicted",
        source=_TREE + "amdkfd/kfd_svm.c",
    ),
    Kind(
        name="queue-limit-reached",
        needles=("create new usermode queue", "No more SDMA queue", "over-subscription is not allowed"),
        pattern=r"Can't create new usermode queue because (?P<queues>\d+) queues|No more (?:XGMI )?SDMA queue to allocate"
        r"|over-subscription is not allowed",
        sample="amdgpu: Can't create new usermode queue because 1024 queues were already created",
        source=_DQM,
    ),
    Kind(
        name="kfd-process-signal",
        needles=("Sending SIGSEGV to process", "Send SIGBUS to process", "got unhandled exception"),
        pattern=r"(?:Sending SIGSEGV|Send SIGBUS) to process (?:pid )?(?P<process>[^\s(]+)|Process (?:pid )?(?P<pid>\d+) got unhandled exception",
        sample="amdgpu 0000:c1:00.0: amdgpu: Sending SIGSEGV to process pid 4213",
        source=_TREE + "amdkfd/kfd_events.c",
        level="notice",
    ),
    Kind(
        name="compute-work-hogs-cpu",
        needles=("hogged CPU for",),
        pattern=r"workqueue: (?P<work>amdgpu_amdkfd_restore_userptr_worker|svm_range_\w+|kfd_\w+|amdgpu_\w+) \[amdgpu\] hogged CPU",
        sample="workqueue: amdgpu_amdkfd_restore_userptr_worker [amdgpu] hogged CPU for >10000us 19 times, consider switching to WQ_UNBOUND",
        source="https://github.com/ROCm/legacy-rocm-build/issues/5997",
        level="notice",
        about="node",
    ),
    Kind(
        name="shader-interrupt",
        needles=("sq_intr: error", "sq_intr:"),
        pattern=r"sq_intr: ?error.*?(?:err_type|, type) (?P<err_type>\d+)",
        sample=(
            "amdgpu 0000:c1:00.0: amdgpu: sq_intr: error, se 1, data 0x4, sh 0, priv 0, wave_id 3, simd_id 1, cu_id 5, err_type 2",
            "amdgpu: sq_intr: error, detail 0x00000000, type 2, sh 0, priv 1, wave_id 0, simd_id 0, wgp_id 0",
        ),
        source=_TREE + "amdkfd/kfd_int_process_v9.c",
    ),
    Kind(
        name="gpu-halt-failed",
        needles=(
            "failed to halt cp gfx",
            "KGQ disable failed",
            "KCQ disable failed",
            "Waiting for fences timed out",
            "DQM create queue",
            "failed to suspend all gangs",
            "Failed to remove queue",
            "Suspending all queues failed",
            "is hung!",
        ),
        pattern=r"failed to halt cp gfx|K[GC]Q disable failed|Waiting for fences timed out|DQM create queue (?:type )?\d+ failed"
        r"|failed to suspend all gangs|Failed to remove queue \d+ for dev|Suspending all queues failed|IP block:\w+ is hung",
        sample="[drm:gfx_v10_0_hw_fini [amdgpu]] *ERROR* failed to halt cp gfx",
        source=_TREE + "amdgpu/gfx_v10_0.c",
        level="notice",
    ),
    Kind(
        name="runlist-oversubscribed",
        needles=("Runlist is getting oversubscribed",),
        pattern=r"Runlist is getting oversubscribed",
        sample="amdgpu: Runlist is getting oversubscribed. Expect reduced ROCm performance.",
        source=_TREE + "amdkfd/kfd_packet_manager.c",
        level="notice",
    ),
    Kind(
        name="push-to-killed-entity",
        needles=("push to a killed entity",),
        pattern=r"Trying to push to a killed entity",
        sample="[drm:drm_sched_entity_push_job [gpu_sched]] *ERROR* Trying to push to a killed entity",
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/drivers/gpu/drm/scheduler/sched_entity.c",
    ),
)
