"""Lab node -> exporter -> Prometheus -> rule -> Alertmanager -> webhook, with the real servers on loopback.

Each server is started once. Durations are shortened through the threshold file; nothing is timed, waiting is bounded.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rocsteady.alerts.settings import load_settings
from rocsteady.alerts.write import write
from rocsteady.drill.monitoring import LOOPBACK, alertmanager, free_port, process, prometheus
from rocsteady.lab.live import LivingNode
from rocsteady.lab.live.metrics_server import serving

MISSING = [name for name in ("prometheus", "prometheus-alertmanager") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")

FAULTS = {
    "xcd-saturation": ("RocsteadyXcdSaturated", 0), "hbm-gradient": ("RocsteadyHbmTemperatureGradient", 1),
    "xgmi-crc-storm": ("RocsteadyXgmiLinkErrors", 2), "pcie-downtrain": ("RocsteadyPcieLinkNarrow", 4),
    "page-retirement": ("RocsteadyPagesWaitForRetirement", 6), "thermal-throttle": ("RocsteadyThermalThrottling", 5),
}  # fmt: skip
"""On the first node: what the lab injects, the alert that must arrive, and the GPU that it must name."""
SHORT = """
[general]
scrape_interval = "2s"
evaluation_interval = "1s"
[alertmanager]
group_wait = "1s"
group_interval = "1s"
[rules.xcd-saturated]
for = "2s"
smooth = "3s"
[rules.xgmi-errors]
window = "2m"
[rules.pcie-narrow]
for = "1s"
[rules.pages-pending]
for = "1s"
[rules.thermal-throttling]
for = "1s"
window = "5s"
[rules.hbm-uncorrected]
window = "2m"
[rules.engine-down]
for = "1s"
[rules.exporter-down]
for = "2s"
"""
SIMULATED = 10.0
"""Simulated seconds between two writes of a node."""
PATIENCE = 150.0


class Inbox:
    """What the webhook was sent: labels of firing alerts."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, str]] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                inbox.alerts += [
                    {**a["labels"], "route": self.path} for a in message["alerts"] if a["status"] == "firing"
                ]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                return

        self.server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server.server_address[1]}"

    def of(self, alert: str) -> list[dict[str, str]]:
        return [labels for labels in list(self.alerts) if labels["alertname"] == alert]


class Site:
    """Two living nodes with their exporters, Prometheus, Alertmanager and a webhook."""

    def __init__(self, directory: Path) -> None:
        self.stack = contextlib.ExitStack()
        self.directory = directory
        self.nodes: list[LivingNode] = []
        self.targets: list[str] = []
        self.exporters: list[contextlib.ExitStack] = []
        self.inbox = Inbox()
        self.stack.callback(self.inbox.server.server_close)
        self.stack.callback(self.inbox.server.shutdown)

    def start(self) -> None:
        for n, shape in enumerate(("mi300x8", "mi210x4")):
            node = LivingNode(shape, self.directory / f"node{n}", seed=n)
            self.stack.callback(node.close)
            engine = self.stack.enter_context(serving(node.engine, 0))
            port = free_port()
            command = [
                sys.executable, "-m", "rocsteady", "exporter", "--root", str(node.directory), "--listen",
                f"{LOOPBACK}:{port}", "--engine", f"http://{LOOPBACK}:{engine}/metrics",
            ]  # fmt: skip
            own = self.stack.enter_context(contextlib.ExitStack())
            own.enter_context(
                process(command, self.directory / f"exporter{n}.log", f"http://{LOOPBACK}:{port}/healthz")
            )
            self.nodes.append(node)
            self.targets.append(f"{LOOPBACK}:{port}")
            self.exporters.append(own)
        manager, prom = free_port(), free_port()
        config = SHORT.replace(
            "[general]", f'[general]\ntargets = {json.dumps(self.targets)}'
        ).replace(
            "[alertmanager]",
            f'[alertmanager]\naddress = "{LOOPBACK}:{manager}"\nnow_url = "{self.inbox.url}/now"\n'
            f'soon_url = "{self.inbox.url}/soon"\nlater_url = "{self.inbox.url}/later"',
        )  # fmt: skip
        (self.directory / "thresholds.toml").write_text(config, encoding="utf-8")
        out = self.directory / "out"
        write(out, load_settings(self.directory / "thresholds.toml"))
        self.stack.enter_context(alertmanager(out / "alertmanager.yml", self.directory / "am", manager))
        self.stack.enter_context(prometheus(out / "prometheus.yml", self.directory / "tsdb", prom))

        self.watched(prom)

    def watched(self, port: int) -> None:
        """Wait until Prometheus has seen both nodes a few times: a count must be seen before it grows."""
        query = urllib.parse.quote(f"count(rocsteady_exporter_scrapes_total > 2) == {len(self.nodes)}")
        address = f"http://{LOOPBACK}:{port}/api/v1/query?query={query}"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with urllib.request.urlopen(address, timeout=10) as answer:
                if json.load(answer)["data"]["result"]:
                    return
            time.sleep(0.5)
        raise AssertionError("Prometheus does not see the nodes")

    def until(self, *alerts: str) -> set[str]:
        """Let the nodes live until all of these have arrived; gives those that did not in time."""
        end = time.monotonic() + PATIENCE
        missing = set(alerts)
        while missing and time.monotonic() < end:
            for node in self.nodes:
                node.advance(SIMULATED)
            time.sleep(0.4)
            missing = {alert for alert in missing if not self.inbox.of(alert)}
        return missing


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("live"))
    with site.stack:
        site.start()
        yield site


def test_faults_of_single_gpus_arrive(site: Site) -> None:
    """The three rules that everybody asks for, and three more."""
    quiet = len(site.inbox.alerts)
    for fault, (_, gpu) in FAULTS.items():
        site.nodes[0].inject(fault, gpu=gpu)
    assert site.until(*(alert for alert, _ in FAULTS.values())) == set()
    assert quiet == 0, site.inbox.alerts[:quiet]
    for fault, (alert, gpu) in FAULTS.items():
        named = {labels["gpu"] for labels in site.inbox.of(alert)}
        assert site.nodes[0].slots[gpu] in named, fault
        assert {labels["instance"] for labels in site.inbox.of(alert)} == {site.targets[0]}
    assert {labels["route"] for labels in site.inbox.of("RocsteadyHbmTemperatureGradient")} == {"/now"}
    assert {labels["route"] for labels in site.inbox.of("RocsteadyXcdSaturated")} == {"/now"}
    assert {labels["route"] for labels in site.inbox.of("RocsteadyXgmiLinkErrors")} == {"/soon"}


def test_an_uncorrected_error_and_the_engine_it_killed_arrive(site: Site) -> None:
    site.nodes[1].inject("ras-ue", gpu=1)
    assert site.until("RocsteadyHbmUncorrectedErrors", "RocsteadyEngineDown") == set()
    assert {labels["gpu"] for labels in site.inbox.of("RocsteadyHbmUncorrectedErrors")} == {site.nodes[1].slots[1]}


def test_an_exporter_that_ends_arrives(site: Site) -> None:
    site.exporters[1].close()
    assert site.until("RocsteadyExporterDown") == set()
    assert {labels["instance"] for labels in site.inbox.of("RocsteadyExporterDown")} == {site.targets[1]}
