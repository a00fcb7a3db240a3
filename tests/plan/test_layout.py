"""Groups on XGMI sets, cards and partitions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.catalog.knowledge import find_part
from rocsteady.model import InputError
from rocsteady.plan.budget import Request, budget_of
from rocsteady.plan.layout import partitions_of, place, split_cards
from tests.plan.cases import LLAMA


def layout(
    tp: int, pp: int = 1, dp: int = 1, topology: dict[str, Any] | None = None, gpu: str = "MI300X"
) -> dict[str, Any]:
    request = Request(model="m", config=LLAMA, gpu=gpu, tp=tp, pp=pp, dp=dp, engine_version="0.26")
    found = place(budget_of(request), topology)
    assert found is not None
    return found


@pytest.mark.parametrize(("mode", "count"), [("SPX", 1), ("dpx", 2), ("QPX", 4), ("CPX", 8)])
def test_modes_of_mi300x(mode: str, count: int) -> None:
    assert partitions_of(mode, find_part("MI300X")) == count


@pytest.mark.parametrize(("mode", "part"), [("CPX", "MI210"), ("XPX", "MI300X"), ("TPX", "MI300X"), ("DPX", "W7900")])
def test_modes_that_there_are_not(mode: str, part: str) -> None:
    with pytest.raises(InputError):
        partitions_of(mode, find_part(part))


def test_a_group_of_partitions_stays_on_a_card() -> None:
    part = find_part("MI300X")
    found = layout(4, dp=4, topology=split_cards(part, 8, 16))
    assert found["cards"] == [[0], [0], [1], [1]]
    assert "partitions of card 0" in found["text"][0]


def test_a_larger_group_takes_cards_of_one_hive() -> None:
    found = layout(16, topology=split_cards(find_part("MI300X"), 8, 16))
    assert found["cards"] == [[0, 1]] and found["warning"] is None


def test_cards_without_xgmi_warn() -> None:
    found = layout(2, gpu="W7900")
    assert found["tp_crosses_pcie"] and "PCIe" in found["warning"]
    assert not layout(1, pp=2, gpu="W7900")["tp_crosses_pcie"], "stages may cross"


def test_numa_neighbours_first() -> None:
    gpus = [{"numa_node": i % 2, "hive": "h", "bdf": str(i), "card": i, "partition": None} for i in range(8)]
    found = layout(4, dp=2, topology={"gpus": gpus})
    assert found["groups"] == [[0, 2, 4, 6], [1, 3, 5, 7]]


@given(
    tp=st.sampled_from([1, 2, 4, 8]), pp=st.integers(1, 3), dp=st.integers(1, 3),
    cards=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 8)), min_size=1, max_size=6),
)  # fmt: skip
def test_no_device_twice(tp: int, pp: int, dp: int, cards: list[tuple[int, int]]) -> None:
    gpus = [
        {"numa_node": hive, "hive": f"h{hive}", "bdf": "x", "card": card, "partition": index if count > 1 else None}
        for card, (hive, count) in enumerate(cards)
        for index in range(count)
    ]
    request = Request(model="m", config=LLAMA, gpu="MI300X", tp=tp, pp=pp, dp=dp, engine_version="0.26")
    found = place(budget_of(request), {"gpus": gpus})
    if found is None or not found["groups"]:
        return
    used = [i for group in found["groups"] for i in group]
    assert len(used) == len(set(used)) and set(used) <= set(range(len(gpus)))
    assert all(len(group) == tp for group in found["groups"])
    assert len(found["groups"]) == pp * dp or "GPUs are needed" in str(found["warning"]) or len(gpus) < tp * pp * dp
