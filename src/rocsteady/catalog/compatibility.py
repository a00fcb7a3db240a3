"""Is a combination of operating system, kernel, driver, ROCm, GPU, PyTorch and engine one that is supported?

Each pair that a table speaks about gives one row: supported, unsupported, or unknown when no table was found or a
version is missing. What a row says comes from the table named in it; nothing is inferred across releases, except
that a release without tables of its own (a patch level) is judged by its neighbour of the same minor version, and
the row says so.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from rocsteady.catalog.knowledge import Compat, Release, System

Status = Literal["supported", "unsupported", "unknown"]


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """What is, or is to be, on a node; None = not known."""

    os: str | None = None
    kernel: str | None = None
    driver: str | None = None
    rocm: str | None = None
    gfx: str | None = None
    pytorch: str | None = None
    vllm: str | None = None


class Row(msgspec.Struct, frozen=True):
    """One judged pair. ``move_to`` is what to change to where it is unsupported and the tables know."""

    pair: str
    status: Status
    says: str
    move_to: str | None = None
    source: str | None = None


def check(combination: Combination, tables: Compat) -> list[Row]:
    """Judge every pair of a combination."""
    if combination.rocm is None:
        return [Row("ROCm", "unknown", "no ROCm version given: name it with --rocm")]
    release, by = find_release(combination.rocm, tables)
    if release is None:
        return [Row("ROCm", "unknown", f"no table for ROCm {combination.rocm} was found")]
    rows = [
        _os(combination, release, tables),
        _kernel(combination, release),
        _driver(combination, release, tables),
        _gpu(combination, release, tables),
        _pytorch(combination, release, tables),
        _vllm(combination, tables),
    ]
    note = "" if by is None else f" (by the table of ROCm {by})"
    return [msgspec.structs.replace(r, says=r.says + note) if r.source else r for r in rows]


def find_release(version: str, tables: Compat) -> tuple[Release | None, str | None]:
    """The release's own row, or that of its nearest neighbour with tables, and then which one that was."""
    wanted = _numbers(version)
    if not wanted:
        return None, None
    exact = [r for r in tables.rocm if _numbers(r.version)[: len(wanted)] == wanted[:3]]
    full = [r for r in exact if r.systems or r.gpus]
    if full:
        return full[-1], None
    near = [r for r in tables.rocm if _numbers(r.version)[:2] == wanted[:2] and (r.systems or r.gpus)]
    if near:
        best = min(near, key=lambda r: abs(_numbers(r.version)[-1] - (wanted[2] if len(wanted) > 2 else 0)))
        return best, best.version
    return (exact[-1], None) if exact else (None, None)


def _os(c: Combination, release: Release, tables: Compat) -> Row:
    pair = f"OS x ROCm {release.version}"
    if c.os is None:
        return Row(pair, "unknown", "operating system not known: name it with --os")
    if not release.systems:
        return Row(pair, "unknown", f"no list of operating systems for ROCm {release.version} was found")
    name, version = system_of(c.os)
    if not version:
        return Row(pair, "unknown", f"{c.os}: no version of the operating system given")
    same = [s for s in release.systems if _same_name(s.name, name)]
    for system in same:
        if covers(system.version, version):
            only = f" ({system.only})" if system.only else ""
            return Row(pair, "supported", f"{system.name} {system.version}{only} is listed", source=system.source)
    listed = ", ".join(dict.fromkeys(f"{s.name} {s.version}".strip() for s in (same or release.systems)))
    others = [
        r.version for r in tables.rocm
        if any(_same_name(s.name, name) and covers(s.version, version) for s in r.systems)
    ]  # fmt: skip
    move = f"{listed}" + (f"; {c.os} is listed by ROCm {others[0]} to {others[-1]}" if others else "")
    return Row(pair, "unsupported", f"{c.os} is not listed; listed: {listed}", move, release.systems[0].source)


