"""Request mixes that are given as a distribution, and configurations of any content."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocsteady.model import InputError
from rocsteady.plan.budget import Request, budget_of
from rocsteady.plan.fragmentation import report, requests_of, simulate
from rocsteady.plan.planner import describe
from tests.plan.cases import LLAMA, planned


def test_a_given_distribution_has_its_medians() -> None:
    asks = requests_of("lognormal:1000,0.5,200,0.3", 100_000, 1_000_000, count=4000)
    assert statistics.median(a.stay for a in asks) == pytest.approx(200, rel=0.05)
    assert statistics.median(a.tokens for a in asks) == pytest.approx(1215, rel=0.1)


@pytest.mark.parametrize(
    "text",
    [
        "lognormal:",
        "lognormal:1,2,3",
        "lognormal:a,b,c,d",
        "lognormal:0,1,5,1",
        "lognormal:nan,1,5,1",
        "lognormal:1,9,5,1",
    ],
)
def test_a_distribution_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="lognormal:PROMPT"):
        requests_of(text, 1000, 1000)


def test_the_text_says_when_fragmentation_first_failed() -> None:
    found = simulate(planned(gpu="MI210", max_model_len=8192), "chat", count=1000)
    failed = next(o for o in found.outcomes if o.first_failure is not None)
    line = next(line for line in report(found).splitlines() if line.startswith(failed.allocator + " "))
    assert failed.first_failure is not None and line.split()[-1] == str(failed.first_failure + 1)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *sorted(LLAMA),
    "layer_types",
    "sliding_window",
    "vision_config",
    "quantization_config",
    "rope_scaling",
    "num_experts",
    "kv_lora_rank",
    "block_configs",
    "moe_latent_size",
    "text_config",
]


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), ANY, max_size=4))
def test_any_value_ends_in_a_plan_or_one_clear_line(changes: dict[str, object]) -> None:
    try:
        plan = describe(budget_of(Request(model="m", config=LLAMA | changes, gpu="MI300X")))
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert plan.per_gpu.weights_gib > 0
