"""Takes a snapshot of a node for a diagnosis elsewhere: one pass, nothing is written on the node but the snapshot.

What is wanted is data (``facts.wanted``, ``events.wanted``); what is never read, whoever wants it, stands here.
Part of the stand-alone script: Python 3.6, standard library only.
"""

import bz2
import fnmatch
import gzip
import io
import json
import lzma
import os
import stat
import tarfile
import time

from rocsteady.hostfs.capture_tree import Found, Tree
from rocsteady.hostfs.commands import CONTAINER_LOGS, run, slug
from rocsteady.hostfs.patient import PatientReader
from rocsteady.hostfs.redact import Redactor, people
from rocsteady.hostfs.sleeping import WHY, Sleepers

NEVER = (
    "amdgpu_gpu_recover",  # reading it resets the GPU
    "xgmi_error",  # reading it clears the counter
    "psp_vbflash", "usbc_pd_fw",  # reading starts or continues a firmware update
    "pcie_bw",  # every read sleeps for a second
    "amdgpu_evict_*", "amdgpu_test_ib", "amdgpu_benchmark",  # reading them acts
    "amdgpu_regs*", "amdgpu_vram", "amdgpu_gfxoff*", "amdgpu_smu_debug", "amdgpu_ring_*", "reg_state",  # raw access
    "*_err_inject", "ras_ctrl", "ras_eeprom_reset", "auto_reboot",  # controls
    "sdma_[0-9]*",  # reading schedules work on the GPU
    "resource[0-9]*", "rom", "vpd",  # device memory and I/O ports; vpd blocks on some devices
    "stat_refresh",  # proc/sys/vm: reading makes every CPU write its counters back
    "remove", "rescan", "reset", "kmsg", "kcore", "trace_pipe",
)  # fmt: skip
"""File names that are never read: sources in the kernel's amdgpu and PCI sysfs documentation."""
FILE = 4 << 20
"""Bytes of one pseudo-file or configuration file. /proc/cpuinfo of 512 threads has 1 MB."""
LARGE_FILES = {"var/lib/dpkg/status": 32 << 20}
LOG = 32 << 20
"""Bytes of one log: its end, where the newest lines are."""
TOTAL = 512 << 20
"""Bytes of all contents; packed this is about 30 MB."""
MEMBERS = 120000
REFUSED = "ROCSTEADY.refused"
"""Extended tar header of a file that exists and could not be read: why."""
TOP = "rocsteady-snapshot"


class Wanted:
    """What to take: ``files`` and ``logs`` are patterns (``capture_tree``), ``commands`` argument lists."""

    def __init__(self, files, logs, commands):  # type: (tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]) -> None
        self.files = files
        self.logs = logs
        self.commands = commands


class Refusal:
    """A path that was not taken, and why: denied, timeout, failed or skipped."""

    def __init__(self, path, why):  # type: (str, str) -> None
        self.path = path
        self.why = why


