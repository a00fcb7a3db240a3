"""``kubectl describe pod|node``, ``kubectl get pods|nodes`` and GPU labels.

Sample of describe: ``    State:          Waiting`` / ``      Reason:       CrashLoopBackOff``; of get:
``vllm-0   0/1   CrashLoopBackOff   5 (2m30s ago)   13m``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes

FIELD = re.compile(r"^(?P<indent>\s*)(?P<key>[A-Za-z][\w ./()-]*?):(?:\s+(?P<value>.*?))?\s*$")
GPU = r"(?:amd|nvidia)\.com/[\w.-]+"
LABEL = re.compile(
    r"(?P<name>(?:beta\.)?amd\.com/(?:gpu|cpu|compute|driver)[\w./-]*|feature\.node\.kubernetes\.io/amd[\w.-]*|nvidia\.com/gpu[\w./-]+)"
    r"\s*[=:]\s*\"?(?P<value>[\w.:-]+)"
)
PODS = re.compile(r"^\s*(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\b")
POD = re.compile(
    r"^\s*(?:(?P<space>[a-z0-9-]+)\s+)?(?P<name>[a-z0-9][a-z0-9.-]+)\s+(?P<ready>\d+/\d+)\s+(?P<status>[A-Z][\w:/]+)"
    r"\s+(?P<restarts>\d+)(?: \([^)]*\))?(?:\s+(?P<age>[\dsmhdy]+))?(?:\s+(?P<ip>\S+)\s+(?P<node>\S+))?"
)
NODES = re.compile(r"^\s*NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION")
NODE = re.compile(r"^\s*(?P<name>[a-z0-9][\w.-]+)\s+(?P<status>(?:Not)?Ready\S*)\s+\S+\s+\S+\s+(?P<version>v\S+)")
DESCRIBED = re.compile(
    r"^(?:\s*)(?:Container ID:|Allocatable:|Allocated resources:|Restart Count:|Kubelet Version:|Tolerations:|Node-Selectors:|QoS Class:)",
    re.MULTILINE,
)
CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready", "NetworkUnavailable")


def parse_describe(section: Section) -> Iterator[Row]:
    """Facts of a described pod or node."""
    top = inner = ""
    state = ""
    for index, line in enumerate(section.lines):
        match = FIELD.match(line)
        indent = len(line) - len(line.lstrip())
        if match is None or (match["key"] and indent == 0 and match["key"] == "Name"):
            yield from _table(section, index, line, top)
            if match is None:
                continue
        key, value = match["key"], match["value"] or ""
        if indent == 0:
            top, inner, state = key, "", ""
            if key == "Taints" and value:
                yield section.fact("kubernetes.taints", () if value == "<none>" else (value,), index)
            elif key == "Unschedulable":
                yield section.fact("kubernetes.node_unschedulable", value == "true", index)
            continue
        if not value:
            inner = key
            if key.endswith("State"):
                state = key
            continue
        if key in ("State", "Last State"):
            state = key
        yield from _field(section, index, top, inner, state, key, value)


def _field(section: Section, index: int, top: str, inner: str, state: str, key: str, value: str) -> Iterator[Row]:
    if top == "Containers":
        if key == "Image":
            yield section.fact("container.image", value, index)
            yield section.fact("container.runtime", "kubernetes", index)
        elif key == "State":
            yield section.fact("container.state", value, index)
        elif key == "Reason":
            yield section.fact("container.reason" if state == "State" else "container.last_reason", value, index)
        elif key == "Exit Code" and value.isdigit():
            yield section.fact("container.exit_code", int(value), index)
        elif key == "Restart Count" and value.isdigit():
            yield section.fact("container.restarts", int(value), index)
        elif inner in ("Limits", "Requests") and re.fullmatch(GPU, key) and value.isdigit():
            yield section.fact("container.gpu_request", int(value), index)
            yield section.fact("container.gpu_resource", key, index)
        elif inner == "Limits" and key == "memory":
            size = size_in_bytes(value, decimal=True)
            if size is not None:
                yield section.fact("container.memory_limit", size, index)
        elif inner == "Environment" and re.fullmatch(r"[A-Za-z_]\w*", key) and not value.startswith("<set to"):
            yield section.fact(f"env[{key}]", value, index)
    elif top in ("Capacity", "Allocatable") and key == "amd.com/gpu" and value.isdigit():
        yield section.fact(f"kubernetes.gpu_{'capacity' if top == 'Capacity' else 'allocatable'}", int(value), index)
    elif top == "System Info":
        path = {
            "Kernel Version": "kernel.release", "OS Image": "host.os_name", "Architecture": "host.arch",
            "Container Runtime Version": "kubernetes.container_runtime", "Kubelet Version": "kubernetes.kubelet_version",
        }.get(key)  # fmt: skip
        if path:
            yield section.fact(path, value, index)


def _table(section: Section, index: int, line: str, top: str) -> Iterator[Row]:
    """Lines of the tables Conditions and Allocated resources."""
    words = line.split()
    if top == "Conditions" and len(words) >= 2 and words[0] in CONDITIONS and words[1] in ("True", "False", "Unknown"):
        yield section.fact(f"kubernetes.conditions[{words[0]}]", words[1], index)
        if words[0] == "Ready":
            yield section.fact("kubernetes.node_ready", words[1] == "True", index)
    if top == "Allocated resources" and len(words) >= 3 and words[0] == "amd.com/gpu" and words[1].isdigit():
        yield section.fact("kubernetes.gpu_requested", int(words[1]), index)


def parse_get(section: Section) -> Iterator[Row]:
    """Tables of pods and nodes; the table's head says which columns follow."""
    table = ""
    one_node = sum(1 for line in section.lines if NODE.match(line)) == 1
    for index, line in enumerate(section.lines):
        if PODS.match(line):
            table = "namespaced" if line.lstrip().startswith("NAMESPACE") else "pods"
        elif NODES.match(line):
            table = "nodes"
        elif table == "nodes" and one_node and (match := NODE.match(line)):
            ready = match["status"].split(",")
            yield section.fact("kubernetes.node_ready", ready[0] == "Ready", index)
            if "SchedulingDisabled" in ready:
                yield section.fact("kubernetes.node_unschedulable", True, index)
            yield section.fact("kubernetes.kubelet_version", match["version"], index)
        elif table and table != "nodes" and (match := POD.match(line)):
            base = f"kubernetes.pods[{match['name']}]"
            yield section.fact(f"{base}.status", match["status"], index)
            yield section.fact(f"{base}.ready", match["ready"], index)
            yield section.fact(f"{base}.restarts", int(match["restarts"]), index)
            if match["node"]:
                yield section.fact(f"{base}.node", match["node"], index)


def parse_labels(section: Section) -> Iterator[Row]:
    """Labels of the device plugin and the node labeller, in any list of labels."""
    for index, line in enumerate(section.lines):
        if line.lstrip().startswith("{"):
            continue
        for match in LABEL.finditer(line):
            if re.fullmatch(GPU, match["name"]) and match["value"].isdigit():
                continue  # a count of resources, no label
            yield section.fact(f"kubernetes.labels[{match['name']}]", match["value"], index)
            if match["name"] == "amd.com/gpu.driver-version":
                yield section.fact("rocm.driver", match["value"], index)


DESCRIBE = TextReader(
    name="kubectl describe", commands=re.compile(r"(?:kubectl|oc) describe"), sniff=DESCRIBED, parse=parse_describe
)
GET = TextReader(
    name="kubectl get",
    commands=re.compile(r"(?:kubectl|oc) get"),
    sniff=re.compile(f"{PODS.pattern}|{NODES.pattern}", re.MULTILINE),
    parse=parse_get,
)
LABELS = TextReader(
    name="kubernetes labels",
    marks=("amd.com/", "kubernetes.io/amd", "nvidia.com/"),
    commands=None,
    sniff=LABEL,
    parse=parse_labels,
)
