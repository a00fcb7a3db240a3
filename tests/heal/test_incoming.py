"""What comes in from outside: Alertmanager's webhook, diagnoses, over HTTP with the token."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.heal.incoming import findings, parse_webhook
from rocsteady.heal.journal import Inbox, Journal
from rocsteady.heal.state import AlertSeen, FindingSeen
from rocsteady.heal.view import parse_health
from rocsteady.heal.webhook import Receiver, application
from rocsteady.model import InputError
from tests.heal.made import START, document, gpu, node

Use = Callable[[Any], Awaitable[None]]


def names(name: str) -> str:
    return "n1" if name in ("n1", "10.0.0.1:9945") else ""


def alert(**more: Any) -> dict[str, Any]:
    labels = {
        "alertname": "GpuUe",
        "mode": "RAS-0002",
        "gpu": "0000:05:00.0",
        "instance": "10.0.0.1:9945",
        "severity": "critical",
    }
    return {
        "status": more.pop("status", "firing"), "startsAt": more.pop("startsAt", "2026-11-30T22:13:20.123456789Z"),
        "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://p/g", "fingerprint": more.pop("fingerprint", "ab12"),
        "annotations": {"summary": "2 errors"}, "labels": {**labels, **more},
    }  # fmt: skip


def message(*alerts: dict[str, Any]) -> bytes:
    raw = {
        "version": "4",
        "status": "firing",
        "receiver": "heal",
        "groupKey": "{}",
        "truncatedAlerts": 0,
        "alerts": list(alerts),
    }
    return json.dumps(raw).encode()


def test_webhook_version_4() -> None:
    found, left = parse_webhook(message(alert(), alert(status="resolved")), names)
    assert left == []
    assert [a.firing for a in found] == [True, False]
    assert (found[0].node, found[0].gpu, found[0].mode, found[0].severity, found[0].text) == (
        "n1", "0000:05:00.0", "RAS-0002", "critical", "2 errors",
    )  # fmt: skip
    assert found[0].starts_at == pytest.approx(1796076800.123456)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"instance": "elsewhere:1"}, "node is not configured"), ({"mode": ""}, "no label mode"), ({"unknown": "true"}, "unknown"),
        ({"gpu": "card0; reboot"}, "no PCI address"), ({"fingerprint": ""}, "fingerprint"), ({"startsAt": "yesterday"}, "startsAt"),
        ({"startsAt": "2026-11-30T22:13:20"}, "startsAt"), ({"status": "maybe"}, "status"),
    ],
)  # fmt: skip
def test_alerts_that_are_not_taken_say_why(more: dict[str, Any], why: str) -> None:
    found, left = parse_webhook(message(alert(**more)), names)
    assert found == []
    assert why in left[0]


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"version": "3", "alerts": []}', b"\xff", b"[" * 5000, message(*[alert()] * 1001)]
)
def test_no_webhook(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_webhook(data, names)


@given(st.binary(max_size=200))
def test_bytes_never_break_it(data: bytes) -> None:
    for parse in (lambda d: parse_webhook(d, names), lambda d: findings(d, "n1", 0.0), lambda d: parse_health(d, 0.0)):
        with pytest.raises(InputError):
            parse(data)


def test_health_document() -> None:
    view = parse_health(document(node(START, gpu(0, "unhealthy", "RAS-0002"))), START + 1)
    assert (view.node, view.boot_id, view.at, view.taken_at) == ("n1", "boot-1", START, START + 1)
    assert view.devices[0].reasons[0].id == "RAS-0002"
    for wrong in (b"rocsteady.gpu-health/1", b"unhealthy", b"boot_id"):
        with pytest.raises(InputError):
            parse_health(document(node(START, gpu(0, "unhealthy", "RAS-0002"))).replace(wrong, b"other"), START)


def diagnosis(**more: Any) -> bytes:
    finding = {
        "id": "RAS-0002@0000:05:00.0", "slug": "hbm", "category": "hardware-ras", "severity": "critical", "mode": "RAS-0002",
        "role": "cause", "confidence": 0.9, "subject": {"kind": "gpu", "id": "0000:05:00.0"}, "title": "errors", "cause": "c",
        "remedies": [{"text": "drain", "action": "drain_node"}], "evidence": [], "explains": [], "sources": [], "at": START,
    }  # fmt: skip
    raw = {
        "schema": "rocsteady.diagnosis/1", "verdict": "failing", "findings": [{**finding, **more}], "unexplained": [], "gaps": [],
        "timeline": [], "node": {},
        "crash_timeline": {"coincidences": [
            {"activity": "logrotate", "crashes": 5, "followed": 5, "expected": 0.2, "p_value": 0.001, "says": ""},
            {"activity": "backup", "crashes": 5, "followed": 1, "expected": 0.9, "p_value": 0.9, "says": ""},
        ]},
    }  # fmt: skip
    return json.dumps(raw).encode()


def test_findings_of_a_diagnosis() -> None:
    found = findings(diagnosis(), "n1", START + 5)
    assert [(f.mode, f.gpu, f.activity, f.action, f.at) for f in found] == [
        ("RAS-0002", "0000:05:00.0", "", "drain_node", START), ("schedule-blamed", "", "logrotate", "", START + 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        {"confidence": 0.6},
        {"role": "risk"},
        {"subject": {"kind": "node", "id": "node"}},
        {"subject": {"kind": "gpu", "id": "GPU 0"}},
    ],
)
def test_findings_that_are_for_people(more: dict[str, Any]) -> None:
    assert [f.mode for f in findings(diagnosis(**more), "n1", START)] == ["schedule-blamed"]


def serve(journal: Journal, use: Use) -> None:
    woken: list[int] = []

    async def main() -> None:
        receiver = Receiver(
            names, lambda events: journal.post(events, START), lambda: woken.append(1), lambda: {"schema": "s"}, lambda: START
        )  # fmt: skip
        async with TestClient(TestServer(application(receiver, "s3cret"))) as client:
            await use(client)

    asyncio.run(main())


@pytest.fixture
def journal(quick: Path) -> Any:
    made = Journal(quick / "heal.sqlite")
    yield made
    made.close()


GOOD = {"Authorization": "Bearer s3cret"}


def test_alerts_are_on_disk_when_answered(journal: Journal) -> None:
    async def use(client: Any) -> None:
        answer = await client.post("/v1/alerts", data=message(alert(), alert(instance="x")), headers=GOOD)
        assert (answer.status, (await answer.json())["taken"]) == (200, 1)
        answer = await client.post("/v1/findings?node=n1", data=diagnosis(), headers=GOOD)
        assert (await answer.json()) == {"taken": 2}
        assert (await client.post("/v1/findings?node=x", data=diagnosis(), headers=GOOD)).status == 400
        assert (await client.post("/v1/alerts", data=b"{", headers=GOOD)).status == 400
        assert (await client.get("/v1/status", headers=GOOD)).status == 200

    serve(journal, use)
    kinds: list[type[Inbox]] = [type(event) for _, event in journal.inbox()]
    assert kinds == [AlertSeen, FindingSeen, FindingSeen]


def test_token_is_wanted(journal: Journal) -> None:
    async def use(client: Any) -> None:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic s3cret"},
            {"Authorization": "s3cret"},
        ):
            for method, path in (
                ("POST", "/v1/alerts"),
                ("POST", "/v1/findings"),
                ("GET", "/v1/status"),
                ("GET", "/nothing"),
            ):
                answer = await client.request(
                    method, path, headers=headers, data=message(alert()) if method == "POST" else None
                )
                assert answer.status == 401, path
        assert (await client.get("/healthz")).status == 200
        assert (await client.post("/v1/alerts", data=io.BytesIO(b"x" * (5 << 20)), headers=GOOD)).status == 413

    serve(journal, use)
    assert journal.inbox() == []
