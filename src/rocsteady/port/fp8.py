"""FP8: the types exist in two number formats, and the constants and bytes go with the format."""

from __future__ import annotations

from rocsteady.port import mapping
from rocsteady.port.context import Context
from rocsteady.port.tokens import Kind

_TYPES = {f"__nv_fp8{pack}_{kind}" for pack in ("", "x2", "x4") for kind in ("e4m3", "e5m2")}
_E4M3 = {name for name in _TYPES if name.endswith("e4m3")} | {"__NV_E4M3", "float8_e4m3fn", "Float8_e4m3fn"}
# Largest finite values: OCP e4m3 448, FNUZ e4m3 240 (OCP e5m2 and FNUZ e5m2 both 57344).
_OCP_MAX, _FNUZ_MAX = "448", "240"


def convert_fp8(context: Context) -> None:
    """Types by the targets' format; constants of the OCP format; reads of stored bytes."""
    source = context.source
    used = _TYPES & source.uses.keys()
    if not used and not (_E4M3 & source.uses.keys()):
        return
    form = context.options.fp8
    for word in sorted(used):
        for index in source.uses[word]:
            suffix = "_fnuz" if form in {"fnuz", "none"} else ""
            if context.replace(index, index, mapping.names()[word].hip.removesuffix("_fnuz") + suffix, "fp8-type"):
                context.converted += 1
                context.needs.add("hip/hip_fp8.h")
            context.handled.add(index)
            if form == "mixed":
                context.note("fp8-mixed", index)
    for word in ("__NV_E4M3", "__NV_E5M2"):
        for index in source.uses.get(word, ()):
            suffix = "_FNUZ" if form in {"fnuz", "none"} else ""
            context.replace(index, index, f"__HIP_{word[5:]}{suffix}", "fp8-type")
            context.handled.add(index)
            context.note("fp8-interpretation", index)
    _constants(context, form)
    _reads(context, used)


def _constants(context: Context, form: str) -> None:
    source = context.source
    for index, token in enumerate(source.code):
        if token.kind is Kind.NUMBER and token.text.rstrip("fF").rstrip("0").rstrip(".") == _OCP_MAX:
            context.note("fp8-maximum", index)
            if form in {"fnuz", "none"} and not context.was_hip:
                context.replace(index, index, token.text.replace(_OCP_MAX, _FNUZ_MAX, 1), "fp8-maximum")


def _reads(context: Context, used: set[str]) -> None:
    """Conversions of a stored value back to a wider type: bytes written by other hardware are read here."""
    source = context.source
    names: set[tuple[str, int]] = set()
    for word in used:
        for index in source.uses[word]:
            at = index + 1
            while source.word(at) in {"*", "&", "const", "__restrict__", "__restrict"}:
                at += 1
            if (
                at < len(source.code)
                and source.code[at].kind is Kind.IDENT
                and source.word(at + 1) in {",", ")", ";", "="}
            ):
                names.add((source.word(at), index))
    for name, declared in sorted(names):
        home = context.structure.function_at(declared) or next(
            (f for f in context.structure.functions if f.params[0] < declared < f.params[1]), None
        )
        for index in source.uses[name]:
            if home is None or not home.holds(index):
                continue
            cast = source.word(index - 1) == "(" and (
                source.word(index - 2) in {"float", "half", "__half", "double"} or source.word(index - 2) == ">"
            )
            c_cast = source.word(index - 1) == ")" and source.word(index - 2) in {"float", "half", "double"}
            if cast or c_cast:
                context.note("fp8-read", index)
    for word in source.uses:
        if word.startswith("__nv_cvt_fp8"):
            for index in source.uses[word]:
                context.note("fp8-read", index)
