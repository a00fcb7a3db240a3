"""The sweep: every combination, what the hardware lacks, what is known to be unstable, and its pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocsteady.catalog.plan_risks import plan_risks, rows
from rocsteady.model import InputError
from rocsteady.plan.budget import Request
from rocsteady.plan.sweep import Sweep, run_sweep, table
from rocsteady.plan.sweep_plot import html, svg, write_plot
from tests.plan.cases import LLAMA


def sweep(gpu: str = "MI300X", version: str = "0.26") -> Sweep:
    return run_sweep(Request(model="m", config=LLAMA, gpu=gpu, engine_version=version))


def test_all_combinations() -> None:
    found = sweep()
    assert {r.quantization for r in found.rows} == {"bf16", "fp8", "int8", "awq", "gptq", "mxfp4"}
    assert {r.kv_cache_dtype for r in found.rows} == {"auto", "fp8"}
    assert {(r.tp, r.pp) for r in found.rows} >= {(1, 1), (2, 1), (8, 1), (1, 2)}
    by = {(r.quantization, r.kv_cache_dtype, r.tp, r.pp, r.context): r for r in found.rows}
    for (quantization, kv, tp, pp, context), r in by.items():
        if kv == "auto" and (other := by.get((quantization, "fp8", tp, pp, context))):
            assert other.kv_tokens > r.kv_tokens, "an FP8 cache holds more"
    assert by["fp8", "auto", 1, 1, 8192].weights_gib < by["bf16", "auto", 1, 1, 8192].weights_gib


@pytest.mark.parametrize(
    ("gpu", "quantization", "support"),
    [
        ("MI300X", "fp8", "yes"),
        ("MI210", "fp8", "emulated"),
        ("MI300X", "mxfp4", "emulated"),
        ("MI355X", "mxfp4", "yes"),
    ],
)
def test_what_the_hardware_has(gpu: str, quantization: str, support: str) -> None:
    assert {r.support for r in sweep(gpu).rows if r.quantization == quantization} == {support}


def test_an_old_release_does_not_take_every_method() -> None:
    assert {r.support for r in sweep(version="0.5.3").rows if r.quantization == "mxfp4"} == {"no"}


def test_known_problems_carry_their_sources() -> None:
    assert all(row.level != "unsupported" or row.gfx for row, _ in rows())
    assert all(source.startswith("https://") for _, sources in rows() for source in sources)
    assert all(sources for _, sources in rows())
    found = {risk.mode for risk in plan_risks("bf16", "fp8", "gfx942", 1)}
    assert found == {"QUANT-0010"}
    assert "CONF-0032" in {risk.mode for risk in plan_risks("bf16", "auto", "gfx90a", 2)}
    assert plan_risks("bf16", "auto", "gfx942", 8) == ()
    assert plan_risks("bf16", "auto", "gfx90a", 1) == ()
    text = table(sweep())
    assert "!QUANT-0010" in text and "known problems on ROCm" in text and "https://github.com/vllm-project" in text


@pytest.mark.parametrize(
    ("weights", "gfx", "version", "level", "mode"),
    [
        ("bf16", "gfx906", (0, 26, 0), "unsupported", None),
        ("mxfp4", "gfx1100", (0, 26, 0), "unsupported", "QUANT-0960"),
        ("mxfp4", "gfx1151", (0, 19, 2), "unsupported", "QUANT-0006"),
        ("mxfp4", "gfx950", (0, 26, 0), "unstable", None),
        ("int8", "gfx942", (0, 11, 2), "unstable", "QUANT-0006"),
        ("awq", "gfx90a", (0, 6, 6), "unstable", "QUANT-0006"),
    ],
)
def test_known_by_target_and_release(
    weights: str, gfx: str, version: tuple[int, ...], level: str, mode: str | None
) -> None:
    assert (level, mode) in {(r.level, r.mode) for r in plan_risks(weights, "auto", gfx, 1, version)}


def test_releases_bound_a_risk() -> None:
    assert not plan_risks("int8", "auto", "gfx942", 1, (0, 14, 0))
    assert "unsupported" not in {r.level for r in plan_risks("mxfp4", "auto", "gfx1151", 1, (0, 19, 1))}
    assert plan_risks("int8", "auto", "gfx942", 1) == ()


def test_what_does_not_run_is_a_no() -> None:
    found = sweep("RX 7900 XTX")
    assert {r.support for r in found.rows if r.quantization == "mxfp4"} == {"no"}
    assert "XQUANT-0960" in table(found)


def test_a_cuda_device_has_no_rocm_problems() -> None:
    found = run_sweep(Request(model="m", config=LLAMA, gpu="NVIDIA H100", gpu_mem_gib=79.1, engine_version="0.26"))
    assert all(r.risks == () for r in found.rows)


def test_pictures(tmp_path: Path) -> None:
    found = sweep()
    assert svg(found).count("<rect") == len({(r.quantization, r.kv_cache_dtype, r.tp, r.pp) for r in found.rows})
    assert "known problems" in html(found)
    picture = tmp_path / "s.png"
    pytest.importorskip("PIL")
    from PIL import Image

    write_plot(found, picture)
    with Image.open(picture) as image:
        assert image.width > 1000 and len(set(image.convert("L").resize((200, 200)).tobytes())) > 20
    with pytest.raises(InputError):
        write_plot(found, tmp_path / "s.gif")
    with pytest.raises(InputError):
        write_plot(found, tmp_path / "nowhere" / "s.svg")
