"""What a hostile client can try. Raw bytes on the socket."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from rocsteady.gateway.accesslog import redact
from tests.gateway.engine import Engine
from tests.gateway.serving import configuration, gateway, worker
from tests.gateway.test_serving import run

BODY = b'{"model":"m","prompt":"x"}'
LIMITS = {
    "body_bytes": 4096, "head_seconds": 0.5, "body_seconds": 0.5, "idle_seconds": 0.5, "head_count": 30,
    "head_bytes": 4096,
}  # fmt: skip


async def raw(port: int, data: bytes) -> bytes:
    """Send bytes, read until the gateway closes or is quiet."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    out = b""
    try:
        while part := await asyncio.wait_for(reader.read(65536), 1.0):
            out += part
    except (TimeoutError, ConnectionError):
        pass
    writer.close()
    return out


def head(*lines: bytes, path: bytes = b"/v1/completions", method: bytes = b"POST") -> bytes:
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", b"Host: x", *lines, b"", b""])


SMUGGLED = b"POST /admin/reload HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        head(b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"0\r\n\r\n" + SMUGGLED,
        head(b"Content-Length: 5", b"Content-Length: 26") + BODY,
        head(b"Content-Length: +26") + BODY,
        head(b"Content-Length: -1") + BODY,
        head(b"Content-Length : 26") + BODY,
        head(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n" + SMUGGLED,
        head(b"Transfer-Encoding: chunked") + b"1a;x=\n\r\n" + BODY + b"\r\n0\r\n\r\n",
        head(b"Transfer-Encoding: chunked") + b"FFFFFFFFFFFFFFFFF\r\n" + BODY,
        head(b"X: a\x00b", b"Content-Length: 26") + BODY,
        head(b"X: " + b"a" * 8000, b"Content-Length: 26") + BODY,
        head(*(b"X-%d: y" % n for n in range(200)), b"Content-Length: 26") + BODY,
        b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01" * 20, b"POST / HTTP/9.9\r\n\r\n", b"nonsense\r\n\r\n",
    ],
)  # fmt: skip
def test_ambiguous_or_damaged_requests_reach_no_worker(data: bytes) -> None:
    async def main() -> None:
        async with Engine("a") as a, gateway(configuration([worker(a)], limits=LIMITS)) as client:
            answer = await raw(client.port, data)
            assert not a.bodies
            assert b" 200 " not in answer[:20]
            assert answer.count(b"HTTP/1.1 ") <= 1, "nothing behind it is taken for a second request"
            assert (await client.post())[0] == 200, "and the gateway goes on"

    run(main())


def test_bodies_that_are_too_large_compressed_or_no_json() -> None:
    async def main() -> None:
        async with Engine("a") as a, gateway(configuration([worker(a)], limits=LIMITS)) as client:
            url = client.base + "/v1/completions"
            for body, extra, wanted in [
                (b"x" * 5000, {}, 413), (gzip.compress(b" " * 3000), {"Content-Encoding": "gzip"}, 415),
                (b"[" * 3000, {}, 400), (b'{"model":3}', {}, 400), (b"{}", {}, 400), (b"\xff\xfe", {}, 400),
                (b'{"model":"m","prompt":"x"', {}, 400), (b'{"a":' * 600 + b"1" + b"}" * 400, {}, 400),
                (BODY, {"X-Rocsteady-Deadline": "nan"}, 400), (BODY, {"X-Rocsteady-Priority": "-1"}, 400),
            ]:  # fmt: skip
                async with client.session.post(url, data=body, headers=extra) as answer:
                    assert answer.status == wanted, body[:20]
                    assert "error" in json.loads(await answer.text())
            chunks = b"".join(b"400\r\n" + b"x" * 1024 + b"\r\n" for _ in range(8)) + b"0\r\n\r\n"
            assert b" 413 " in (await raw(client.port, head(b"Transfer-Encoding: chunked") + chunks))[:20]
            assert not a.bodies

    run(main())


def test_slow_heads_and_slow_bodies_are_ended() -> None:
    async def main() -> None:
        async with Engine("a") as a, gateway(configuration([worker(a)], limits=LIMITS)) as client:
            for first in (b"", b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX: "):
                reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
                writer.write(first)
                assert await asyncio.wait_for(reader.read(), 5) == b"", "closed without a word"
                writer.close()
            assert b" 408 " in (await raw(client.port, head(b"Content-Length: 26") + BODY[:5]))[:20]
            assert not a.bodies

    run(main())


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../admin/workers", "/v1/completions/../../admin/reload", "//v1/completions", "/v1/completions/",
        "/v1%2fcompletions", "/V1/completions", "/admin/workers/..%2f..%2fetc/drain", "/v1/completions%00",
        "/etc/passwd", "/admin", "/metrics/..", "/v1/models/../../metrics",
    ],
)  # fmt: skip
def test_path_tricks_reach_nothing(path: str) -> None:
    async def main() -> None:
        async with Engine("a") as a, gateway(configuration([worker(a)])) as client:
            data = head(b"Content-Length: 26", path=path.encode()) + BODY
            answer = await raw(client.port, data)
            assert answer.startswith(b"HTTP/1.1 404")
            assert not a.bodies

    run(main())


def test_keys_and_secrets(tmp_path: Path) -> None:
    async def main() -> None:
        key, upstream, log = tmp_path / "key", tmp_path / "upstream", tmp_path / "access.log"
        key.write_text("sk-client-secret", encoding="utf-8")
        upstream.write_text("worker-secret", encoding="utf-8")
        async with Engine("a") as a:
            config = configuration(
                [worker(a, token_file=str(upstream))], key=[{"name": "team", "file": str(key)}], access_log=str(log)
            )
            async with gateway(config) as client:
                for given in (None, "Bearer wrong", "Basic c2s6", "Bearer ", "Bearer sk-client-secre"):
                    extra = {} if given is None else {"Authorization": given}
                    assert (await client.post(headers=extra))[0] == 401
                    assert (await client.get("/v1/models", headers=extra))[0] == 401
                extra = {"Authorization": "Bearer sk-client-secret", "Cookie": "session=secret-cookie", "X-Evil": "1"}
                status, headers, body = await client.post(headers=extra | {"X-Request-Id": "my-id"})
                named = {name.lower(): value for name, value in headers.items()}
                assert (status, named.get("x-request-id")) == (200, "my-id"), (body, headers)
                seen = a.headers[-1]
                assert seen["Authorization"] == "Bearer worker-secret"
                assert not {"Cookie", "X-Evil"} & set(seen), "headers of the client end here"
                assert (await client.get("/admin/workers", headers=extra))[0] == 404, "no admin token, no admin routes"
            lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            assert [(row["id"], row["key"], row["status"], row["worker"]) for row in lines] == [
                ("my-id", "team", 200, "a")
            ]
            assert "secret" not in log.read_text(encoding="utf-8")

    run(main())


def test_redaction() -> None:
    text = redact("Authorization: Bearer abcdef123 sk-abcdef12345 api_key=zzzzzz token: hunter22")
    assert not any(secret in text for secret in ("abcdef123", "zzzzzz", "hunter22"))
