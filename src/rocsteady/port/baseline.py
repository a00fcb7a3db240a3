"""A baseline file: notes that were known at some time are not shown again, new ones are."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import msgspec

from rocsteady.model import InputError
from rocsteady.port.context import Note
from rocsteady.port.convert import Result

SCHEMA = "rocsteady.port-baseline/1"


class Baseline(msgspec.Struct, frozen=True):
    """Fingerprints with how often each occurs. A fingerprint holds path, rule and the text of the line, not its number."""

    schema: str
    places: dict[str, int]


def fingerprint(path: str, note: Note, line: str) -> str:
    """Stable against moved lines and changed blanks."""
    folded = re.sub(r"\s+", " ", line).strip()
    text = "\0".join((path, note.rule, folded))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]


def _lines(result: Result) -> list[str]:
    return re.split(r"\r\n|\r|\n", result.before.decode("latin-1"))


def take(results: list[Result]) -> Baseline:
    """The baseline of a run."""
    counts: Counter[str] = Counter()
    for result in results:
        lines = _lines(result)
        counts.update(fingerprint(result.report.path, note, lines[note.line - 1]) for note in result.report.reviews)
    return Baseline(SCHEMA, dict(sorted(counts.items())))


def read(path: Path) -> Baseline:
    """Read a baseline file; raises InputError when it is none."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path}: not a baseline file: {error}") from None
    if found.schema != SCHEMA:
        raise InputError(f"{path}: not a baseline file: schema {found.schema!r}")
    return found


def subtract(results: list[Result], baseline: Baseline) -> tuple[list[Result], int]:
    """Results without the notes of the baseline, and how many there were."""
    left = Counter(baseline.places)
    fresh, known = [], 0
    for result in results:
        lines = _lines(result)
        kept = []
        for note in result.report.reviews:
            key = fingerprint(result.report.path, note, lines[note.line - 1])
            if left[key] > 0:
                left[key] -= 1
                known += 1
            else:
                kept.append(note)
        fresh.append(Result(msgspec.structs.replace(result.report, reviews=kept), result.before, result.data))
    return fresh, known
