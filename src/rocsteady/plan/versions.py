"""Which rules an engine version follows. Boundaries were read from released wheels; docs/plan.md lists them."""

from __future__ import annotations

import re

import msgspec

NEWEST = (0, 33, 0)
"""The newest release whose rules were read; later versions are planned as this one."""


class Engine(msgspec.Struct, frozen=True):
    """A vLLM version as far as memory is concerned."""

    text: str
    version: tuple[int, int, int]
    guessed: bool
    v0: bool
    rocm: bool

    def at_least(self, major: int, minor: int, patch: int = 0) -> bool:
        """True from that release on."""
        return self.version >= (major, minor, patch)

    @property
    def default_utilization(self) -> float:
        """0.90 up to 0.18.1, 0.92 in 0.20.2: the change falls between."""
        return 0.92 if self.at_least(0, 20) else 0.9

    @property
    def graphs_in_budget(self) -> bool:
        """CUDA from 0.20.2 on; ROCm was excluded in 0.18.1, 0.20.2 and 0.23.0 and is included in 0.26.0."""
        return not self.v0 and (self.at_least(0, 24) if self.rocm else self.at_least(0, 20))

    @property
    def whole_device_weights(self) -> bool:
        """On ROCm "Model loading took" was the change of the whole device (0.7.3 to 0.20.2), torch's by 0.23.0."""
        return self.rocm and self.at_least(0, 7) and not self.at_least(0, 21)

    @property
    def hybrid_groups(self) -> bool:
        """Sliding layers get blocks of their own; before 0.9.1 and in the V0 engine they are kept like full ones."""
        return not self.v0 and self.at_least(0, 9, 1)

    @property
    def group_slack(self) -> float:
        """The largest layer count becomes the group size below this multiple of the smallest (0.11.2: no such rule)."""
        if not self.at_least(0, 12):
            return 1.0
        return 1.5 if self.at_least(0, 17) else 1.25

    @property
    def tokens_are_derived(self) -> bool:
        """From 0.20 the printed token count is concurrency x max_model_len; before, blocks per group x block size."""
        return not self.v0 and self.at_least(0, 20)

    @property
    def in_flight_batches(self) -> int:
        """Batches that a sliding window must hold beside itself: 2 with async scheduling, counted from 0.26 on."""
        return 2 if self.at_least(0, 26) else 1

    @property
    def sorts_in_sampler(self) -> bool:
        """Top-k/top-p sorted the vocabulary; a Triton kernel without a sort replaced it (constants.json: sampler)."""
        return self.v0 or not self.at_least(0, 17)


def parse_engine(text: str, rocm: bool) -> Engine:
    """The version in any text: ``0.23.1.dev1+g9dd``, ``0.9.2 (V0 engine)``, ``vLLM 0.10``, ``v0.6.5/0.6.6``."""
    match = re.search(r"(?<![\d.])(\d{1,2})\.(\d{1,3})(?:\.(\d{1,3}))?", text)
    guessed = match is None
    version = (int(match[1]), int(match[2]), int(match[3] or 0)) if match else NEWEST
    named = re.search(r"\bV([01])\b", text)
    if named:
        v0 = named[1] == "0"
    else:
        # V1 became the default in 0.8 on CUDA; on ROCm it was not before 0.9.
        v0 = version < ((0, 9, 0) if rocm else (0, 8, 0))
    return Engine(text, version, guessed, v0, rocm)
