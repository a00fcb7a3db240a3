"""What a user may name: archives of every kind, mixtures, and things that are refused with one line."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from rocsteady.hostfs import Input, open_inputs
from rocsteady.hostfs.limits import Limits
from rocsteady.model import Absent, Failed, Gap, InputError, LimitError
from tests.hostfs.archives import END, PACK, member, tar, zipped

TREE = {"proc/version": "Linux version 6.8.0\n", "sys/class/drm/card0/device": "link:../../../devices/x",
        "sys/devices/x/vendor": "0x1002\n", "etc/hostname": "n1\n"}  # fmt: skip
NO_INPUT = io.BytesIO()


def opened(tmp_path: Path, name: str, data: bytes, limits: Limits | None = None) -> list[Input]:
    """Write one file and open it as the only argument."""
    path = tmp_path / name
    path.write_bytes(data)
    return open_inputs([str(path)], NO_INPUT, limits=limits or Limits())


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("top", ["", "sosreport-n1-2026/", "./"])
def test_tree_in_a_tar(tmp_path: Path, packing: str, format: int, top: str) -> None:
    """Any compression, any tar format, with and without a folder around it; the name says nothing."""
    (source,) = opened(tmp_path, "upload.bin", tar({top + k: v for k, v in TREE.items()}, packing, format))
    assert source.kind == "tree"
    assert source.fs.text("proc/version") == "Linux version 6.8.0\n"
    assert source.fs.text("sys/class/drm/card0/device/vendor") == "0x1002\n"
    assert source.fs.stat("etc/hostname").mode == 0o640
    assert source.fs.names("sys") == ["class", "devices"]
    assert source.fs.glob("sys/class/drm/card*/device/vendor") == ["sys/class/drm/card0/device/vendor"]
    assert not source.gaps


def test_zip_of_loose_files_is_a_heap(tmp_path: Path) -> None:
    """A zip without a root tree is a heap; its members keep their paths."""
    (source,) = opened(tmp_path, "a.zip", zipped({"logs/dmesg.txt": "one\n", "env.txt": "A=1\n"}))
    assert source.kind == "heap"
    assert list(source.fs.walk()) == ["env.txt", "logs/dmesg.txt"]


def test_zip_of_a_tree(tmp_path: Path) -> None:
    """A zip may hold a tree as well."""
    (source,) = opened(tmp_path, "a.zip", zipped({"n1/proc/version": "Linux version 6.8.0\n"}))
    assert (source.kind, source.fs.text("proc/version")) == ("tree", "Linux version 6.8.0\n")


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "zst"])
def test_compressed_log(tmp_path: Path, packing: str) -> None:
    """One compressed log is a loose file under its own name, unpacked."""
    (source,) = opened(tmp_path, "dmesg.dat", PACK[packing](b"line 1\nline 2\n"))
    assert (source.kind, source.fs.text("dmesg.dat")) == ("heap", "line 1\nline 2\n")
    assert source.fs.stat("dmesg.dat").size == 14


def test_several_members_and_padding(tmp_path: Path) -> None:
    """gzip files are joined by cat; tapes pad with zeros; garbage behind the data is ignored as gzip does."""
    data = gzip.compress(b"one\n") + gzip.compress(b"two\n") + b"\0" * 700 + b"junk"
    (source,) = opened(tmp_path, "a.gz", data)
    assert source.fs.text("a.gz") == "one\ntwo\n"


def test_heap_folder_with_archives(tmp_path: Path) -> None:
    """Archives inside a folder of logs are opened one level deep; a tree among them is a node of its own."""
    folder = tmp_path / "ticket"
    folder.mkdir()
    (folder / "vllm.log").write_text("INFO\n")
    (folder / "dmesg.gz").write_bytes(gzip.compress(b"kernel\n"))
    (folder / "more.zip").write_bytes(zipped({"env.txt": "A=1\n"}))
    (folder / "n2.tar").write_bytes(tar(TREE))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    tree, heap = sorted(open_inputs([str(folder)], NO_INPUT), key=lambda i: i.kind, reverse=True)
    assert tree.fs.text("etc/hostname") == "n1\n"
    assert list(heap.fs.walk()) == ["dmesg.gz", "vllm.log", "more.zip/env.txt"]
    assert heap.fs.text("dmesg.gz") == "kernel\n"
    assert heap.gaps == (Gap("picture.png", "failed: PNG image is not supported"),)


def test_log_beside_a_tree(tmp_path: Path) -> None:
    """``diagnose a.tar.zst b.log``: two inputs; who they belong to is read in them."""
    (tmp_path / "a.tar.zst").write_bytes(tar(TREE, "zst"))
    (tmp_path / "b.log").write_text("text\n")
    tree, log = open_inputs([str(tmp_path / "a.tar.zst"), str(tmp_path / "b.log")], NO_INPUT)
    assert (tree.kind, log.kind, log.fs.text("b.log")) == ("tree", "heap", "text\n")


def test_two_trees_and_a_log_are_three_nodes(tmp_path: Path) -> None:
    """Whose the log is cannot be known."""
    for name in ("a.tar", "b.tar"):
        (tmp_path / name).write_bytes(tar(TREE))
    (tmp_path / "c.log").write_text("text\n")
    sources = open_inputs([str(tmp_path / n) for n in ("a.tar", "b.tar", "c.log")], NO_INPUT)
    assert [s.kind for s in sources] == ["tree", "tree", "heap"]


def test_named_twice(tmp_path: Path) -> None:
    """The same file or folder under two names is read once."""
    (tmp_path / "a.log").write_text("x\n")
    (source,) = open_inputs([str(tmp_path), str(tmp_path) + "/."], NO_INPUT)
    assert list(source.fs.walk()) == ["a.log"]


@pytest.mark.parametrize("data", [b"log line\n", gzip.compress(b"log line\n")])
def test_standard_input(data: bytes) -> None:
    """A log, plain or compressed, through a pipe."""
    (source,) = open_inputs(["-"], io.BytesIO(data))
    assert (source.kind, source.fs.text("stdin")) == ("heap", "log line\n")


def test_archive_on_standard_input() -> None:
    """A snapshot through a pipe."""
    (source,) = open_inputs(["-"], io.BytesIO(tar(TREE, "zst")))
    assert (source.kind, source.fs.text("etc/hostname")) == ("tree", "n1\n")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spool has no name."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sources = open_inputs(["-"], io.BytesIO(tar(TREE, "zst")))
    assert sources and not list(tmp_path.iterdir())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_wide_text(tmp_path: Path, encoding: str) -> None:
    """Logs saved by Windows tools read like any other, streamed and whole."""
    text = "[    1.0] amdgpu 0000:03:00.0: grüße\n[    2.0] second\n"
    (source,) = opened(tmp_path, "a.log", text.encode(encoding))
    assert source.fs.text("a.log") == text
    with source.fs.open("a.log") as stream:
        assert stream.read().decode("utf-8-sig") == text


# --- hostile ---------------------------------------------------------------------------------------


def test_names_that_lead_out(tmp_path: Path) -> None:
    """``..`` is refused and listed, an absolute name is taken below the root, links stay inside."""
    data = (
        member("../../evil", data=b"x") + member("/etc/passwd", data=b"inside\n") + member("proc/a", data=b"a\n")
        + member("out", tarfile.SYMTYPE, "../../../../etc/passwd") + member("loop", tarfile.SYMTYPE, "loop")
        + member("proc/../../up", data=b"x") + END
    )  # fmt: skip
    (source,) = opened(tmp_path, "a.tar", data)
    assert source.fs.text("out") == "inside\n"
    with pytest.raises(Failed):
        source.fs.text("loop")
    assert [g.path for g in source.gaps] == ["../../evil", "proc/../../up"]
    assert source.fs.names("") == ["etc", "loop", "out", "proc"]


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_name_cut_at_a_slash(tmp_path: Path, format: int) -> None:
    """The plain header holds the first 100 characters: where they end with '/', it is still a file."""
    name = "proc/" + "x" * 94 + "/" + "y" * 90 + "/" + "z" * 90
    (source,) = opened(tmp_path, "a.tar", tar({name: "content"}, format=format))
    assert source.fs.text(name) == "content"


def test_special_members(tmp_path: Path) -> None:
    """Devices and FIFOs are facts, never opened; a hard link repeats its target; the later duplicate wins."""
    data = (
        member("dev/kfd", tarfile.CHRTYPE, devmajor=235, devminor=0, mode=0o660, gid=44)
        + member("etc/fifo", tarfile.FIFOTYPE) + member("etc/a", data=b"old") + member("etc/a", data=b"new")
        + member("etc/b", tarfile.LNKTYPE, "etc/a") + member("etc/c", tarfile.LNKTYPE, "etc/none") + END
    )  # fmt: skip
    (source,) = opened(tmp_path, "a.tar", data)
    device = source.fs.stat("dev/kfd")
    assert (device.kind, device.mode, device.gid, device.rdev >> 8) == ("other", 0o660, 44, 235)
    for path in ("dev/kfd", "etc/fifo"):
        with pytest.raises(Failed):
            source.fs.text(path)
    assert (source.fs.text("etc/a"), source.fs.text("etc/b")) == ("new", "new")
    assert [g.path for g in source.gaps] == ["etc/c"]
    with pytest.raises(Absent):
        source.fs.text("etc/c")


@pytest.mark.parametrize("packing", PACK)
def test_truncated_archive_is_used_as_far_as_it_goes(tmp_path: Path, packing: str) -> None:
    """What came before the cut is read, and a gap names the truncation."""
    random = os.urandom(1_000_000)
    data = tar({"proc/version": "Linux version 6.8.0\n", "proc/a": random, "proc/b": random[::-1]}, packing)
    (source,) = opened(tmp_path, "cut", data[: len(data) * 2 // 3])
    assert source.fs.exists("proc/a")
    assert len(source.gaps) == 1
    assert source.gaps[0].why.startswith("malformed: ") and "trunc" in source.gaps[0].why


@pytest.mark.parametrize("packing", ["gz", "bz2", "xz", "zst"])
def test_damaged_beyond_use(tmp_path: Path, packing: str) -> None:
    """Nothing readable: one line that names the file."""
    data = PACK[packing](b"x" * 50_000)
    with pytest.raises(InputError, match=r"bad\.dat: .*nothing could be read"):
        opened(tmp_path, "bad.dat", data[:14])


def test_damage_inside_a_tar(tmp_path: Path) -> None:
    """Members before the damage are kept."""
    (source,) = opened(tmp_path, "a.tar", member("proc/a", data=b"a") + b"junk" * 200)
    assert source.fs.text("proc/a") == "a"
    assert "no tar header at byte 1024" in source.gaps[0].why


def test_huge_extended_header(tmp_path: Path) -> None:
    """A pax header of gigabytes is not read into memory."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 6 << 30
    (source,) = opened(tmp_path, "a.tar", member("proc/a", data=b"a") + info.tobuf() + b"\0" * 4096)
    assert "extended header of 6442450944 bytes" in source.gaps[0].why


