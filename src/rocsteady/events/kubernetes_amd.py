"""AMD's Kubernetes parts: device plugin, node labeller, GPU operator and its kernel module management (KMM)."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_PLUGIN = "https://github.com/ROCm/k8s-device-plugin/blob/master/"
_OPERATOR = "https://github.com/ROCm/gpu-operator/blob/main/"

KINDS = (
    Kind(
        name="amd-plugin-no-gpu",
        needles=("Found 0 AMDGPUs",),
        pattern=r"Found 0 AMDGPUs",
        sample="I0311 09:54:20.038987 1 plugin.go:136] Found 0 AMDGPUs",
        source=_PLUGIN + "internal/pkg/plugin/plugin.go",
        about="node",
    ),
    Kind(
        name="amd-plugin-gpus",
        needles=(" AMDGPUs",),
        pattern=r"Found (?P<gpus>[1-9]\d*) AMDGPUs",
        sample="I0307 23:29:14.533973 1 plugin.go:136] Found 8 AMDGPUs",
        source=_PLUGIN + "internal/pkg/plugin/plugin.go",
        level="info",
        alive=True,
        about="node",
    ),
    Kind(
        name="amd-plugin-partition-walked",
        needles=("/sys/devices/platform/amdgpu_xcp",),
        pattern=r"\] /sys/devices/platform/amdgpu_xcp[_.]?(?P<partition>\d+)",
        sample="I0311 09:54:20.038972 1 amdgpu.go:139] /sys/devices/platform/amdgpu_xcp_7",
        source=_PLUGIN + "internal/pkg/amdgpu/amdgpu.go",
        level="notice",
        about="node",
    ),
    Kind(
        name="amd-plugin-no-driver",
        needles=("amdgpu driver unavailable",),
        pattern=r"amdgpu driver unavailable\b",
        sample="F0310 10:00:00.000000 1 amdgpu.go:159] amdgpu driver unavailable. exiting with exit code 2. error: stat "
        "/sys/module/amdgpu/drivers/: no such file or directory",
        source=_PLUGIN + "internal/pkg/amdgpu/amdgpu.go",
        about="node",
    ),
    Kind(
        name="amd-labeller-no-topology",
        needles=("Fail to glob topology",),
        pattern=r"Fail to glob topology properties",
        sample='{"level":"error","ts":1636410993.0903304,"logger":"amdgpu-node-labeller","msg":"Fail to glob topology properties"}',
        source=_PLUGIN + "cmd/k8s-node-labeller/main.go",
        about="node",
    ),
    Kind(
        name="amd-labeller-no-product-name",
        needles=("/device/product_name",),
        pattern=r"/device/product_name",
        sample='{"level":"error","logger":"amdgpu-node-labeller","msg":"/sys/class/drm/card0/device/product_name","error":"open '
        '/sys/class/drm/card0/device/product_name: no such file or directory"}',
        source=_PLUGIN + "cmd/k8s-node-labeller/main.go",
        level="noise",
        about="node",
    ),
    Kind(
        name="amd-plugin-stream-lost",
        needles=("ListAndWatch stream disconnected", "device-plugins/kubelet.sock"),
        pattern=r"ListAndWatch stream disconnected|device-plugins/kubelet\.sock.*?(?P<why>connection refused|no such file)",
        sample="E0310 10:00:00.000000 1 plugin.go:323] ListAndWatch stream disconnected: context canceled, exiting to trigger "
        "re-registration",
        source=_PLUGIN + "internal/pkg/plugin/plugin.go",
        level="notice",
        about="node",
    ),
    Kind(
        name="kmm-modprobe-failed",
        needles=('logger="kmm-worker',),
        pattern=r"modprobe: (?:ERROR|FATAL):? (?P<why>.*?)\\?\"? logger=\"kmm-worker",
        sample="I0908 23:31:34.248991 1 cmdlog.go:70] \"modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service\" "
        'logger="kmm-worker.modprobe.stderr"',
        source="https://github.com/ROCm/gpu-operator/pull/333",
        about="node",
    ),
    Kind(
        name="amd-operand-waits-for-driver",
        needles=("Init:0/",),
        pattern=r"^(?:\S+\s+)?(?P<pod>\S*(?:device-plugin|metrics-exporter|node-labell?er|test-runner|config-manager)\S*)\s+"
        r"0/\d+\s+Init:0/\d",
        sample="kube-amd-gpu   default-device-plugin-x7k2p   0/1   Init:0/1   0   12m",
        source=_OPERATOR + "docs/troubleshooting.md",
        about="node",
    ),
)
