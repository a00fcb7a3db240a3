"""The threshold file: one TOML file with every number of every rule. ``rocsteady alerts thresholds`` prints it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rocsteady.alerts.amounts import duration, seconds
from rocsteady.alerts.load import load_rules, shared, thresholds
from rocsteady.alerts.plan_guard import read_guard
from rocsteady.alerts.rule import Rule, Threshold
from rocsteady.alerts.texts import used
from rocsteady.model import InputError, Severity

MOST_BYTES = 1 << 20


class General(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[general]``."""

    job: str = "rocsteady"
    """``job`` of the scrapes of the exporters."""
    runbook_base_url: str = "docs/catalog"
    """What runbook links start with."""
    scrape_interval: str = "15s"
    evaluation_interval: str = "15s"
    targets: tuple[str, ...] = ("127.0.0.1:9945",)
    """host:port of the exporters, for the prometheus.yml that is written."""


class Notify(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[alertmanager]``: where alerts go, by how soon somebody should act. Empty: nowhere (seen in the web page only)."""

    address: str = "127.0.0.1:9093"
    now_url: str = ""
    soon_url: str = ""
    later_url: str = ""
    heal_url: str = ""
    heal_token_file: str = ""
    group_wait: str = "10s"
    group_interval: str = "1m"
    repeat_interval: str = "4h"


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """One rule with the numbers in force. ``amounts``: seconds for durations, else the number."""

    rule: Rule
    group: str
    severity: Severity
    amounts: dict[str, float]
    durations: frozenset[str]
    changed: frozenset[str] = frozenset()
    planned: frozenset[str] = frozenset()
    """Numbers that a memory plan set and the file did not."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is written: the rules in force, and where to."""

    general: General = General()
    alertmanager: Notify = Notify()
    shared: dict[str, float]
    rules: tuple[Chosen, ...]


def load_settings(file: Path | None = None, plan: Path | None = None) -> Settings:
    """The defaults, changed by a memory plan and then by a threshold file.

    Raises:
        InputError: the file cannot be read, or a key or value is wrong; the message names it.
    """
    raw: dict[str, Any] = {}
    where = str(file or "defaults")
    if file is not None:
        try:
            with file.open("rb") as stream:
                text = stream.read(MOST_BYTES + 1)
            if len(text) > MOST_BYTES:
                raise InputError(f"{file}: larger than {MOST_BYTES} bytes")
            raw = tomllib.loads(text.decode("utf-8"))
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"{file}: not TOML: {error}") from error
    _only(raw, ("general", "alertmanager", "shared", "rules"), where)
    goals = _goals(raw.get("shared", {}), f"{where}: shared")
    changes = raw.get("rules", {})
    if not isinstance(changes, dict):
        raise InputError(f"{where}: rules is not a table")
    groups = load_rules()
    _only(changes, [rule.id for rules in groups.values() for rule in rules], f"{where}: rules")
    guard = read_guard(plan) if plan is not None else {}
    chosen = [
        choice
        for group, rules in groups.items()
        for rule in rules
        if (
            choice := _choose(
                rule, group, changes.get(rule.id, {}), guard.get(rule.id, {}), goals, f"{where}: rules.{rule.id}"
            )
        )
        is not None
    ]
    try:
        general = msgspec.convert(raw.get("general", {}), General)
        notify = msgspec.convert(raw.get("alertmanager", {}), Notify)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}") from error
    _check_general(general, notify, where)
    amounts = {name: amount for name, (amount, _) in goals.items()}
    return Settings(general=general, alertmanager=notify, shared=amounts, rules=tuple(chosen))


def _only(table: dict[str, Any], known: Iterable[str], where: str) -> None:
    names = list(known)
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{where}: unknown key {key!r}{hint}")


Goals = dict[str, tuple[float, bool]]
"""Shared numbers: the amount, and whether the file sets it."""


def _goals(change: object, where: str) -> Goals:
    if not isinstance(change, dict):
        raise InputError(f"{where}: not a table")
    _only(change, shared(), where)
    return {
        name: (_number(change.get(name, limit.value), limit, name, f"{where}.{name}"), name in change)
        for name, limit in shared().items()
    }


def _choose(rule: Rule, group: str, change: object, plan: dict[str, float], goals: Goals, where: str) -> Chosen | None:
    if not isinstance(change, dict):
        raise InputError(f"{where}: not a table")
    numbers = thresholds(rule)
    _only(change, ("enabled", "severity", *numbers), where)
    planned = frozenset(name for name in plan if name not in change)
    enabled, severity = change.get("enabled", True), change.get("severity", rule.severity)
    if not isinstance(enabled, bool):
        raise InputError(f"{where}.enabled: true or false")
    if severity not in ("critical", "warning", "info"):
        raise InputError(f"{where}.severity: critical, warning or info")
    if not enabled:
        return None
    change = {**plan, **change}
    amounts = {
        name: _number(change.get(name, limit.value), limit, name, f"{where}.{name}") for name, limit in numbers.items()
    }
    cases = (rule.tests.fires, *rule.tests.quiet)
    inputs = [series.series for case in cases for series in case.series]
    named = used(" ".join((rule.expr, rule.summary, rule.description, rule.action, *inputs)))
    taken = {name: goal for name, goal in goals.items() if name in named}
    amounts |= {name: amount for name, (amount, _) in taken.items()}
    numbers = numbers | {name: shared()[name] for name in taken}
    return Chosen(
        rule=rule, group=group, severity=severity, amounts=amounts,
        durations=frozenset(name for name, limit in numbers.items() if isinstance(limit.value, str)),
        changed=frozenset(name for name in numbers if name in change or (name in taken and taken[name][1])),
        planned=planned,
    )  # fmt: skip


