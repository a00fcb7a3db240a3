"""Inline PTX: the common one-instruction statements become HIP, every other is named with what it does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rocsteady.port.context import Context
from rocsteady.port.source import Source
from rocsteady.port.tokens import Kind

_KEYWORDS = ("asm", "__asm__", "__asm")
_LOAD = re.compile(
    r"^ld(?:\.global|\.weak)*(?P<hint>(?:\.(?:nc|cs|cg|ca|lu|cv|L1::no_allocate|L1::evict_first|L1::evict_last|L2::\w+))*)\.(?:v(?P<n>[24])\.)?(?P<type>[fusb](?:8|16|32|64)) (?P<rest>.*)$"
)
_STORE = re.compile(
    r"^st(?:\.global|\.weak)*(?P<hint>(?:\.(?:cs|cg|wb|wt|L1::no_allocate|L2::\w+))*)\.(?:v(?P<n>[24])\.)?(?P<type>[fusb](?:8|16|32|64)) (?P<rest>.*)$"
)
_STREAMING = ("nc", "cs", "lu", "no_allocate", "evict_first", "wt")
_SCALARS = {"f32": "float", "u32": "unsigned", "s32": "int", "b32": "unsigned", "f64": "double", "u64": "unsigned long long", "s64": "long long", "b64": "unsigned long long", "u16": "unsigned short", "s16": "short", "b16": "unsigned short", "u8": "unsigned char", "s8": "signed char", "b8": "unsigned char"}  # fmt: skip
_VECTORS = {
    "float": "float",
    "unsigned": "uint",
    "int": "int",
    "double": "double",
    "unsigned short": "ushort",
    "short": "short",
}
# Instructions that belong to a subject of its own besides being PTX.
_SUBJECTS = (
    (re.compile(r"\b(cp\.async|cp\.reduce|mbarrier)"), "ptx-async-copy"),
    (re.compile(r"\b(w?mma\.|wgmma|ldmatrix|stmatrix|tcgen05)"), "ptx-matrix"),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One asm statement: token span, PTX text with one instruction in it or several, operands in order."""

    first: int
    last: int
    text: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    readwrite: bool

    @property
    def operands(self) -> tuple[str, ...]:
        """`%0` onwards."""
        return self.outputs + self.inputs


@cache
def _table() -> tuple[tuple[re.Pattern[str], str, bool], ...]:
    text = (files("rocsteady.port") / "data" / "ptx.tsv").read_text(encoding="utf-8")
    found = []
    for line in text.splitlines()[1:]:
        ptx, hip, exact = line.split("\t")
        pattern = (
            re.sub(r"(?<!\\)\.", r"\\.", ptx)
            .replace("[", r"\[")
            .replace("]", r"\]")
            .replace(" ", r"\s*")
            .replace("\\s*", "\\s+", 1)
        )
        pattern = re.sub(r"\{(\w)\}", r"(?P<\1>%\\d+|-?\\w+)", pattern)
        found.append((re.compile(f"^{pattern}$"), hip, exact == "yes"))
    return tuple(found)


def convert_ptx(context: Context) -> None:
    """Convert or name every asm statement."""
    source = context.source
    for word in _KEYWORDS:
        for index in source.uses.get(word, ()):
            statement = read_statement(source, index)
            if statement is None:
                if source.word(index + 1) in {"(", "volatile", "__volatile__"}:
                    context.note("inline-ptx", index)
                continue
            _convert(context, statement)


def read_statement(source: Source, index: int) -> Statement | None:
    """The asm statement at `index`, or None where it is written in another way (macros, C++ asm declarations)."""
    at = index + 1
    while source.word(at) in {"volatile", "__volatile__", "goto", "inline"}:
        at += 1
    if source.word(at) != "(" or at not in source.match:
        return None
    closer = source.match[at]
    parts: list[list[int]] = [[]]
    inner = at + 1
    while inner < closer:
        word = source.word(inner)
        if word == ":":
            parts.append([])
        elif word == "::":
            parts += [[], []]
        else:
            stop = source.match.get(inner, inner) if word in {"(", "["} else inner
            parts[-1].extend(range(inner, min(stop, closer - 1) + 1))
            inner = stop
        inner += 1
    if not parts[0] or any(source.code[i].kind is not Kind.STRING for i in parts[0]):
        return None
    text = "".join(source.code[i].text.strip('"') for i in parts[0])
    outputs = _operands(source, parts[1]) if len(parts) > 1 else []
    inputs = _operands(source, parts[2]) if len(parts) > 2 else []
    readwrite = len(parts) > 1 and any(source.code[i].text.startswith('"+') for i in parts[1])
    end = closer + 1 if source.word(closer + 1) == ";" else closer
    return Statement(index, end, _normal(text), tuple(outputs), tuple(inputs), readwrite)


