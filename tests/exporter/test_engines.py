"""State of an engine from its /metrics; only on loopback, only where configured."""

from __future__ import annotations

import http.server
import threading

import pytest

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.engines import EngineCollector, check_address
from rocsteady.metrics import engine as m
from rocsteady.model import InputError

TEXT = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} {running}
vllm:num_requests_waiting{{engine="0",model_name="m"}} 7.0
vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} 0.25
vllm:generation_tokens_total{{engine="0",model_name="m"}} {tokens}
vllm:prompt_tokens_total{{engine="0",model_name="m"}} 100.0
"""


@pytest.mark.parametrize(
    "url", ["http://example.org/metrics", "https://127.0.0.1/", "http://10.0.0.1/metrics", "file:///etc/passwd"]
)
def test_loopback_only(url: str) -> None:
    with pytest.raises(InputError):
        check_address(url)


def test_an_engine_that_stands_still() -> None:
    state = {"running": 3.0, "tokens": 10.0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TEXT.format(**state).encode())

        def log_message(self, *_arguments: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    name = f"127.0.0.1:{server.server_port}"
    now = 0.0
    collector = EngineCollector((f"http://{name}/metrics",), lambda: now)

    def stalled() -> float:
        batch = Batch()
        collector.collect(batch)
        assert batch.samples[m.ENGINE_UP][(name,)] == 1
        assert batch.samples[m.ENGINE_KV][(name,)] == 0.25
        assert batch.samples[m.ENGINE_REQUESTS][(name, "waiting")] == 7
        return batch.samples[m.ENGINE_STALLED][(name,)]

    try:
        assert stalled() == 0
        now = 40.0
        assert stalled() == 40, "requests run and no token was counted"
        state["tokens"] = 11.0
        assert stalled() == 0
        now, state["running"] = 90.0, 0.0
        assert stalled() == 0, "nothing runs"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    batch = Batch()
    collector.collect(batch)
    assert batch.samples == {m.ENGINE_UP: {(name,): 0}}
    assert batch.reasons == {"failed": 1}