class Capture:
    """One snapshot. ``say`` gets progress lines; ``names`` are container names or log files that a person gave."""

    def __init__(self, root, wanted, redact=True, names=(), say=None, version="", now=None):
        # type: (str, Wanted, bool, tuple[str, ...], Say | None, str, float | None) -> None
        self.tree = Tree(root)
        self.live = os.path.realpath(root) == "/"
        self.wanted = wanted
        self.names = names
        self.version = version
        self.now = time.time() if now is None else now
        self.refused = []  # type: list[Refusal]
        self.ran = []  # type: list[dict[str, object]]
        self.taken = 0
        self.size = 0
        self._say = say or _silent
        self._reader = PatientReader()
        self._done = set()  # type: set[str]
        self._sleepers = Sleepers(self._quick) if self.live else None  # a saved tree wakes nothing
        self.redactor = Redactor(self._host_names(), self._people()) if redact else None

    def _host_names(self):  # type: () -> tuple[str, ...]
        names = [self._quick("proc/sys/kernel/hostname").strip(), self._quick("etc/hostname").strip()]
        return tuple(n for n in names if n)

    def _people(self):  # type: () -> tuple[str, ...]
        own = [os.environ.get(k, "") for k in ("USER", "LOGNAME", "SUDO_USER")] if self.live else []
        return tuple(sorted(set(people(self._quick("etc/passwd"))) | {n for n in own if n and n != "root"}))

    def _quick(self, path):  # type: (str) -> str
        found, _ = self.tree.follow(path)
        if found is None or found.kind != "file":
            return ""
        return self._reader.read(self.tree.full(found.real), FILE)[1].decode("utf-8", "replace")

    # --- plan ----------------------------------------------------------------------------------------

    def plan(self):  # type: () -> list[tuple[str, str]]
        """What would be taken: (file | log | command, path or command line), without reading any of it."""
        out = []  # type: list[tuple[str, str]]
        seen = set()  # type: set[str]
        for kind, patterns in (("file", self._patterns()), ("log", self.wanted.logs)):
            for pattern in patterns:
                for path in self._expand(pattern):
                    found, _ = self.tree.follow(path)
                    if found is None or found.kind == "dir" or found.real in seen or self._never(found.real):
                        continue
                    seen.add(found.real)
                    out.append((kind, found.real))
        if self.live:
            out.extend(("command", " ".join(argv)) for argv in self.wanted.commands)
        out.extend(("log", name) for name in self.names)
        self._reader.close()
        return out

    def _patterns(self):  # type: () -> tuple[str, ...]
        recorded = () if self.live else ("commands/*", "logs/*", "logs/*/*", "sos_commands/*/*")
        return tuple(self.wanted.files) + recorded

    def _expand(self, pattern):  # type: (str) -> list[str]
        if "{gpu process}" not in pattern:
            return self.tree.glob(pattern)
        pids = [n for n in self.tree.names("sys/class/kfd/kfd/proc") if n.isdigit()]
        return [path for pid in pids for path in self.tree.glob(pattern.replace("{gpu process}", pid))]

    @staticmethod
    def _never(path):  # type: (str) -> bool
        name = path.rpartition("/")[2]
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in NEVER)

    # --- taking --------------------------------------------------------------------------------------

    def take(self, out):  # type: (tarfile.TarFile) -> dict[str, object]
        """Write everything to an open tar file; returns the manifest, which is the last member."""
        for pattern in self._patterns():
            for path in self._expand(pattern):
                self._path(out, path, self._file)
        self._say(f"{self.taken} files of the system")
        for pattern in self.wanted.logs:
            for path in self.tree.glob(pattern):
                self._path(out, path, self._log)
        if self.live:
            for argv in self.wanted.commands:
                self._command(out, argv)
        for name in self.names:
            self._named(out, name)
        manifest = self.manifest()
        self._content(
            out, "manifest.json", json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n", 0o444, False
        )
        self._reader.close()
        return manifest

    def manifest(self):  # type: () -> dict[str, object]
        """What the snapshot says about itself."""
        kernel = self._quick("proc/sys/kernel/osrelease").strip() or self._quick("proc/version").strip()
        return {
            "schema": "rocsteady.snapshot/1",
            "version": self.version,
            "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now)),
            "kernel": kernel,
            "as_root": os.geteuid() == 0,
            "redacted": self.redactor is not None,
            "redactions": dict(sorted(self.redactor.counts.items())) if self.redactor else {},
            "files": self.taken,
            "bytes": self.size,
            "commands": self.ran,
            "refused": [{"path": self._clean(r.path), "why": self._clean(r.why)} for r in self.refused],
        }

    def _clean(self, text):  # type: (str) -> str
        return self.redactor.text(text) if self.redactor else text

    def _path(self, out, path, store):  # type: (tarfile.TarFile, str, Store) -> None
        """One wanted path: the links on the way, then what it leads to."""
        found, links = self.tree.follow(path)
        for link in links:
            if link.real not in self._done and len(self._done) < MEMBERS:
                self._done.add(link.real)
                info = self._info(link.real, link.status.st_mode, link)
                info.type, info.linkname = tarfile.SYMTYPE, self._clean(link.target)
                out.addfile(info)
        if found is None or not found.real or found.real in self._done or len(self._done) >= MEMBERS:
            return
        self._done.add(found.real)
        if found.kind == "dir":
            info = self._info(found.real, found.status.st_mode, found)
            info.type = tarfile.DIRTYPE
            out.addfile(info)
        elif found.kind == "device":
            info = self._info(found.real, found.status.st_mode, found)
            info.type = tarfile.CHRTYPE if stat.S_ISCHR(found.status.st_mode) else tarfile.BLKTYPE
            info.devmajor, info.devminor = os.major(found.status.st_rdev), os.minor(found.status.st_rdev)
            out.addfile(info)
        elif found.kind == "file":
            store(out, found)

    def _file(self, out, found):  # type: (tarfile.TarFile, Found) -> None
        real = found.real
        if self._never(real) or not found.status.st_mode & 0o444:
            return
        if self._sleepers is not None and self._sleepers.keep_from(real):
            self._refuse(out, found, WHY)
            return
        limit = LARGE_FILES.get(real, FILE)
        number, data = self._reader.read(self.tree.full(real), limit + 1)
        if number:
            why = {1: "denied", 13: "denied", 110: "timeout"}.get(number, "failed")
            if number != 2:  # gone meanwhile
                self._refuse(out, found, f"{why}: {os.strerror(number)}")
            return
        if len(data) > limit:
            self._refuse(out, found, f"failed: larger than {limit} bytes")
            return
        self._content(out, real, data, found.status.st_mode, True, found)

    def _log(self, out, found):  # type: (tarfile.TarFile, Found) -> None
        """The end of a log. A compressed one is unpacked, or it could not be redacted."""
        try:
            data, cut = read_end(self.tree.full(found.real), LOG)
        except PermissionError as error:
            self._refuse(out, found, f"denied: {error.strerror}")
            return
        except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
            self._refuse(out, found, "failed: {}".format(getattr(error, "strerror", None) or error))
            return
        if cut:
            self.refused.append(Refusal(found.real, f"cut: only the last {len(data)} bytes were taken"))
        self._say(f"log {found.real}")
        self._content(out, found.real, _narrow(data), found.status.st_mode, True, found)

    def _command(self, out, argv):  # type: (tarfile.TarFile, tuple[str, ...]) -> None
        status, data, detail = run(tuple(argv))
        if status == "absent":
            return
        path = "commands/" + slug(tuple(argv))
        self._say("{}{}".format(" ".join(argv), "" if status == "ok" else ": " + status))
        self.ran.append({"argv": list(argv), "path": path, "status": status, "detail": self._clean(detail)})
        if data:
            self._content(out, path, data, 0o444, True)
        if status in ("denied", "timeout"):  # one that fails says nothing: no such module, no systemd
            self.refused.append(Refusal(path, f"{status}: {detail}"))
            if not data:
                self._placeholder(out, path, f"{status}: {detail}")

    def _named(self, out, name):  # type: (tarfile.TarFile, str) -> None
        """A log that a person named: a file of this machine, or a container."""
        if os.path.isfile(name):
            try:
                data, _ = read_end(name, LOG)
            except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
                self.refused.append(Refusal(name, f"failed: {error}"))
                return
            self._content(out, "logs/" + self._clean(os.path.basename(name)), _narrow(data), 0o444, True)
            return
        for base in CONTAINER_LOGS if self.live else ():
            status, data, detail = run((*base, name))
            if status == "ok" and data:
                self._say(f"log of container {name}")
                self._content(out, f"logs/{self._clean(name)}.log", data, 0o444, True)
                return
            if status != "absent":
                self.refused.append(Refusal("container " + name, f"{status}: {detail}"))
        if not any(r.path == "container " + name for r in self.refused):
            self.refused.append(
                Refusal("container " + name, "absent: no such file, and no docker or podman that knows it")
            )

    # --- writing -------------------------------------------------------------------------------------

    def _info(self, path, mode, found=None):  # type: (str, int, Found | None) -> tarfile.TarInfo
        info = tarfile.TarInfo(TOP + "/" + path)
        info.mode = stat.S_IMODE(mode)
        info.mtime = int(self.now)
        if found is not None:
            info.uid, info.gid = found.status.st_uid, found.status.st_gid
        self.taken += 1
        return info

    def _content(self, out, path, data, mode, redact, found=None):
        # type: (tarfile.TarFile, str, bytes, int, bool, Found | None) -> None
        if self.size + len(data) > TOTAL:
            self.refused.append(Refusal(path, f"failed: the snapshot would be larger than {TOTAL} bytes"))
            return
        if redact and self.redactor is not None:
            data = self.redactor.data(path, data)
        info = self._info(path, mode, found)
        info.size = len(data)
        self.size += len(data)
        out.addfile(info, io.BytesIO(data))

    def _refuse(self, out, found, why):  # type: (tarfile.TarFile, Found, str) -> None
        self.refused.append(Refusal(found.real, why))
        self._placeholder(out, found.real, why, found)

    def _placeholder(self, out, path, why, found=None):  # type: (tarfile.TarFile, str, str, Found | None) -> None
        """A member that says: it exists and could not be read."""
        info = self._info(path, found.status.st_mode if found else 0o444, found)
        info.pax_headers = {REFUSED: self._clean(why)}
        out.addfile(info)


