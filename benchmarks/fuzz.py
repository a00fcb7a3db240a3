"""Throws mutated inputs at every reader and counts what goes wrong; the wanted count is 0.

Targets: text readers (through sections), the event scanner, archives, the GPU metrics table, kernel interfaces of
a tree, redaction, and the whole diagnosis. Seeds are samples that the project has itself: samples of event kinds,
examples of failure modes, small archives, a metrics table; with ``--seeds DIR`` also the files of a folder.

A crash is an exception that the target does not promise (ReadError and InputError are promised where inputs are
opened); a slow case takes more than ``--slow`` seconds. Everything is reproducible by ``--seed``.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import random
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
from rocsteady.catalog import Catalog, load_catalog
from rocsteady.cli.gather import diagnose_input
from rocsteady.events import KINDS, read_logs
from rocsteady.facts import Builder
from rocsteady.facts.gpu_metrics import read_metrics
from rocsteady.facts.read import read_facts
from rocsteady.facts.readers import read_section
from rocsteady.facts.registry import TEXT_READERS
from rocsteady.facts.sections import sections
from rocsteady.hostfs import HostFS, Input, open_inputs
from rocsteady.hostfs.limits import Limits
from rocsteady.hostfs.memory import MemoryStore
from rocsteady.hostfs.redact import Redactor
from rocsteady.model import InputError, ReadError

NOW = 1_796_000_000.0
LIMITS = Limits(unpacked=32 << 20, members=5000, ratio_from=4 << 20)
TOKENS = (
    b"\0", b"\xff\xfe", b"\x1b[31m", b"\r\n", b"0x", b"-1", b"9" * 40, b"0000:ff:1f.7", b"nan", b"%s%n", b"{", b"}", b"[" * 50,
    b"=" * 80, b"```\n", b"$ ", b"N/A", b"Kernel", b"\xf0\x9f\x98\x80", b":", b"\t" * 30, b"1e999", b"Traceback (most recent call last):\n",
)  # fmt: skip
BATCH = {"event_scanner": 40, "whole_diagnosis": 40}
"""Inputs of one case as files of one heap: making the scanner costs more than scanning a small file."""
Target = Callable[[list[bytes]], None]


def mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """One to six changes: bytes, tokens, cuts, repetition, splices with another seed."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(out) + 1)
        kind = rng.randrange(8)
        if kind == 0 and out:
            out[place % len(out)] = rng.randrange(256)
        elif kind == 1:
            out[place:place] = rng.choice(TOKENS)
        elif kind == 2:
            del out[place : place + rng.randint(1, 64)]
        elif kind == 3:
            out[place:place] = out[place : place + 200] * rng.randint(1, 20)
        elif kind == 4:
            at = rng.randrange(len(other) + 1)
            out[place:place] = other[at : at + rng.randint(1, 400)]
        elif kind == 5:
            out = out[: max(1, place)]
        elif kind == 6 and out:
            out[place % len(out)] ^= 1 << rng.randrange(8)
        else:
            lines = out.split(b"\n")
            rng.shuffle(lines)
            out = bytearray(b"\n".join(lines))
    return bytes(out[: 1 << 20])


def heap(inputs: list[bytes]) -> Input:
    """Loose files."""
    return Input(HostFS(MemoryStore({f"input{n}": data for n, data in enumerate(inputs)}), live=False), "heap", "fuzz")


def targets(catalog: Catalog) -> dict[str, Target]:
    """Name -> what is done with mutated bytes."""

    def text_readers(data: bytes) -> None:
        builder = Builder()
        for section in sections("input", data.decode("utf-8", "replace")):
            builder.add(read_section(TEXT_READERS, section))
        builder.build()

    def each_reader(data: bytes) -> None:
        for section in sections("input", data.decode("utf-8", "replace")):
            for reader in TEXT_READERS:
                list(reader.parse(section))

    def archives(data: bytes) -> None:
        try:
            sources = open_inputs(["-"], io.BytesIO(data), limits=LIMITS)
        except InputError:
            return
        for source in sources:
            for path in source.fs.walk():
                try:
                    source.fs.text(path)
                    with source.fs.open(path) as stream:
                        while stream.read(1 << 20):
                            pass
                except ReadError:
                    continue

    def metrics(data: bytes) -> None:
        fs = HostFS(MemoryStore({"device/gpu_metrics": data, "device/xcp/xcp_metrics": data}), live=False)
        read_metrics(fs, "device")

    def tree_files(data: bytes) -> None:
        device = "sys/class/drm/card0/device"
        files: dict[str, str | bytes] = {
            f"{device}/vendor": "0x1002\n",
            f"{device}/uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\n",
        }
        pieces = data.split(b"\n\n") or [data]
        for number, path in enumerate(TREE_PATHS):
            files[path.format(device=device)] = pieces[number % len(pieces)]
        builder = Builder()
        builder.add(read_facts(Input(HostFS(MemoryStore(files), live=False), "tree", "fuzz")))
        builder.build()

    def redaction(data: bytes) -> None:
        out = Redactor(("gpunode17",), ("roberta",), b"k").data("var/log/x", data)
        if out.count(b"\n") != data.count(b"\n"):
            raise AssertionError("redaction changed the number of lines")

    return {
        "sections_and_readers": lambda inputs: text_readers(inputs[0]), "each_text_reader": lambda inputs: each_reader(inputs[0]),
        "event_scanner": lambda inputs: void(read_logs(heap(inputs), 2026)), "archives": lambda inputs: archives(inputs[0]),
        "gpu_metrics": lambda inputs: metrics(inputs[0]), "tree_files": lambda inputs: tree_files(inputs[0]), "redaction": lambda inputs: redaction(inputs[0]),
        "whole_diagnosis": lambda inputs: void(diagnose_input(heap(inputs), catalog, NOW)),
    }  # fmt: skip


