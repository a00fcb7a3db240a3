"""What is served over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from rocsteady.cli.serving import parse_listen
from rocsteady.exporter.exporter import Exporter, Options
from rocsteady.exporter.server import application
from rocsteady.lab import SHAPES, build_node
from rocsteady.model import InputError

Use = Callable[[TestClient], Awaitable[None]]  # type: ignore[type-arg]


def serve(root: Path, use: Use, token: str | None = None) -> None:
    async def main() -> None:
        exporter = Exporter(Options(root=root))
        async with TestClient(TestServer(application(exporter, token))) as client:
            await use(client)
        exporter.close()

    asyncio.run(main())


def test_metrics_health_and_pages(mi300x8: Path) -> None:
    async def use(client: TestClient) -> None:  # type: ignore[type-arg]
        metrics = await client.get("/metrics")
        assert metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert "rocsteady_gpu_power_watts{" in await metrics.text()
        assert (await client.get("/healthz")).status == 200
        assert (await client.get("/nothing")).status == 404
        page = await (await client.get("/")).text()
        assert "0000:05:00.0" in page
        document = await (await client.get("/v1/gpu-health")).json()
        assert document["schema"] == "rocsteady.gpu-health/1"
        assert [gpu["state"] for gpu in document["gpus"]] == ["healthy"] * 8
        first = document["gpus"][0]
        assert set(first) == {
            "bdf", "unique_id", "partition", "hip_index", "render_node", "hive", "links", "state", "since",
            "last_evidence_at", "reasons", "advice", "memory", "processes",
        }  # fmt: skip
        assert (first["hip_index"], first["render_node"], first["partition"]) == (0, "renderD128", None)
        assert first["memory"]["total_bytes"] > first["memory"]["used_bytes"] > 0

    serve(mi300x8, use)


def test_partitions_have_rows_of_their_own(mi300x8_cpx: Path) -> None:
    async def use(client: TestClient) -> None:  # type: ignore[type-arg]
        document = await (await client.get("/v1/gpu-health")).json()
        assert len(document["gpus"]) == 64
        assert [gpu["partition"] for gpu in document["gpus"][:8]] == list(range(8))
        assert sorted(gpu["hip_index"] for gpu in document["gpus"]) == list(range(64))

    serve(mi300x8_cpx, use)


def test_stream_begins_with_the_document(mi300x8: Path) -> None:
    async def use(client: TestClient) -> None:  # type: ignore[type-arg]
        answer = await client.get("/v1/gpu-health/stream")
        assert answer.content_type == "text/event-stream"
        lines = [await answer.content.readline() for _ in range(4)]
        assert lines[0] == b"id: 1\n"
        assert lines[1] == b"event: gpu-health\n"
        assert json.loads(lines[2].removeprefix(b"data: "))["schema"] == "rocsteady.gpu-health/1"
        assert lines[3] == b"\n"
        answer.close()

    serve(mi300x8, use)


def test_a_line_of_the_kernel_log_reaches_the_listeners(tmp_path: Path) -> None:
    build_node(SHAPES["mi300x8"], 0, None).tree.write(tmp_path)
    gpu = "0000:05:00.0"
    assert (tmp_path / "sys/bus/pci/devices" / gpu).exists()

    async def use(client: TestClient) -> None:  # type: ignore[type-arg]
        answer = await client.get("/v1/gpu-health/stream")

        async def state() -> str:
            while True:
                line = await answer.content.readline()
                if line.startswith(b"data: "):
                    rows = json.loads(line.removeprefix(b"data: "))["gpus"]
                    return next(str(row["state"]) for row in rows if row["bdf"] == gpu)

        assert await state() == "healthy"
        with (tmp_path / "var/log/dmesg").open("a") as log:
            log.write(
                f"[431999.000000] amdgpu {gpu}: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x0000003F SMN_C2PMSG_82:0x00000000\n"
            )
        assert await asyncio.wait_for(state(), 60) == "unhealthy"
        answer.close()

    serve(tmp_path, use)


def test_token(mi300x8: Path) -> None:
    async def use(client: TestClient) -> None:  # type: ignore[type-arg]
        assert (await client.get("/metrics")).status == 401
        assert (await client.get("/metrics", headers={"Authorization": "Bearer wrong"})).status == 401
        assert (await client.get("/metrics", headers={"Authorization": "Bearer secret"})).status == 200
        assert (await client.get("/healthz")).status == 200

    serve(mi300x8, use, token="secret")


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:9945", ("127.0.0.1", 9945)), ("[::1]:80", ("::1", 80)), (":1", ("0.0.0.0", 1))],
)
def test_listen(text: str, address: tuple[str, int]) -> None:
    assert parse_listen(text) == address


@pytest.mark.parametrize("text", ["nonsense", "host:99999", "evil.example:1", "127.0.0.1:x"])
def test_bad_listen(text: str) -> None:
    with pytest.raises(InputError):
        parse_listen(text)
