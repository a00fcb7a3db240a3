"""What documents give a container: compose files, ``docker inspect``, Kubernetes pod specs (YAML or JSON)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.command_lines import Word
from rocsteady.facts.container_run import option_facts
from rocsteady.facts.documents import Doc, documents
from rocsteady.facts.engine_launch import LAUNCH, launch_facts
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes

GPU_RESOURCE = re.compile(r"^(?:amd|nvidia|gpu\.intel)\.com/")


def parse_documents(section: Section) -> Iterator[Row]:
    """Facts of every container that a document describes; one with a GPU comes last and so wins."""
    for doc in documents(section):
        services = doc.get("services")
        if services is not None and services.fields:
            chosen = sorted(services.fields.values(), key=_compose_weight)
            for service in chosen[-1:]:
                yield from _compose(section, service)
            continue
        inspected = [item for item in (doc.items or [doc]) if item.get("HostConfig") is not None]
        for item in inspected:
            yield from _inspect(section, item)
        if not inspected:
            pods = [pod for pod in doc.walk() if _has_containers(pod)]
            for pod in sorted(pods, key=_pod_weight)[-1:]:
                yield from _pod(section, pod)


# --- compose ---------------------------------------------------------------------------------------


def _compose_weight(service: Doc) -> int:
    text = " ".join(d.value for d in service.walk() if isinstance(d.value, str)).lower()
    return sum(mark in text for mark in ("/dev/kfd", "/dev/dri", "vllm", "sglang", "ollama", "rocm", "gpu"))


def _compose(section: Section, service: Doc) -> Iterator[Row]:
    options: list[tuple[str, str, int]] = []
    for key, option in (
        ("devices", "device"), ("group_add", "group-add"), ("cap_add", "cap-add"), ("security_opt", "security-opt"),
        ("volumes", "volume"),
    ):  # fmt: skip
        listed = service.get(key)
        options += [(option, text, item.line) for item in (listed.items if listed else []) if (text := item.text)]
    for key, option in (
        ("ipc", "ipc"), ("network_mode", "network"), ("shm_size", "shm-size"), ("mem_limit", "memory"),
        ("privileged", "privileged"), ("user", "user"), ("runtime", "runtime"), ("cpuset", "cpuset-cpus"),
        ("pids_limit", "pids-limit"),
    ):  # fmt: skip
        given = service.get(key)
        if given is not None and given.text:
            options.append((option, given.text, given.line))
    limits = service.get("ulimits")
    for name, limit in (limits.fields if limits else {}).items():
        soft, hard = limit.get("soft"), limit.get("hard")
        value = limit.text or ":".join(p.text for p in (soft, hard) if p is not None and p.text)
        options.append(("ulimit", f"{name}={value}", limit.line))
    environment = service.get("environment")
    if environment is not None:
        for item in environment.items:
            if item.text:
                options.append(("env", item.text, item.line))
        for name, item in environment.fields.items():
            if item.text is not None:
                options.append(("env", f"{name}={item.text}", item.line))
    yield section.fact("container.runtime", "docker", service.line)
    yield from _image_and_command(section, service.get("image"), [service.get("entrypoint"), service.get("command")])
    yield from option_facts(section, options, service.line, complete=service.get("image") is not None)


def _image_and_command(section: Section, image: Doc | None, parts: list[Doc | None]) -> Iterator[Row]:
    if image is not None and image.text:
        yield section.fact("container.image", image.text, image.line)
    words = [Word(word, item.line) for part in parts if part for item in part.items for word in _words(part, item)]
    if not words:
        return
    text = " ".join(word.text for word in words)
    yield section.fact("container.command", text, words[0].line)
    if image is not None and image.text and words[0].text.startswith("-"):
        engine = next((name for name in ("vllm", "sglang") if name in image.text), None)
        if engine:  # these images start the server themselves, the arguments are its flags
            words = [Word(engine, words[0].line), Word("serve", words[0].line), *words]
    start = LAUNCH.search(" ".join(word.text for word in words))
    if start is not None:
        flat = [Word(word, w.line) for w in words for word in (w.text.split() if LAUNCH.search(w.text) else [w.text])]
        first = next(
            (i for i in range(len(flat)) if LAUNCH.match(" ".join(w.text for w in flat[i : i + 6]))), len(flat)
        )
        yield from launch_facts(section, [w for w in flat[first:] if w.text != "\\"])


def _words(part: Doc, item: Doc) -> list[str]:
    """A command given as one string is split by blanks, a list is taken as it is."""
    text = item.text or ""
    return text.replace("\\\n", " ").split() if isinstance(part.value, str) else [text]


# --- docker inspect --------------------------------------------------------------------------------


def _inspect(section: Section, item: Doc) -> Iterator[Row]:
    host = item.get("HostConfig") or item
    config = item.get("Config") or item
    options: list[tuple[str, str, int]] = []
    devices = host.get("Devices")
    for device in devices.items if devices else []:
        path = device.get("PathOnHost")
        if path is not None and path.text:
            options.append(("device", path.text, path.line))
    for key, option in (
        ("GroupAdd", "group-add"), ("CapAdd", "cap-add"), ("SecurityOpt", "security-opt"), ("Binds", "volume"),
    ):  # fmt: skip
        listed = host.get(key)
        options += [(option, i.text, i.line) for i in (listed.items if listed else []) if i.text]
    for key, option in (
        ("IpcMode", "ipc"), ("NetworkMode", "network"), ("ShmSize", "shm-size"), ("Memory", "memory"),
        ("Privileged", "privileged"), ("Runtime", "runtime"), ("CpusetCpus", "cpuset-cpus"), ("PidsLimit", "pids-limit"),
    ):  # fmt: skip
        given = host.get(key)
        if given is not None and given.text and given.text not in ("null", "0"):
            options.append((option, given.text, given.line))
    ulimits = host.get("Ulimits")
    for limit in ulimits.items if ulimits else []:
        name, soft, hard = limit.get("Name"), limit.get("Soft"), limit.get("Hard")
        if name is not None and soft is not None and hard is not None:
            options.append(("ulimit", f"{name.text}={soft.text}:{hard.text}", limit.line))
    variables = config.get("Env")
    options += [("env", i.text, i.line) for i in (variables.items if variables else []) if i.text]
    yield from _image_and_command(section, config.get("Image"), [config.get("Entrypoint"), config.get("Cmd")])
    yield from option_facts(section, options, host.line, complete=devices is not None)
    state = item.get("State")
    if state is None:
        return
    status, code, killed = state.get("Status"), state.get("ExitCode"), state.get("OOMKilled")
    if status is not None and status.text:
        yield section.fact("container.state", status.text, status.line)
    if code is not None and code.text and status is not None and status.text in ("exited", "dead", "restarting"):
        yield section.fact("container.exit_code", int(code.text) if code.text.isdigit() else None, code.line)
    if killed is not None and killed.text == "true":
        yield section.fact("container.last_reason", "OOMKilled", killed.line)
    restarts = item.get("RestartCount")
    if restarts is not None and (restarts.text or "").isdigit():
        yield section.fact("container.restarts", int(restarts.text or ""), restarts.line)


# --- Kubernetes ------------------------------------------------------------------------------------


def _has_containers(doc: Doc) -> bool:
    containers = doc.get("containers")
    return containers is not None and any(c.get("image") or c.get("name") for c in containers.items)


def _container_weight(container: Doc) -> int:
    keys = [k for d in container.walk() for k in d.fields]
    return 2 * any(GPU_RESOURCE.match(k) for k in keys) + (container.get("image") is not None)


def _pod_weight(pod: Doc) -> int:
    containers = pod.get("containers")
    return max((_container_weight(c) for c in (containers.items if containers else [])), default=0)


def _pod(section: Section, pod: Doc) -> Iterator[Row]:
    containers = pod.get("containers")
    container = max(containers.items if containers else [], key=_container_weight)
    yield section.fact("container.runtime", "kubernetes", container.line)
    yield from _image_and_command(section, container.get("image"), [container.get("command"), container.get("args")])
    variables = container.get("env")
    for item in variables.items if variables else []:
        name, value = item.get("name"), item.get("value")
        if name is not None and name.text and value is not None and value.text is not None:
            yield section.fact(f"env[{name.text}]", value.text, value.line)
    for kind in ("requests", "limits"):
        resources = container.get("resources", kind)
        for key, amount in (resources.fields if resources else {}).items():
            if GPU_RESOURCE.match(key) and (amount.text or "").isdigit():
                yield section.fact("container.gpu_request", int(amount.text or ""), amount.line)
                yield section.fact("container.gpu_resource", key, amount.line)
            if key == "memory" and kind == "limits" and amount.text:
                size = size_in_bytes(amount.text, decimal=True)
                if size is not None:
                    yield section.fact("container.memory_limit", size, amount.line)
    yield from _security(section, pod, container)
    yield from _volumes(section, pod, container)


def _security(section: Section, pod: Doc, container: Doc) -> Iterator[Row]:
    privileged = container.get("securityContext", "privileged")
    if privileged is not None and privileged.text:
        yield section.fact("container.privileged", privileged.text == "true", privileged.line)
    added = container.get("securityContext", "capabilities", "add")
    if added is not None:
        yield section.fact("container.capabilities", added.texts, added.line)
    groups = pod.get("securityContext", "supplementalGroups")
    if groups is not None:
        yield section.fact("container.groups", groups.texts, groups.line)
    profile = container.get("securityContext", "seccompProfile", "type") or pod.get(
        "securityContext", "seccompProfile", "type"
    )
    if profile is not None and profile.text:
        yield section.fact("container.security", (f"seccomp={profile.text}",), profile.line)
    user = container.get("securityContext", "runAsUser") or pod.get("securityContext", "runAsUser")
    if user is not None and user.text:
        yield section.fact("container.user", user.text, user.line)
    for key, path in (("hostIPC", "container.ipc"), ("hostNetwork", "container.network")):
        given = pod.get(key)
        if given is not None and given.text == "true":
            yield section.fact(path, "host", given.line)


def _volumes(section: Section, pod: Doc, container: Doc) -> Iterator[Row]:
    """/dev/shm is as large as the memory volume mounted there; host devices come as hostPath volumes."""
    mounts = container.get("volumeMounts")
    places = {
        name.text: path.text for m in (mounts.items if mounts else [])
        if (name := m.get("name")) is not None and (path := m.get("mountPath")) is not None
    }  # fmt: skip
    if mounts is not None:
        yield section.fact("container.volumes", tuple(p for p in places.values() if p), mounts.line)
    devices: list[str] = []
    first: int | None = None
    volumes = pod.get("volumes")
    for volume in volumes.items if volumes else []:
        name = volume.get("name")
        place = places.get(name.text) if name is not None else None
        size = volume.get("emptyDir", "sizeLimit")
        if place == "/dev/shm" and size is not None and size.text:
            amount = size_in_bytes(size.text, decimal=True)
            if amount is not None:
                yield section.fact("container.shm_size", amount, size.line)
        host = volume.get("hostPath", "path")
        if host is not None and (host.text or "").startswith("/dev/") and place:
            devices.append(host.text or "")
            first = host.line if first is None else first
    if devices:
        yield section.fact("container.devices", tuple(devices), first)


READER = TextReader(
    name="container documents",
    commands=re.compile(r"(?:docker|podman) inspect|kubectl get .*-o ?=?(?:yaml|json)|cat .*\.(?:ya?ml|json)$"),
    sniff=re.compile(
        r"^\s*(?:services:|\"?HostConfig\"?\s*:|(?:- )?\"?(?:containers|initContainers)\"?\s*:)", re.MULTILINE
    ),
    parse=parse_documents,
)
