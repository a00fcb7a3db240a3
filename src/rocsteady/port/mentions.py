"""Rules that a name alone raises: the names stand in the rule files."""

from __future__ import annotations

from rocsteady.port.context import Context
from rocsteady.port.names import is_own
from rocsteady.port.rules import Rule, by_name, by_prefix


def find_mentions(context: Context) -> None:
    """Leave a note at every use in code of a name that some rule lists."""
    source = context.source
    once: set[str] = set()
    table = by_name()
    for word, indices in source.uses.items():
        matched = table.get(word, ()) or tuple(rule for prefix, rule in by_prefix() if word.startswith(prefix))
        for rule in matched:
            for index in indices:
                if rule.id in once or not _fits(context, rule, word, index):
                    continue
                context.note(rule.id, index)
                if rule.once:
                    once.add(rule.id)


def _fits(context: Context, rule: Rule, word: str, index: int) -> bool:
    source = context.source
    if rule.needs and rule.needs not in source.uses:
        return False
    if rule.lanes and 64 in rule.lanes and context.options.wave32_only:
        return False
    owner = source.directive_of[index]
    if owner and source.directives[owner - 1].name in {"include", "pragma", "error", "warning", "undef"}:
        return False
    member = rule.by == "members" and source.word(index - 1) in {".", "->"}
    if rule.by not in {"names", "members", "textures"} or _defining(context, index):
        return False
    if (
        member
        and word.islower()
        and not ({"cudaDeviceProp", "hipDeviceProp_t", "cudaDeviceProp_t"} & source.uses.keys())
    ):
        return False  # `major` is a member of many things
    if not member and is_own(context, word, index):
        return False
    if rule.by == "members" and not member and word[0].islower() and not word.startswith(("cu", "hip")):
        return False  # a word of the program that a property shares
    if rule.where == "call":
        return source.is_call(index) or source.word(index + 1) == "<"
    if rule.where == "device":
        return (source.is_call(index) or source.word(index + 1) == "<") and context.structure.on_device(index)
    if rule.where == "host":
        function = context.structure.function_at(index)
        return function is None or function.where == "host"
    if rule.where == "template":
        return source.word(index + 1) == "<"
    return True


def _defining(context: Context, index: int) -> bool:
    """`#define NAME` of the program's own: the use below it is what counts."""
    owner = context.source.directive_of[index]
    return (
        bool(owner)
        and context.source.directives[owner - 1].name in {"define", "undef"}
        and index == context.source.directives[owner - 1].first + 2
    )
