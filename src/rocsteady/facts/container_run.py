"""``docker run`` and its kin (podman, nerdctl), and ``apptainer|singularity exec``: what a container was given.

Sample: ``docker run --device /dev/kfd --device=/dev/dri --group-add video --ipc=host IMAGE vllm serve MODEL``
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.command_lines import CommandLine, Word, command_lines
from rocsteady.facts.engine_launch import launch_facts
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section
from rocsteady.facts.sizes import size_in_bytes

RUN = re.compile(
    r"\b(?P<command>(?P<tool>docker|podman|nerdctl)\s+(?:container\s+)?(?:run|create)\s+(?=-|\\|[\w.-]*[/:]\w|<[\w-]+>|\$))"
)
EXEC = re.compile(
    r"\b(?P<command>(?P<tool>apptainer|singularity)\s+(?:-\S+\s+)*(?:exec|run|shell|instance start)\s+(?=-|\\|\S*[/.:]\w|<[\w-]+>|\$))"
)

SWITCHES = frozenset(
    [
        "d",
        "detach",
        "i",
        "interactive",
        "t",
        "tty",
        "rm",
        "init",
        "privileged",
        "read-only",
        "no-healthcheck",
        "oom-kill-disable",
        "P",
        "publish-all",
        "q",
        "quiet",
        "disable-content-trust",
        "sig-proxy",
        "replace",
        "tls-verify",
        "env-host",
        "rmi",
        "systemd",
    ]
)
"""Options of ``run`` without a value of their own (docker and podman reference pages)."""
EXEC_VALUES = frozenset(
    [
        "B",
        "bind",
        "e-file",
        "env",
        "env-file",
        "H",
        "home",
        "W",
        "workdir",
        "pwd",
        "S",
        "scratch",
        "overlay",
        "o",
        "app",
        "apply-cgroups",
        "cpus",
        "memory",
        "network",
        "network-args",
        "security",
        "hostname",
        "mount",
        "fusemount",
        "dns",
        "add-caps",
        "drop-caps",
        "userns-file",
        "nvccli-file",
        "shm-size",
    ]
)
"""Options of ``exec`` that take a value (apptainer's reference pages)."""
ALIASES = {
    "v": "volume",
    "e": "env",
    "m": "memory",
    "u": "user",
    "net": "network",
    "userns": "userns",
    "B": "bind",
    "h": "hostname",
}
LISTS = {
    "device": "devices", "group-add": "groups", "cap-add": "capabilities", "security-opt": "security",
    "volume": "volumes", "mount": "volumes", "bind": "volumes",
}  # fmt: skip
SCALARS = {
    "ipc": "ipc", "network": "network", "cpuset-cpus": "cpuset", "user": "user", "runtime": "runtime", "gpus": "gpus",
}  # fmt: skip
ALWAYS = ("devices", "groups", "capabilities", "security")
"""Of a whole command line the absence of these options is a fact: the container was given none."""


def parse_run(section: Section) -> Iterator[Row]:
    """Facts of every such command; the last one wins."""
    for line in command_lines(section, RUN):
        yield from _run(section, line)
    for line in command_lines(section, EXEC):
        yield from _exec(section, line)


def options_of(words: list[str], values: frozenset[str] | None) -> tuple[list[tuple[str, str, int]], int]:
    """Options in front of the first plain word as (name, value, position), and the position of that word.

    ``values``: names that take a value; None = all but ``SWITCHES``.
    """
    found: list[tuple[str, str, int]] = []
    position = 0
    while position < len(words) and words[position].startswith("-") and len(words[position]) > 1:
        word = words[position]
        at = position
        position += 1
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
        elif len(word) > 2 and word[1] in "evpuwmhBH" and word[2] != "=" and not word[1:].isalpha():
            name, equals, value = word[1], "=", word[2:]
        else:
            letters, equals, value = word[1:].partition("=")
            for letter in letters[:-1]:
                found.append((letter, "", at))
            name = letters[-1:]
        name = name if name in SWITCHES else ALIASES.get(name, name)
        takes = name in values if values is not None else name not in SWITCHES
        if takes and not equals and position < len(words):
            value = words[position]
            position += 1
        found.append((name, value, at))
    return found, position


def _run(section: Section, line: CommandLine) -> Iterator[Row]:
    texts = line.texts
    tool = texts[0]
    start = texts.index("run") + 1 if "run" in texts else texts.index("create") + 1
    options, image = options_of(texts[start:], None)
    first = line.words[0].line
    yield section.fact("container.runtime", tool, first)
    if start + image < len(texts) and not texts[start + image].startswith(("<", "$")):
        yield section.fact("container.image", texts[start + image], line.words[start + image].line)
    complete = line.whole and start + image < len(texts)
    rest = texts[start + image + 1 :]
    if rest:
        yield section.fact("container.command", " ".join(rest), line.words[start + image + 1].line)
        yield from _own_server(section, texts[start + image], line.words[start + image + 1 :])
    yield from option_facts(section, [(n, v, line.words[start + at].line) for n, v, at in options], first, complete)


def _own_server(section: Section, image: str, words: tuple[Word, ...]) -> Iterator[Row]:
    """Images whose entry point is the server get the model and its flags as the command."""
    if re.search(r"vllm-openai", image) and words[0].text not in (
        "vllm",
        "bash",
        "sh",
        "/bin/bash",
        "python3",
        "python",
    ):
        start = words[0].line
        yield from launch_facts(section, (Word("vllm", start), Word("serve", start), *words))


def option_facts(section: Section, options: list[tuple[str, str, int]], first: int, complete: bool) -> Iterator[Row]:
    """Facts of options given as (name, value, line index)."""
    lists: dict[str, list[str]] = {field: [] for field in ALWAYS} if complete else {}
    where: dict[str, int] = {}
    limits: dict[str, str] = {}
    for name, value, index in options:
        if name in LISTS:
            field = LISTS[name]
            lists.setdefault(field, []).append(value.partition(":")[0] if field == "devices" else value)
            where.setdefault(field, index)
        elif name in SCALARS and value:
            yield section.fact(f"container.{SCALARS[name]}", value, index)
        elif name == "privileged":
            yield section.fact("container.privileged", value.lower() != "false", index)
        elif name == "shm-size":
            yield from _size(section, "container.shm_size", value, index)
        elif name == "memory":
            yield from _size(section, "container.memory_limit", value, index)
        elif name == "pids-limit" and re.fullmatch(r"-?\d+", value):
            yield section.fact("container.pids_limit", int(value), index)
        elif name == "ulimit" and "=" in value:
            limits[value.partition("=")[0]] = value.partition("=")[2]
            where.setdefault("ulimits", index)
        elif name == "env" and re.match(r"[A-Za-z_]\w*=", value):
            yield section.fact(f"env[{value.partition('=')[0]}]", value.partition("=")[2], index)
    for field, found in lists.items():
        yield section.fact(f"container.{field}", tuple(found), where.get(field, first))
    if limits:
        yield section.fact("container.ulimits", limits, where["ulimits"])
    if complete and not any(name == "privileged" for name, _, _ in options):
        yield section.fact("container.privileged", False, first)


def _exec(section: Section, line: CommandLine) -> Iterator[Row]:
    texts = line.texts
    tool = texts[0]
    verb = next((i for i, word in enumerate(texts) if word in ("exec", "run", "shell", "start")), 0)
    options, image = options_of(texts[verb + 1 :], EXEC_VALUES)
    first = line.words[0].line
    yield section.fact("container.runtime", tool, first)
    position = verb + 1 + image
    if position < len(texts):
        yield section.fact("container.image", texts[position], line.words[position].line)
        if texts[position + 1 :]:
            yield section.fact("container.command", " ".join(texts[position + 1 :]), line.words[position + 1].line)
    gpus = [name for name, _, _ in options if name in ("rocm", "nv", "nvccli")]
    if gpus:
        yield section.fact("container.gpus", gpus[0], first)
    binds: list[str] = []
    for name, value, at in options:
        index = line.words[verb + 1 + at].line
        if name == "bind":
            binds += value.split(",")
        elif name == "env":
            for pair in value.split(","):
                if "=" in pair:
                    yield section.fact(f"env[{pair.partition('=')[0]}]", pair.partition("=")[2], index)
    if binds:
        yield section.fact("container.volumes", tuple(binds), first)


def _size(section: Section, path: str, value: str, index: int) -> Iterator[Row]:
    size = size_in_bytes(value)
    if size is not None:
        yield section.fact(path, size, index)


READER = TextReader(
    name="container run",
    marks=("docker", "podman", "nerdctl", "apptainer", "singularity"),
    commands=None,
    sniff=re.compile(f"{RUN.pattern.replace('?P<tool>', '?:')}|{EXEC.pattern.replace('?P<command>', '?:')}"),
    parse=parse_run,
)