def _number(value: object, limit: Threshold, name: str, where: str) -> float:
    if isinstance(limit.value, str):
        if not isinstance(value, str):
            raise InputError(f'{where}: a duration in quotes, such as "5m"')
        try:
            length = seconds(value)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
        if not length and name != "for":
            raise InputError(f"{where}: a window cannot be empty")
        return length
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e18:
        raise InputError(f"{where}: a number")
    if limit.kind == "ratio" and not 0 <= value <= 1:
        raise InputError(f"{where}: a share between 0 and 1")
    if limit.choices and value not in limit.choices:
        raise InputError(f"{where}: one of {', '.join(f'{choice:g}' for choice in limit.choices)}")
    return float(value)


def _check_general(general: General, notify: Notify, where: str) -> None:
    timed = {
        "general.scrape_interval": general.scrape_interval, "general.evaluation_interval": general.evaluation_interval,
        "alertmanager.group_wait": notify.group_wait, "alertmanager.group_interval": notify.group_interval,
        "alertmanager.repeat_interval": notify.repeat_interval,
    }  # fmt: skip
    for key, value in timed.items():
        try:
            if not seconds(value):
                raise InputError(f"{where}: {key}: must be longer than 0s")
        except ValueError as error:
            raise InputError(f"{where}: {key}: {error}") from error
    for key in ("now_url", "soon_url", "later_url", "heal_url"):
        url = getattr(notify, key)
        if url and not url.startswith(("http://", "https://")):
            raise InputError(f"{where}: alertmanager.{key}: an http or https address")
    if not general.job or '"' in general.job or "\\" in general.job or "\n" in general.job:
        raise InputError(f"{where}: general.job: a name without quotes")


def source_of(limit: Threshold) -> str:
    """Where a number comes from, in one line."""
    parts = [limit.certainty, limit.why]
    if limit.url:
        parts.append(limit.url)
    if limit.retrieved:
        parts.append(f"read {limit.retrieved}")
    return ". ".join(parts)


HEAD = """\
# Thresholds of the alert rules that `rocsteady alerts write DIR --config THIS` makes. What is left out keeps its
# default; this file says every default. Behind a number: how well founded it is, why, and from where.
#   requested          operators ask for exactly this
#   vendor-documented  AMD or the kernel says so
#   observed           measured in a case that the source describes
#   reported           somebody says so
#   chosen             a guess of ours, with its reason
# Durations: 30s, 5m, 1h30m, 3d. Shares are 0 to 1. enabled = false leaves a rule out.

[general]
job = "rocsteady"                    # job of the exporters' scrapes
runbook_base_url = "docs/catalog"    # what runbook links start with; the folder of docs/catalog/*.md where you serve it
scrape_interval = "15s"
evaluation_interval = "15s"
targets = ["127.0.0.1:9945"]         # exporters, for the prometheus.yml that is written

[alertmanager]
address = "127.0.0.1:9093"
now_url = ""      # webhook for alerts to act on at once or within 15 minutes; empty: none
soon_url = ""     # within the hour
later_url = ""    # within a day or a week, and what is unknown
heal_url = ""     # webhook of 'rocsteady heal' (docs/heal.md); gets every alert
heal_token_file = ""  # file with its bearer token, on the machine of Alertmanager
group_wait = "10s"
group_interval = "1m"
repeat_interval = "4h"
"""


def default_file() -> str:
    """The threshold file with every default and its source."""
    lines = [HEAD, "\n[shared]  # goals and numbers that several rules use\n"]
    lines += [_line(name, limit) for name, limit in shared().items()]
    for group, rules in load_rules().items():
        lines.append(f"\n# ---- {group}\n")
        for rule in rules:
            lines.append(f'\n[rules.{rule.id}]\nenabled = true\nseverity = "{rule.severity}"\n')
            lines += [_line(name, limit) for name, limit in thresholds(rule).items()]
    return "".join(lines)


def _line(name: str, limit: Threshold) -> str:
    shown = f'"{duration(seconds(limit.value))}"' if isinstance(limit.value, str) else f"{limit.value:.12g}"
    return f"{name} = {shown}  # {source_of(limit)}\n"


def all_thresholds(rule: Rule, names: Iterable[str]) -> dict[str, Threshold]:
    """Thresholds of a rule, its own and shared ones, of these names."""
    every = {**shared(), **thresholds(rule)}
    return {name: every[name] for name in names}
