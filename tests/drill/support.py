"""Requests to workers, and their answers taken apart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from rocsteady.drill.stub import StubConfig, StubServer

RECORDING = Path(__file__).parent / "recordings" / "vllm-0.32.0.json"


def recording() -> Any:
    return json.loads(RECORDING.read_text(encoding="utf-8"))


def events(body: str | bytes) -> list[str]:
    """The data of each complete server-sent event."""
    text = body.decode() if isinstance(body, bytes) else body
    parts = text.split("\n\n")
    return [p.removeprefix("data: ") for p in parts[:-1]]


def documents(body: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(e) for e in events(body) if e != "[DONE]"]


def text_of(body: str | bytes) -> str:
    """The text that a client of this stream has seen."""
    out = ""
    for document in documents(body):
        for choice in document.get("choices", []):
            out += choice.get("text") or choice.get("delta", {}).get("content") or ""
    return out


@asynccontextmanager
async def stub(**config: Any) -> AsyncIterator[tuple[StubServer, aiohttp.ClientSession]]:
    async with StubServer(StubConfig(**config)) as server, aiohttp.ClientSession(server.url) as session:
        yield server, session


async def post(session: aiohttp.ClientSession, path: str, body: Any) -> tuple[int, bytes, bool]:
    """Status, what came, and whether it came to a proper end."""
    got = b""
    try:
        async with session.post(path, json=body) as response:
            async for chunk in response.content.iter_any():
                got += chunk
            return response.status, got, True
    except aiohttp.ClientError:
        return 0, got, False
