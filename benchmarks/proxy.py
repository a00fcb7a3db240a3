"""What a gateway costs and what it survives: ours against vllm-router and LiteLLM on the same upstream, in one run.

Cost: one upstream process answers at once (a JSON answer, or 33 server-sent events); each proxy runs with one process
in front of it. Responses per second and core = responses by CPU seconds of the proxy's processes (from /proc), with 32
connections; added P50 = median latency at one connection, minus that of the upstream asked directly in the same round.

Faults: two stub workers behind each proxy; one is killed in mid-stream, one is frozen (engine stopped, /health still
200). Streams are whole when every word and [DONE] came.

Peers are looked for on PATH or given by option; what is not installed is null. Rates are compared inside this run only.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

CLOCK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
EVENTS = 33
MODEL = "stub"
GOALS = {
    "sse_against_vllm_router": 1.2,
    "sse_against_litellm": 100.0,
    "json_against_vllm_router": 0.35,
    "added_p50_ms": 1.0,
}


def say(text: str) -> None:
    """Progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


# the upstream of the cost test: one process, answers in tens of microseconds


class Upstream(asyncio.Protocol):
    """Enough HTTP for well-behaved proxies."""

    def __init__(self) -> None:
        self.buffer = b""
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """A proxy came."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer whole requests."""
        self.buffer += data
        while (stop := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:stop].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < stop + 4 + length:
                return
            body = self.buffer[stop + 4 : stop + 4 + length]
            self.buffer = self.buffer[stop + 4 + length :]
            if head.startswith(b"get"):
                self.transport.write(GET)
            elif b'"stream":true' in body or b'"stream": true' in body:
                self.transport.write(SSE_HEAD)
                for event in SSE_EVENTS:
                    self.transport.write(event)
            else:
                self.transport.write(JSON_ANSWER)


class SlowUpstream(Upstream):
    """The same, with half a second between the events of a stream: twenty of them, then the end."""

    def data_received(self, data: bytes) -> None:
        """Streams slowly; all else at once."""
        if b'"stream":true' in data:
            self.transport.write(SSE_HEAD)
            self._next(0)
        else:
            super().data_received(data)

    def _next(self, number: int) -> None:
        if self.transport.is_closing():
            return
        if number >= 20:
            self.transport.write(SSE_EVENTS[-1])
            return
        self.transport.write(SSE_EVENTS[number])
        asyncio.get_running_loop().call_later(0.5, self._next, number + 1)


