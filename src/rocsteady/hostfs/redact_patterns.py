"""What is looked for when a snapshot is redacted: patterns and word lists. Part of the stand-alone script."""

import re

COMMON = frozenset(
    [
        "root",
        "nobody",
        "localhost",
        "localdomain",
        "ubuntu",
        "debian",
        "fedora",
        "centos",
        "rocky",
        "admin",
        "user",
        "guest",
        "test",
        "node",
        "server",
        "worker",
        "master",
        "host",
        "gpu",
        "amd",
        "amdgpu",
        "rocm",
        "vllm",
        "sglang",
        "ollama",
        "docker",
        "render",
        "video",
        "kernel",
        "linux",
        "system",
        "systemd",
        "daemon",
        "main",
        "model",
        "python",
        "torch",
        "cluster",
        "compute",
        "default",
        "home",
        "data",
        "work",
        "login",
        "none",
        "unknown",
        "machine",
        "desktop",
        "workstation",
    ]
)
"""Names that are ordinary words of logs: replaced only where the place says that a host or user is meant."""
SHORTEST = 5
"""Shorter names (``max``, ``dan``) are replaced only in such places too."""

BINARY = frozenset(
    ("gpu_metrics", "pm_metrics", "xcp_metrics", "reg_state", "pp_table", "gpuboard_temp", "baseboard_temp")
)
"""Files that are no text: never changed."""
PACKAGE_LISTS = ("dpkg_-l", "rpm_-qa", "pacman_-Q", "python3_-m_pip_list", "ldconfig_-p", "modinfo_amdgpu")
"""Outputs full of versions of four numbers and without addresses."""
SERIAL_FILES = frozenset(
    ("serial_number", "serial", "board_serial", "product_serial", "chassis_serial", "product_uuid", "chassis_asset_tag",
     "board_asset_tag", "node_guid", "sys_image_guid", "address", "machine-id", "wwid")
)  # fmt: skip
"""One-line files that hold an identity as a whole."""