def _kernel(c: Combination, release: Release) -> Row:
    pair = f"kernel x OS x ROCm {release.version}"
    if c.kernel is None or c.os is None:
        return Row(pair, "unknown", "kernel or operating system not known")
    name, version = system_of(c.os)
    rows = [s for s in release.systems if _same_name(s.name, name) and covers(s.version, version) and s.kernel]
    if not rows:
        elsewhere = kernel_of(release.systems, name, c.kernel)
        if elsewhere:
            return Row(
                pair, "unsupported", f"kernel {c.kernel} belongs to no listed version of {name}; listed: {elsewhere}",
                elsewhere, release.systems[0].source,
            )  # fmt: skip
        return Row(pair, "unknown", "the table states no kernel for this operating system")
    wanted = [k for s in rows for k in re.findall(r"\d+\.\d+[\d.-]*", s.kernel or "")]
    have = _numbers(c.kernel)
    for kernel in wanted:
        need = _numbers(kernel)
        if have[: min(2, len(need))] == need[:2] and (len(need) < 4 or have[3:4] >= need[3:4] or len(have) < 4):
            return Row(pair, "supported", f"kernel {rows[0].kernel} is listed", source=rows[0].source)
    text = ", ".join(dict.fromkeys(s.kernel or "" for s in rows))
    return Row(pair, "unsupported", f"kernel {c.kernel} is not listed for {c.os}; listed: {text}", text, rows[0].source)


def kernel_of(systems: tuple[System, ...], name: str, kernel: str) -> str | None:
    """Kernels listed for other versions of the same system, when this one is among none of them."""
    listed = [f"{s.name} {s.version}: {s.kernel}" for s in systems if _same_name(s.name, name) and s.kernel]
    return "; ".join(listed) if listed and kernel else None


def _driver(c: Combination, release: Release, tables: Compat) -> Row:
    pair = f"driver x ROCm {release.version}"
    if c.driver is None:
        return Row(pair, "unknown", "amdgpu driver release not known: name it with --driver")
    if is_module_version(c.driver):
        says = f"{c.driver} is the version of the module; the tables go by driver release (6.4.1, 30.10): name it"
        return Row(pair, "unknown", says)
    if release.drivers:
        ok = any(_fits(c.driver, d) for d in release.drivers)
        listed = ", ".join(release.drivers)
        says = f"driver {c.driver} is {'' if ok else 'not '}among {listed}"
        return Row(pair, "supported" if ok else "unsupported", says, None if ok else listed, release.driver_source)
    for tested in tables.driver_tested:
        if _fits(c.driver, tested.driver):
            ok = any(_fits(release.version, u) for u in tested.user_space)
            listed = ", ".join(tested.user_space)
            says = f"driver {tested.driver} was tested with user space {listed}"
            return Row(pair, "supported" if ok else "unsupported", says, None if ok else listed, tested.source)
    return Row(pair, "unknown", f"no table speaks about driver {c.driver} with ROCm {release.version}")


def _gpu(c: Combination, release: Release, tables: Compat) -> Row:
    pair = f"GPU x ROCm {release.version}"
    if c.gfx is None:
        return Row(pair, "unknown", "GPU not known: name it with --gpu")
    if not release.gpus:
        return Row(pair, "unknown", f"no GPU list for ROCm {release.version} was found")
    for gpu in release.gpus:
        if c.gfx in re.findall(r"gfx[0-9a-f]+", gpu.gfx):
            status: Status = "unsupported" if gpu.support == "unsupported" else "supported"
            return Row(pair, status, f"{c.gfx} is listed as {gpu.support}", source=gpu.source)
    others = [
        r.version for r in tables.rocm
        if any(c.gfx in re.findall(r"gfx[0-9a-f]+", g.gfx) and g.support != "unsupported" for g in r.gpus)
    ]  # fmt: skip
    move = f"ROCm {others[0]} to {others[-1]} list {c.gfx}" if others else None
    return Row(pair, "unsupported", f"{c.gfx} is not listed", move, release.gpus[0].source)


def _pytorch(c: Combination, release: Release, tables: Compat) -> Row:
    pair = f"PyTorch x ROCm {release.version}"
    if c.pytorch is None:
        return Row(pair, "unknown", "PyTorch version not known: name it with --pytorch")
    if not release.pytorch:
        return Row(pair, "unknown", f"no PyTorch list for ROCm {release.version} was found")
    version = c.pytorch.split("+", maxsplit=1)[0]
    ok = any(_fits(version, p) or _fits(p, ".".join(version.split(".")[:2])) for p in release.pytorch)
    listed = ", ".join(release.pytorch)
    others = [r.version for r in tables.rocm if any(_fits(version, p) for p in r.pytorch)]
    move = None if ok else listed + (f"; PyTorch {version} is listed by ROCm {', '.join(others)}" if others else "")
    says = f"PyTorch {version} is {'' if ok else 'not '}among {listed}"
    return Row(pair, "supported" if ok else "unsupported", says, move, release.pytorch_source)