def _operands(source: Source, tokens: list[int]) -> list[str]:
    """Expressions in the brackets of `"=r"(x), "l"(p)`."""
    found = []
    for index in tokens:
        if source.word(index) == "(" and source.code[index - 1].kind is Kind.STRING and index in source.match:
            found.append(source.span(index + 1, source.match[index] - 1) if source.match[index] > index + 1 else "")
    return found


def _normal(text: str) -> str:
    text = text.replace("%%", "%").replace("\\n", " ").replace("\\t", " ").replace("\\r", " ")
    return (
        re.sub(r"\s+", " ", text).strip().rstrip(";").strip().strip("{}").strip().rstrip(";").strip()
        if text.count(";") <= 1
        else re.sub(r"\s+", " ", text).strip()
    )


def _convert(context: Context, statement: Statement) -> None:
    text = statement.text
    if not text and not statement.operands:
        return  # a bare compiler barrier; the same in HIP
    what = text if len(text) < 70 else text[:67] + "..."
    for pattern, rule in _SUBJECTS:
        if pattern.search(text):
            context.note(rule, statement.first)
    result = None if statement.readwrite else _expression(statement) or _access(statement)
    if result is None:
        context.note("inline-ptx", statement.first, what)
        return
    expression, exact, needs_type = result
    context.note("inline-ptx-converted" if exact else "inline-ptx-approximate", statement.first, what)
    if _write(context, statement, expression, needs_type):
        context.converted += 1


def _expression(statement: Statement) -> tuple[str, bool, str] | None:
    """(HIP expression, exact, "") of a one-instruction statement."""
    for pattern, hip, exact in _table():
        match = pattern.match(statement.text)
        if not match:
            continue
        values = {}
        for key, value in match.groupdict().items():
            if value and value.startswith("%"):
                number = int(value[1:])
                if number >= len(statement.operands):
                    return None
                values[key] = statement.operands[number]
            else:
                values[key] = value or ""
        if ("d" in values) != (len(statement.outputs) == 1):
            return None
        if "d" in match.groupdict() and match["d"] != "%0":
            return None
        return hip.format(**values), exact, ""
    return _lop3(statement)


def _lop3(statement: Statement) -> tuple[str, bool, str] | None:
    """`lop3.b32 d, a, b, c, table`: the table spelled out as a sum of products."""
    match = re.match(r"^lop3\.b32 %0, %1, %2, %3, (0x[0-9a-fA-F]+|\d+|%4)$", statement.text)
    if not match or len(statement.operands) < 4:
        return None
    table_text = statement.operands[4] if match[1] == "%4" and len(statement.operands) > 4 else match[1]
    try:
        table = int(table_text, 0) & 0xFF
    except ValueError:
        return None
    a, b, c = (f"({operand})" for operand in statement.operands[1:4])
    known = {0x96: f"{a} ^ {b} ^ {c}", 0xE8: f"({a} & {b}) | ({a} & {c}) | ({b} & {c})", 0xEA: f"({a} & {b}) | {c}", 0xCA: f"({a} & {b}) | (~{a} & {c})", 0x80: f"{a} & {b} & {c}", 0xFE: f"{a} | {b} | {c}", 0xC0: f"{a} & {b}", 0xF8: f"{a} | ({b} & {c})"}  # fmt: skip
    if table in known:
        return known[table], True, ""
    terms = []
    for row in range(8):
        if table >> row & 1:
            bits = (row >> 2 & 1, row >> 1 & 1, row & 1)
            terms.append(
                "(" + " & ".join(name if bit else "~" + name for name, bit in zip((a, b, c), bits, strict=True)) + ")"
            )
    return " | ".join(terms) or "0u", True, ""


