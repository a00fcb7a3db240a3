"""What a pass sees of one file, and the two things it may do: edit a span, leave a note."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from rocsteady.port.conditions import Conditions, read_conditions
from rocsteady.port.edits import EditSet
from rocsteady.port.mapping import version
from rocsteady.port.rules import rules
from rocsteady.port.scope import Scope
from rocsteady.port.source import Source
from rocsteady.port.structure import Structure

# Wavefront size by target: CDNA and GCN run 64 lanes, RDNA (gfx10 and later) 32 by default.
_WAVE32 = ("gfx10", "gfx11", "gfx12")
# FP8 in hardware: gfx94x has the FNUZ formats, gfx95x and gfx12 the OCP ones.
_FNUZ = ("gfx940", "gfx941", "gfx942")
_OCP = ("gfx950", "gfx12")
DEFAULT_TARGETS = ("gfx90a", "gfx942")
DEFAULT_ROCM = "6.4"


class Note(msgspec.Struct, frozen=True, order=True):
    """A place a person must look at. `line` is 1-based in the input."""

    line: int
    category: str
    rule: str
    severity: str
    reason: str


class Unconverted(msgspec.Struct, frozen=True, order=True):
    """A CUDA name that was left as it is."""

    line: int
    name: str


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    targets: tuple[str, ...] = DEFAULT_TARGETS
    rocm: str = DEFAULT_ROCM
    warp: str = "keep32"
    rename: bool = False
    reviewed: bool = True

    @property
    def wave64_only(self) -> bool:
        """Do all targets run 64 lanes?"""
        return not any(target.startswith(_WAVE32) for target in self.targets)

    @property
    def wave32_only(self) -> bool:
        """Do all targets run 32 lanes?"""
        return all(target.startswith(_WAVE32) for target in self.targets)

    @property
    def fp8(self) -> str:
        """fnuz, ocp, mixed, or none, after the FP8 formats that the targets have in hardware."""
        fnuz = any(target.startswith(_FNUZ) for target in self.targets)
        ocp = any(target.startswith(_OCP) for target in self.targets)
        return "mixed" if fnuz and ocp else "ocp" if ocp else "fnuz" if fnuz else "none"

    def rocm_at_least(self, wanted: str) -> bool:
        """Is the target ROCm this release or a later one?"""
        return version(self.rocm) >= version(wanted)


@dataclass
class ProjectFacts:
    """What other files of the tree say about names in this one."""

    own_macros: frozenset[str] = frozenset()
    own_headers: frozenset[str] = frozenset()
    renamed: dict[str, str] = field(default_factory=dict)
    managed: bool = False


@dataclass
class Context:
    """One file on its way through the passes."""

    source: Source
    structure: Structure
    scope: Scope
    options: Options
    project: ProjectFacts
    edits: EditSet = field(default_factory=EditSet)
    notes: list[Note] = field(default_factory=list)
    unconverted: list[Unconverted] = field(default_factory=list)
    converted: int = 0
    families: dict[str, int] = field(default_factory=dict)
    needs: set[str] = field(default_factory=set)  # headers that edits of this file made necessary
    handled: set[int] = field(default_factory=set)  # code tokens that a pass has dealt with

    @cached_property
    def conditions(self) -> Conditions:
        """The `#if` structure, read when first asked for."""
        return read_conditions(self.source)

    one_per_category: bool = True
    was_hip: bool = False  # the file included HIP's headers before: values in it (launch bounds) are HIP's already
    _noted: set[tuple[int, str]] = field(default_factory=set)

    def note(self, rule: str, index: int, detail: str = "") -> None:
        """Leave a note of `rule` at a code token; `detail` is put before the rule's own reason."""
        self.note_line(rule, self.source.line_of(index), detail)

    def note_line(self, rule: str, line: int, detail: str = "") -> None:
        """Leave a note at a line; a second one of the same kind at the same line is dropped."""
        known = rules()[rule]
        key = (line, known.category if self.one_per_category else rule)
        if key in self._noted:
            return
        self._noted.add(key)
        reason = f"{detail}: {known.reason}" if detail else known.reason
        self.notes.append(Note(line, known.category, rule, known.severity, reason))

    def replace(self, first: int, last: int, text: str, rule: str) -> bool:
        """Replace the code tokens first..last by `text`."""
        return self.edits.add(self.source.code[first].start, self.source.code[last].end, text, rule)

    def insert_after(self, index: int, text: str, rule: str) -> bool:
        """Insert text directly behind a code token."""
        end = self.source.code[index].end
        return self.edits.add(end, end, text, rule)

    def insert_before(self, index: int, text: str, rule: str) -> bool:
        """Insert text directly before a code token."""
        start = self.source.code[index].start
        return self.edits.add(start, start, text, rule)

    def current(self, first: int, last: int) -> str:
        """Source text first..last with the edits made so far inside it."""
        return self.edits.render(self.source.text, self.source.code[first].start, self.source.code[last].end)
