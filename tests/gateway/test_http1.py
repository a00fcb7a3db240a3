"""Reading HTTP/1.1 answers."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.gateway.http1 import Chunks, Malformed, parse_head


def test_head() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A:  b \r\nContent-Length: 5")
    assert (head.status, head.length, head.chunked, head.keep_alive) == (200, 5, False, True)
    assert head.get("content-type") == "application/json"
    assert head.get("x-a") == "b"
    assert head.get("nothing") is None


@pytest.mark.parametrize(
    "block",
    [
        b"", b"HTTP/2 200", b"HTTP/1.1 abc", b"HTTP/1.1 200 OK\r\nno colon", b"HTTP/1.1 200 OK\r\nname : x",
        b"HTTP/1.1 200 OK\r\n folded: x", b"HTTP/1.1 200 OK\r\nContent-Length: -1",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
    ],
)  # fmt: skip
def test_damaged_heads(block: bytes) -> None:
    with pytest.raises(Malformed):
        parse_head(block)


@pytest.mark.parametrize(
    "body",
    [b"x\r\n", b"-1\r\n", b"0x5\r\n", b"2\r\nabc\r\n", b"\r\n", b"1" * 16 + b"\r\n", b"1" * 2000, b"+1\r\na\r\n"],
)
def test_damaged_chunks(body: bytes) -> None:
    with pytest.raises(Malformed):
        Chunks().feed(body)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=12), st.data())
def test_any_cut_gives_the_same_body(parts: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"
    wire += b"HTTP/1.1"
    chunks, got, at = Chunks(), b"", 0
    while not chunks.done:
        step = data.draw(st.integers(1, 25))
        got += chunks.feed(wire[at : at + step])
        at += step
    assert got == b"".join(parts)
    assert (chunks.extra + wire[at:]) == b"HTTP/1.1"


@given(st.binary(max_size=200))
def test_never_anything_but_malformed(data: bytes) -> None:
    for read in (parse_head, Chunks().feed):
        with contextlib.suppress(Malformed):
            read(data)