def void(_: object) -> None:
    """The result does not matter."""


TREE_PATHS = (
    "{device}/gpu_metrics", "{device}/pp_dpm_sclk", "{device}/ras/umc_err_count", "{device}/ras/gpu_vram_bad_pages",
    "{device}/unique_id", "{device}/current_link_speed", "{device}/resource", "{device}/config", "{device}/aer_dev_fatal",
    "{device}/mem_info_vram_total", "{device}/hwmon/hwmon0/temp1_input", "{device}/xgmi_port_num", "{device}/ras/event_state",
    "sys/class/kfd/kfd/topology/nodes/1/properties", "sys/class/kfd/kfd/topology/nodes/1/gpu_id", "proc/meminfo",
    "proc/cmdline", "proc/modules", "proc/version", "proc/cpuinfo", "proc/self/limits", "proc/self/status", "proc/mounts",
    "etc/os-release", "etc/group", "etc/modprobe.d/a.conf", "var/lib/dpkg/status", "proc/stat", "proc/pressure/memory",
    "commands/dkms_status", "commands/lspci_-nnvvv", "commands/df_-PT", "commands/env",
)  # fmt: skip


def seeds(catalog: Catalog, folder: Path | None) -> dict[str, list[bytes]]:
    """Inputs to mutate, by kind: text, archive, metrics."""
    text = [sample.encode() for kind in KINDS for sample in kind.samples]
    for mode in catalog.modes.values():
        for example in (*mode.examples.bad, *mode.examples.good):
            text += [
                content.encode()
                for content in (*example.log.values(), *example.tree.values())
                if isinstance(content, str)
            ]
    if folder is not None:
        text += [p.read_bytes()[: 1 << 18] for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix != ".py"]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, content in (
            ("proc/version", b"Linux version 6.8.0\n"),
            ("var/log/" + "k" * 120, b"x" * 2000),
            ("etc/a", b""),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("etc/b")
        link.type, link.linkname = tarfile.SYMTYPE, "../proc/version"
        archive.addfile(link)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("proc/version", "Linux version 6.8.0\n")
        bundle.writestr("a.log", "x" * 3000)
    tar = plain.getvalue()
    archives = [
        tar,
        gzip.compress(tar),
        bz2.compress(tar),
        lzma.compress(tar),
        zstandard.ZstdCompressor().compress(tar),
        packed.getvalue(),
    ]
    metrics = [bytes([size & 255, size >> 8, form, content]) + bytes(range(256)) * 12 for form, content, size in
               ((1, 0, 96), (1, 1, 96), (1, 2, 104), (1, 3, 120), (1, 4, 336), (1, 5, 376), (1, 6, 376), (1, 7, 1040), (1, 8, 1664),
                (1, 9, 2048), (2, 0, 88), (2, 1, 128), (2, 2, 128), (2, 3, 152), (2, 4, 168), (3, 0, 264))]  # fmt: skip
    return {"text": text, "archive": archives, "metrics": metrics}


def main() -> int:
    """Fuzz and print counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of CPU time per target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=Path, help="folder of more inputs to mutate")
    parser.add_argument("--slow", type=float, default=5.0, help="CPU seconds beyond which a case is reported as slow")
    parser.add_argument("--only", action="append", default=[], help="a target; repeatable (default: all)")
    parser.add_argument("--keep", type=Path, help="folder for inputs that went wrong")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    catalog = load_catalog()
    pool = seeds(catalog, options.seeds)
    results: dict[str, dict[str, object]] = {}
    for name, target in targets(catalog).items():
        if options.only and name not in options.only:
            continue
        source = pool["archive" if name == "archives" else "metrics" if name == "gpu_metrics" else "text"]
        cases, crashes, slow, worst = 0, [], 0, 0.0
        end = time.process_time() + options.seconds
        while time.process_time() < end:
            inputs = [mutated(rng, rng.choice(source), rng.choice(source)) for _ in range(BATCH.get(name, 1))]
            data = b"\n".join(inputs)
            start = time.process_time()
            try:
                target(inputs)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                crashes.append(f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"[:300])
                keep(options.keep, name, len(crashes), data)
            took = time.process_time() - start
            worst = max(worst, took)
            if took > options.slow:
                slow += 1
                keep(options.keep, f"{name}-slow", slow, data)
            cases += len(inputs)
        results[name] = {"cases": cases, "crashes": len(crashes), "kinds": sorted(set(crashes))[:20], "slow": slow, "slowest_seconds": round(worst, 3)}  # fmt: skip
        sys.stderr.write(f"{name}: {cases} cases, {len(crashes)} crashes, {slow} slow\n")
    total = {key: sum(int(str(r[key])) for r in results.values()) for key in ("cases", "crashes", "slow")}
    answer = {"schema": "rocsteady.fuzz/1", "seed": options.seed, **total, "targets": results}
    if options.json:
        print(json.dumps(answer, indent=1))
    else:
        print(f"{total['cases']} cases, {total['crashes']} crashes, {total['slow']} slow")
    return 1 if total["crashes"] or total["slow"] else 0


def keep(folder: Path | None, name: str, number: int, data: bytes) -> None:
    """Keep an input that went wrong."""
    if folder is not None and number <= 50:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}-{number}").write_bytes(data)


if __name__ == "__main__":
    raise SystemExit(main())