def test_limits_are_named(tmp_path: Path) -> None:
    """Bombs are refused, and the message says by which limit."""
    zeros = b"\0" * (8 << 20)
    small = Limits(unpacked=4 << 20)
    ratio = Limits(ratio=100, ratio_from=1 << 20)
    for data in (gzip.compress(zeros), tar({"proc/a": zeros}, "gz"), PACK["zst"](zeros), zipped({"proc/a": zeros})):
        with pytest.raises(LimitError, match=r"unpacks to more than 4 MiB \(limit on unpacked size\)"):
            opened(tmp_path, "bomb", data, small)
        with pytest.raises(LimitError, match=r"more than 100 times its size \(limit on the ratio beyond 1 MiB\)"):
            opened(tmp_path, "bomb", data, ratio)
    many = b"".join(member(f"proc/{n}") for n in range(50)) + END
    with pytest.raises(LimitError, match="more than 20 members"):
        opened(tmp_path, "many", many, Limits(members=20))


def test_encrypted_zip(tmp_path: Path) -> None:
    """Said so, not taken for damage."""
    data = bytearray(zipped({"a.log": "secret"}))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="encrypted"):
        opened(tmp_path, "a.zip", bytes(data))


@pytest.mark.parametrize("head", [b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x04\x22\x4d\x18"])
def test_formats_that_are_not_read(tmp_path: Path, head: bytes) -> None:
    """Named, not scanned as text."""
    with pytest.raises(InputError, match="is not supported"):
        opened(tmp_path, "a.dat", head + b"\0" * 100)


def test_not_a_file(tmp_path: Path) -> None:
    """FIFOs, devices, missing paths and NUL in a name: one line, no waiting."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for argument in (str(fifo), "/dev/zero", str(tmp_path / "none"), "a\0b"):
        with pytest.raises(InputError):
            open_inputs([argument], NO_INPUT)


def test_fifo_inside_a_folder(tmp_path: Path) -> None:
    """It is passed over, never opened."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "a.log").write_text("x\n")
    (source,) = open_inputs([str(tmp_path)], NO_INPUT)
    assert list(source.fs.walk()) == ["a.log"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_no_permission(tmp_path: Path) -> None:
    """A folder or file that may not be read is named."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    with pytest.raises(InputError, match="Permission denied"):
        open_inputs([str(folder)], NO_INPUT)


def test_empty_file(tmp_path: Path) -> None:
    """Nothing in it is an answer too."""
    (source,) = opened(tmp_path, "a.log", b"")
    assert source.fs.text("a.log") == ""
