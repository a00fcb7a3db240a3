"""Takes out what identifies people and machines, and secrets; what a diagnosis needs stays as it is.

The same text always becomes the same pseudonym within one snapshot, so that lines still join; the key is random
and is not kept, so nothing can be turned back. PCI addresses, versions, kernel addresses and times are untouched.
Part of the stand-alone script: Python 3.6, standard library only.
"""

import hashlib
import hmac
import os
import re
import socket

from rocsteady.hostfs.redact_patterns import (
    ASSIGNED,
    BEARER,
    BINARY,
    COMMON,
    DIGITS,
    EMAIL,
    GUID,
    HEADER,
    HOME,
    INNER_HOST,
    IPV4,
    IPV6,
    MAC,
    NAMED_HOST,
    NAMED_USER,
    NOT_SERIAL,
    NOT_USER,
    OPTION,
    PACKAGE_LISTS,
    PREFIX,
    PRIVATE,
    QUERY,
    SERIAL,
    SERIAL_FILES,
    SHAPED,
    SHORTEST,
    UNAME,
    UNIQUE_DEC,
    UNIQUE_HEX,
    UNITS,
    URL,
    UUID,
    VERSION_AFTER,
    VERSION_BEFORE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable  # noqa: F401

    Replacement = Callable[[re.Match[str]], str]


class Redactor:
    """Replaces identities and secrets in text. ``hosts`` and ``users`` are names known to belong to this machine."""

    def __init__(self, hosts=(), users=(), key=None):  # type: (tuple[str, ...], tuple[str, ...], bytes | None) -> None
        self._key = key or os.urandom(32)
        self._cache = {}  # type: dict[tuple[str, str], str]
        names = set()  # type: set[str]
        for host in hosts:
            names.update((host, host.partition(".")[0]))
        self._hosts = _word_pattern(names)
        self._users = _word_pattern(users)
        self._known_users = frozenset(users)
        self.counts = {}  # type: dict[str, int]

    def data(self, path, content):  # type: (str, bytes) -> bytes
        """A file's content; ``path`` (inside the tree) tells what kind of file it is."""
        name = path.rpartition("/")[2]
        if name in BINARY or (path.startswith(("sys/", "proc/")) and _is_binary(name, content)):
            return content
        text = content.decode("utf-8", "surrogateescape")
        return self.text(text, path).encode("utf-8", "surrogateescape")

    def text(self, text, path=""):  # type: (str, str) -> str
        """Text of a file or of a part of a log made of whole lines."""
        name = path.rpartition("/")[2]
        if name in ("passwd", "group"):
            return self._accounts(text, name)
        if name in ("hostname",):
            return self._whole(text, "host")
        if name in SERIAL_FILES:
            return self._whole(text, "serial")
        if name == "unique_id":
            return re.sub(r"[0-9a-fA-F]{14,16}", lambda m: self._unique(m.group(0)), text)
        text = self._secrets(text)
        if name not in PACKAGE_LISTS:
            text = self._addresses(text)
        return self._names(text)

    # --- secrets -----------------------------------------------------------------------------------

    def _secrets(self, text):  # type: (str) -> str
        if "PRIVATE KEY" in text:
            text = PRIVATE.sub(lambda m: self._token("secret", m.group(0)) + "\n" * m.group(0).count("\n"), text)
        if "://" in text:
            text = URL.sub(lambda m: m.group(1) + self._token("secret", m.group(2)) + "@", text)
            text = QUERY.sub(self._second("secret"), text)
        text = HEADER.sub(self._second("secret"), text)
        text = BEARER.sub(self._second("secret"), text)
        text = SHAPED.sub(lambda m: self._token("secret", m.group(0)), text)
        text = OPTION.sub(self._second("secret"), text)
        return ASSIGNED.sub(self._second("secret"), text)

    def _second(self, kind):  # type: (str) -> Replacement
        def replace(match):  # type: (re.Match[str]) -> str
            value = match.group(2)
            if DIGITS.match(value):
                return match.group(0)
            return match.group(1) + self._token(kind, value)

        return replace

    # --- addresses and serial numbers ----------------------------------------------------------------

    def _addresses(self, text):  # type: (str) -> str
        if "@" in text:
            text = EMAIL.sub(self._email, text)
        text = UNIQUE_HEX.sub(lambda m: m.group(1) + (m.group(2) or "") + self._unique(m.group(3)), text)
        text = UNIQUE_DEC.sub(lambda m: m.group(1) + self._unique_number(m.group(2)), text)
        text = UUID.sub(lambda m: self._shaped("uuid", m.group(0)), text)
        text = SERIAL.sub(self._serial, text)
        text = MAC.sub(lambda m: self._shaped("mac", m.group(0)), text)
        text = GUID.sub(lambda m: self._shaped("guid", m.group(0)), text)
        if "::" in text or text.count(":") > 6:
            text = IPV6.sub(self._ipv6, text)
        return IPV4.sub(self._ipv4, text)

    def _email(self, match):  # type: (re.Match[str]) -> str
        if match.group(2).rpartition(".")[2] in UNITS:
            return match.group(0)
        return self._token("user", match.group(1)) + "@" + self._token("mail", match.group(2)) + ".invalid"

    def _serial(self, match):  # type: (re.Match[str]) -> str
        if NOT_SERIAL.match(match.group(2)):
            return match.group(0)
        return match.group(1) + self._token("serial", match.group(2))

    def _ipv4(self, match):  # type: (re.Match[str]) -> str
        address = match.group(0)
        first = address.partition(".")[0]
        if first in ("0", "127", "255") or match.string[match.end() : match.end() + 1] == "%":
            return address
        line = match.string.rfind("\n", 0, match.start()) + 1
        if VERSION_BEFORE.search(match.string, max(line, match.start() - 24), match.start()):
            return address
        if VERSION_AFTER.match(match.string, match.end()):
            return address
        digest = self._digest("ipv4", address)
        self._count("ipv4")
        return f"198.{18 + digest[0] % 2}.{digest[1]}.{digest[2]}"  # RFC 2544: no real machine has it

    def _ipv6(self, match):  # type: (re.Match[str]) -> str
        address = match.group(0)
        if address.strip(":01") == "" or not _is_ipv6(address):
            return address
        digest = self._digest("ipv6", address.lower())
        self._count("ipv6")
        return f"2001:db8::{digest[0] * 256 + digest[1]:x}:{digest[2] * 256 + digest[3]:x}"  # RFC 3849

    def _unique(self, text):  # type: (str) -> str
        """The 64-bit number of a GPU; hexadecimal here and decimal in the KFD topology must stay equal."""
        if int(text, 16) == 0:
            return text
        self._count("serial")
        return format(self._unique_value(int(text, 16)), f"0{len(text)}x")[-len(text) :]

    def _unique_number(self, text):  # type: (str) -> str
        if int(text) == 0:
            return text
        self._count("serial")
        return str(self._unique_value(int(text)))

    def _unique_value(self, value):  # type: (int) -> int
        digest = self._digest("unique", str(value))
        size = 7 if value < 1 << 56 else 8
        return int.from_bytes(digest[:size], "big") | (1 << (8 * size - 4))  # as many digits as before

    def _shaped(self, kind, text):  # type: (str, str) -> str
        """Hexadecimal digits replaced one by one, punctuation kept; all zeros and ones stay."""
        bare = re.sub(r"[^0-9a-f]", "", text.lower())
        if set(bare) <= {"0"} or set(bare) <= {"f"}:
            return text
        self._count(kind)
        digits = iter(hashlib.sha256(self._digest(kind, bare)).hexdigest())
        return "".join(next(digits) if c in "0123456789abcdefABCDEF" else c for c in text)

    # --- names ---------------------------------------------------------------------------------------

    def _names(self, text):  # type: (str) -> str
        text = PREFIX.sub(self._host_second, text)
        text = UNAME.sub(self._host_second, text)
        text = NAMED_HOST.sub(self._host_second, text)
        text = INNER_HOST.sub(lambda m: m.group(0) if ".svc." in m.group(0) else self._name("host", m.group(0)), text)
        if self._hosts is not None:
            text = self._hosts.sub(lambda m: self._name("host", m.group(0)), text)
        text = HOME.sub(lambda m: m.group(1) + self._user(m.group(2)), text)
        text = NAMED_USER.sub(self._user_second, text)
        if self._users is not None:
            text = self._users.sub(lambda m: self._user(m.group(0)), text)
        return text

    def _host_second(self, match):  # type: (re.Match[str]) -> str
        if match.group(2).lower() in ("localhost", "kernel", "none", "null") or match.group(2).startswith("host-"):
            return match.group(0)
        return match.group(1) + self._name("host", match.group(2))

    def _user_second(self, match):  # type: (re.Match[str]) -> str
        name = match.group(2)
        known = name in self._known_users
        loud = match.group(1).lower().strip("=:\"' ") not in ("user",)
        if not known and (not loud or name.lower() in NOT_USER):
            return match.group(0)
        return match.group(1) + self._user(name)

    def _user(self, name):  # type: (str) -> str
        if name in ("root", "nobody") or name.startswith("user-"):
            return name
        return self._name("user", name)

    def _name(self, kind, name):  # type: (str, str) -> str
        """Host names: the short name and the long one share the pseudonym of the short one."""
        if kind == "host":
            name = name.partition(".")[0]
        return self._token(kind, name.lower())

    def _accounts(self, text, kind):  # type: (str, str) -> str
        """passwd and group: people's accounts (number 1000 and above) get pseudonyms, comments go."""
        lines = []
        for line in text.split("\n"):
            fields = line.split(":")
            if kind == "passwd" and len(fields) == 7:
                if fields[2].isdigit() and 1000 <= int(fields[2]) < 65534:
                    fields[0], fields[4], fields[5] = self._user(fields[0]), "", "/home/" + self._user(fields[0])
            elif kind == "group" and len(fields) == 4:
                if fields[0] in self._known_users:
                    fields[0] = self._user(fields[0])
                members = [m for m in fields[3].split(",") if m]
                fields[3] = ",".join(self._user(m) if m in self._known_users else m for m in members)
            lines.append(":".join(fields))
        return "\n".join(lines)

    # --- pseudonyms ----------------------------------------------------------------------------------

    def _whole(self, text, kind):  # type: (str, str) -> str
        value = text.strip().strip("\0")
        if not value or NOT_SERIAL.match(value) or set(value) <= set("0:-"):
            return text
        if kind == "host":
            return text.replace(value, self._name("host", value))
        if MAC.match(value) or GUID.match(value) or UUID.match(value):
            return text.replace(value, self._shaped("mac" if MAC.match(value) else "uuid", value))
        return text.replace(value, self._token(kind, value))

    def _token(self, kind, value):  # type: (str, str) -> str
        known = self._cache.get((kind, value))
        if known is None:
            known = kind + "-" + self._digest(kind, value).hex()[:8]
            if len(self._cache) < 100000:
                self._cache[(kind, value)] = known
        self._count(kind)
        return known

    def _count(self, kind):  # type: (str) -> None
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def _digest(self, kind, value):  # type: (str, str) -> bytes
        return hmac.new(self._key, (kind + "\0" + value).encode("utf-8", "surrogateescape"), hashlib.sha256).digest()


def _is_binary(name, content):  # type: (str, bytes) -> bool
    """Whether a kernel interface gave bytes, not text: PCI configuration, EFI variables, config.gz."""
    if name in ("cmdline", "environ"):
        return False
    return content[:2] == b"\x1f\x8b" or b"\0" in content.rstrip(b"\0")


def _word_pattern(names):  # type: (Iterable[str]) -> re.Pattern[str] | None
    """Finds the names as whole words, longest first; ordinary words and short names are left to the places."""
    chosen = sorted(
        {n for n in names if len(n) >= SHORTEST and n.lower() not in COMMON and not n.isdigit()},
        key=lambda n: (-len(n), n),
    )
    if not chosen:
        return None
    return re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(n) for n in chosen) + r")(?![\w-])", re.IGNORECASE)


def _is_ipv6(text):  # type: (str) -> bool
    try:
        socket.inet_pton(socket.AF_INET6, text)
    except (OSError, ValueError):
        return False
    return True


def people(passwd):  # type: (str) -> tuple[str, ...]
    """Account names of people in the text of /etc/passwd."""
    rows = (line.split(":") for line in passwd.split("\n"))
    return tuple(sorted(r[0] for r in rows if len(r) == 7 and r[2].isdigit() and 1000 <= int(r[2]) < 65534))
