"""Environment variables: ``env`` output, ``export`` lines, Dockerfiles, .env files, variables in front of a command.

Samples: ``export HSA_OVERRIDE_GFX_VERSION=10.3.0``, ``HIP_VISIBLE_DEVICES=0,1 vllm serve M``, ``ENV X=1 Y=2``,
``Environment="OLLAMA_DEBUG=1"``, ``os.environ["NCCL_P2P_DISABLE"] = "1"``, ``setenv X 1``.
Options of container commands are read with the container.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.prompts import KNOWN, first_word
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

NAME = r"[A-Z][A-Z0-9_]{2,}"
VALUE = r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"';&|]*)"
SETTER = r"(?:export |set |declare -x |typeset -x |ENV |ARG |env |\$env:|- |-e |--env[ =]|Environment=)"
LINE = re.compile(
    rf"^\s*(?P<setter>{SETTER})?[\"']?(?P<name>{NAME})=(?P<value>(?!=).*?)[\"']?\s*(?:&& ?)?[\\,;]?\s*(?: #.*)?$"
)
SEVERAL = re.compile(
    rf"^\s*(?P<setter>export |declare -x |ENV |env |Environment=)?(?P<pairs>(?:(?>[\"']?{NAME}={VALUE}[\"']?)(?:\s+|(?=[\\;]?$))){{2,}})[\\;]?\s*$"
)
OPTION = re.compile(rf"(?:\s|^)(?:-e|--env)(?:[ =])?[\"']?({NAME})=(\"[^\"]*\"|'[^']*'|[^\s\"']*)")
LEADING = re.compile(
    rf"(?:^\s*|[;&(`] *|[$#%>❯] +|\bexport +|\benv +|\bsudo +(?:-\S+ +)*|[\"'])(?P<pairs>(?:{NAME}={VALUE} +)+)(?P<rest>\S.*)"
)
PAIR = re.compile(rf"({NAME})=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"';&|]*)")
PYTHON = re.compile(
    rf"os\.(?:environ\[[\"'](?P<a>{NAME})[\"']\]\s*=|putenv\([\"'](?P<b>{NAME})[\"'],|environ\.setdefault\([\"'](?P<c>{NAME})[\"'],)\s*[\"'](?P<value>[^\"']*)[\"']"
)
SETENV = re.compile(rf"^\s*(?:setenv|ENV|set -gx|set -x) (?P<name>{NAME}) (?P<value>[^=\s].*?)\s*$")
NOT_VARIABLES = re.compile(
    r"CONFIG_|GRUB_|DISTRIB_|KERNELRELEASE$|E$|DEVNAME|SUBSYSTEM|DRIVERS?$|PCI_|MODALIAS|ACTION$|KERNELS?$|MODE$|GROUP$|TAG$|"
    r"(?:PRETTY_NAME|NAME|VERSION|VERSION_ID|VERSION_CODENAME|ID|ID_LIKE|HOME_URL|SUPPORT_URL|BUG_REPORT_URL|PLATFORM_ID|"
    r"ANSI_COLOR|CPE_NAME|UBUNTU_CODENAME|LOGO|DEFAULT_HOSTNAME|PRIVACY_POLICY_URL|DOCUMENTATION_URL|BUILD_ID|VARIANT(?:_ID)?|"
    r"REDHAT_\w+|ROCKY_\w+|ALMALINUX_\w+|DEBIAN_VERSION_FULL|SUPPORT_END|IMAGE_ID|IMAGE_VERSION|TOTAL|COUNT|SYMLINK)$|"
    r"[A-Z]+_STATUS\d*$"
)
"""Names that other ``NAME=value`` texts use: os-release, udev, Kconfig, boot loader, register dumps."""
WHOLE_ENVIRONMENT = re.compile(r"(?:env|printenv|export|set|declare -x|docker exec .* env|cat .*(?:environ|\.env))\b")
ANY_NAME = re.compile(r"^\s*(?:export |declare -x )?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$")


def parse_environment(section: Section) -> Iterator[Row]:
    """Every assignment; lower-case names only where the text is known to be an environment."""
    whole = section.command is not None and WHOLE_ENVIRONMENT.match(section.command) is not None
    for index, line in enumerate(section.lines):
        if "=" not in line and not line.lstrip().startswith(("setenv", "ENV", "set -")):
            continue
        if is_log_line(line):
            continue
        for name, value in _assignments(line, whole):
            if not NOT_VARIABLES.match(name):
                yield section.fact(f"env[{name}]", value, index)


def _assignments(line: str, whole: bool) -> Iterator[tuple[str, str]]:
    if whole and (match := ANY_NAME.match(line)):
        yield match["name"], _bare(match["value"])
        return
    if match := SEVERAL.match(line):
        for pair in PAIR.finditer(match["pairs"]):
            yield pair[1], _bare(pair[2])
        return
    for match in PYTHON.finditer(line):
        yield match["a"] or match["b"] or match["c"], match["value"]
    if (match := SETENV.match(line)) and (match["value"].count(" ") == 0 or match["value"][0] in "\"'"):
        yield match["name"], _bare(match["value"])
        return
    for option in OPTION.finditer(line):
        yield option[1], _bare(option[2])
    for leading in LEADING.finditer(line):
        if _is_command(leading["rest"]):
            for pair in PAIR.finditer(leading["pairs"]):
                yield pair[1], _bare(pair[2])
    match = LINE.match(line)
    if match and (" " not in match["value"].strip() or _quoted(line, match)):
        yield match["name"], _bare(match["value"])


def _quoted(line: str, match: re.Match[str]) -> bool:
    """Whether a value with blanks is one value: quoted, or set by a word that takes the rest of the line."""
    value = line[match.start("value") :].rstrip(" \\;,")
    before = line[match.start("name") - 1] if match.start("name") else ""
    if before and before in "\"'":
        return True
    return len(value) > 1 and value[0] in "\"'" and value.endswith(value[0]) and value.count(value[0]) == 2


def _is_command(rest: str) -> bool:
    """A command line, not the rest of a sentence."""
    word = first_word(rest)
    program = rest.split(maxsplit=1)[0]
    return (
        word in KNOWN
        or word == "vllm"
        or "/" in program
        or "." in program.rstrip(".")
        or re.search(r" --?\w", rest) is not None
    )


def _bare(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        return value[1:-1]
    return value.strip("\"'")


READER = TextReader(
    name="environment",
    marks=("=", "setenv", "ENV ", "set -"),
    commands=WHOLE_ENVIRONMENT,
    sniff=re.compile(
        rf"^\s*(?:{SETTER})?[\"']?{NAME}=(?!=)|(?:-e|--env)[ =]?[\"']?{NAME}=|\b{NAME}=\S+ +\S|os\.(?:environ|putenv)|^\s*(?:setenv|ENV|set -gx|set -x) {NAME} ",
        re.MULTILINE,
    ),
    parse=parse_environment,
)