def _answer(body: bytes, kind: bytes = b"application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)


def _chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


def _event(number: int) -> bytes:
    done = "stop" if number == EVENTS - 2 else None
    choice = {"index": 0, "delta": {"content": f" word{number}"}, "logprobs": None, "finish_reason": done,
              "token_ids": [number + 100]}  # fmt: skip
    if number == 0:
        choice["delta"] = {"role": "assistant", "content": ""}
    document: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000,
                                "model": MODEL, "choices": [choice]}  # fmt: skip
    if number == 0:
        document["prompt_token_ids"] = [1, 2, 3, 4, 5, 6, 7, 8]
    return _chunk(b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n")


GET = _answer(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "vllm"}]}).encode())
SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
SSE_EVENTS = [_event(number) for number in range(EVENTS - 1)] + [_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"]
JSON_ANSWER = _answer(json.dumps({
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": MODEL,
    "choices": [{"index": 0, "message": {"role": "assistant", "content": " word" * 32}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 8, "completion_tokens": 32, "total_tokens": 40}}).encode())  # fmt: skip


async def serve_upstream(port: int, kind: type[Upstream]) -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


# the load


def request_of(port: int, *, stream: bool) -> bytes:
    """One request, ready to send."""
    body = json.dumps(
        {"model": MODEL, "messages": [{"role": "user", "content": "Say it."}], "stream": stream, "temperature": 0,
         "max_tokens": 32}, separators=(",", ":"),
    ).encode()  # fmt: skip
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer none\r\nContent-Length: %d\r\n\r\n%s" % (port, len(body), body)
    )


async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    """Send a request, read its answer."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b" 200 " not in head[:16]:
        raise RuntimeError(f"not a 200: {head[:200]!r}")
    at = head.find(b"content-length:")
    if at >= 0:
        return await reader.readexactly(int(head[at + 15 :].split(b"\r\n", 1)[0]))
    body = b""
    while not body.endswith(b"0\r\n\r\n"):
        part = await reader.read(65536)
        if not part:
            raise RuntimeError("the answer broke off")
        body += part
    return body


async def hammer(port: int, *, stream: bool, connections: int, seconds: float) -> dict[str, Any]:
    """Closed loop over ``connections``."""
    request = request_of(port, stream=stream)
    latencies: list[float] = []
    wanted = b"[DONE]" if stream else b'"usage"'
    end = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        while time.perf_counter() < end:
            start = time.perf_counter()
            body = await one(reader, writer, request)
            latencies.append(time.perf_counter() - start)
            if wanted not in body:
                raise SystemExit(f"an answer without {wanted!r}")
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    spent = time.perf_counter() - start
    latencies.sort()
    return {"responses": len(latencies), "seconds": spent, "p50": statistics.median(latencies),
            "p99": latencies[int(len(latencies) * 0.99)]}  # fmt: skip


def load(port: int, *, stream: bool, connections: int, seconds: float) -> dict[str, Any]:
    """Run the load in a process of its own."""
    command = [sys.executable, __file__, "--role", "load", "--port", str(port), "--connections", str(connections),
               "--seconds", str(seconds)] + (["--stream"] if stream else [])  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# the proxies


class Process:
    """A process and its children."""

    def __init__(self, command: list[str], port: int, *, env: dict[str, str] | None = None, ready: str = "/v1/models",
                 wait: float = 90.0, log: Path | None = None) -> None:  # fmt: skip
        self.port = port
        self._log = log.open("wb") if log is not None else None
        out: Any = self._log or subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=out, stderr=out, env=env, start_new_session=True)
        end = time.monotonic() + wait
        while True:
            try:
                request = urllib.request.Request(
                    f"http://127.0.0.1:{port}{ready}", headers={"Authorization": "Bearer none"}
                )
                with urllib.request.urlopen(request, timeout=5) as answer:
                    answer.read()
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise RuntimeError(f"{command[0]} does not answer: {error}") from None
                time.sleep(0.2)

    def tree(self) -> list[int]:
        """Process ids."""
        found, at = [self.process.pid], 0
        while at < len(found):
            for task in Path(f"/proc/{found[at]}/task").glob("*/children"):
                try:
                    found += [int(p) for p in task.read_text(encoding="ascii").split() if int(p) not in found]
                except OSError:
                    continue
            at += 1
        return found

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        total = 0.0
        for pid in self.tree():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            except OSError:
                continue
            total += (int(fields[11]) + int(fields[12])) / CLOCK
        return total

    def memory(self) -> float:
        """Resident MiB."""
        total = 0
        for pid in self.tree():
            try:
                total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            except OSError:
                continue
        return total * PAGE / (1 << 20)

    def signal(self, number: int) -> None:
        """Signal the whole group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def stop(self) -> None:
        """End it."""
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()
        if self._log is not None:
            self._log.close()


def ours(urls: list[str], folder: Path, more: str = "") -> Process:
    """Our gateway, one process."""
    port = free_port()
    workers = "".join(
        f'[[worker]]\nname = "w{number}"\nurl = "{url}"\nmodel = "{MODEL}"\nnode = "n{number}"\n'
        for number, url in enumerate(urls)
    )
    path = folder / f"gateway-{port}.toml"
    path.write_text(f'listen = "127.0.0.1:{port}"\n{more}\n{workers}', encoding="utf-8")
    return Process([sys.executable, "-m", "rocsteady", "gateway", "--config", str(path)], port, ready="/readyz")


def vllm_router(binary: str, urls: list[str], folder: Path) -> Process:
    """vllm-router with its defaults, random policy."""
    port = free_port()
    command = [binary, "--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin", "--worker-urls", *urls,
               "--prometheus-port", str(free_port())]  # fmt: skip
    return Process(command, port, ready="/health", log=folder / f"router-{port}.log")


def litellm(binary: str, urls: list[str], folder: Path) -> Process:
    """LiteLLM's proxy, one worker process, retries as in its guide."""
    port = free_port()
    rows = "".join(
        f"  - model_name: {MODEL}\n    litellm_params: {{model: openai/{MODEL}, api_base: '{url}/v1', api_key: none}}\n"
        for url in urls
    )
    path = folder / f"litellm-{port}.yaml"
    path.write_text(f"model_list:\n{rows}router_settings: {{num_retries: 2}}\n", encoding="utf-8")
    env = {
        **os.environ,
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        "LITELLM_TELEMETRY": "False",
        "NO_PROXY": "127.0.0.1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = [binary, "--config", str(path), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    return Process(command, port, env=env, ready="/health/liveliness", wait=180.0, log=folder / f"litellm-{port}.log")


Make = Callable[[list[str], Path], Process]


def proxies(arguments: argparse.Namespace) -> dict[str, Make | None]:
    """How each proxy is started; None where it is not installed."""
    router, lite = shutil.which(arguments.vllm_router), shutil.which(arguments.litellm)
    return {
        "rocsteady": ours,
        "rocsteady, continuation off": lambda urls, folder: ours(urls, folder, "continuation = false"),
        "vllm-router": (lambda urls, folder: vllm_router(router, urls, folder)) if router else None,
        "litellm": (lambda urls, folder: litellm(lite, urls, folder)) if lite else None,
    }


# cost


def cost(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Responses per second and core, added latency."""
    port = free_port()
    upstream = Process([sys.executable, __file__, "--role", "upstream", "--port", str(port)], port)
    made = proxies(arguments)
    running: dict[str, Process] = {}
    rows: dict[str, Any] = dict.fromkeys(made)
    samples: dict[tuple[str, str, str], list[float]] = {}
    try:
        for name, make in made.items():
            if make is not None:
                say(f"starting {name}")
                try:
                    running[name] = make([f"http://127.0.0.1:{port}"], folder)
                except RuntimeError as error:
                    say(f"{name} is left out: {error}")
                    continue
                load(running[name].port, stream=True, connections=2, seconds=1.0)  # warm
        for number in range(arguments.rounds):
            for kind, stream in (("json", False), ("sse", True)):
                direct = load(port, stream=stream, connections=1, seconds=arguments.seconds)["p50"]
                for name, process in running.items():
                    alone = load(process.port, stream=stream, connections=1, seconds=arguments.seconds)["p50"]
                    before = process.cpu()
                    busy = load(process.port, stream=stream, connections=32, seconds=arguments.seconds)
                    spent = process.cpu() - before
                    samples.setdefault((name, kind, "per_core"), []).append(busy["responses"] / spent)
                    samples.setdefault((name, kind, "per_second"), []).append(busy["responses"] / busy["seconds"])
                    samples.setdefault((name, kind, "added_p50_ms"), []).append((alone - direct) * 1000)
                    say(f"round {number + 1} {kind} {name}: {busy['responses'] / spent:.0f} a core and second, "
                        f"added {1000 * (alone - direct):.2f} ms")  # fmt: skip
    finally:
        for process in (*running.values(), upstream):
            process.stop()
    for (name, kind, what), values in samples.items():
        rows[name] = rows[name] or {}
        rows[name].setdefault(kind, {})[what] = round(statistics.median(values), 3)
    return rows


# many streams


async def _hold(port: int, count: int) -> tuple[int, int]:
    request = request_of(port, stream=True)
    whole = 0

    async def client() -> None:
        nonlocal whole
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        body = await one(reader, writer, request)
        whole += b"[DONE]" in body
        writer.close()

    await asyncio.gather(*(client() for _ in range(count)), return_exceptions=True)
    return whole, count - whole


def many(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Concurrent streams, memory before, in the middle and at the end of two rounds."""
    port = free_port()
    upstream = Process([sys.executable, __file__, "--role", "slow", "--port", str(port)], port)
    gateway = ours([f"http://127.0.0.1:{port}"], folder, "[admission]\nconcurrency = 4096")
    rounds = []
    try:
        idle = gateway.memory()
        for _ in range(3):
            command = [sys.executable, __file__, "--role", "hold", "--port", str(gateway.port), "--connections",
                       str(arguments.streams)]  # fmt: skip
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            most, seen = 0.0, []
            while process.poll() is None:
                seen.append(gateway.memory())
                most = max(most, seen[-1])
                time.sleep(0.5)
            out = process.stdout.read() if process.stdout is not None else ""
            whole, broken = json.loads(out)
            rounds.append({"whole": whole, "broken": broken, "most_mib": round(most, 1)})
            say(f"{arguments.streams} streams: {rounds[-1]}")
    finally:
        for process_ in (gateway, upstream):
            process_.stop()
    return {"streams": arguments.streams, "idle_mib": round(idle, 1), "rounds": rounds}


# faults


def stub(pause: float) -> Process:
    """A stub worker of ours: synthetic, speaks vLLM's protocol. ``pause``: seconds a token."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "rocsteady.drill.stub",
        "--port",
        str(port),
        "--model",
        MODEL,
        "--token-s",
        str(pause),
        "--max-num-seqs",
        "4096",
    ]
    return Process(command, port, ready="/health")


def ask(port: int, tokens: int, limit: float, seen: list[int] | None = None) -> tuple[bool, float, str]:
    """One stream: whole?, seconds, its text."""
    body = json.dumps({"model": MODEL, "prompt": "count", "stream": True, "temperature": 0, "max_tokens": tokens,
                       "ignore_eos": True}).encode()  # fmt: skip
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", data=body,
        headers={"Content-Type": "application/json", "Authorization": "Bearer none"},
    )  # fmt: skip
    start = time.monotonic()
    text, done, broken = "", False, False
    try:
        with urllib.request.urlopen(request, timeout=limit) as answer:
            for line in answer:
                if line.startswith(b"data: [DONE]"):
                    done = True
                elif line.startswith(b"data:"):
                    if seen is not None:
                        seen.append(1)
                    event = json.loads(line[5:])
                    broken = broken or "error" in event
                    text += "".join(c.get("text") or "" for c in event.get("choices", []))
                if time.monotonic() - start > limit:
                    break
    except (OSError, ValueError):
        broken = True
    return done and not broken, time.monotonic() - start, text


def together(
    port: int, count: int, tokens: int, limit: float, seen: list[int]
) -> list[Future[tuple[bool, float, str]]]:
    """``count`` streams at once; ``seen`` gets one entry for each event that came."""
    pool = ThreadPoolExecutor(count)
    asked = [pool.submit(ask, port, tokens, limit, seen) for _ in range(count)]
    pool.shutdown(wait=False)
    return asked


def faults(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One of two workers killed in mid-stream; one of two frozen."""
    rows: dict[str, Any] = {}
    for name, make in proxies(arguments).items():
        if name.endswith("off"):
            continue
        if make is None:
            rows[name] = None
            continue
        try:
            rows[name] = {"killed": _killed(make, folder), "frozen": _frozen(make, folder)}
        except RuntimeError as error:
            say(f"{name} is left out: {error}")
            rows[name] = None
        say(f"faults, {name}: {json.dumps(rows[name])}")
    return rows


def _killed(make: Make, folder: Path) -> dict[str, Any]:
    workers = [stub(0.1), stub(0.1)]
    proxy = make([f"http://127.0.0.1:{w.port}" for w in workers], folder)
    try:
        wanted = ask(workers[0].port, 60, 30)[2]
        seen: list[int] = []
        asked = together(proxy.port, 10, 60, 60, seen)
        while len(seen) < 100 and not all(one.done() for one in asked):  # 10 streams of 60 events: all under way
            time.sleep(0.01)
        workers[1].signal(signal.SIGKILL)
        done = [one.result() for one in asked]
        after = [ask(proxy.port, 5, 15) for _ in range(20)]
    finally:
        for process in (proxy, *workers):
            process.stop()
    return {
        "streams": len(done), "broken": sum(not whole for whole, _, _ in done),
        "wrong_text": sum(whole and text != wanted for whole, _, text in done),
        "after": {"requests": len(after), "failed": sum(not whole for whole, _, _ in after),
                  "p50_ms": round(1000 * statistics.median(s for _, s, _ in after), 1),
                  "max_ms": round(1000 * max(s for _, s, _ in after), 1)},
    }  # fmt: skip


def _frozen(make: Make, folder: Path) -> dict[str, Any]:
    workers = [stub(0.01), stub(0.01)]
    proxy = make([f"http://127.0.0.1:{w.port}" for w in workers], folder)
    try:
        for _ in range(4):
            ask(proxy.port, 5, 15)
        body = json.dumps({"frozen": True}).encode()
        urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{workers[1].port}/stub/faults", data=body, method="POST"),
            timeout=5,
        ).close()
        start = time.monotonic()
        done = [one.result() for one in together(proxy.port, 20, 5, 15, [])]
        first = time.monotonic() - start
        again = [ask(proxy.port, 5, 15) for _ in range(6)]
    finally:
        for process in (proxy, *workers):
            process.stop()
    seconds = [s for _, s, _ in done]
    return {
        "requests": len(done), "failed": sum(not whole for whole, _, _ in done), "slowest_seconds": round(max(seconds), 2),
        "round_seconds": round(first, 2),
        "afterwards": {"requests": len(again), "failed": sum(not whole for whole, _, _ in again),
                       "slowest_seconds": round(max(s for _, s, _ in again), 2)},
    }  # fmt: skip


def goals(measured: dict[str, Any]) -> dict[str, Any]:
    """Ratios against the peers, and whether the goals were met; None where a peer is missing."""
    rows = measured.get("cost") or {}
    mine = rows.get("rocsteady")
    found: dict[str, Any] = {}
    if not mine:
        return found
    for label, peer, kind in (
        ("sse_against_vllm_router", "vllm-router", "sse"), ("sse_against_litellm", "litellm", "sse"),
        ("json_against_vllm_router", "vllm-router", "json"),
    ):  # fmt: skip
        other = rows.get(peer)
        ratio = None if other is None else round(mine[kind]["per_core"] / other[kind]["per_core"], 3)
        found[label] = {"goal": GOALS[label], "value": ratio, "met": None if ratio is None else ratio >= GOALS[label]}
    worst = max(mine["sse"]["added_p50_ms"], mine["json"]["added_p50_ms"])
    found["added_p50_ms"] = {"goal": GOALS["added_p50_ms"], "value": worst, "met": worst <= GOALS["added_p50_ms"]}
    return found


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout, progress on stderr")
    parser.add_argument("--vllm-router", default="vllm-router", metavar="FILE", help="its program (default: on PATH)")
    parser.add_argument("--litellm", default="litellm", metavar="FILE", help="its program (default: on PATH)")
    parser.add_argument("--rounds", type=int, default=2, help="interleaved rounds; the median counts (default 2)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement (default 3)")
    parser.add_argument(
        "--streams", type=int, default=2000, help="concurrent streams of the memory test (default 2000)"
    )
    parser.add_argument("--only", choices=["cost", "many", "faults"], action="append", help="run only these parts")
    for name in ("--role", "--port", "--connections", "--tokens"):
        parser.add_argument(name, help=argparse.SUPPRESS, type=str if name == "--role" else int)
    parser.add_argument("--stream", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role == "upstream":
        import uvloop

        uvloop.run(serve_upstream(arguments.port, Upstream))
    elif arguments.role == "slow":
        import uvloop

        uvloop.run(serve_upstream(arguments.port, SlowUpstream))
    elif arguments.role == "load":
        import uvloop

        found = uvloop.run(
            hammer(
                arguments.port, stream=arguments.stream, connections=arguments.connections, seconds=arguments.seconds
            )
        )
        sys.stdout.write(json.dumps(found))
    elif arguments.role == "hold":
        sys.stdout.write(json.dumps(asyncio.run(_hold(arguments.port, arguments.connections))))
    if arguments.role:
        return 0
    parts = arguments.only or ["cost", "many", "faults"]
    measured: dict[str, Any] = {"schema": "rocsteady.proxy-benchmark/1", "cores": os.cpu_count(), "events": EVENTS}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for name, run in (("cost", cost), ("many", many), ("faults", faults)):
            measured[name] = run(arguments, folder) if name in parts else None
    measured["goals"] = goals(measured)
    if arguments.json:
        sys.stdout.write(json.dumps(measured) + "\n")
    else:
        sys.stdout.write(json.dumps(measured, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
