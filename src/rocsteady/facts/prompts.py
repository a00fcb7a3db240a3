"""Recognises the lines that separate one command's output from the next: prompts, ``set -x`` traces, headings.

A prompt that is one character (``# ``, ``% ``, ``> ``, ``+ ``) also starts comments, quotes and lists, so it
counts only in front of a command that we know.
"""

from __future__ import annotations

import re

KNOWN = frozenset(
    [
        "amd-smi",
        "amdgpu-install",
        "apt",
        "apt-cache",
        "apt-get",
        "apptainer",
        "awk",
        "bash",
        "cat",
        "clinfo",
        "conda",
        "curl",
        "dd",
        "df",
        "dkms",
        "dmesg",
        "dmidecode",
        "dnf",
        "docker",
        "docker-compose",
        "dpkg",
        "du",
        "echo",
        "env",
        "ethtool",
        "export",
        "find",
        "free",
        "getent",
        "getfacl",
        "glxinfo",
        "grep",
        "groups",
        "head",
        "helm",
        "hipcc",
        "hipconfig",
        "hostnamectl",
        "hwinfo",
        "hyfetch",
        "ibv_devinfo",
        "ibstat",
        "id",
        "inxi",
        "ip",
        "journalctl",
        "kill",
        "kubectl",
        "less",
        "llama-bench",
        "llama-cli",
        "llama-server",
        "ll",
        "lsb_release",
        "lsblk",
        "lscpu",
        "lsinitramfs",
        "lsinitrd",
        "lsmem",
        "lsmod",
        "lspci",
        "ls",
        "lshw",
        "lsof",
        "lstopo",
        "make",
        "micromamba",
        "mamba",
        "modinfo",
        "modprobe",
        "mokutil",
        "mount",
        "mpirun",
        "nc",
        "neofetch",
        "fastfetch",
        "nerdctl",
        "numactl",
        "numastat",
        "nvidia-smi",
        "oc",
        "ollama",
        "pacman",
        "pip",
        "pip3",
        "pipx",
        "podman",
        "printenv",
        "prlimit",
        "ps",
        "python",
        "python3",
        "readlink",
        "rocm-bandwidth-test",
        "rocm-smi",
        "rocm_agent_enumerator",
        "rocminfo",
        "rocm_bandwidth_test",
        "rocprof",
        "rpm",
        "sensors",
        "set",
        "setpci",
        "sglang",
        "singularity",
        "snap",
        "srun",
        "sh",
        "sos",
        "stat",
        "strace",
        "su",
        "sudo",
        "sysctl",
        "systemctl",
        "systemd-detect-virt",
        "tail",
        "tee",
        "test",
        "timeout",
        "torchrun",
        "touch",
        "tree",
        "udevadm",
        "ulimit",
        "uname",
        "update-initramfs",
        "uptime",
        "uv",
        "virsh",
        "vllm",
        "watch",
        "whoami",
        "which",
        "xargs",
        "xinfo",
        "yum",
        "zcat",
        "zgrep",
        "zypper",
        "mkdir",
        "git",
        "cd",
        "rm",
        "cp",
        "mv",
        "chmod",
        "chown",
        "usermod",
        "adduser",
        "groupadd",
        "nvtop",
        "radeontop",
        "rocm_techsupport.sh",
        "reboot",
    ]
)
"""First words of command lines, as far as a one-character prompt or a heading needs to be told from prose."""

_VENV = r"(?:\([\w ./+-]+\) ?){0,2}"
_WHO = r"(?:I have no name!|[\w.-]+)[@㉿][\w.-]+"
PROMPT = re.compile(
    r"^\s*" + _VENV + r"(?:"
    r"\[?" + _WHO + r"(?:[:\s][^\]#$%>]{0,100})?\]?\s*[#$%>❯] ?"  # user@host:~$  [user@host dir]#  user@host ~ %
    r"|[\w.-]+:[~/][^\s#$%>]{0,80} ?[#$%>] ?"  # host:~ #  host:/dir$
    r"|\[[\w.-]+ [~/][^\]\s]{0,80}\][#$%] ?"
    r"|(?:ba|z|da|k)?sh-\d[\w.]*[#$%] ?"
    r"|(?:Singularity|Apptainer)> ?"
    r"|[╰└][─╴-]*[#$%❯➤>]+ ?"
    r"|PS [^>\n]{0,100}> ?|[A-Z]:\\[^>\n]{0,100}> ?"
    r"|➜ +(?P<arrow>.{1,60}?(?: git:\([^)]*\))?(?: ✗)?) (?= *[\w./~])"
    r"|(?:[❯λ▶↪]|\$:) +(?:git:\([^)]*\) )?"
    r"|\$ +(?=[\w./~(\[{\"'])|\$(?=(?:sudo|rocm|cat|ls|docker|pip|python)\b)"
    r")(?P<command>.*)$"
)
WEAK = re.compile(r"^\s*" + _VENV + r"(?:[#%>] |\++ ?|>>> )(?P<command>[\w./~\"'(].*)$")
"""Prompts that are other things as well."""

