"""Engines are found by their processes; only those in our own network are asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.exporter.batch import Batch
from rocsteady.exporter.collectors.engine_processes import EVERY, EngineProcessCollector, network_of_ours
from rocsteady.facts.engine_processes import EngineProcess, Malformed, ProcessState, parse_command, parse_state
from rocsteady.hostfs.pinned import PinnedFS
from rocsteady.metrics import engine as m

STAT = (
    "{pid} (VLLM::Engine (x)) {state} 1 2 3 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 61 0 7770 99999999 {pages} 18446\n"
)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["/usr/bin/python3", "/usr/local/bin/vllm", "serve", "m", "--port", "8001"], EngineProcess("vllm", "server", 8001)),
        (["vllm", "serve", "m"], EngineProcess("vllm", "server", 8000)),
        (["vllm", "serve", "m", "--port=x"], EngineProcess("vllm", "server", None)),
        (["python", "-m", "vllm.entrypoints.openai.api_server"], EngineProcess("vllm", "server", 8000)),
        (["python3", "-m", "sglang.launch_server", "--port=30001"], EngineProcess("sglang", "server", 30001)),
        (["VLLM::EngineCore"], EngineProcess("vllm", "engine-core")),
        (["VLLM::Worker_DP0_TP1"], EngineProcess("vllm", "worker")),
        (["prod::EngineCore_DP1"], EngineProcess("vllm", "engine-core")),
        (["sglang::scheduler_TP0"], EngineProcess("sglang", "scheduler")),
        (["vllm", "bench", "serve"], None),
        (["grep", "vllm serve"], None),
        (["tail", "-f", "/var/log/vllm"], None),
        ([""], None),
    ],
)  # fmt: skip
def test_command_lines(words: list[str], found: EngineProcess | None) -> None:
    assert parse_command("\0".join([*words, ""]).encode()) == found


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    assert isinstance(parse_command(data), EngineProcess | None)
    assert isinstance(parse_state(data), ProcessState | Malformed)


def add(root: Path, pid: int, words: list[str], state: str = "S", net: str | None = None) -> None:
    folder = root / "proc" / str(pid)
    (folder / "ns").mkdir(parents=True, exist_ok=True)
    (folder / "cmdline").write_bytes("\0".join([*words, ""]).encode())
    (folder / "stat").write_text(STAT.format(pid=pid, state=state, pages=1000))
    if net is not None:
        (folder / "ns" / "net").symlink_to(net)


def test_found_asked_and_stopped(tmp_path: Path) -> None:
    ours = network_of_ours()
    assert ours is not None
    add(tmp_path, 10, ["vllm", "serve", "m", "--port", "8100"], net=ours)
    add(tmp_path, 11, ["VLLM::EngineCore"], state="T")
    add(tmp_path, 12, ["vllm", "serve", "m"], net="net:[1]")
    add(tmp_path, 13, ["sshd"])
    now = 0.0
    collector = EngineProcessCollector(PinnedFS(tmp_path), lambda: now)

    def scrape() -> Batch:
        batch = Batch()
        collector.collect(batch)
        return batch

    batch = scrape()
    assert batch.samples[m.PROCESSES] == {(): 3}
    assert ("11", "vllm", "engine-core", "") in batch.samples[m.PROCESS_INFO]
    assert batch.samples[m.PROCESS_STATE][("11", "stopped")] == 1
    assert batch.samples[m.PROCESS_STATE][("10", "stopped")] == 0
    assert batch.samples[m.PROCESS_CPU][("11",)] == 3.0
    assert collector.addresses == ("http://127.0.0.1:8100/metrics",), "12 has a network of its own"
    assert batch.reasons == {"skipped": 1}

    add(tmp_path, 13, ["VLLM::Worker_TP0"])
    assert scrape().samples[m.PROCESSES] == {(): 3}, "a known process is looked at again only later"
    now = EVERY
    assert scrape().samples[m.PROCESSES] == {(): 4}


def test_zero_only_where_all_were_seen(tmp_path: Path) -> None:
    def counted(collector: EngineProcessCollector) -> dict[tuple[str, ...], float]:
        batch = Batch()
        collector.collect(batch)
        return batch.samples.get(m.PROCESSES, {})

    add(tmp_path, 20, ["sshd"])
    assert counted(EngineProcessCollector(PinnedFS(tmp_path))) == {}, "process 1 is hidden from us"
    add(tmp_path, 1, ["init"])
    assert counted(EngineProcessCollector(PinnedFS(tmp_path))) == {(): 0}
    broken = tmp_path / "proc" / "21"
    (broken / "cmdline").mkdir(parents=True)
    collector = EngineProcessCollector(PinnedFS(tmp_path))
    assert counted(collector) == {} and counted(collector) == {}, "what could not be read stays unknown"


def test_nothing_to_see_is_not_zero(tmp_path: Path) -> None:
    batch = Batch()
    EngineProcessCollector(PinnedFS(tmp_path)).collect(batch)
    assert batch.samples == {}
    assert batch.reasons == {"absent": 1}
