"""Properties: no path leaves its root, no archive raises anything but the errors that are promised."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocsteady.hostfs import HostFS, open_inputs
from rocsteady.hostfs.capture_tree import Tree
from rocsteady.hostfs.limits import Limits
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.hostfs.store import DirectoryStore, resolve
from rocsteady.model import InputError, ReadError
from tests.hostfs.archives import PACK, tar, zipped

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LIMITS = Limits(unpacked=64 << 20, members=2000, ratio_from=8 << 20)
PARTS = st.sampled_from(["a", "b", "c", "..", ".", "", "/"])
PATHS = st.lists(PARTS, min_size=1, max_size=6).map("/".join)
NAMES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(NAMES, PATHS, max_size=8), PATHS)
def test_resolve_stays_below_the_root(links: dict[str, str], path: str) -> None:
    """Whatever the links say, the result is a plain relative path."""
    store = MemoryStore({**{name: f"link:{target}" for name, target in links.items()}, "a/b/file": "x"})
    try:
        real = resolve(store, path)
    except ReadError:
        return
    assert not real.startswith("/") and ".." not in real.split("/")


@SLOW
@given(st.dictionaries(NAMES, st.one_of(PATHS, st.just("OUTSIDE"), st.none()), max_size=8), PATHS)
def test_directories_never_show_what_is_outside(entries: dict[str, str | None], path: str) -> None:
    """On a real file system: neither the reader nor the capture reaches the file beside the root, and they agree."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a").write_text("outside")
        root = Path(folder) / "root"
        root.mkdir()
        for name, target in entries.items():
            place = root / name
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                if target is None:
                    place.write_text("inside")
                else:
                    place.symlink_to(f"{folder}/a" if target == "OUTSIDE" else target or ".")
            except OSError:
                continue
        fs = HostFS(DirectoryStore(root), live=False)
        for candidate in {path, *entries}:
            try:
                text, real = fs.text(candidate), fs.real(candidate)
            except ReadError:
                text, real = None, None
            assert text in (None, "inside")
            found, _links = Tree(str(root)).follow(candidate)
            if real is not None:
                assert found is not None and found.real == real


def read_all(data: bytes) -> None:
    """Open as a pipe and read every file. Only the promised errors may come out."""
    try:
        sources = open_inputs(["-"], io.BytesIO(data), limits=LIMITS)
    except InputError as error:
        assert "\n" not in str(error)
        return
    for source in sources:
        for path in source.fs.walk():
            assert not path.startswith("/") and ".." not in path.split("/")
            try:
                with source.fs.open(path) as stream:
                    while stream.read(1 << 16):
                        pass
                source.fs.text(path)
            except ReadError:
                continue


@SLOW
@given(
    st.binary(max_size=2000),
    st.sampled_from(
        [b"", b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x05\x06"]
    ),
)
def test_random_bytes(data: bytes, head: bytes) -> None:
    """Junk with the first bytes of a known format."""
    read_all(head + data)


WHOLE = {
    f"tar.{name}" if name else "tar": tar(
        {"proc/version": "Linux\n", "a" * 120: b"x" * 3000, "l": "link:proc/version"}, name
    )
    for name in PACK
}
WHOLE["zip"] = zipped({"proc/version": "Linux\n", "b.log": "y" * 3000})


@pytest.mark.parametrize("kind", WHOLE)
@SLOW
@given(cut=st.integers(0, 20_000), flips=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), max_size=4))
def test_damaged_archives(kind: str, cut: int, flips: list[tuple[int, int]]) -> None:
    """Real archives cut short and with bytes changed."""
    data = bytearray(WHOLE[kind])
    for place, value in flips:
        data[place % len(data)] = value
    read_all(bytes(data[: len(data) - cut % len(data)]))


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=150).filter(
            lambda n: n not in (".", "..")
        ),
        st.binary(max_size=600),
        min_size=1,
        max_size=5,
    )
)
@settings(deadline=None)
def test_what_goes_in_comes_out(files: dict[str, bytes]) -> None:
    """Names and contents of a tar made by the standard library."""
    (source,) = open_inputs(["-"], io.BytesIO(tar({f"proc/{n}": c for n, c in files.items()})), limits=LIMITS)
    assert source.fs.names("proc") == sorted(files)
    for name, content in files.items():
        assert source.fs.bytes(f"proc/{name}") == content
