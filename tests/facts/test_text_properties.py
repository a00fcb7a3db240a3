"""Every text reader on damaged text: nothing raises, evidence is a line of the text, logs give no facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocsteady.facts import Builder
from rocsteady.facts.readers import TextReader
from rocsteady.facts.registry import TEXT_READERS
from rocsteady.facts.sections import Section, sections
from rocsteady.model import Fact, Note
from tests.facts.reading import facts_of, paths_of, rows_of
from tests.support import SHARED

SAMPLES = "\n".join(
    text
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path.name not in ("test_sections.py", Path(__file__).name)
    for text in path.read_text().split('"')
    if 8 < len(text) < 4000
).splitlines()
"""Lines of the samples of all tests of this directory, and some code: a soup of everything that readers know."""

CONFUSED = st.lists(
    st.one_of(
        st.sampled_from(SAMPLES),
        st.builds(lambda line, at: line[:at], st.sampled_from(SAMPLES), st.integers(0, 60)),
        st.builds(lambda line, at: line[at:], st.sampled_from(SAMPLES), st.integers(0, 60)),
        st.text(max_size=40),
    ),
    max_size=30,
)


@given(CONFUSED)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150)
def test_any_mixture_is_read(lines: list[str]) -> None:
    """All readers together, and the merge of what they found."""
    text = "\n".join(lines)
    file_lines = {line.rstrip("\r").replace("\0", "") for line in text.split("\n")}
    builder = Builder()
    for row in rows_of(text):
        builder.add([row])
        if isinstance(row, (Fact, Note)) and row.evidence.line is not None:
            assert row.evidence.text in file_lines
    builder.build()


@pytest.mark.parametrize("reader", TEXT_READERS, ids=lambda r: r.name)
@given(
    lines=CONFUSED,
    command=st.one_of(st.none(), st.sampled_from(["lspci -vvv", "ls -l /dev/dri", "cat /proc/cmdline", "x"])),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=25)
def test_each_reader_takes_anything(reader: TextReader, lines: list[str], command: str | None) -> None:
    """Also text that is not its own."""
    section = Section("f", 1, tuple(line.replace("\n", " ") for line in lines) or ("",), command)
    list(reader.parse(section))


KERNEL_LOG = """\
[    0.000000] Linux version 6.8.0-60-generic (buildd@host) (gcc 13.3.0) #63-Ubuntu SMP
[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=UUID=x ro iommu=pt
[    3.100000] [drm] amdgpu kernel modesetting enabled.
[    3.200000] amdgpu 0000:c1:00.0: amdgpu: Fetched VBIOS from VFCT
[    3.300000] amdgpu 0000:c1:00.0: amdgpu: VRAM: 65520M 0x0000008000000000 - 0x0000008FFEFFFFFF (65520M used)
[    9.000000] pcieport 0000:c0:01.1: AER: Corrected error received: 0000:c1:00.0
"""
ENGINE_LOG = """\
INFO 04-28 12:31:09 [llm_engine.py:243] Initializing a V0 LLM engine (v0.8.5) with config: model='m', dtype=torch.bfloat16
INFO 04-28 12:31:10 [config.py:1] VLLM_USE_V1=1 GPU: 0 and docker run --privileged img were named
(EngineCore_0 pid=12) WARNING 04-28 12:31:11 [x.py:1] torch==2.5.1+cu124 is old
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/vllm/worker.py", line 1, in <module>
    raise RuntimeError("HIP_VISIBLE_DEVICES=0")
RuntimeError: HIP error: invalid device function
"""
PROSE = """\
Hello, I have a machine with two cards: one works and one does not.
I tried ROCm 6.1 and then ROCm 6.2; setting HSA_OVERRIDE_GFX_VERSION=10.3.0 makes no difference.
When I run docker run with --device it fails. The GPU: 0 is fine, kernel 6.8 is fine too.
See https://example.org/a: the answer there was "use vllm serve".
"""


@pytest.mark.parametrize(("name", "text"), [("kernel log", KERNEL_LOG), ("engine log", ENGINE_LOG), ("prose", PROSE)])
@pytest.mark.parametrize("times", [1, 5])
def test_logs_and_prose_state_no_facts(name: str, text: str, times: int) -> None:
    """What a log says is the business of the event kinds; what prose says is nobody's."""
    del name
    assert paths_of(text * times) == set()


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_real_captures() -> None:
    """Real output of the tools: whole sets of GPUs with their addresses."""
    captures = SHARED / "captures"
    expected = {
        "rocm-blogs-amd-smi/rocminfo-results.sysinfo.txt": 8,
        "zhenhantech-mi308x/rocminfo-rocprof-sysinfo.txt": 8,
        "telegraf-rocm-smi/mi100_rocm571.json": 6,
        "telegraf-rocm-smi/rx6700xt_rocm612.json": 1,
        "rocm-blogs-amd-smi/mi300x-amd-smi-list.txt": 3,
        "issue-logs/mi350x-amd-smi-static.txt": 1,
    }
    for name, count in expected.items():
        gpus = facts_of((captures / name).read_text(errors="replace")).gpus
        assert (name, len([g for g in gpus if g.bdf])) == (name, count)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_real_logs_state_no_containers_or_engines() -> None:
    """Kernel and journal logs of real reports."""
    for path in sorted((SHARED / "cases").glob("*/input/*")):
        if any(word in path.name for word in ("dmesg", "journal")):
            text = path.read_text(errors="replace")
            found = {
                r.path.partition("[")[0].partition(".")[0]
                for s in sections(path.name, text)
                for r in rows_of(s.text)
                if isinstance(r, Fact)
            }
            assert not found & {"container", "engine", "env", "packages", "python", "python_packages", "user"}, path
