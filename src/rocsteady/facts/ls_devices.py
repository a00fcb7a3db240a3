"""Who may open /dev/kfd and the render nodes: ``ls -l`` in any language, ``stat``, ``id``, ``groups``, ``getent``, strace.

Samples: ``crw-rw----+ 1 root render 236, 0 Nov 30 12:00 /dev/kfd``; ``ls: Zugriff auf '/dev/kfd' nicht möglich: ...``;
``uid=1000(user) gid=1000(user) Gruppen=1000(user),44(video)``; ``openat(AT_FDCWD, "/dev/kfd", O_RDWR) = -1 EACCES (...)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.device_nodes import octal_mode
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

NODE = r"(?:/dev/)?(?:dri/)?(?:kfd|card\d+|renderD\d+|uverbs\d+|rdma_cm)"
ENTRY = re.compile(
    r"^\s*(?:\d+ +){0,2}(?P<kind>[cbdps-])(?P<mode>[rwxsStT-]{9})(?P<acl>[+.@]?)\s+(?:\d+\s+)?(?P<owner>\S+)\s+(?P<group>\S+)\s+"
    r"\d+,\s*\d+\s.*?(?P<path>\S+)\s*$"
)
FOLDER = re.compile(r"^\s*(?P<folder>/dev(?:/[\w-]+)?)/?:\s*$")
ABSENT = (
    r"No such file or directory|No such device|nicht gefunden|[Aa]ucun fichier|[Nn]o existe|non esistente|inexistente|"
    r"Нет такого файла|Nie ma takiego|neexistuje|Bestand of map bestaat niet|そのような|没有那个|沒有此|그런 파일|Filen eller katalogen finns inte"
)
LONGEST = 1000
"""Characters of a tool's message about a device file."""
MISSING = re.compile(
    rf"^\s*(?:\S{{0,40}}(?:ls|stat|cat|chmod|chown|eza|exa|file|getfacl|test)\S{{0,40}}: )?.{{0,120}}?['\"‘«„“]?\s?(?P<path>/dev/(?:kfd|dri(?:/\w+)?))/?\s?['\"’»“”]?\s?.{{0,80}}?:.{{0,80}}?(?:{ABSENT})"
)
STAT_FILE = re.compile(r"^\s*\S+: (?P<path>/dev/(?:kfd|dri/\w+))\s*$")
STAT_MODE = re.compile(
    r"\((?P<octal>\d{4})/c[rwxsStT-]{9}\)\s+\w+: \(\s*\d+/\s*(?P<owner>\S+)\)\s+\w+: \(\s*(?P<gid>\d+)/\s*(?P<group>\S+)\)"
)
IDENTITY = re.compile(
    r"^\s*uid=(?P<uid>\d+)(?:\((?P<name>[^)]+)\))? gid=\d+(?:\([^)]+\))?(?: \S+=(?P<groups>\d[^ ]*(?: [^ =]+\)(?:,\S+)*)*))?"
)
MEMBER = re.compile(r"(\d+)(?:\(([^)]+)\))?")
GETENT = re.compile(r"^\s*(?P<name>render|video|docker|kvm|rdma):[x*!]?:(?P<gid>\d+):(?P<members>[\w.,@-]*)\s*$")
OPENED = re.compile(
    r"\bopen(?:at)?\((?:AT_FDCWD, )?\"(?P<path>/dev/(?:kfd|dri/\w+))\", [^)]*\)\s*=\s*(?:(?P<fd>\d+)|-1 (?P<error>E[A-Z]+))"
)
PLAIN = re.compile(r"^ls(?: -[^l\s]*)*(?P<paths>(?: /dev/(?:kfd|dri)/?)+)\s*$")
GROUPS_OF = re.compile(r"^\s*(?:(?P<user>[\w.-]+) : )?(?P<list>[a-z_][\w-]*(?: [a-z_][\w-]*)*)\s*$")


