"""Functions and launches of a file: from tree-sitter-cuda where its nodes are clean, from brackets where not."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rocsteady.port.source import Source
from rocsteady.port.tokens import Kind

if TYPE_CHECKING:
    from tree_sitter import Node

# Above this size the grammar is not run: its speed was measured at 0.7 to 5 MB/s, and generated sources of this size
# hold tables, not kernels. The report says so.
PARSE_LIMIT_BYTES = 1_500_000
_CONTROL = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype", "defined", "__launch_bounds__", "__attribute__", "__align__", "alignas", "asm", "__asm__"}  # fmt: skip
_QUALIFIERS = {"__global__": "kernel", "__device__": "device", "__host__": "host"}


@dataclass(frozen=True, slots=True)
class Function:
    """One function definition; indices are code tokens. `where` is kernel, device, host or both."""

    name: str
    name_at: int
    params: tuple[int, int]
    body: tuple[int, int]
    where: str
    from_grammar: bool

    def holds(self, index: int) -> bool:
        """Is the token in the body?"""
        return self.body[0] <= index <= self.body[1]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel launch: the name and the spans of its `<<<...>>>` arguments."""

    name: str
    name_at: int
    opener: int
    arguments: tuple[tuple[int, int], ...]
    closer: int


@dataclass
class Structure:
    """What is known about the shape of a file."""

    functions: list[Function] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    error_lines: list[int] = field(default_factory=list)
    parsed: bool = False

    def function_at(self, index: int) -> Function | None:
        """The function whose body holds a token."""
        at = bisect_left(self.functions, index + 1, key=lambda function: function.body[0]) - 1
        while at >= 0:
            if self.functions[at].holds(index):
                return self.functions[at]
            at -= 1
            if at >= 0 and self.functions[at].body[1] < index and at < len(self.functions) - 8:
                break
        return None

    def on_device(self, index: int) -> bool:
        """Can the token run on the GPU? A place outside every known function (a macro) counts as device code."""
        function = self.function_at(index)
        return function is None or function.where != "host"


def read_structure(source: Source) -> Structure:
    """Structure of one file."""
    found = Structure()
    clean: dict[int, bool] = {}
    if len(source.text) <= PARSE_LIMIT_BYTES and _worth_parsing(source):
        _run_grammar(source, found, clean)
    _functions(source, found, clean)
    _launches(source, found)
    return found


def _worth_parsing(source: Source) -> bool:
    return (
        any(word in source.uses for word in ("__global__", "__device__", "asm", "__shared__")) or "<<<" in source.text
    )


