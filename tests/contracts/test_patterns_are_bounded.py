"""No pattern takes long on a long line of junk: a log that anybody may have written must not hang a diagnosis."""

from __future__ import annotations

import time

import pytest

from rocsteady.events import KINDS
from rocsteady.facts.readers import read_section
from rocsteady.facts.registry import TEXT_READERS
from rocsteady.facts.sections import Section, sections
from rocsteady.hostfs.patterns import bounded
from rocsteady.hostfs.redact import Redactor

JUNK = (
    "a",
    "A_",
    " ",
    "0",
    "-",
    ".",
    "/",
    "é",
    "\t",
    "a=",
    "{",
    "a: ",
    "/dev/kfd: ",
    "ABC=1",
    "ABC=1 ",
    "-e ABC=1 ",
    "a1:b2/c3 ",
    "\n",
    " \n",
)
LENGTH = 6000
BUDGET = 20.0
"""Seconds of CPU; a pattern of linear cost takes milliseconds here, one of cubic cost minutes. Wide on purpose: it tells
these two apart on any machine, and is no measure of speed."""


@pytest.mark.parametrize("junk", JUNK)
def test_event_kinds(junk: str) -> None:
    """Both patterns of every kind."""
    text = (junk * LENGTH)[:LENGTH]
    for kind in KINDS:
        start = time.process_time()
        kind.regex.search(text)
        if kind.more_regex is not None:
            kind.more_regex.search(text)
        assert time.process_time() - start < BUDGET, kind.name


@pytest.mark.parametrize("junk", JUNK)
def test_text_readers(junk: str) -> None:
    """Recognising and parsing, and cutting into sections."""
    text = (junk * LENGTH)[:LENGTH]
    start = time.process_time()
    for section in sections("x", text):
        list(read_section(TEXT_READERS, section))
    Redactor(("gpunode17",), ("roberta",), b"k").text(text)
    assert time.process_time() - start < 5 * BUDGET
    for reader in TEXT_READERS:
        start = time.process_time()
        list(reader.parse(Section("x", 1, tuple(text.split("\n")))))
        assert time.process_time() - start < BUDGET, reader.name


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"\w+ \S*? \d+", r"\w{1,500} \S{0,500}? \d{1,500}"),
        (r"[^\]]+[]a]*x+\++", r"[^\]]{1,500}[]a]{0,500}x+\++"),
        (r"\w{2,3}(?:\.\w+)* .*", r"\w{2,3}(?:\.\w{1,500})* .*"),
        (r"\[\w\]+", r"\[\w\]+"),
    ],
)
def test_bounded(pattern: str, wanted: str) -> None:
    """Classes of characters get a bound, everything else stays."""
    assert bounded(pattern) == wanted