TICKED = re.compile(r"^\s*`[^`]+`\s*$")
"""A whole line in back quotes: how people paste short sessions."""

_DECORATED = re.compile(r"^\s*(?:[=\-#*~_+]{2,}|#{1,6}(?= ))\s*(?P<text>[^=*~_].*?)\s*[=\-#*~_+:]*\s*$")
_LABELLED = re.compile(
    r"^\s*(?:<(?:summary|b|h\d)>|\*\*|`|(?:Command|CMD|cmd|Running|Executing|Output of|output of|Output from|Run)\b:? *`?)\s*"
    r"(?P<text>.+?)\s*(?:`|\*\*|</\w+>)?\s*:?\s*(?:\*\*|`|</\w+>)?\s*$"
)
_COLON = re.compile(r"^ ?(?P<text>[\w./~-]+(?: [^:=]{1,70})?)(?: output)?\s*:\s*$")
"""Not indented: ``  vllm:`` is a container's name in what kubectl and compose print."""
_HEAD = re.compile(r"^==> (?P<path>.+?) <==\s*$")
_TECHSUPPORT = re.compile(r"^\s*=+ *Section: *(?P<text>.+?) *=+\s*$|^Section: (?P<plain>.*boot logs)\s*$")
_NUMBERED = re.compile(r"^(?:\(?\d+[.)]|step \d+:?|output of|output from|section:?) *", re.IGNORECASE)

TECHSUPPORT = {
    "kernel boot parameters": "cat /proc/cmdline",
    "cpu information": "lscpu",
    "memory information": "lsmem",
    "hardware information": "lshw",
    "lsmod loaded module": "lsmod",
    "amdgpu modinfo": "modinfo amdgpu",
    "amdgpu udev rule": "cat /etc/udev/rules.d/70-amdgpu.rules",
    "dmidecode information": "dmidecode",
    "lspci verbose output": "lspci -vvv",
    "rocm environment variables": "env",
    "available rocm versions": "ls -d /opt/rocm*",
}
"""Headings of rocm_techsupport that do not name their command."""
_SPELLINGS = (("rocm smi", "rocm-smi"), ("amd smi", "amd-smi"), ("rocm-smi show", "rocm-smi --show"))

WRAPPERS = re.compile(
    r"^(?:sudo(?: -\w+)*|time|watch(?: -\S+(?: \d\S*)?)*|env|exec|nohup|timeout \S+|numactl(?: -\S+)+|\w+=(?:\"[^\"]*\"|'[^']*'|\S*))\s+(?=\S)"
    r"|^(?:docker|podman|nerdctl)(?: compose)? exec (?:-\S+ )*\S+ |^(?:kubectl|oc) exec .*? -- "
)


def prompt_command(line: str) -> str | None:
    """The command line behind a prompt; '' for a prompt without one, None where no prompt is."""
    if TICKED.match(line):
        line = line.strip().strip("`")
    match = PROMPT.match(line)
    if match:
        return match["command"].strip()
    match = WEAK.match(line)
    if match and first_word(match["command"]) in KNOWN:
        return match["command"].strip()
    return None


def heading_command(line: str) -> str | None:
    """The command (or ``cat FILE``) that a heading names; '' for a heading that only ends a section.

    >>> heading_command("===== Section: Kernel Boot Parameters  ===============")
    'cat /proc/cmdline'
    >>> heading_command("==> /proc/cmdline <==")
    'cat /proc/cmdline'
    >>> heading_command("=========== Concise Info ===========") is None
    True
    """
    if len(line) > 160:
        return None
    if match := _HEAD.match(line):
        return "cat " + match["path"]
    if match := _TECHSUPPORT.match(line):
        return _named(match["text"] or match["plain"]) or ""
    for pattern in (_DECORATED, _LABELLED, _COLON):
        if match := pattern.match(line):
            named = _named(match["text"].strip("`* "))
            if named:
                return named
    return None


def _named(text: str) -> str | None:
    text = _NUMBERED.sub("", text.strip()).strip("`\"' ")
    lower = text.lower()
    for name, command in TECHSUPPORT.items():
        if lower.startswith(name):
            return command
    for spelled, command in _SPELLINGS:
        if lower.startswith(spelled):
            text = command + text[len(spelled) :]
            lower = text.lower()
    if re.match(r"(?:/(?!dev\b)|~/)[\w./*-]+$", text):
        return "cat " + text
    word = first_word(text)
    if word in KNOWN:
        return bare_command(re.sub(r" (?:output|log|information|info)$", "", text))
    if len(word) > 4 and word.lower() in KNOWN and len(text.split()) <= 3:
        return bare_command(lower)
    return None


def first_word(command: str) -> str:
    """Name of the program, without wrappers and path."""
    return bare_command(command).partition(" ")[0].rstrip(":,;")


def bare_command(command: str) -> str:
    """Without sudo, environment assignments and a leading path: ``/opt/rocm/bin/rocminfo -a`` -> ``rocminfo -a``."""
    previous = None
    while previous != command:
        previous = command
        command = WRAPPERS.sub("", command.strip())
    word, space, rest = command.partition(" ")
    return word.rpartition("/")[2] + space + rest
