"""What a container was given, from every form in which people show it."""

from __future__ import annotations

from tests.facts.reading import facts_of, paths_of

RUN = """\
user@host:~$ sudo docker run -it --rm --network=host --device=/dev/kfd \\
    --device /dev/dri:/dev/dri --group-add video --group-add=109 \\
    --security-opt seccomp=unconfined --cap-add SYS_PTRACE --ipc host --shm-size 16g \\
    --ulimit memlock=-1:-1 -v $HOME/models:/models -e HIP_VISIBLE_DEVICES=0,1 --env "VLLM_USE_V1=1" \\
    rocm/vllm:latest vllm serve /models/m --tensor-parallel-size 8 --max-model-len=32768 --enforce-eager -q fp8
INFO 01-01 00:00:00 started
"""


def test_docker_run() -> None:
    """Options over several lines, with = and without."""
    facts = facts_of(RUN)
    box = facts.container
    assert box is not None
    assert (box.image, box.devices, box.groups) == ("rocm/vllm:latest", ("/dev/kfd", "/dev/dri"), ("video", "109"))
    assert (box.ipc, box.shm_size, box.network) == ("host", 16 << 30, "host")
    assert (box.capabilities, box.security) == (("SYS_PTRACE",), ("seccomp=unconfined",))
    assert box.ulimits == {"memlock": "-1:-1"}
    assert (box.privileged, box.runtime) == (False, "docker")
    assert facts.env == {"HIP_VISIBLE_DEVICES": "0,1", "VLLM_USE_V1": "1"}
    assert (facts.engine.name, facts.engine.model) == ("vllm", "/models/m")
    assert facts.engine.flags == {
        "tensor_parallel_size": "8", "max_model_len": "32768", "enforce_eager": "true", "q": "fp8", "quantization": "fp8",
    }  # fmt: skip
    assert facts.origins["container.shm_size"].line == 3


def test_a_whole_line_says_what_is_missing_and_a_cut_one_does_not() -> None:
    """No --device on a whole command is a fact; behind an ellipsis it is unknown."""
    box = facts_of("docker run --rm -it rocm/pytorch rocminfo").container
    assert box is not None and box.devices == () and box.groups == ()
    cut = facts_of("docker run --rm -it ... rocm/pytorch rocminfo").container
    assert cut is not None and cut.devices is None


def test_lost_backslashes_and_short_options() -> None:
    """Continued by indented options; -e without a value gives nothing."""
    facts = facts_of("podman run -d\n  --device /dev/kfd\n  -e HF_TOKEN -e A_B=c\n  -p 8000:8000\n  --privileged img\n")
    assert facts.container is not None
    assert (facts.container.image, facts.container.privileged) == ("img", True)
    assert facts.env == {"A_B": "c"}


def test_apptainer() -> None:
    """Image, binds and whether GPUs were asked for."""
    box = facts_of(
        "$ apptainer exec --rocm -B /data,/scratch --env A_B=1 image.sif python3 -m sglang.launch_server --model-path m --tp 4"
    ).container
    assert box is not None
    assert (box.runtime, box.gpus, box.image, box.volumes) == ("apptainer", "rocm", "image.sif", ("/data", "/scratch"))


COMPOSE = """\
services:
  db:
    image: postgres
  llm:
    image: vllm/vllm-openai-rocm:nightly
    devices: ["/dev/kfd", "/dev/dri:/dev/dri"]
    group_add: [video]
    shm_size: 8gb
    ulimits: {memlock: {soft: -1, hard: -1}}
    environment:
      HSA_OVERRIDE_GFX_VERSION: "11.0.0"
    command: --model m --tensor-parallel-size 2
"""


def test_compose() -> None:
    """The service with the GPU is taken; the image's own server gets the command as flags."""
    facts = facts_of(COMPOSE)
    assert facts.container is not None
    assert facts.container.image == "vllm/vllm-openai-rocm:nightly"
    assert (facts.container.devices, facts.container.groups) == (("/dev/kfd", "/dev/dri"), ("video",))
    assert (facts.container.shm_size, facts.container.ulimits) == (8 << 30, {"memlock": "-1:-1"})
    assert facts.env["HSA_OVERRIDE_GFX_VERSION"] == "11.0.0"
    assert (facts.engine.model, facts.engine.flags["tensor_parallel_size"]) == ("m", "2")
    assert facts.origins["container.groups"].line == 7


INSPECT = """\
[
    {
        "State": {"Status": "exited", "ExitCode": 137, "OOMKilled": true},
        "RestartCount": 3,
        "HostConfig": {
            "Devices": [{"PathOnHost": "/dev/dri", "PathInContainer": "/dev/dri", "CgroupPermissions": "rwm"}],
            "GroupAdd": null, "IpcMode": "private", "ShmSize": 67108864, "Privileged": false, "Memory": 0
        },
        "Config": {"Image": "img", "Env": ["NCCL_DEBUG=INFO"], "Cmd": ["vllm", "serve", "m"], "Entrypoint": null}
    }
]
"""


