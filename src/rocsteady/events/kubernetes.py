"""Kubernetes: events and tables of kubectl, kubelet and scheduler messages.

The same sentence appears in ``kubectl describe``, ``kubectl get events``, YAML status and the kubelet's log, so
the kinds look for the sentence and not for the columns around it.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_K8S = "https://kubernetes.io/docs/"
_KUBELET = "https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/"

KINDS = (
    Kind(
        name="k8s-unschedulable",
        needles=("nodes are available:",),
        pattern=r"(?P<ready>\d+)/(?P<nodes>\d+) nodes are available: (?P<why>"
        r"(?=(?:.*?(?P<gpu_nodes>\d+) Insufficient (?P<gpu_resource>(?:amd|nvidia)\.com/[\w.-]+))?)"
        r"(?=(?:.*?(?P<selector_nodes>\d+) node\(s\) didn't match (?:Pod's )?node (?:affinity|selector))?)"
        r"(?=(?:.*?(?P<taint_nodes>\d+) node\(s\) had (?:untolerated )?taint \{(?P<taint>[^}]*)\})?)"
        r"(?=(?:.*?(?P<short_nodes>\d+) Insufficient (?P<short>memory|cpu|ephemeral-storage|hugepages\S*))?)"
        r"(?=(?:.*?(?P<volume>unbound immediate PersistentVolumeClaims|volume node affinity conflict|"
        r"didn't find available persistent volumes))?).*)",
        sample=(
            "0/9 nodes are available: 3 node(s) had taint {node-role.kubernetes.io/master: }, that the pod didn't tolerate, "
            "6 Insufficient amd.com/gpu.",
            "  Warning  FailedScheduling  26m (x150 over 12h)  default-scheduler  0/1 nodes are available: 1 Insufficient "
            "amd.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        ),
        source=_K8S + "concepts/scheduling-eviction/kube-scheduler/",
        about="node",
    ),
    Kind(
        name="k8s-probe-failed",
        needles=("probe failed:", "probe errored"),
        pattern=r"(?P<probe>Startup|Readiness|Liveness) probe (?:failed|errored)(?: and resulted in \w+ state)?: (?P<why>"
        r"(?=(?:.*?(?P<refused>connection refused))?)(?=(?:.*?(?P<slow>context deadline exceeded|Client\.Timeout|timeout:))?)"
        r"(?=(?:.*?statuscode: (?P<status>\d+))?).*)",
        sample=(
            '  Warning  Unhealthy  3s (x3 over 13s)  kubelet  Startup probe failed: Get "http://10.244.0.13:8000/health": dial tcp '
            "10.244.0.13:8000: connect: connection refused",
            "Liveness probe failed: HTTP probe failed with statuscode: 503",
        ),
        source=_K8S + "tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
        level="notice",
        about="node",
    ),
    Kind(
        name="k8s-probe-kill",
        needles=("probe, will be restarted", "Killing container with a grace period"),
        pattern=r"(?:Container (?P<container>\S+) )?failed (?P<probe>startup|liveness) probe, will be restarted",
        sample="  Normal   Killing    2m    kubelet  Container vllm failed startup probe, will be restarted",
        source=_KUBELET + "kuberuntime/kuberuntime_manager.go",
        level="notice",
        about="node",
    ),
    Kind(
        name="k8s-restarting",
        needles=("CrashLoopBackOff", "Back-off restarting failed", "back-off", "restarting failed container"),
        pattern=r"(?:^(?P<pod>[a-z0-9.-]+)\s+\d+/\d+\s+)?(?:Init:)?CrashLoopBackOff(?:\s+(?P<restarts>\d+))?"
        r"|Back-off (?:\S+ )?restarting failed container(?: (?P<container>[\w.-]+))?",
        sample=(
            "deepseek-r1-distill-llama-8b-5cc594fd46-hg5rw   0/1     CrashLoopBackOff   5 (2m30s ago)   13m",
            "  Warning  BackOff    10s (x5 over 1m)  kubelet  Back-off restarting failed container vllm in pod vllm-0_default(1)",
        ),
        source=_K8S + "concepts/workloads/pods/pod-lifecycle/",
        about="node",
    ),
    Kind(
        name="k8s-oom-killed",
        needles=("OOMKilled",),
        pattern=r"^(?:.*\s)?(?:(?:Last State|State|Reason|reason):?\s+)*\"?(?P<reason>OOMKilled)\"?(?:\s+\d|,|\s*$)",
        sample=("      Reason:       OOMKilled", "vllm-0   0/1   OOMKilled   3 (20s ago)   5m", "        reason: OOMKilled"),
        source=_K8S + "tasks/configure-pod-container/assign-memory-resource/",
        about="node",
    ),
    Kind(
        name="k8s-exit-code",
        needles=("Exit Code:", "exitCode:"),
        pattern=r"\bexit ?code:\s+(?P<code>[1-9]\d*)",
        sample=("      Exit Code:    137", "        exitCode: 139"),
        source=_K8S + "concepts/workloads/pods/pod-lifecycle/",
        level="notice",
        about="node",
    ),
    Kind(
        name="k8s-image-pull-failed",
        needles=("Failed to pull image", "Failed to pull and unpack image", "ErrImagePull", "ImagePullBackOff", "InvalidImageName"),
        pattern=r"Failed to pull (?:and unpack )?image \\?\"(?P<image>[^\"\\]+)\\?\":? ?(?P<why>.*)"
        r"|(?P<status>ErrImagePull|ImagePullBackOff|InvalidImageName)",
        sample=(
            '  Warning  Failed  10s  kubelet  Failed to pull image "rocm/vllm:nope": rpc error: code = NotFound desc = failed to '
            'resolve reference "docker.io/rocm/vllm:nope": docker.io/rocm/vllm:nope: not found',
            "vllm-0   0/1   ImagePullBackOff   0   5m",
        ),
        source=_K8S + "concepts/containers/images/",
        about="node",
    ),
    Kind(
        name="k8s-evicted",
        needles=("was low on resource", "local storage usage exceeds", "exceeds the limit", "exceeds the total limit"),
        pattern=r"node was low on resource: (?P<resource>[\w-]+)|(?P<ephemeral>ephemeral local storage usage exceeds the total limit"
        r"|exceeded its local ephemeral storage limit)|Usage of EmptyDir volume \"(?P<volume>[^\"]+)\" exceeds the limit"
        r" \"(?P<limit>[^\"]+)\"",
        sample=(
            "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 4Gi. Container vllm was using 60Gi",
            'Usage of EmptyDir volume "shm" exceeds the limit "1Gi".',
            "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.",
        ),
        source=_K8S + "concepts/scheduling-eviction/node-pressure-eviction/",
        about="node",
    ),
    Kind(
        name="k8s-node-pressure",
        needles=("NodeHasDiskPressure", "NodeHasInsufficientMemory", "NodeHasInsufficientPID", "KubeletHasDiskPressure",
                 "KubeletHasInsufficientMemory", "KubeletHasInsufficientPID"),
        pattern=r"(?:Node|Kubelet)Has(?P<what>DiskPressure|InsufficientMemory|InsufficientPID)",
        sample="  Warning  NodeHasDiskPressure  2m  kubelet  Node gpu-1 status is now: NodeHasDiskPressure",
        source=_K8S + "concepts/scheduling-eviction/node-pressure-eviction/",
        about="node",
    ),
    Kind(
        name="k8s-node-not-ready",
        needles=("NodeNotReady", "KubeletNotReady", "PLEG is not healthy", "stopped posting node status", "container runtime is down"),
        pattern=r"NodeNotReady|KubeletNotReady|(?P<pleg>PLEG is not healthy)|(?P<silent>stopped posting node status)"
        r"|(?P<runtime>container runtime is down)",
        sample=(
            "  Normal  NodeNotReady  5m  kubelet  Node gpu-1 status is now: NodeNotReady",
            "  Ready  Unknown  Mon, 01 Jan 2026 10:00:00  Mon, 01 Jan 2026 10:05:00  NodeStatusUnknown  Kubelet stopped posting node "
            "status.",
        ),
        source=_K8S + "concepts/architecture/nodes/",
        about="node",
    ),
    Kind(
        name="k8s-mount-failed",
        needles=("MountVolume.", "Unable to attach or mount volumes", "FailedMount", "FailedAttachVolume"),
        pattern=r"(?:MountVolume\.\w+|AttachVolume\.\w+) failed for volume \"(?P<volume>[^\"]+)\" ?: (?P<why>.+)"
        r"|Unable to attach or mount volumes: (?P<why2>.+)",
        sample='  Warning  FailedMount  9s  kubelet  MountVolume.SetUp failed for volume "models" : mount failed: exit status 32',
        source=_K8S + "concepts/storage/volumes/",
        about="node",
    ),
    Kind(
        name="k8s-config-missing",
        needles=('secret "', 'configmap "', "CreateContainerConfigError", "couldn't find key"),
        pattern=r"(?P<object>secret|configmap) \\?\"(?P<name>[\w./-]+)\\?\" not found"
        r"|couldn't find key (?P<key>\S+) in (?P<object2>Secret|ConfigMap) (?P<name2>\S+)",
        sample='  Warning  Failed  5s (x8 over 1m)  kubelet  Error: secret "hf-token-secret" not found',
        source=_K8S + "concepts/configuration/secret/",
        about="node",
    ),
    Kind(
        name="k8s-admission-failed",
        needles=("UnexpectedAdmissionError", "no healthy devices present", "number of devices unavailable for"),
        pattern=r"no healthy devices present; cannot allocate unhealthy devices (?P<resource>[\w./-]+)"
        r"|number of devices unavailable for (?P<resource2>[\w./-]+?)\. Requested: (?P<want>\d+), Available: (?P<have>\d+)",
        sample=(
            "  Warning  UnexpectedAdmissionError  5m  kubelet  Allocate failed due to requested number of devices unavailable for "
            "amd.com/gpu. Requested: 8, Available: 0, which is unexpected",
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices amd.com/gpu, which is unexpected",
        ),
        source=_KUBELET + "cm/devicemanager/manager.go",
        about="node",
    ),
    Kind(
        name="k8s-topology-refused",
        needles=("TopologyAffinityError", "cannot be allocated with Topology locality"),
        pattern=r"TopologyAffinityError|Resources cannot be allocated with Topology locality",
        sample="  Warning  TopologyAffinityError  9s  kubelet  Resources cannot be allocated with Topology locality",
        source=_K8S + "tasks/administer-cluster/topology-manager/",
        about="node",
    ),
    Kind(
        name="k8s-pod-pending",
        needles=(" Pending ", "Pending\n"),
        pattern=r"^(?P<pod>[a-z0-9][a-z0-9.-]+)\s+\d+/\d+\s+Pending\s+\d+|^Status:\s+(?P<state>Pending)\s*$",
        sample=("vllm-6f9c-abcde   0/1     Pending   0          12m",),
        source=_K8S + "concepts/workloads/pods/pod-lifecycle/",
        level="notice",
        about="node",
    ),
    Kind(
        name="k8s-allocatable",
        needles=("Allocatable:",),
        pattern=r"^\s*Allocatable:\s*$",
        more=r"^\s+(?:amd\.com/gpu:\s+(?P<gpus>\d+)|[\w./-]+:\s+\w+)\s*$",
        sample="Allocatable:\n  amd.com/gpu:        0\n  cpu:                128",
        source=_K8S + "concepts/architecture/nodes/",
        level="info",
        about="node",
    ),
)  # fmt: skip