def _access(statement: Statement) -> tuple[str, bool, str] | None:
    """Plain loads and stores with cache hints; the text is a statement of its own where it is a store or a vector."""
    load, store = _LOAD.match(statement.text), _STORE.match(statement.text)
    match = load or store
    if match is None:
        return None
    scalar, count = _SCALARS[match["type"]], int(match["n"] or 1)
    streaming = any(word in match["hint"] for word in _STREAMING)
    registers = re.findall(r"%\d+", match["rest"])
    if len(registers) != count + 1 or not re.fullmatch(
        r"(\{[%\d, ]+\}|%\d+), \[%\d+\]|\[%\d+\], (\{[%\d, ]+\}|%\d+)", match["rest"]
    ):
        return None
    operands = [
        statement.operands[int(register[1:])] for register in registers if int(register[1:]) < len(statement.operands)
    ]
    if len(operands) != count + 1:
        return None
    if load:
        targets, pointer = operands[:-1], operands[-1]
        vector = _VECTORS.get(scalar)
        parts = [target.split(".") for target in targets]
        whole = (
            count > 1
            and vector
            and all(len(part) == 2 and part[0] == parts[0][0] and part[1] == "xyzw"[n] for n, part in enumerate(parts))
        )
        reads = [
            f"__builtin_nontemporal_load(f{f' + {n}' if n else ''})" if streaming else f"f[{n}]" for n in range(count)
        ]
        if count == 1:
            cast = f"reinterpret_cast<const {scalar}*>({pointer})"
            return (f"__builtin_nontemporal_load({cast})" if streaming else f"*{cast}"), False, ""
        if not whole:
            body = " ".join(f"{target} = {read};" for target, read in zip(targets, reads, strict=True))
            return f"{{ const {scalar}* f = reinterpret_cast<const {scalar}*>({pointer}); {body} }}", False, "statement"
        make = f"make_{vector}{count}"
        return f"{make}\0{scalar}\0{pointer}\0" + "\0".join(reads), False, "vector"
    pointer, values = operands[0], operands[1:]
    writes = [
        f"__builtin_nontemporal_store({value}, f{f' + {n}' if n else ''});" if streaming else f"f[{n}] = {value};"
        for n, value in enumerate(values)
    ]
    return f"{{ {scalar}* f = reinterpret_cast<{scalar}*>({pointer}); {' '.join(writes)} }}", False, "statement"


def _write(context: Context, statement: Statement, expression: str, form: str) -> bool:
    """Put the HIP text in the place of the statement; `T x; asm(...); return x;` becomes one return."""
    source = context.source
    if source.word(statement.last) != ";":
        return False
    output = statement.outputs[0] if statement.outputs else ""
    if form == "statement":
        return context.replace(statement.first, statement.last, expression, "ptx")
    base = output.split(".")[0]
    folded = _folds(context, statement, base)
    if form == "vector":
        make, scalar, pointer, *reads = expression.split("\0")
        indent = _indent(source, statement.first)
        break_at = "\n" + indent + " " * (len("return ") + len(make) + 1)
        wrapped = f"{reads[0]}, {reads[1]}" + ("," + break_at + ", ".join(reads[2:]) if len(reads) > 2 else "")
        setup = f"const {scalar}* f = reinterpret_cast<const {scalar}*>({pointer});"
        if folded:
            return _fold(context, statement, f"{setup}\n{indent}return {make}({wrapped});")
        return context.replace(
            statement.first, statement.last, f"{{ {setup} {base} = {make}({', '.join(reads)}); }}", "ptx"
        )
    if not output:
        return context.replace(statement.first, statement.last, expression + ";", "ptx")
    if folded and output == base:
        return _fold(context, statement, f"return {expression};")
    return context.replace(statement.first, statement.last, f"{output} = {expression};", "ptx")


def _indent(source: Source, index: int) -> str:
    text = source.line_text(source.line_of(index))
    return text[: len(text) - len(text.lstrip())]


def _folds(context: Context, statement: Statement, name: str) -> bool:
    """Is the function body nothing but `T name; asm(...); return name;`?"""
    source = context.source
    function = context.structure.function_at(statement.first)
    if function is None or not name:
        return False
    opener, closer = function.body
    before = [source.word(at) for at in range(opener + 1, statement.first)]
    after = [source.word(at) for at in range(statement.last + 1, closer)]
    return (
        after == ["return", name, ";"] and before[-2:] == [name, ";"] and before.count(";") == 1 and "=" not in before
    )


def _fold(context: Context, statement: Statement, text: str) -> bool:
    function = context.structure.function_at(statement.first)
    if function is None:
        return False
    return context.replace(function.body[0] + 1, function.body[1] - 1, text, "ptx")
