"""Properties that hold for any input."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rocsteady.port.context import Options, ProjectFacts
from rocsteady.port.convert import convert_bytes, run
from rocsteady.port.edits import EditSet
from rocsteady.port.source import Source
from rocsteady.port.tokens import tokenise

FRAGMENTS = st.sampled_from(
    [
        "__global__ void k(float* x, int n) {\n", "}\n", "cudaMalloc(&p, 4);", "cudaFree(p);", "#include <cuda_runtime.h>\n", "#include <cooperative_groups.h>\n",
        "v += __shfl_down_sync(0xffffffff, v, 1);", "__syncwarp();", 'asm volatile("membar.gl;");', "if (threadIdx.x % 32 == 0)", "k<<<1, 32, 0, s>>>(x);",
        "/* cudaMalloc */", "// cudaFree\n", '"cudaMalloc"', 'R"(cudaMalloc)"', "#if __CUDA_ARCH__ >= 700\n", "#else\n", "#endif\n", "\\\n", "'x'", "\r\n", "\n", " ",
        "__ballot_sync(m, __any_sync(m, p))", "cub::WarpReduce<int>", "using namespace nvcuda;\n", "__launch_bounds__(128, 8)", "(", ")", "{", "[", "<", ">", ";", ",",
        "#define X cudaStream_t\n", "unsigned a = __match_any_sync(__activemask(), 1);", "__nv_fp8_e4m3", "448.0f", "\xef\xbb\xbf", "é", "\x00", "cudaGraphInstantiate(&e, g, 0);",
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS, max_size=40).map("".join)


@given(st.binary(max_size=400))
def test_tokens_join_to_the_input(data: bytes) -> None:
    text = data.decode("latin-1")
    tokens = tokenise(text)
    assert "".join(token.text for token in tokens) == text
    assert all(token.end - token.start == len(token.text) > 0 for token in tokens)


@given(TEXTS)
def test_tokens_of_sources_join_to_the_input(text: str) -> None:
    assert "".join(token.text for token in tokenise(text)) == text


@given(st.binary(max_size=300))
def test_any_bytes_convert(data: bytes) -> None:
    convert_bytes(data, "a.cu", Options())


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_a_second_run_changes_nothing(text: str) -> None:
    first = convert_bytes(text.encode("utf-8"), "a.cu", Options())
    second = convert_bytes(first.data, "a.cu", Options())
    assert second.data == first.data


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_edits_never_overlap(text: str) -> None:
    context = run(text.encode("utf-8").decode("latin-1"), "a.cu", Options(), ProjectFacts())
    edits = list(context.edits)
    assert all(one.end <= two.start for one, two in pairwise(edits))


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_lines_of_notes_exist(text: str) -> None:
    data = text.encode("utf-8")
    report = convert_bytes(data, "a.cu", Options()).report
    lines = len(Source(data.decode("latin-1")).line_starts)
    assert all(1 <= note.line <= lines for note in report.reviews)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8), st.text("ab", max_size=3))))
def test_an_edit_set_stays_disjoint(wanted: list[tuple[int, int, str]]) -> None:
    edits = EditSet()
    for start, length, text in wanted:
        edits.add(start, start + length, text, "r")
    found = list(edits)
    assert all(one.end <= two.start for one, two in pairwise(found))
    edits.apply("x" * 40)
