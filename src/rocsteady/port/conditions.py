"""The `#if` structure of a file: which conditions hold where, and which branches belong together."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from rocsteady.port.source import Source

_OPEN = {"if", "ifdef", "ifndef"}
_NEXT = {"else", "elif", "elifdef", "elifndef"}


@dataclass
class Conditions:
    """Built once per file. `stacks[i]` holds the conditions behind the directive that starts at `starts[i]`."""

    starts: list[int] = field(default_factory=list)
    stacks: list[list[str]] = field(default_factory=list)
    chains: list[list[int]] = field(default_factory=list)  # directive numbers from `#if` to `#endif`
    chain_of: dict[int, int] = field(default_factory=dict)

    def at(self, index: int) -> list[str]:
        """Conditions around a code token, outermost first, without the include guard; `!` before a later branch."""
        position = bisect_left(self.starts, index) - 1
        return self.stacks[position] if position >= 0 else []

    def chain(self, number: int) -> list[int]:
        """The directives of the chain that directive `number` belongs to."""
        return self.chains[self.chain_of[number]] if number in self.chain_of else [number]


def read_conditions(source: Source) -> Conditions:
    """Conditions of one file; an `#else` or `#endif` without its `#if` is passed over."""
    found = Conditions()
    stack: list[tuple[str, bool, int]] = []
    for position, directive in enumerate(source.directives):
        if directive.name in _OPEN:
            text = source.span(directive.first + 1, directive.last)
            guard = directive.name == "ifndef" and is_guard(source, position)
            stack.append((text, guard, len(found.chains)))
            found.chains.append([])
        elif not stack or (directive.name not in _NEXT and directive.name != "endif"):
            continue
        text, guard, chain = stack[-1]
        found.chains[chain].append(position)
        found.chain_of[position] = chain
        if directive.name in _NEXT:
            stack[-1] = ("!" + text.lstrip("!"), guard, chain)
        elif directive.name == "endif":
            stack.pop()
        found.starts.append(directive.first)
        found.stacks.append([text for text, guard, _ in stack if not guard])
    return found


def is_guard(source: Source, position: int) -> bool:
    """Is directive `position` the `#ifndef` of an include guard?"""
    following = source.directives[position + 1] if position + 1 < len(source.directives) else None
    mine = source.directives[position]
    return (
        following is not None
        and following.name == "define"
        and source.word(following.first + 2) == source.word(mine.first + 2)
    )