def test_docker_inspect() -> None:
    """Host configuration, environment and how it ended."""
    facts = facts_of(INSPECT)
    box = facts.container
    assert box is not None
    assert (box.devices, box.groups, box.ipc, box.shm_size) == (("/dev/dri",), (), "private", 64 << 20)
    assert (box.exit_code, box.last_reason, box.restarts, box.memory_limit) == (137, "OOMKilled", 3, None)
    assert facts.env == {"NCCL_DEBUG": "INFO"} and facts.engine.model == "m"


POD = """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      hostIPC: true
      securityContext: {supplementalGroups: [44, 109]}
      containers:
      - name: llm
        image: img
        command: ["/bin/sh", "-c"]
        args: ["vllm serve m --tensor-parallel-size 4"]
        env: [{name: NCCL_DEBUG, value: INFO}, {name: T, valueFrom: {secretKeyRef: {name: a, key: b}}}]
        resources: {limits: {amd.com/gpu: 4, memory: 64Gi}}
        volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes:
      - name: shm
        emptyDir: {medium: Memory, sizeLimit: 2Gi}
"""


def test_pod_spec() -> None:
    """From the template of a deployment."""
    facts = facts_of(POD)
    box = facts.container
    assert box is not None
    assert (box.gpu_request, box.gpu_resource, box.memory_limit) == (4, "amd.com/gpu", 64 << 30)
    assert (box.shm_size, box.ipc, box.groups) == (2 << 30, "host", ("44", "109"))
    assert facts.env == {"NCCL_DEBUG": "INFO"}
    assert facts.engine.flags == {"tensor_parallel_size": "4"} and facts.engine.model == "m"


def test_a_damaged_end_costs_only_the_end() -> None:
    """Truncated YAML."""
    box = facts_of(COMPOSE + "    volumes:\n      - 'a\n   x: [").container
    assert box is not None and box.image == "vllm/vllm-openai-rocm:nightly"


DESCRIBE = """\
Name:             llm-0
Containers:
  llm:
    Container ID:   containerd://abc
    Image:          img:1
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Ready:          False
    Restart Count:  5
    Limits:
      amd.com/gpu:  1
      memory:       32Gi
    Environment:
      HIP_VISIBLE_DEVICES:  0
      HF_TOKEN:  <set to the key 'token' in secret 'hf'>
Conditions:
  Type              Status
  Ready             False
"""


def test_describe_pod() -> None:
    """State and last state are told apart; a secret is no value."""
    facts = facts_of(DESCRIBE)
    box = facts.container
    assert box is not None
    assert (box.state, box.reason, box.last_reason, box.exit_code, box.restarts) == (
        "Waiting", "CrashLoopBackOff", "OOMKilled", 137, 5,
    )  # fmt: skip
    assert (box.gpu_request, box.memory_limit) == (1, 32 << 30)
    assert facts.env == {"HIP_VISIBLE_DEVICES": "0"}


NODE = """\
Name:               worker
Taints:             <none>
Unschedulable:      false
Conditions:
  Type             Status  LastHeartbeatTime
  DiskPressure     False   Mon
  Ready            True    Mon
Capacity:
  amd.com/gpu:        8
Allocatable:
  amd.com/gpu:        0
System Info:
  Kernel Version:             5.15.0-142-generic
  OS Image:                   Ubuntu 22.04.5 LTS
Allocated resources:
  amd.com/gpu        3             3
"""


def test_describe_node() -> None:
    """Counts of GPUs, conditions, kernel."""
    facts = facts_of(NODE)
    k8s = facts.kubernetes
    assert (k8s.gpu_capacity, k8s.gpu_allocatable, k8s.gpu_requested, k8s.node_ready) == (8, 0, 3, True)
    assert facts.kernel.release == "5.15.0-142-generic" and k8s.taints == ()


def test_get_pods_and_labels() -> None:
    """Pods by name; labels of the node labeller."""
    facts = facts_of(
        "NAME   READY   STATUS             RESTARTS        AGE\nllm-0   0/1     CrashLoopBackOff   5 (2m30s ago)   13m\n"
    )
    assert facts.kubernetes.pods["llm-0"].restarts == 5
    assert facts_of("amd.com/gpu.driver-version=6.12.12\namd.com/gpu.cu-count=304\n").rocm.driver == "6.12.12"


def test_launch_lines() -> None:
    """Engines by their launch line; talk about them is none."""
    facts = facts_of("build/bin/llama-server -m ~/a.gguf -ngl 99 -t 16")
    assert facts.engine.flags["n_gpu_layers"] == "99" and facts.engine.name == "llama.cpp"
    sglang = facts_of("Singularity> python3 -m sglang.launch_server --model-path M --tp 1 --trust-remote-code")
    assert (sglang.engine.model, sglang.engine.flags["tensor_parallel_size"]) == ("M", "1")
    assert facts_of("HIP_VISIBLE_DEVICES=0 python -m vllm.entrypoints.openai.api_server --model x").engine.model == "x"
    assert not paths_of("We ran the ollama server and vllm crashed. The docker run failed.")
