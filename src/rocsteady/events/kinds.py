"""What an event kind is. Each log format declares its kinds as data; ``scan`` finds all of them in one pass."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

import msgspec

from rocsteady.hostfs.patterns import bounded
from rocsteady.model import SubjectKind

Level = Literal["error", "notice", "info", "noise"]


class Kind(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One kind of message.

    name: permanent, lower-case with hyphens; catalog rules refer to it.
    needles: literal texts, case ignored; every line that can match holds at least one. They are what the
        fast scanner looks for, so pick words that healthy lines do not have. A leading ``^`` ties one to the start
        of a line (for the output of commands; log lines have a prefix there).
    pattern: regular expression, searched in the line without its prefix, case ignored. Named groups become
        fields. Groups with fixed meaning: ``bdf`` (GPU), ``pid``, ``process``.
    sample: a line (or several) that matches, in the wording of a real log.
    source: where the wording comes from.
    level: ``error`` something is wrong; ``notice`` matters only beside other facts; ``info`` a good or neutral
        sign; ``noise`` healthy nodes print it too: never evidence, only kept out of ``unexplained``.
    more: pattern of the lines that continue the message; named groups are added to the fields: the first value
        stays, except that a group called ``last_...`` takes the last one.
    shared: other kinds may also be found on the continuation lines (a traceback ends in the line that says what
        is wrong).
    ends: name of a group of ``more``; the line that fills it is the last of the message.
    alive: True for an ``info`` line that says that a part works: needed to call a node healthy.
    about: what the event is about; a ``gpu`` event without a PCI address is about the node.
    mark: ``crash`` for an end of service (engine death, OOM kill, GPU reset, hang), ``activity`` for something
        that a machine does from time to time (log rotation, cron, scrape): the crash timeline compares them.
    facts: dotted path of ``NodeFacts`` -> template over the fields, for what only this line states.
    """

    name: str
    needles: tuple[str, ...]
    pattern: str
    sample: str | tuple[str, ...]
    source: str
    level: Level = "error"
    alive: bool = False
    more: str = ""
    more_limit: int = 24
    shared: bool = False
    ends: str = ""
    about: SubjectKind = "gpu"
    mark: Literal["", "crash", "activity"] = ""
    facts: dict[str, str] = {}

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(bounded(self.pattern), re.IGNORECASE)

    @cached_property
    def more_regex(self) -> re.Pattern[str] | None:
        """The compiled continuation pattern, if there is one."""
        return re.compile(bounded(self.more), re.IGNORECASE) if self.more else None

    @property
    def samples(self) -> tuple[str, ...]:
        """All samples."""
        return (self.sample,) if isinstance(self.sample, str) else self.sample


ERROR_WORDS = (
    "error", "fail", "fatal", "exception", "traceback", "timeout", "timed out", "panic", "denied", "abort",
    "segfault", "cannot", "unable", "not found", "no such", "killed", "bug:", "oops", "corrupt", "invalid",
    "unsupported", "not supported", "out of memory", "refused", "mismatch",
)  # fmt: skip
"""What the scanner stops at beside the needles; whether such a line looks like an error says ``LOOKS_WRONG``."""

LOOKS_WRONG = re.compile(
    r"(?<![\w/.-])(?:errors?|fail(?:ed|ure|ures|s|ing)?|fatal|exception|traceback|time(?:d[ -]?)?out|panic(?:ked)?|denied"
    r"|abort(?:ed|ing)?|segfault|cannot|unable|not found|no such|killed|bug:|oops|corrupt(?:ed|ion)?|invalid"
    r"|unsupported|not supported|out of memory|refused|mismatch(?:ed)?)(?![\w/-]|\.\w)"
    r"|(?-i:\w(?:Error|Exception))\b",
    re.IGNORECASE,
)
"""A line of this kind that no kind knows is unexplained. Words inside package and file names do not count."""
LOOKS_RIGHT = re.compile(
    r"\b(?:0|no|without|zero) (?:\w+ )?(?:errors?|failures?)\b|\b(?:errors?|failed|failures?)[=:] ?0\b", re.IGNORECASE
)
"""A count of no errors."""
