"""The command: exit codes, formats, writing, hostile input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rocsteady.cli.app import app
from rocsteady.model import InputError

CUDA = "#include <cuda_runtime.h>\n__global__ void k(int* p) { p[0] = threadIdx.x & 31; }\nvoid f(int* p) { cudaFree(p); }\n"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["port", *map(str, arguments)])
    if isinstance(result.exception, InputError):
        return 2, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "src"
    (root / "sub").mkdir(parents=True)
    (root / "a.cu").write_text(CUDA)
    (root / "sub" / "b.cuh").write_text("__device__ int v;\n")
    (root / "sub" / "c.cu").write_text('#include "b.cuh"\n')
    (root / "data.txt").write_text("cudaMalloc\n")
    (root / "loop").symlink_to(root)
    return root


def test_a_dry_run_writes_nothing(tree: Path) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    code, text = run(tree)
    assert code == 0
    assert "+void f(int* p) { (void)hipFree(p); }" in text
    assert "2: medium: warp-width-32 [lane-number]" in text
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_json_is_one_document(tree: Path) -> None:
    code, text = run(tree, "--format", "json")
    document = json.loads(text)
    assert code == 0
    assert document["schema"] == "rocsteady.port/1"
    report = next(file for file in document["files"] if file["path"] == "a.cu")
    assert report["reviews"] == [
        {
            "line": 2,
            "category": "warp-width-32",
            "rule": "lane-number",
            "severity": "medium",
            "reason": report["reviews"][0]["reason"],
        }
    ]
    assert report["unconverted"] == []


@pytest.mark.parametrize("form", ["html", "sarif", "text", "json"])
def test_every_format_of_a_tree_and_of_nothing(tree: Path, tmp_path: Path, form: str) -> None:
    assert run(tree, "--format", form)[0] == 0
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.c").write_text("int main() { return 0; }\n")
    assert run(tmp_path / "empty", "--format", form)[0] == 0


def test_nothing_to_port(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    assert run(tmp_path) == (0, "nothing to port\n")
    assert run(tmp_path, "--assess")[1] == "nothing to port\n"


def test_output_folder(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(tree, "-o", out)[0] == 0
    assert "hipFree" in (out / "a.cu").read_text()
    assert (out / "data.txt").read_text() == "cudaMalloc\n"
    assert not list(tmp_path.glob(".rocsteady-*"))
    assert run(tree, "-o", out)[0] == 0  # once more over the same folder


def test_output_inside_the_source(tree: Path) -> None:
    assert run(tree, "-o", tree / "hip")[0] == 0
    assert run(tree, "-o", tree / "hip")[0] == 0
    assert not (tree / "hip" / "hip").exists()


def test_output_file_and_rename(tree: Path, tmp_path: Path) -> None:
    assert run(tree / "a.cu", "-o", tmp_path / "a.hip")[0] == 0
    assert "hipFree" in (tmp_path / "a.hip").read_text()
    assert run(tree, "-o", tmp_path / "renamed", "--rename")[0] == 0
    assert (tmp_path / "renamed" / "a.hip").exists()
    assert '#include "b.hip.h"' in (tmp_path / "renamed" / "sub" / "c.hip").read_text()


def test_in_place(tree: Path) -> None:
    (tree / "a.cu").chmod(0o640)
    assert run(tree, "--in-place")[0] == 0
    assert "hipFree" in (tree / "a.cu").read_text()
    assert (tree / "a.cu").stat().st_mode & 0o777 == 0o640
    again = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    assert run(tree, "--in-place")[0] == 0
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == again


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_output_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert run(tree, "-o", locked / "out")[0] == 2
    assert not list(locked.iterdir())


def test_bad_arguments(tree: Path, tmp_path: Path) -> None:
    assert run(tmp_path / "missing")[0] == 2
    assert run()[0] == 2
    assert run(tree, "--target", "sm_80")[0] == 2
    assert run(tree, "--rocm", "new")[0] == 2
    assert run(tree, "-o", tmp_path / "x", "--in-place")[0] == 2
    assert run(tree / "a.cu", "-o", tmp_path / "no" / "such" / "a.hip")[0] == 2
    assert run(tree, "-o", tree / "a.cu")[0] == 2
    assert run("--explain", "no-such-rule")[0] == 2


def test_names_left_give_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("void f() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n")
    code, text = run(tmp_path / "a.cu", "--format", "json")
    assert code == 1
    assert json.loads(text)["files"][0]["unconverted"] == [{"line": 1, "name": "cudaDeviceFlushGPUDirectRDMAWrites"}]


def test_include_and_exclude(tree: Path) -> None:
    def paths(*arguments: str) -> set[str]:
        return {file["path"] for file in json.loads(run(tree, "--format", "json", *arguments)[1])["files"]}

    assert paths("--include", "*.cuh") == {"sub/b.cuh"}
    assert "sub/b.cuh" not in paths("--exclude", "sub")


def test_baseline(tree: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    run(tree, "--write-baseline", known)
    assert json.loads(run(tree, "--baseline", known, "--format", "json")[1])["summary"]["reviews"] == 0
    (tree / "a.cu").write_text("\n\n" + CUDA + "__global__ void n(int* p) { p[0] = threadIdx.x >> 5; }\n")
    document = json.loads(run(tree, "--baseline", known, "--format", "json")[1])
    assert [note["line"] for file in document["files"] for note in file["reviews"]] == [6]
    known.write_text("{}")
    assert run(tree, "--baseline", known)[0] == 2


def test_rules_are_listed_and_explained() -> None:
    assert "warp-mask-32" in run("--list-rules")[1]
    assert json.loads(run("--list-rules", "--format", "json")[1])["schema"] == "rocsteady.port-rules/1"
    assert "what to do:" in run("--explain", "syncwarp")[1]


def test_stats_and_assess(tree: Path) -> None:
    assert "names by API family" in run(tree, "--stats")[1]
    found = json.loads(run(tree, "--assess", "--format", "json")[1])
    assert found["names"]["runtime"]["uses"] == 1
    assert found["kernels"] == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01cudaMalloc\x00" * 50,
        b'const char* s = "cudaMalloc(',
        b"/* cudaMalloc",
        b'R"x(' * 20000 + b"cudaMalloc",
        b"#if 1\n" * 3000 + b"cudaFree(p);",
        b"#endif\n#else\n__global__ void k() {",
        b"cudaMalloc(" * 5000,
        b"a<b<" * 5000 + b"cudaMalloc",
        b"{([" * 20000 + b"cudaFree",
        b"k<<<1, " * 3000 + b"cudaFree",
        b"\xff\xfe" * 1000 + b"cudaFree(p);",
        b'asm volatile("mov.u32 %0, %%laneid;" : "=r"(' + b"cudaFree",
    ],
    ids=range(12),
)
def test_hostile_sources(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.cu").write_bytes(data)
    assert run(tmp_path, "--format", "json")[0] in {0, 1}
    assert run(tmp_path / "a.cu", "-o", tmp_path / "out.cu")[0] in {0, 1}


def test_include_cycles(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text('#include "b.cuh"\n#define cudaMalloc(p, n) own(p, n)\n')
    (tmp_path / "b.cuh").write_text('#include "a.cuh"\n')
    (tmp_path / "c.cu").write_text('#include "a.cuh"\nvoid f() { cudaMalloc(&p, 4); }\n')
    document = json.loads(run(tmp_path, "--format", "json", "-o", tmp_path / "out")[1])
    assert document["summary"]["files_read"] == 3
    assert "cudaMalloc(&p, 4)" in (tmp_path / "out" / "c.cu").read_text()


def test_a_source_above_the_limit_is_skipped_and_said(tmp_path: Path) -> None:
    with (tmp_path / "big.cu").open("wb") as stream:
        stream.write(b"__device__ int a;\n")
        stream.truncate(100_000_000)
    code, text = run(tmp_path, "--format", "json")
    assert code == 1
    assert "more than the limit" in json.loads(text)["files"][0]["skipped"]
    assert run(tmp_path / "big.cu", "-o", tmp_path / "out.cu")[0] == 2
    assert not (tmp_path / "out.cu").exists()


def test_a_file_of_a_megabyte(tmp_path: Path) -> None:
    body = "__global__ void k%d(float* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] += __shfl_down_sync(0xffffffff, x[i], 1);\n}\nvoid f%d(float* p) { cudaMalloc(&p, 4); k%d<<<1, 32>>>(p, 1); cudaFree(p); }\n"
    text = "".join(body % (n, n, n) for n in range(4400))
    assert len(text) > 1_000_000
    (tmp_path / "a.cu").write_text(text)
    from rocsteady.port.context import Options
    from rocsteady.port.project import convert_tree, find

    (result,) = convert_tree(find(tmp_path), Options())
    assert result.report.converted >= 2 * 4400
    assert len({note.line for note in result.report.reviews}) >= 4400
