"""alertmanager.yml: routes by how soon somebody should act, receivers, and what holds back what; prometheus.yml."""

from __future__ import annotations

from typing import Any

from rocsteady.alerts.generate import as_yaml
from rocsteady.alerts.inhibition import inhibitions
from rocsteady.alerts.load import recordings
from rocsteady.alerts.settings import Notify, Settings


def alertmanager_file(settings: Settings) -> str:
    """The configuration of Alertmanager."""
    notify = settings.alertmanager
    routes: list[dict[str, Any]] = []
    if notify.heal_url:
        routes.append({"receiver": "heal", "continue": True, "group_by": ["..."], "group_wait": "0s"})
    routes += [
        {"receiver": "now", "matchers": ['respond=~"now|15m"'], "group_wait": "0s"},
        {"receiver": "soon", "matchers": ['respond="1h"']},
        {"receiver": "later"},  # the default is not taken once heal has matched
    ]
    document = {
        "route": {
            "receiver": "later", "group_by": ["alertname", "job", "instance"], "group_wait": notify.group_wait,
            "group_interval": notify.group_interval, "repeat_interval": notify.repeat_interval, "routes": routes,
        },
        "receivers": [
            *([_receiver("heal", notify.heal_url, notify)] if notify.heal_url else []),
            _receiver("now", notify.now_url, notify), _receiver("soon", notify.soon_url, notify),
            _receiver("later", notify.later_url, notify),
        ],
        "inhibit_rules": [
            {
                "source_matchers": [f'alertname="{entry.source}"'],
                "target_matchers": [f'alertname=~"{"|".join(entry.targets)}"'],
                "equal": list(entry.equal),
            }
            for entry in inhibitions(settings)
        ],
    }  # fmt: skip
    return as_yaml(document)


def _receiver(name: str, url: str, notify: Notify) -> dict[str, Any]:
    if not url:
        return {"name": name}
    hook: dict[str, Any] = {"url": url, "send_resolved": True}
    if name == "heal" and notify.heal_token_file:
        hook["http_config"] = {"authorization": {"credentials_file": notify.heal_token_file}}
    return {"name": name, "webhook_configs": [hook]}


def prometheus_file(settings: Settings) -> str:
    """A configuration of Prometheus that scrapes the exporters and loads the rules; a start, to be merged into yours."""
    general = settings.general
    groups = sorted({choice.group for choice in settings.rules} | set(recordings()))
    document = {
        "global": {"scrape_interval": general.scrape_interval, "evaluation_interval": general.evaluation_interval},
        "rule_files": [f"rules/{group}.rules.yml" for group in groups],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [settings.alertmanager.address]}]}]},
        "scrape_configs": [{"job_name": general.job, "static_configs": [{"targets": list(general.targets)}]}],
    }
    return as_yaml(document)