def _vllm(c: Combination, tables: Compat) -> Row:
    pair = "vLLM x ROCm"
    if c.vllm is None or c.rocm is None:
        return Row(pair, "unknown", "vLLM version not known: name it with --vllm")
    rows = [b for b in tables.vllm if _in_range(c.vllm, b.vllm)]
    if not rows:
        return Row(pair, "unknown", f"no build or document of vLLM {c.vllm} with a ROCm version was found")
    have = _numbers(c.rocm)[:2]
    for build in rows:
        named = [_numbers(v)[:2] for v in re.findall(r"\d+\.\d+(?:\.\d+)?", build.rocm)]
        above = "above" in build.rocm and named and have >= named[0]
        if have in named or above:
            return Row(pair, "supported", f"vLLM {build.vllm}: ROCm {build.rocm} ({build.kind})", source=build.source)
    listed = "; ".join(f"{b.rocm} ({b.kind})" for b in rows)
    return Row(pair, "unknown", f"vLLM {c.vllm} was found only with ROCm {listed}", listed, rows[0].source)


def is_module_version(driver: str) -> bool:
    """``6.12.12`` as /sys/module/amdgpu/version has it, against a release: releases of the 6 series end at 6.4."""
    have = _numbers(driver)
    return len(have) >= 2 and have[0] in (5, 6) and have[1] >= (5 if have[0] == 6 else 9)


# --- versions and names --------------------------------------------------------------------------


def system_of(text: str) -> tuple[str, str]:
    """``Ubuntu 22.04.5 LTS (Jammy Jellyfish)`` -> ("Ubuntu", "22.04.5")."""
    match = re.search(r"(.*?)(?:release |linux |version |v)?(\d+(?:[. ](?:SP ?)?\d+)*)", text, re.IGNORECASE)
    if match is None:
        return text.strip(), ""
    return match[1].strip(" -"), match[2].strip()


def _same_name(listed: str, name: str) -> bool:
    short = {"red hat enterprise": "rhel", "red hat": "rhel", "suse": "sles", "sles": "sles"}
    wanted = name.lower()
    for long, abbreviation in short.items():
        wanted = wanted.replace(long, abbreviation)
    first = listed.lower().split()[0]
    return bool(wanted) and (wanted.split()[0] == first or first in wanted.split())


def covers(listed: str, version: str) -> bool:
    """Whether a listed version covers one: equal as far as the coarser goes, or inside ``8.6 to 8.7``."""
    if not version or not listed:
        return not listed
    parts = [_numbers(p) for p in listed.split(" to ")]
    have = _numbers(version)
    if len(parts) == 2:
        return parts[0] <= have[: len(parts[0])] and have[: len(parts[1])] <= parts[1]
    width = min(len(parts[0]), len(have))
    return parts[0][:width] == have[:width] and (len(have) >= len(parts[0]) or len(parts[0]) > 2)


def _fits(version: str, pattern: str) -> bool:
    """``6.3.2`` fits ``6.3.x``, ``6.3`` and ``6.3.2``."""
    have, want = _numbers(version), _numbers(pattern.replace(".x", ""))
    return bool(have and want) and have[: len(want)] == want


def _in_range(version: str, stretch: str) -> bool:
    have = _numbers(version)[:3]
    ends = [_numbers(v)[:3] for v in re.findall(r"\d+\.\d+(?:\.\d+)*", stretch)]
    if not ends or "nightl" in stretch:
        return False
    if len(ends) > 1:
        return ends[0] <= have <= ends[-1]
    return have == ends[0] or (len(ends[0]) < 3 and have[: len(ends[0])] == ends[0])


def _numbers(text: str) -> tuple[int, ...]:
    match = re.search(r"\d+(?:[.\-_ ](?:SP ?)?\d+)*", text)
    return tuple(int(n) for n in re.findall(r"\d+", match[0])[:5]) if match else ()
