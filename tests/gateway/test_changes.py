"""Drain, reload, restart: no request is lost, and what a person wished stays."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rocsteady.gateway.config import Source, load, load_workers
from rocsteady.gateway.registry import from_addresses
from rocsteady.gateway.runtime import Runtime
from rocsteady.model import InputError
from tests.gateway.engine import WORDS, Engine
from tests.gateway.serving import Client, configuration, gateway, text_of, worker
from tests.gateway.test_serving import run

TEXT = "".join(WORDS)


def write(path: Path, engines: list[Engine], head: str = "") -> None:
    rows = "".join(f'[[worker]]\nname = "{e.name}"\nurl = "{e.url}"\nmodel = "m"\n' for e in engines)
    path.write_text(head + rows, encoding="utf-8")


async def asked(client: Client, count: int, results: list[tuple[int, str]]) -> None:
    for _ in range(count):
        status, _, body = await client.post(stream=True)
        results.append((status, text_of(body)))


def test_reload_under_load_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "gateway.toml"
        async with Engine("a", pause=0.01) as a, Engine("b", pause=0.01) as b:
            write(path, [a])
            async with gateway(load(path), path=path) as client:
                results: list[tuple[int, str]] = []
                clients = [asyncio.create_task(asked(client, 8, results)) for _ in range(4)]
                for number in range(6):
                    await asyncio.sleep(0.05)
                    write(path, [[b], [a, b], [a]][number % 3])
                    assert client.runtime.reload() == ""
                path.write_text("worker = 3", encoding="utf-8")
                assert "worker" in client.runtime.reload(), "a damaged file changes nothing"
                await asyncio.gather(*clients)
                assert results == [(200, TEXT)] * 32
                assert a.bodies and b.bodies

    run(main())


def test_drain_lets_streams_end_and_survives_a_restart(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("very-secret\n", encoding="utf-8")
    more: dict[str, Any] = {"state": str(tmp_path / "state.sqlite"), "admin_token_file": str(token)}
    head = {"Authorization": "Bearer very-secret"}

    async def main() -> None:
        async with Engine("a", pause=0.03) as a, Engine("b") as b:
            config = configuration([worker(a), worker(b)], **more)
            async with gateway(config) as client:
                results: list[tuple[int, str]] = []
                clients = [asyncio.create_task(asked(client, 1, results)) for _ in range(6)]
                await asyncio.sleep(0.05)
                url = client.base + "/admin/workers/a/drain"
                async with client.session.post(url, headers=head, json={"reason": "new GPU"}) as answer:
                    assert (await answer.json())["draining"] is True
                await asyncio.gather(*clients)
                assert results == [(200, TEXT)] * 6
                before = len(a.bodies)
                for _ in range(4):
                    assert (await client.post())[1]["X-Rocsteady-Worker"] == "b"
                assert len(a.bodies) == before
                status, document = await client.get("/admin/workers", headers=head)
                assert (status, document["schema"]) == (200, "rocsteady.gateway-workers/1")
                assert [(w["name"], w["draining"], w["in_flight"]) for w in document["workers"]] == [
                    ("a", True, 0), ("b", False, 0),
                ]  # fmt: skip
                assert (await client.get("/admin/workers"))[0] == 401
                client.runtime.router.workers["b"].health.failure("frozen", "no token moves", 0.0)
            async with gateway(config, proven=False) as client:
                assert client.runtime.router.workers["a"].drained == "new GPU"
                assert client.runtime.router.workers["b"].health.state == "ejected", "it has to prove itself first"
                async with client.session.post(client.base + "/admin/workers/a/undrain", headers=head) as answer:
                    assert answer.status == 200
                assert (await client.post())[0] == 200

    run(main())


def test_stopping_waits_for_streams() -> None:
    async def main() -> None:
        async with Engine("a", pause=0.05) as a, gateway(configuration([worker(a)])) as client:
            results: list[tuple[int, str]] = []
            task = asyncio.create_task(asked(client, 1, results))
            while not client.runtime.open_calls:
                await asyncio.sleep(0.01)
            stopping = asyncio.create_task(client.runtime.stop(5.0))
            await task
            assert await stopping == 0
            assert results == [(200, TEXT)]

    run(main())


def test_files_and_names_give_workers(tmp_path: Path) -> None:
    path = tmp_path / "workers.toml"
    path.write_text(
        '[[worker]]\nname = "x"\nurl = "http://h:1"\nmodel = "m"\ngpus = ["0000:05:00.0"]\n', encoding="utf-8"
    )
    source = Source(kind="file", path=str(path))
    config = configuration([], source=[{"kind": "file", "path": str(path)}])
    runtime = Runtime(config)
    assert list(runtime.router.workers) == ["x"]
    one = runtime.router.workers["x"]
    path.write_text("[[worker]\n", encoding="utf-8")
    assert not runtime.registry.read_file(source)
    assert runtime.registry.problems, "a damaged file is shown"
    assert runtime.router.workers["x"] is one, "and changes nothing"
    dns = Source(kind="dns", host="llm", port=8000, model="m", precision="fp8")
    specs = from_addresses(dns, ["10.0.0.1", "fd00::1"])
    assert [(s.name, s.url) for s in specs] == [
        ("llm/10.0.0.1", "http://10.0.0.1:8000"), ("llm/fd00::1", "http://[fd00::1]:8000"),
    ]  # fmt: skip

    async def main() -> None:
        made = Runtime(configuration([], source=[{"kind": "dns", "host": "llm", "model": "m"}]))
        answers: list[Any] = [["10.0.0.1", "10.0.0.2"], OSError("no resolver"), [], ["10.0.0.2"]]
        sizes = []

        async def ask(host: str, port: int) -> list[str]:
            del host, port
            found = answers.pop(0)
            if isinstance(found, OSError):
                raise found
            return list(found)

        for _ in range(4):
            await made.registry.refresh(made.config, made.config.source[0], ask)
            sizes.append(len(made.router.workers))
        assert sizes == [2, 2, 2, 1], "a resolver that fails takes nothing away"

    run(main())
    with pytest.raises(InputError):
        load_workers(path)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no [[worker]]"), ("listen = 3", "$.listen"), ("unknown = 1\n", "unknown"), ("[[worker]\n", "line"),
        ('[[worker]]\nname="a"\nurl="ftp://x"\nmodel="m"\n', "ftp://x"),
        ('[[worker]]\nname="a"\nurl="http://x\\r\\nEvil: 1"\nmodel="m"\n', "url"),
        ('[[worker]]\nname="a"\nurl="http://x"\nmodel="m"\n' * 2, "twice"),
        ('[timeouts]\nsuspect=4.0\n[[worker]]\nname="a"\nurl="http://x"\nmodel="m"\n', "5 s"),
        ('[[model]]\nname="m"\nsmaller=["m"]\n[[worker]]\nname="a"\nurl="http://x"\nmodel="m"\n', "itself"),
        ('[[source]]\nkind="dns"\n', "host"),
    ],
)  # fmt: skip
def test_bad_configurations_are_named(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as found:
        load(path)
    assert part in str(found.value)
    assert str(path) in str(found.value)
