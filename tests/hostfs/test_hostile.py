"""Hostile input through the command line: exit code 2 and one line, or a gap; bounded memory; never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from rocsteady.hostfs import HostFS
from rocsteady.hostfs.patient import PatientReader
from rocsteady.hostfs.store import DirectoryStore
from rocsteady.model import Denied, TimedOut
from tests.hostfs.archives import END, member, tar
from tests.hostfs.node import GPU, write_node

MEASURE = (
    "import runpy, sys\n"
    "sys.argv = ['rocsteady', *sys.argv[1:]]\n"
    "try: runpy.run_module('rocsteady', run_name='__main__')\n"
    "finally: sys.stderr.write('PEAK ' + open('/proc/self/status').read().split('VmHWM:')[1].split()[0] + '\\n')"
)
"""ru_maxrss would count the memory of the process that started this one."""


def diagnose(*arguments: str, stdin: Path | None = None) -> tuple[int, str, str, int]:
    """Exit code, standard output, standard error without the last line, peak memory in bytes."""
    command = [sys.executable, "-c", MEASURE, "diagnose", *arguments]
    with (stdin or Path(os.devnull)).open("rb") as source:
        done = subprocess.run(command, stdin=source, capture_output=True, check=False, timeout=120)
    *errors, peak = done.stderr.decode().splitlines()
    assert "Traceback" not in done.stderr.decode()
    return done.returncode, done.stdout.decode(), "\n".join(errors), int(peak.removeprefix("PEAK ")) * 1024


def gaps(text: str) -> list[tuple[str, str]]:
    """The gaps of a JSON report."""
    return [(g["path"], g["why"]) for g in json.loads(text)["gaps"]]


@pytest.mark.parametrize("piped", [False, True])
def test_200_mb_on_one_line(tmp_path: Path, piped: bool) -> None:
    """Streamed: memory stays far below the size, and a message inside is still found."""
    log = tmp_path / "dmesg.log"
    message = b" amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] page fault (src_id:0 ring:24 vmid:3 pasid:32770) "
    with log.open("wb") as file:
        for number in range(200):
            file.write(b"x" * ((1 << 20) - len(message)) + (message if number == 100 else b"y" * len(message)))
    if piped:
        code, out, _, peak = diagnose("-", "-f", "json", stdin=log)
    else:
        code, out, _, peak = diagnose(str(log), "-f", "json")
    assert code == 1 and "gpu-page-fault" in json.loads(out)["findings"][0]["slug"]
    assert peak < 400 * 10**6


def test_bombs_are_refused(tmp_path: Path) -> None:
    """By a named limit, quickly, without filling memory or disk."""
    bomb = tmp_path / "bomb.tar.gz"
    with gzip.open(bomb, "wb", 9) as file:
        info = tarfile.TarInfo("proc/a")
        info.size = 2 << 30
        file.write(info.tobuf())
        for _ in range(1300):
            file.write(b"\0" * (1 << 20))
    code, out, err, peak = diagnose(str(bomb))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1 and "limit on the ratio" in err
    assert peak < 400 * 10**6


def test_one_line_for_everything_unusable(tmp_path: Path) -> None:
    """Missing, cut to nothing, a FIFO, an unknown archive."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 5000)[:12])
    (tmp_path / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    for name in ("none", "fifo", "cut.gz", "a.7z"):
        code, out, err, _ = diagnose(str(tmp_path / name))
        assert (code, out, len(err.splitlines())) == (2, "", 1), name
        assert name in err


def test_odd_bytes(tmp_path: Path) -> None:
    """NUL, invalid UTF-8, an empty file: an answer, and exit code 0."""
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "nul.log").write_bytes(b"[    1.0] amdgpu\0\0\0 start\n" + b"\0" * 100_000)
    (tmp_path / "bad.log").write_bytes(bytes(range(256)) * 400)
    code, out, _, _ = diagnose(str(tmp_path), "-f", "json")
    assert (code, json.loads(out)["verdict"]) == (0, "unknown")


def test_junk_as_gpu_metrics(tmp_path: Path) -> None:
    """Binary junk where the driver's table should be: a gap or nothing, never a value."""
    node = write_node(tmp_path / "node", {f"{GPU}/gpu_metrics": os.urandom(400)})
    code, out, _, _ = diagnose("--root", str(node), "-f", "json")
    assert code == 1 and json.loads(out)["schema"] == "rocsteady.diagnosis/1"


def test_hostile_archive(tmp_path: Path) -> None:
    """Names that lead out, devices, a FIFO and a truncated end in one archive: gaps that name them."""
    data = (
        member("../../etc/evil", data=b"x") + member("proc/kmsg", tarfile.FIFOTYPE)
        + member("var/log/kern.log", tarfile.SYMTYPE, "../../../../../../etc/passwd")
        + member("var/log/syslog", tarfile.CHRTYPE, devmajor=1, devminor=5) + member("proc/version", data=b"Linux\n" * 400)
    )  # fmt: skip
    (tmp_path / "a.tar").write_bytes(data[:-700])
    code, out, _, _ = diagnose(str(tmp_path / "a.tar"), "-f", "json")
    assert code == 0
    found = dict(gaps(out))
    assert "leads out" in found["../../etc/evil"]
    assert "truncated" in found[str(tmp_path / "a.tar")]


def test_deep_and_wide(tmp_path: Path) -> None:
    """Very deep paths and very many members are slow for naive readers."""
    deep = "/".join(["d"] * 1200)
    files: dict[str, str | bytes] = {f"proc/{n}": "x" for n in range(20_000)}
    (tmp_path / "a.tar").write_bytes(tar({**files, f"var/log/{deep}/a.log": "x"})[:-1024] + END)
    code, _, _, peak = diagnose(str(tmp_path / "a.tar"))
    assert code == 0 and peak < 400 * 10**6


# --- reads that fail or hang -----------------------------------------------------------------------


def test_denied_file_becomes_a_gap(tmp_path: Path) -> None:
    """Denied is not absent."""

    def opener(path: str) -> int:
        raise PermissionError(13, "Permission denied", path)

    (tmp_path / "a").write_text("x")
    with pytest.raises(Denied):
        HostFS(DirectoryStore(tmp_path, opener), live=False).text("a")


def test_a_read_that_never_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader gives up on the file, then on the folder, and can still read elsewhere."""
    slow = "import time\n" + __import__("rocsteady.hostfs.patient", fromlist=["CHILD"]).CHILD.replace(
        "        fd = os.open", "        if b'slow' in path: time.sleep(60)\n        fd = os.open"
    ).replace("    try:\n        if", "    try:\n        if")
    monkeypatch.setattr("rocsteady.hostfs.patient.CHILD", slow)
    (tmp_path / "gpu").mkdir()
    (tmp_path / "ok").write_text("fine")
    reader = PatientReader(seconds=0.4)
    assert reader.read(str(tmp_path / "ok"), 100) == (0, b"fine")
    for _ in range(3):
        assert reader.read(str(tmp_path / "gpu" / "slow"), 100) == (110, b"")
    assert reader.read(str(tmp_path / "gpu" / "other"), 100) == (110, b"")  # the folder is given up
    assert reader.read(str(tmp_path / "ok"), 2) == (0, b"fi")
    assert reader.read(str(tmp_path / "none"), 2) == (2, b"")
    reader.close()


def test_hung_pseudo_file_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the live machine it becomes TimedOut, which a reader turns into a gap."""
    fs = HostFS("/", live=True)
    assert fs._patient is not None
    monkeypatch.setattr(fs._patient, "read", lambda *_: (110, b""))
    with pytest.raises(TimedOut):
        fs.text("proc/version")
