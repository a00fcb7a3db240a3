"""From what others send to events: Alertmanager's webhook, a diagnosis. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from rocsteady.heal.state import AlertSeen, FindingSeen
from rocsteady.heal.view import moment
from rocsteady.model import Diagnosis, InputError, Severity

BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
MOST = 1000
"""Alerts in one message; Alertmanager groups far fewer."""
ACT_ON = 0.6
"""Confidence of a finding above which it may be acted on: the diagnosis defines it so."""
LEVEL = 0.05
"""Below this p-value the crash timeline blames an activity (its own level)."""


class _Alert(msgspec.Struct, frozen=True, rename="camel"):
    status: str
    starts_at: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    fingerprint: str = ""


class _Webhook(msgspec.Struct, frozen=True):
    version: str
    alerts: tuple[_Alert, ...]


def parse_webhook(
    data: bytes, node_of: Callable[[str], str]
) -> tuple[list[AlertSeen], list[str]]:  # fmt: skip
    """Alerts that are about something we know, and why the others are not.

    ``node_of``: our name of what an alert calls ``node`` or ``instance``, '' for a stranger. Format: version 4 of
    https://prometheus.io/docs/alerting/latest/configuration/#webhook_config.

    Raises:
        InputError: it is no such message.
    """
    try:
        message = msgspec.json.decode(data, type=_Webhook)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"webhook: {error}") from error
    if message.version != "4":
        raise InputError(f"webhook: version {message.version[:20]!r}, 4 was wanted")
    if len(message.alerts) > MOST:
        raise InputError(f"webhook: {len(message.alerts)} alerts, {MOST} are allowed")
    found: list[AlertSeen] = []
    left: list[str] = []
    for alert in message.alerts:
        one = _event(alert, node_of)
        if isinstance(one, str):
            left.append(f"{alert.labels.get('alertname', '?')[:80]}: {one}")
        else:
            found.append(one)
    return found, left


def _event(alert: _Alert, node_of: Callable[[str], str]) -> AlertSeen | str:
    labels = alert.labels
    if alert.status not in ("firing", "resolved"):
        return f"status {alert.status[:20]!r}"
    if labels.get("unknown") == "true":
        return "it says that something is unknown; nothing is done on that"
    node = node_of(labels.get("node", "")) or node_of(labels.get("instance", ""))
    if not node:
        return "its node is not configured"
    gpu, worker = labels.get("gpu", "").lower(), labels.get("worker", "")
    if gpu and not BDF.fullmatch(gpu):
        return f"gpu {gpu[:40]!r} is no PCI address"
    mode = labels.get("mode", "")
    if not mode or not alert.fingerprint:
        return "no label mode, or no fingerprint"
    try:
        at = moment(_short(alert.starts_at))
    except ValueError:
        return f"startsAt {alert.starts_at[:40]!r}"
    return AlertSeen(
        fingerprint=alert.fingerprint[:64], firing=alert.status == "firing", node=node, gpu=gpu, worker=worker[:64],
        peer=labels.get("peer", "")[:64], mode=mode[:64], severity=severity(labels.get("severity", "")),
        text=(alert.annotations.get("summary") or labels.get("alertname", ""))[:300], starts_at=at,
    )  # fmt: skip


def _short(text: str) -> str:
    """Go prints nanoseconds; Python reads microseconds."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)


def severity(word: str) -> Severity:
    """Our word for a label; what is not known is a warning."""
    return "critical" if word in ("critical", "page") else "info" if word == "info" else "warning"


def findings(document: bytes, node: str, at: float) -> list[FindingSeen]:
    """What of a diagnosis (``rocsteady.diagnosis/1``) can be acted on: causes above the confidence, and blamed activities.

    Raises:
        InputError: it is no diagnosis.
    """
    try:
        diagnosis = msgspec.json.decode(document, type=Diagnosis)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"diagnosis: {error}") from error
    if diagnosis.schema != "rocsteady.diagnosis/1":
        raise InputError(f"diagnosis: schema {diagnosis.schema[:40]!r}, rocsteady.diagnosis/1 was wanted")
    found = []
    for finding in diagnosis.findings:
        subject = finding.subject
        gpu = subject.id.lower() if subject.kind in ("gpu", "link", "partition") else ""
        gpu = gpu.split("/")[0]
        if finding.role != "cause" or finding.confidence <= ACT_ON or not BDF.fullmatch(gpu):
            continue  # what is wrong with a configuration or a package is for people, and stands in the diagnosis
        action = next((r.action for r in finding.remedies if r.action), None)
        found.append(
            FindingSeen(
                id=finding.id,
                node=node,
                mode=finding.mode,
                gpu=gpu,
                action=action or "",
                severity=finding.severity,
                text=finding.title,
                at=finding.at if finding.at is not None else at,
            )
        )
    for one in diagnosis.crash_timeline.coincidences:
        if one.p_value is not None and one.p_value <= LEVEL:
            text = f"{one.followed} of {one.crashes} crashes followed {one.activity} (p = {one.p_value:.2g})"
            found.append(
                FindingSeen(
                    id=f"crash-timeline/{one.activity}",
                    node=node,
                    mode="schedule-blamed",
                    activity=one.activity,
                    text=text,
                    at=at,
                )
            )
    return found
