"""Host memory: the kernel's OOM killer, its helpers in user space, and failed page allocations.

The kernel's report spans some hundred lines; the line with ``Killed process`` names victim and sizes and is the
event, the summary line before it (``oom-kill:constraint=``) says which memory was full.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_MM = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/mm/"

KINDS = (
    Kind(
        name="host-oom-kill",
        needles=("Out of memory: Kill", "cgroup out of memory: Kill", "out of memory+", "): Killed process"),
        pattern=r"(?P<scope>Memory cgroup out of memory|Out of memory)(?: \([\w ]+\))?: Kill(?:ed)? process (?P<pid>\d+),? ?\(?(?P<process>[^),]+)\)?"
        r"(?:.*?total-vm:(?P<total_vm_kb>\d+)kB)?(?:.*?anon-rss:(?P<anon_kb>\d+)kB)?(?:.*?shmem-rss:(?P<shmem_kb>\d+)kB)?",
        more=r"oom_reaper: reaped process|Killed process \d+ .*total-vm",
        more_limit=4,
        sample=(
            "[12345.678901] Out of memory: Killed process 4312 (python3) total-vm:412345678kB, anon-rss:251234567kB, "
            "file-rss:1024kB, shmem-rss:0kB, UID:0 pgtables:512345kB oom_score_adj:0",
            "Memory cgroup out of memory: Killed process 77 (VLLM::EngineCor) total-vm:99999kB, anon-rss:65000000kB, file-rss:0kB, "
            "shmem-rss:4096kB, UID:0 pgtables:1kB oom_score_adj:985",
        ),
        source=_MM + "oom_kill.c",
        mark="crash",
        about="node",
    ),
    Kind(
        name="host-oom-report",
        needles=("invoked oom-killer",),
        pattern=r"(?P<caller>\S+) invoked oom-killer: gfp_mask=(?P<gfp>\S+?),? .*?order=(?P<order>-?\d+)",
        more=r"^CPU: \d+|^Hardware name:|^Workqueue:|^Call Trace:|^ (?:\? )?[<\w].*\+0x|^ </?TASK>|^RIP:|^Code:|^R[A-Z0-9]+:"
        r"|^memory: usage|^swap: usage|^memory\+swap: usage|^kmem: usage|^Memory cgroup stats",
        more_limit=60,
        sample="[12345.6] python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        source=_MM + "oom_kill.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="host-oom-constraint",
        needles=("oom-kill:constraint=",),
        pattern=r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w+),nodemask=(?P<nodemask>[^,]*),.*?mems_allowed=(?P<mems>[\d,-]+)"
        r"(?:,(?P<global>global_oom)|,oom_memcg=(?P<memcg>[^,]+))?.*?task=(?P<task>[^,]+),pid=(?P<pid>\d+)",
        sample="[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=vllm,mems_allowed=0-1,oom_memcg=/docker/0a1b,"
        "task_memcg=/docker/0a1b,task=python3,pid=77,uid=0",
        source=_MM + "oom_kill.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="swap-exhausted",
        needles=("Free swap  = 0kB",),
        pattern=r"Free swap  = 0kB",
        sample="[12345.6] Free swap  = 0kB",
        source=_MM + "show_mem.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="docker-oom-killed",
        needles=('"OOMKilled": true', '"OOMKilled":true'),
        pattern=r"\"OOMKilled\": ?(?P<killed>true)",
        sample='            "OOMKilled": true,',
        source="https://docs.docker.com/engine/containers/resource_constraints/",
        about="node",
    ),
    Kind(
        name="oomd-kill",
        needles=("due to memory pressure for", "due to memory used (", "systemd-oomd killed"),
        pattern=r"Killed (?P<unit>/?[\w./@\\:-]+) due to (?P<why>memory (?:pressure|used).*)|systemd-oomd killed (?P<count_killed>\d+) process",
        sample=(
            "systemd-oomd[801]: Killed /system.slice/vllm.service due to memory pressure for /system.slice being 62.10% > 60.00% for > "
            "20s with reclaim activity",
            "vllm.service: systemd-oomd killed 12 process(es) in this unit.",
        ),
        source="https://www.freedesktop.org/software/systemd/man/latest/systemd-oomd.service.html",
        mark="crash",
        about="node",
    ),
    Kind(
        name="earlyoom-kill",
        needles=("earlyoom", "sending SIGTERM to process", "sending SIGKILL to process"),
        pattern=r"sending (?P<signal>SIGTERM|SIGKILL) to process (?P<pid>\d+) uid \d+ \"(?P<process>[^\"]+)\": .*?VmRSS (?P<rss_mib>\d+) MiB",
        sample='earlyoom[700]: sending SIGTERM to process 4312 uid 0 "python3": badness 906, oom_score 906, VmRSS 245123 MiB',
        source="https://github.com/rfjakob/earlyoom",
        mark="crash",
        about="node",
    ),
    Kind(
        name="service-oom",
        needles=("killed by the OOM killer", "result 'oom-kill'"),
        pattern=r"(?P<service>[\w@.\\:-]+\.(?:service|scope|slice)): (?:A process of this unit has been killed by the OOM killer|"
        r"Failed with result 'oom-kill')",
        sample=(
            "vllm.service: A process of this unit has been killed by the OOM killer.",
            "vllm.service: Failed with result 'oom-kill'.",
        ),
        source="https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html",
        about="service",
    ),
    Kind(
        name="ray-oom-kill",
        needles=("killed due to memory pressure (OOM)", "due to the node running low on memory"),
        pattern=r"(?P<workers>\d+) Workers \(tasks / actors\) killed due to memory pressure \(OOM\)"
        r"|killed due to the node running low on memory",
        sample=(
            "(raylet) 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node",
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        ),
        source="https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html",
        about="node",
    ),
    Kind(
        name="slurm-oom",
        needles=("oom-kill event", "oom_kill event", "Exceeded job memory limit"),
        pattern=r"[Dd]etected \d+ oom[-_]kill event(?:\(s\)|s)? in (?P<step>\S+)|(?P<limit>Exceeded (?:job|step) memory limit)",
        sample="slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.",
        source="https://slurm.schedmd.com/cgroups.html",
        about="node",
    ),
)