def _run_grammar(source: Source, found: Structure, clean: dict[int, bool]) -> None:
    """Note the body offsets of function definitions that parsed without error, and the lines with errors."""
    import tree_sitter_cuda  # noqa: PLC0415 - heavy, and not needed for files without kernels
    from tree_sitter import Language, Parser  # noqa: PLC0415

    tree = Parser(Language(tree_sitter_cuda.language())).parse(source.text.encode("latin-1", "replace"))
    found.parsed = True
    todo: list[Node] = [tree.root_node]
    while todo:
        node: Any = todo.pop()
        if node.type == "ERROR" or node.is_missing:
            found.error_lines.append(node.start_point[0] + 1)
            continue
        if node.type == "function_definition":
            body = node.child_by_field_name("body")
            if body is not None:
                clean[body.start_byte] = not node.has_error
            if not node.has_error:
                continue
        if node.has_error or node.type in {"translation_unit", "namespace_definition", "declaration_list", "class_specifier", "struct_specifier", "field_declaration_list", "template_declaration", "linkage_specification", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"}:  # fmt: skip
            todo.extend(node.children)
    found.error_lines.sort()


def _functions(source: Source, found: Structure, clean: dict[int, bool]) -> None:
    """Find `name(params) ... { body }`; where the grammar saw the same body, it confirms it."""
    code, match = source.code, source.match
    index, stop = 0, len(code)
    while index < stop:
        if code[index].text != "(" or index not in match or source.directive_of[index]:
            index += 1
            continue
        name = source.word(index - 1)
        if index == 0 or code[index - 1].kind is not Kind.IDENT or name in _CONTROL:
            index += 1
            continue
        body = _body(source, match[index])
        if body is None:
            index += 1
            continue
        grammar = clean.get(code[body].start)
        where = _where(source, index - 1)
        if where or grammar is not None or _defines(source, index - 1):
            found.functions.append(
                Function(name, index - 1, (index, match[index]), (body, match[body]), where or "host", bool(grammar))
            )
            index = match[body]
        index += 1
    found.functions.sort(key=lambda function: function.body[0])


def _body(source: Source, closer: int) -> int | None:
    """The opening brace of the body behind a parameter list, over `const noexcept -> T : init(...)`."""
    at = closer + 1
    for _ in range(80):
        word = source.word(at)
        if word == "{":
            return at if at in source.match else None
        if word in {";", "=", ")", "}", ""} or (at < len(source.code) and source.directive_of[at]):
            return None
        if word == "(":
            if at not in source.match:
                return None
            at = source.match[at]
        at += 1
    return None


def _where(source: Source, name_at: int) -> str:
    """Kernel, device, host, both, from the qualifiers before a function name; "" when there are none."""
    seen = set()
    at = name_at - 1
    for _ in range(60):
        word = source.word(at)
        if word in {";", "{", "}", ""} or (word == ":" and source.word(at - 1) in {"public", "private", "protected"}):
            break
        if word == ")" and at in source.match:
            at = source.match[at]
        if word in _QUALIFIERS:
            seen.add(_QUALIFIERS[word])
        elif word.isupper() and "HOST" in word and "DEVICE" in word:
            seen |= {"host", "device"}
        elif word.isupper() and "DEVICE" in word:
            seen.add("device")
        at -= 1
    if "kernel" in seen:
        return "kernel"
    if "device" in seen:
        return "both" if "host" in seen else "device"
    return "host" if "host" in seen else ""


def _defines(source: Source, name_at: int) -> bool:
    """A definition without qualifiers: a type stands before the name."""
    before = source.word(name_at - 1)
    if before in {"*", "&", ">", "::", "~"}:
        return True
    return (
        name_at > 0 and source.code[name_at - 1].kind is Kind.IDENT and before not in {"return", "else", "new", "case"}
    )


def _launches(source: Source, found: Structure) -> None:
    for index, token in enumerate(source.code):
        if token.text != "<<<":
            continue
        name_at = index - 1
        if source.word(name_at) == ">":
            depth = 0
            while name_at > 0:
                depth += (source.word(name_at) == ">") - (source.word(name_at) == "<")
                if depth == 0:
                    break
                name_at -= 1
            name_at -= 1
        closer = _launch_end(source, index)
        if closer is None:
            continue
        spans, first, at = [], index + 1, index + 1
        while at < closer - 2:
            word = source.word(at)
            if word in {"(", "[", "{"} and at in source.match:
                at = source.match[at]
            elif word == "<" and (end := source.template_end(at)) is not None:
                at = end
            elif word == ",":
                spans.append((first, at - 1))
                first = at + 1
            at += 1
        spans.append((first, closer - 3))
        found.launches.append(Launch(source.word(name_at), name_at, index, tuple(spans), closer))


def _launch_end(source: Source, opener: int) -> int | None:
    """Index of the last `>` of `>>>`."""
    at = opener + 1
    limit = min(len(source.code), opener + 600)
    while at + 2 < limit:
        word = source.word(at)
        if word in {"(", "[", "{"} and at in source.match:
            at = source.match[at]
        elif word in {";", "}"}:
            return None
        elif word == ">" and source.word(at + 1) == ">" and source.word(at + 2) == ">":
            first, third = source.code[at], source.code[at + 2]
            if third.end - first.start == 3 and source.word(at + 3) in {"(", ""}:
                return at + 2
        at += 1
    return None
