"""Who a process belongs to: container, Kubernetes pod, Slurm job, by the names of its control groups.

Source: /proc/<pid>/cgroup
Docs:   https://docs.kernel.org/admin-guide/cgroup-v2.html
Samples: ``0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f2e3d4c_0000_4000_8000_00000000abcd.slice/
cri-containerd-<64 hexadecimal digits>.scope``; ``0::/system.slice/docker-<id>.scope``;
``0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0``; ``8:memory:/slurm/uid_1000/job_4711/step_0``.
"""

from __future__ import annotations

import re

import msgspec

from rocsteady.facts.parse_file import parse_file
from rocsteady.hostfs import HostFS
from rocsteady.model import Gap

CONTAINER = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])")
POD = re.compile(r"[/-]pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})(?![0-9a-f])")
SLURM = re.compile(r"slurm\S*?/job_(\d{1,12})(?!\d)")
SHORT = 12
"""Digits of a container id that docker, podman and crictl show."""


class ProcessOwner(msgspec.Struct, frozen=True):
    """Container id (12 digits), pod UID with hyphens, Slurm job; None = not in one."""

    container: str | None
    pod: str | None
    slurm_job: str | None


def parse_owner(text: str) -> ProcessOwner:
    """Names in the paths; of nested containers the innermost."""
    containers, pod, job = CONTAINER.findall(text), POD.search(text), SLURM.search(text)
    return ProcessOwner(
        containers[-1][:SHORT] if containers else None,
        pod[1].replace("_", "-") if pod else None,
        job[1] if job else None,
    )


def read_owner(fs: HostFS, pid: int) -> ProcessOwner | Gap:
    """Owner of one process."""
    return parse_file(fs, f"proc/{pid}/cgroup", parse_owner)
