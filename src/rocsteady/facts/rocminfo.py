"""``rocminfo`` and ``rocm_agent_enumerator``: agents of the HSA runtime, or why it does not start.

Samples: ``ROCk module version 6.12.12 is loaded``, ``  Name:                    gfx942``,
``  BDFID:                   2560`` (bus << 8 | device << 3 | function, the domain is not printed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

MODULE = re.compile(r"ROCk module (?:version (?P<version>\S+) )?is (?P<state>NOT loaded|loaded)")
NO_LSMOD = re.compile(r"lsmod: (?:command )?not found")
DEVICE_ERROR = re.compile(r"Unable to open (?P<path>/dev/\S+) read-write: (?P<error>.+?)\s*$")
GROUP = re.compile(
    r"[Uu]ser is not member of \"?(?P<group>[\w-]+)\"? group|\S{1,64} is not member of \"(?P<named>[\w-]+)\" group"
)
FAILED = re.compile(
    r"(?:hsa api call failure|Call returned HSA_STATUS_ERROR|hsa_init(?:\(\))? failed|hsa/hsa_init failed)",
    re.IGNORECASE,
)
AGENT = re.compile(r"^\s*Agent (?P<number>\d+)\s*$")
FIELD = re.compile(r"^(?P<indent> *)(?P<key>[A-Z][\w .()/-]*?)::? *(?P<value>\S.*?)\s*$")
NAME = re.compile(r"^ {0,3}(?:\d+: {0,3})?Name: +(?P<name>(?!amdgcn-)\S.*?)\s*$")
FEATURES = {"DMAbuf Support": "dmabuf", "XNACK enabled": "xnack", "VMM Support": "vmm"}
ERRORS = {
    "No such file or directory": "ENOENT", "Permission denied": "EACCES", "Operation not permitted": "EPERM",
    "Invalid argument": "EINVAL", "No such device or address": "ENXIO", "Cannot allocate memory": "ENOMEM",
    "No such device": "ENODEV", "Device or resource busy": "EBUSY", "Too many open files": "EMFILE",
}  # fmt: skip
GFX = re.compile(r"gfx[0-9a-f]{3,5}\b")


def parse_rocminfo(section: Section) -> Iterator[Row]:
    """State of the runtime, and the GPU agents."""
    agents: list[dict[str, tuple[str, int]]] = []
    numbers: list[int] = []
    current: dict[str, tuple[str, int]] | None = None
    header: int | None = None
    done = False
    for index, line in enumerate(section.lines):
        state = list(_state(section, index, line))
        yield from state
        if state:
            continue
        if "*** Done ***" in line:
            done = True
        elif line.strip() == "HSA Agents":
            header = index
        elif match := AGENT.match(line):
            numbers.append(int(match["number"]))
            current = None
        elif match := NAME.match(line):
            current = {"Name": (match["name"], index)}
            agents.append(current)
        elif (match := FIELD.match(line)) and len(match["indent"]) <= 4:
            if match["key"] in FEATURES:
                yield section.fact(f"rocm.features[{FEATURES[match['key']]}]", match["value"], index)
            elif match["key"] == "Runtime Version" and header is None:
                yield section.fact("rocm.components[hsa-runtime]", match["value"], index)
            elif current is not None:
                current.setdefault(match["key"], (match["value"], index))
    gpus = [a for a in agents if GFX.match(a["Name"][0])]
    yield from _agents(section, gpus)
    whole = header is not None and done and numbers == list(range(1, len(agents) + 1)) and bool(agents)
    works = "rocm.runtime_works_as_root" if section.as_root else "rocm.runtime_works"
    if header is not None and (gpus or whole):
        yield section.fact(works, True, header)
    if whole:
        where = gpus[0]["Name"][1] if gpus else header
        yield section.fact("gpus_seen", len(gpus), where)
        yield section.fact("gpus_by_tool[rocminfo]", len(gpus), where)


def _state(section: Section, index: int, line: str) -> Iterator[Row]:
    if match := MODULE.search(line):
        if NO_LSMOD.search("\n".join(section.lines[max(0, index - 3) : index])):
            return  # rocminfo asked lsmod, which this container does not have
        yield section.fact("modules[amdgpu].loaded", match["state"] == "loaded", index)
        if match["version"]:
            yield section.fact("modules[amdgpu].version", match["version"], index)
            yield section.fact("rocm.driver", match["version"], index)
    elif match := DEVICE_ERROR.search(line):
        error = ERRORS.get(match["error"], match["error"])
        path = match["path"]
        yield section.fact(f"devices[{path}].exists", error != "ENOENT", index)
        yield section.fact(f"devices[{path}].error", error, index)
        yield section.fact("rocm.runtime_works_as_root" if section.as_root else "rocm.runtime_works", False, index)
    elif match := GROUP.search(line):
        yield section.fact("user.missing_groups", (match["group"] or match["named"],), index)
    elif FAILED.search(line):
        yield section.fact("rocm.runtime_works_as_root" if section.as_root else "rocm.runtime_works", False, index)


def _agents(section: Section, gpus: list[dict[str, tuple[str, int]]]) -> Iterator[Row]:
    """Rows of the GPU agents. The BDF is given only where the printed part of it names one GPU."""
    ids = [a["BDFID"][0] for a in gpus if "BDFID" in a]
    for order, agent in enumerate(gpus):
        node = agent.get("Node") or agent.get("Internal Node ID")
        key = f"gpus[kfd:{node[0]}]" if node and node[0].isdigit() else f"gpus[hip:{order}]"
        name, index = agent["Name"]
        found = GFX.match(name)
        yield section.fact(f"{key}.gfx", found[0] if found else name, index)
        bdf = _bdf(agent.get("BDFID", ("", 0))[0])
        if bdf and ids.count(agent["BDFID"][0]) == 1:
            yield section.fact(f"{key}.bdf", bdf, agent["BDFID"][1])
        for field, path in (("Marketing Name", "name"), ("Compute Unit", "cu_count")):
            if field in agent and agent[field][0] not in ("N/A", "0"):
                yield section.fact(f"{key}.{path}", agent[field][0], agent[field][1])
        unique = re.fullmatch(r"GPU-(?:0x)?([0-9a-f]{8,16})", agent.get("Uuid", ("", 0))[0])
        if unique:
            yield section.fact(f"{key}.unique_id", unique[1].rjust(16, "0"), agent["Uuid"][1])
        chip = re.search(r"\(0x([0-9a-f]+)\)", agent.get("Chip ID", ("", 0))[0])
        if chip and chip[1] != "0":
            yield section.fact(f"{key}.device", chip[1], agent["Chip ID"][1])


def _bdf(text: str) -> str | None:
    """Address of a whole GPU in domain 0; a function other than 0 is a partition or a VF: its address is not sure."""
    if not text.isdigit() or not 0 < int(text) < 1 << 16 or int(text) & 7:
        return None
    number = int(text)
    return f"0000:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"


READER = TextReader(
    name="rocminfo",
    marks=("ROCk", "HSA", "gfx", "/dev/kfd", "hsa"),
    commands=re.compile(r"rocminfo\b"),
    sniff=re.compile(
        r"ROCk module (?:version \S+ )?is|^HSA Agents|^ {2,}Name: +gfx|Unable to open /dev/kfd|hsa api call failure|HSA System Attributes",
        re.MULTILINE,
    ),
    parse=parse_rocminfo,
)