def summary(manifest, output):  # type: (dict[str, Any], str) -> list[str]
    """Lines for the person who took the snapshot: what is in it, and what root would add."""
    lines = ["{}: {} entries, {:.1f} MB before packing".format(output, manifest["files"], manifest["bytes"] / 1e6)]
    if manifest["redacted"]:
        counts = manifest["redactions"]
        lines.append("replaced: " + (", ".join(f"{counts[k]} {k}" for k in sorted(counts)) or "nothing"))
    else:
        lines.append("NOT redacted: it holds names, addresses, serial numbers and perhaps secrets")
    denied = [r["path"] for r in manifest["refused"] if r["why"].startswith("denied")]
    if denied:
        shown = ", ".join(denied[:5]) + (", ..." if len(denied) > 5 else "")
        lines.append(f"as root it would also hold {len(denied)} more: {shown}")
    other = [r for r in manifest["refused"] if not r["why"].startswith("denied")]
    for refusal in other[:5]:
        lines.append("left out {}: {}".format(refusal["path"], refusal["why"]))
    if len(other) > 5:
        lines.append(f"left out {len(other) - 5} more, listed in manifest.json")
    return lines


def _silent(text):  # type: (str) -> None
    del text


def read_end(path, limit):  # type: (str, int) -> tuple[bytes, bool]
    """The last ``limit`` bytes of a log in whole lines, unpacked; and whether that is not all of it."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as raw:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a regular file")
        head = raw.read(6)
        raw.seek(0)
        if head[:2] == b"\x1f\x8b":
            return _tail(gzip.GzipFile(fileobj=raw), limit)
        if head[:3] == b"BZh":
            return _tail(bz2.BZ2File(raw), limit)
        if head == b"\xfd7zXZ\x00":
            return _tail(lzma.LZMAFile(raw), limit)
        if head[:4] == b"\x28\xb5\x2f\xfd":
            raise ValueError("compressed with zstd, which cannot be redacted here")
        size = raw.seek(0, 2)
        raw.seek(max(0, size - limit))
        data = raw.read(limit)
        cut = size > limit
        return (data.partition(b"\n")[2] if cut else data), cut


def _narrow(data):  # type: (bytes) -> bytes
    """UTF-16 with a mark becomes UTF-8: the redaction looks for UTF-8."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data


def _tail(stream, limit):  # type: (io.BufferedIOBase, int) -> tuple[bytes, bool]
    kept = b""
    total = 0
    while total < 64 * limit:  # a bomb is not read to its end
        part = stream.read(1 << 20)
        if not part:
            break
        total += len(part)
        kept = (kept + part)[-limit:]
    return (kept.partition(b"\n")[2] if total > limit else kept), total > limit


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # noqa: F401

    Say = Callable[[str], None]
    Store = Callable[[tarfile.TarFile, Found], None]