def parse_devices(section: Section) -> Iterator[Row]:
    """Device files, the user's groups, what a trace could open."""
    command = section.command or ""
    folder = _folder(command)
    stat: str | None = None
    plain = PLAIN.match(command)
    for index, line in enumerate(section.lines):
        if match := FOLDER.match(line):
            folder = match["folder"]
        elif "/dev/" in line and len(line) < LONGEST and (match := MISSING.match(line)):
            yield section.fact(f"devices[{match['path']}].exists", False, index)
        elif match := ENTRY.match(line):
            yield from _entry(section, match, folder, index)
        elif match := STAT_FILE.match(line):
            stat = match["path"]
        elif stat and (match := STAT_MODE.search(line)):
            base = f"devices[{stat}]"
            yield section.fact(f"{base}.mode", match["octal"], index)
            yield section.fact(f"{base}.owner", match["owner"], index)
            yield section.fact(f"{base}.group", match["group"], index)
            yield section.fact(f"{base}.gid", int(match["gid"]), index)
            stat = None
        elif match := IDENTITY.match(line):
            yield from _identity(section, match, index)
        elif match := GETENT.match(line):
            yield section.fact(f"groups[{match['name']}]", int(match["gid"]), index)
        elif match := OPENED.search(line):
            yield section.fact(f"devices[{match['path']}].exists", match["error"] not in ("ENOENT", "ENOTDIR"), index)
            if match["error"]:
                yield section.fact(f"devices[{match['path']}].error", match["error"], index)
        elif plain:
            yield from _names(section, line, plain["paths"], folder, index)
        elif re.match(r"groups\b", command) and (match := GROUPS_OF.match(line)):
            yield section.fact("user.groups", tuple(match["list"].split()), index)


def _folder(command: str) -> str:
    """Where the names of a listing lie, as far as its command says."""
    match = re.search(r"(?P<path>/dev(?:/dri)?)/?(?=\s|$)", command)
    return match["path"] if match else ""


def _entry(section: Section, match: re.Match[str], folder: str, index: int) -> Iterator[Row]:
    path = match["path"]
    name = path.rpartition("/")[2]
    if match["kind"] not in "c-" or not re.fullmatch(r"kfd|card\d+|renderD\d+|uverbs\d+|rdma_cm", name):
        return
    if not path.startswith("/"):
        path = (
            f"/dev/{name}"
            if name == "kfd"
            else f"/dev/infiniband/{name}"
            if name[0] in "u" or name == "rdma_cm"
            else f"/dev/dri/{name}"
        )
    del folder  # these names lie in one place only
    base = f"devices[{path}]"
    yield section.fact(f"{base}.exists", True, index)
    yield section.fact(f"{base}.mode", octal_mode(match["mode"]), index)
    yield section.fact(f"{base}.owner", {"0": "root"}.get(match["owner"], match["owner"]), index)
    if match["group"].isdigit():
        yield section.fact(f"{base}.gid", int(match["group"]), index)
    else:
        yield section.fact(f"{base}.group", match["group"], index)
    yield section.fact(f"{base}.acl", match["acl"] == "+", index)


def _identity(section: Section, match: re.Match[str], index: int) -> Iterator[Row]:
    yield section.fact("user.uid", int(match["uid"]), index)
    if match["name"]:
        yield section.fact("user.name", match["name"], index)
    if match["groups"]:
        members = MEMBER.findall(match["groups"])
        yield section.fact("user.gids", tuple(int(number) for number, _ in members), index)
        if all(name for _, name in members):
            yield section.fact("user.groups", tuple(name for _, name in members), index)


def _names(section: Section, line: str, paths: str, folder: str, index: int) -> Iterator[Row]:
    """Plain ``ls``: names in columns."""
    for word in line.split():
        name = word.strip("'\"")
        if name in paths.split() and name.endswith("kfd"):
            yield section.fact(f"devices[{name}].exists", True, index)
        elif folder == "/dev/dri" and re.fullmatch(r"card\d+|renderD\d+", name):
            yield section.fact(f"devices[/dev/dri/{name}].exists", True, index)


READER = TextReader(
    name="device files",
    marks=("kfd", "/dev/dri", "renderD", "card", "uid=", "render:", "video:", "docker:", "kvm:", "rdma"),
    commands=re.compile(r"(?:ls|ll|stat|id|groups|getent|strace)\b"),
    sniff=re.compile(
        rf"^\s*(?:\d+ +){{0,2}}c[rwxsStT-]{{9}}[+.@]?\s.*{NODE}\s*$|{MISSING.pattern.replace('?P<path>', '?:')}|^\s*uid=\d+|{GETENT.pattern.replace('?P<name>', '?:').replace('?P<gid>', '?:').replace('?P<members>', '?:')}"
        r"|\bopen(?:at)?\([^)]*\"/dev/(?:kfd|dri)|\(\d{4}/c[rwxsStT-]{9}\)",
        re.MULTILINE,
    ),
    parse=parse_devices,
)
