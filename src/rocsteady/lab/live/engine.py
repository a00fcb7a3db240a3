"""The inference engine on the node, as far as others see it: processes, KFD use, its log and its own ``/metrics``.

Metric names are vLLM's (https://docs.vllm.ai/en/latest/usage/metrics.html). It serves nobody: the figures follow the
load of the model.
"""

from __future__ import annotations

import datetime

from rocsteady.lab.gpu import Slot
from rocsteady.lab.kfd import FIRST_PID, KFD, gpu_id, serving_gpus
from rocsteady.lab.live.disk import Disk
from rocsteady.lab.live.physics import Body
from rocsteady.lab.logs import MODEL
from rocsteady.lab.shapes import Shape

LOG = "var/log/vllm/vllm.log"
MEMORY_LOG = "var/log/gpu-memory.log"
REPORT = 10.0
"""Seconds between two throughput lines while requests run (vLLM's default)."""
KEPT_REPORT = 600.0
"""Seconds between two of them that we write: a day of lines every ten seconds says no more. While nothing moves, all."""
MOST_RUNNING = 32
TOKENS = 38.5
"""Tokens a second of one running request; as in the logs of the still trees."""
PROMPT_SHARE = 0.7
RUNTIME = 300 << 20
"""VRAM that the driver counts and the process does not."""
ROLES = ("APIServer", "EngineCore")
HZ = 100


class Engine:
    """One vLLM with a worker per GPU.

    ``tokens_share``: 1 = as the load wants, 0 = none move although requests run.
    """

    def __init__(self, shape: Shape, slots: list[Slot], disk: Disk, start: float, port: int) -> None:
        self._shape = shape
        self._slots = slots
        self._disk = disk
        self._start = start
        self.port = port
        self.gpus = serving_gpus(shape)
        self.generation = 0
        self.alive = True
        self.running = 0
        self.waiting = 0.0
        self.prompt = 1_000_000.0
        self.generated = 5_000_000.0
        self.cpu = 0.0
        self._busy_time = [1_250_000.0] * len(shape.buses)
        self._reported = 0.0
        self._kept = 0.0
        self._rate = (0.0, 0.0)

    def step(self, now: float, load: float, tokens_share: float, seconds: float) -> None:
        """Let time pass."""
        if not self.alive:
            self.running, self.waiting, self._rate = 0, 0.0, (0.0, 0.0)
            return
        if tokens_share > 0:
            self.running = round(MOST_RUNNING * load)
            self.waiting = 0.0
        else:
            self.running = max(self.running, 1)
            self.waiting += load * seconds
        rate = self.running * TOKENS * tokens_share
        self._rate = (rate * PROMPT_SHARE, rate)
        self.generated += rate * seconds
        self.prompt += rate * PROMPT_SHARE * seconds
        self.cpu += seconds * (0.2 + load)
        if self.running and now - self._reported >= REPORT:
            self._reported = now
            if tokens_share == 0 or now - self._kept >= KEPT_REPORT:
                self._kept = now
                self.say(now, "INFO", "loggers.py:118", self._report())

    def _report(self) -> str:
        prompt, generated = self._rate
        return (
            f"Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {generated:.1f} "
            f"tokens/s, Running: {self.running} reqs, Waiting: {int(self.waiting)} reqs, GPU KV cache usage: "
            f"{100 * self.cache:.1f}%, Prefix cache hit rate: 21.4%"
        )

    @property
    def cache(self) -> float:
        """Share of the KV cache in use."""
        return self.running * 0.011

    def say(self, now: float, level: str, place: str, text: str) -> None:
        """One line of the engine's log."""
        stamp = datetime.datetime.fromtimestamp(self._start + now, datetime.UTC)
        self._disk.append(LOG, f"{level} {stamp:%m-%d %H:%M:%S} [{place}] {text}\n")

    def raw(self, text: str) -> None:
        """A line that another program prints into the same log."""
        self._disk.append(LOG, f"{text}\n")

    def pid(self, gpu: int) -> int:
        """The worker of a GPU."""
        return FIRST_PID + 1000 * self.generation + gpu

    @property
    def pids(self) -> dict[int, str]:
        """All processes and their titles."""
        server = self.pid(0) - len(ROLES)
        found = {server: f"python3\0/usr/local/bin/vllm\0serve\0{MODEL}\0--port\0{self.port}\0"}
        found[server + 1] = "VLLM::EngineCore\0"
        found.update({self.pid(gpu): f"VLLM::Worker_TP{gpu}\0" for gpu in self.gpus})
        return found

    def write(self, bodies: list[Body], seconds: float) -> None:
        """Processes as they are now."""
        if not self.alive:
            return
        disk = self._disk
        for gpu in self.gpus:
            state, key = bodies[gpu].state, gpu_id(self._slots[gpu], 0)
            base = f"{KFD}/proc/{self.pid(gpu)}"
            self._busy_time[gpu] += seconds * state.busy * 100
            disk.text(f"{base}/vram_{key}", str(max(0, state.vram_used - RUNTIME)))
            disk.text(f"{base}/stats_{key}/cu_occupancy", str(3 * state.busy))
            disk.text(f"{base}/sdma_{key}", str(int(self._busy_time[gpu])))
        for number, pid in enumerate(self.pids):
            ticks = int(self.cpu * HZ / (1 + number))
            fields = " ".join(["S", "1", "1", "1", "0", "-1", "4194560", "0", "0", "0", "0", str(ticks), str(ticks // 9),
                               "0", "0", "20", "0", "96", "0", "43000000", "91268055040", "2097152"])  # fmt: skip
            disk.text(f"proc/{pid}/stat", f"{pid} (vllm) {fields}" + " 0" * 28)

    def start(self) -> None:
        """Make the processes."""
        self.alive = True
        for pid, command in self.pids.items():
            self._disk.data(f"proc/{pid}/cmdline", command.encode())
            self._disk.text(f"proc/{pid}/cgroup", "0::/system.slice/vllm.service")
        for gpu in self.gpus:
            key, base = gpu_id(self._slots[gpu], 0), f"{KFD}/proc/{self.pid(gpu)}"
            for name, value in {
                "pasid": 32770 + gpu, f"stats_{key}/evicted_ms": 0, f"counters_{key}/faults": 0,
                f"counters_{key}/page_in": 0, f"counters_{key}/page_out": 0, "queues/0/gpuid": key,
                "queues/0/size": 16384, "queues/0/type": 2,
            }.items():  # fmt: skip
                self._disk.text(f"{base}/{name}", str(value))

    def die(self) -> None:
        """End all processes; the next start has other pids."""
        if not self.alive:
            return
        self.alive = False
        for pid in self.pids:
            self._disk.drop(f"proc/{pid}")
        for gpu in self.gpus:
            self._disk.drop(f"{KFD}/proc/{self.pid(gpu)}")
        self.generation += 1

    def metrics(self) -> str:
        """What the engine's own /metrics would print."""
        labels = f'{{engine="0",model_name="{MODEL}"}}'
        rows = (
            ("vllm:num_requests_running", "gauge", float(self.running)),
            ("vllm:num_requests_waiting", "gauge", float(int(self.waiting))),
            ("vllm:kv_cache_usage_perc", "gauge", self.cache),
            ("vllm:prompt_tokens_total", "counter", float(int(self.prompt))),
            ("vllm:generation_tokens_total", "counter", float(int(self.generated))),
        )
        return "".join(
            f"# HELP {name} Synthetic.\n# TYPE {name} {kind}\n{name}{labels} {value}\n" for name, kind, value in rows
        )
