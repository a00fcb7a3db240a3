"""Compatibility tables: known pairs, unknown pairs, and what is not confused."""

from __future__ import annotations

import re

import pytest

from rocsteady.catalog.compatibility import Combination, check, covers, system_of
from rocsteady.catalog.knowledge import claims, compat, find_part, find_settings, part_by_device, settings


def status(pair: str, **named: str) -> str:
    rows = {r.pair.split(" x ")[0]: r for r in check(Combination(**named), compat())}
    return rows[pair].status


@pytest.mark.parametrize(
    ("pair", "named", "wanted"),
    [
        ("OS", {"os": "CentOS 8.5", "rocm": "5.7.1"}, "unsupported"),
        ("OS", {"os": "CentOS Linux release 7.9.2009", "rocm": "5.7"}, "supported"),
        ("OS", {"os": "Ubuntu 22.04.3 LTS", "rocm": "5.7.1"}, "supported"),
        ("OS", {"os": "Red Hat Enterprise Linux 9.4 (Plow)", "rocm": "6.2.0"}, "supported"),
        ("OS", {"os": "Ubuntu 24.10", "rocm": "6.2.2"}, "unsupported"),
        ("OS", {"rocm": "6.4.1"}, "unknown"),
        ("kernel", {"os": "CentOS 8.5", "kernel": "4.18.0-348.el8", "rocm": "5.7.1"}, "unsupported"),
        ("kernel", {"os": "Ubuntu 22.04.5", "kernel": "5.15.0-101-generic", "rocm": "6.4.1"}, "supported"),
        ("kernel", {"os": "Ubuntu 22.04.5", "kernel": "6.17.0-5-generic", "rocm": "6.4.1"}, "unsupported"),
        ("driver", {"driver": "6.12.12", "rocm": "6.4.1"}, "unknown"),
        ("driver", {"driver": "6.0.2", "rocm": "7.1.0"}, "unsupported"),
        ("driver", {"driver": "30.10.1", "rocm": "7.0.1"}, "supported"),
        ("GPU", {"gfx": "gfx942", "rocm": "6.4.1"}, "supported"),
        ("GPU", {"gfx": "gfx1103", "rocm": "6.4.1"}, "unsupported"),
        ("PyTorch", {"pytorch": "2.6.0+rocm6.4", "rocm": "6.4.1"}, "supported"),
        ("PyTorch", {"pytorch": "1.9.0", "rocm": "6.4.1"}, "unsupported"),
        ("vLLM", {"vllm": "0.9.1", "rocm": "6.4.1"}, "supported"),
        ("vLLM", {"vllm": "0.0.1", "rocm": "6.4.1"}, "unknown"),
    ],
)
def test_pairs(pair: str, named: dict[str, str], wanted: str) -> None:
    assert status(pair, **named) == wanted


def test_a_release_without_tables_is_judged_by_its_neighbour_and_says_so() -> None:
    rows = check(Combination(os="Ubuntu 22.04.5", rocm="7.2.0"), compat())
    assert "by the table of ROCm 7.2.1" in rows[0].says


def test_what_to_move_to_is_named() -> None:
    row = check(Combination(gfx="gfx1201", rocm="6.2.0"), compat())[3]
    assert row.status == "unsupported" and row.move_to and "ROCm" in row.move_to


def test_ranges_and_names() -> None:
    assert covers("8.6 to 8.7", "8.7") and not covers("8.6 to 8.7", "8.5")
    assert system_of("Ubuntu 22.04.5 LTS (Jammy Jellyfish)") == ("Ubuntu", "22.04.5")
    assert system_of("SLES 15 SP5") == ("SLES", "15 SP5")


def test_every_row_has_a_source_and_folklore_has_none() -> None:
    for setting in settings():
        assert setting.retrieved
        assert bool(setting.source) != (setting.status == "folklore"), setting.id
    assert find_settings("HIP_ASYNC_ALLOC")[0].status == "folklore"
    assert find_settings("hsa_enable_sdma")[0].status == "exists"


def test_parts() -> None:
    mi210 = find_part("MI210")
    assert mi210 is not None and mi210.gfx == "gfx90a"
    assert find_part("no such card") is None
    found = part_by_device("740f")
    assert found is not None and "MI210" in found.product


def test_claims_are_recognised_in_lines_that_follow_them() -> None:
    seen = {c.slug for c in claims()}
    assert len(seen) == len(claims())
    for claim in claims():
        pattern = re.compile(claim.pattern, re.IGNORECASE)
        assert claim.examples.bad and claim.examples.good and claim.examples.unknown
        assert all(pattern.search(line) for line in claim.examples.bad), claim.slug
        assert not any(pattern.search(line) for line in (*claim.examples.good, *claim.examples.unknown)), claim.slug
        assert all(s.startswith("https://") for s in claim.sources) and claim.sources