SECRET_WORD = (
    r"(?:TOKEN(?!S|IZ|_?ID|_?COUNT|_?LEN|_?TYPE)|SECRET|PASSWORD|PASSWD|PASSPHRASE|API[_-]?KEY|ACCESS[_-]?KEY(?:[_-]?ID)?"
    r"|PRIVATE[_-]?KEY|CREDENTIALS?|AUTH[_-]?KEY|COOKIE|MASTER[_-]?KEY|SIGNING[_-]?KEY|ENCRYPTION[_-]?KEY|LICENSE[_-]?KEY)"
)
ASSIGNED = re.compile(
    r"((?<![A-Za-z0-9])[A-Za-z0-9_.-]{0,60}"
    + SECRET_WORD
    + r"[A-Za-z0-9_-]{0,60}[\"']?(?:\s*[=:]\s*|\0)\[?(?:[rbu]?[\"'])?)"
    r"([^\s\0\"',;&\]})<][^\s\0\"',;&\]})]{3,})",
    re.IGNORECASE,
)
OPTION = re.compile(
    r"(--?[a-z0-9-]{0,60}" + SECRET_WORD + r"[\"']?[ \0,=]+[\"']?)([^\s\0\"',\]})-][^\s\0\"',\]})]{3,})", re.IGNORECASE
)
HEADER = re.compile(
    r"((?:Authorization|Proxy-Authorization|X-Api-Key|Set-Cookie|Cookie)[\"']?\s*[:=]\s*[\"']?)([^\r\n\"'\0]{4,})",
    re.IGNORECASE,
)
BEARER = re.compile(r"\b((?:Bearer|Basic)\s+)([A-Za-z0-9._~+/=-]{8,})")
SHAPED = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}|nvapi-[\w-]{20,}|r8_\w{30,}|dckr_pat_[\w-]{16,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)([^\s/@\"'\0]{1,200})@", re.IGNORECASE)
QUERY = re.compile(
    r"([?&](?:token|sig|signature|key|access_token|auth|code|x-amz-[a-z-]+)=)([^&\s\"'\0]{4,})", re.IGNORECASE
)
DIGITS = re.compile(
    r"\d+(?:\.\d+)?\Z|true\Z|false\Z|none\Z|null\Z|auto\Z|\$\{?\w+\}?\Z|\*+\Z|\[?redacted|secret-[0-9a-f]{8}\Z",
    re.IGNORECASE,
)

EMAIL = re.compile(
    r"(?<![\w.+/-])([A-Za-z0-9][\w.+-]{0,100})@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,10}\.[A-Za-z]{2,})(?![\w-])"
)
UNITS = frozenset(
    ["service", "socket", "timer", "target", "device", "mount", "scope", "slice", "path", "swap", "automount"]
)
UUID = re.compile(
    r"(?<![0-9A-Za-z-])[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9A-Za-z-])"
)
IPV4 = re.compile(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?![\w]|\.\d)"
)
VERSION_BEFORE = re.compile(
    r"(?:versions?|ver|fw|firmware|rev|revision|release|pkg|package|build|driver|==|[<>~]=|[-_+]|[^/]/)[\"']?[\s:=(]*[\"']?\Z",
    re.IGNORECASE,
)
VERSION_AFTER = re.compile(r"[-+~]\w|_\d")
IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
MAC = re.compile(
    r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?:\1[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2})?(?![\w:-])"
)
GUID = re.compile(r"(?<![\w:])[0-9A-Fa-f]{4}(?::[0-9A-Fa-f]{4}){3}(?![\w:])")
SERIAL = re.compile(
    r"((?<![A-Za-z0-9])(?:Serial[ _-]?(?:Number|Num|No\.?)[\"']?\s*[:=#]?\s*|(?:\w{1,40}[ _-])?serial[\"']?\s*[:=]\s*|(?:asset[ _-]?tag|fru[ _-]?id)[\"']?\s*[:=]\s*)[\"']?)"
    r"([A-Za-z0-9][\w./-]{4,})",
    re.IGNORECASE,
)
NOT_SERIAL = re.compile(r"8250|N/A\Z|unknown|default|to be|not[ _]|none|0+\Z", re.IGNORECASE)
UNIQUE_HEX = re.compile(
    r"(\b(?:unique[ _-]?id|uuid)[\"']?\s*[:=]?\s*[\"']?(?:GPU-)?)(0x)?([0-9a-fA-F]{14,16})\b", re.IGNORECASE
)
UNIQUE_DEC = re.compile(r"(^unique_id )(\d+)$", re.MULTILINE)
PREFIX = re.compile(
    r"^((?:<\d+>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?) )"
    r"([A-Za-z0-9][A-Za-z0-9.-]*)(?= [^ :\[]+(?:\[\d+\])?: )",
    re.MULTILINE,
)
UNAME = re.compile(r"^(Linux )(?!version )([A-Za-z0-9][A-Za-z0-9.-]*)(?= \d+\.\d+)", re.MULTILINE)
NAMED_HOST = re.compile(
    r"(\b(?:host[ _-]?name|node[ _-]?name|nodename|HOST|_HOSTNAME)[\"']?\s*[:=]\s*[\"']?)([A-Za-z0-9][A-Za-z0-9.-]+)",
    re.IGNORECASE,
)
INNER_HOST = re.compile(
    r"(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){2,10}(?:local|lan|internal|corp|intra|intranet|home)(?![\w.-]*\w)|\bip-\d+-\d+-\d+-\d+\b",
    re.IGNORECASE,
)
HOME = re.compile(r"((?:/home|/Users|/export/home|/data/home)/)([^/\s:\"'\0,;)\]]+)")
NAMED_USER = re.compile(
    r"((?:\bUSER|\bLOGNAME|\bSUDO_USER|\bUSERNAME|\bfor user|\bacct|\buser name|\bsudo: +|\bruser|\b(?:uid|gid|groups)=\d+\(|\buser)[=:\"' ]*)"
    r"([a-z_][a-z0-9_.-]{1,31})(?=[\s\"'):,;(]|$)",
    re.IGNORECASE,
)
NOT_USER = frozenset(
    [
        "space",
        "mode",
        "id",
        "ids",
        "name",
        "pages",
        "page",
        "process",
        "defined",
        "agent",
        "session",
        "input",
        "data",
        "data:",
        "slice",
        "and",
        "of",
        "is",
        "for",
        "in",
        "the",
        "to",
        "not",
        "with",
    ]
)
