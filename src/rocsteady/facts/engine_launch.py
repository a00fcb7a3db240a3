"""Launch lines of engines: ``vllm serve``, ``python -m vllm.entrypoints...``, SGLang, llama.cpp, ollama.

Sample: ``vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 8 --max-model-len=32768 --enforce-eager``
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocsteady.facts.command_lines import Word, command_lines
from rocsteady.facts.loglines import is_log_line
from rocsteady.facts.readers import Row, TextReader
from rocsteady.facts.sections import Section

LAUNCH = re.compile(
    r"(?<![\w.-])(?P<command>(?:\S{0,300}/)?(?:"
    r"vllm\s+serve\b|python[\d.]*\s+(?:-[uO]\s+)?-m\s+(?:vllm\.entrypoints\.[\w.]+|vllm\.scripts\s+serve|sglang\.launch_server|sglang\.srt\.\w+)"
    r"|sglang\s+serve\b|llama-(?:server|cli|bench)\b(?=\s+-)|(?:\./)?(?:main|server)\b(?=\s+-m\s+\S+\.gguf)"
    r"|ollama\s+(?:run|serve)\b|text-generation-launcher\b(?=\s+-)|lmdeploy\s+serve\b"
    r"|torchrun\s+\S.*?\bvllm\b))"
)
ENGINES = (
    ("vllm", "vllm"), ("sglang", "sglang"), ("llama-", "llama.cpp"), ("ollama", "ollama"),
    ("text-generation", "tgi"), ("lmdeploy", "lmdeploy"), (".gguf", "llama.cpp"),
)  # fmt: skip
CANONICAL = {
    "tp": "tensor_parallel_size", "tp_size": "tensor_parallel_size", "pp": "pipeline_parallel_size",
    "pp_size": "pipeline_parallel_size", "dp": "data_parallel_size", "dp_size": "data_parallel_size",
    "ep_size": "expert_parallel_size", "q": "quantization", "O": "compilation_config", "model_path": "model", "context_length": "max_model_len",
    "tensor_model_parallel_size": "tensor_parallel_size",
}  # fmt: skip
"""Short names and other engines' names of the same thing; a flag is kept under both."""
LLAMA_CANONICAL = {
    "m": "model", "ngl": "n_gpu_layers", "c": "ctx_size", "fa": "flash_attn", "sm": "split_mode", "mg": "main_gpu",
    "ts": "tensor_split", "b": "batch_size", "ub": "ubatch_size", "np": "parallel", "ctk": "cache_type_k",
    "ctv": "cache_type_v", "dev": "device", "t": "threads",
}  # fmt: skip


def parse_launch(section: Section) -> Iterator[Row]:
    """Name, model and flags of each launch; the last one wins. Lines of logs say it in other words."""
    for line in command_lines(section, LAUNCH):
        if not line.words or is_log_line(section.lines[line.words[0].line]):
            continue
        yield from launch_facts(section, line.words)


def launch_facts(section: Section, words: Sequence[Word]) -> Iterator[Row]:
    """Facts of one launch, given as words that start with the program."""
    head = " ".join(word.text for word in words[:4])
    name = next((engine for mark, engine in ENGINES if mark in head), None)
    if name is None:
        return
    yield section.fact("engine.name", name, words[0].line)
    texts = [word.text for word in words]
    start = _arguments(texts)
    position = start
    model: tuple[str, int] | None = None
    while position < len(texts):
        text, line = texts[position], words[position].line
        position += 1
        if re.match(r"--?[A-Za-z]", text):
            flag, equals, value = text.lstrip("-").partition("=")
            flag = flag.replace("-", "_")
            if not equals:
                value = "true"
                if position < len(texts) and not re.match(r"--?[A-Za-z]", texts[position]):
                    value = texts[position]
                    position += 1
            names = {flag, CANONICAL.get(flag, flag)}
            if name == "llama.cpp":
                names = {flag, LLAMA_CANONICAL.get(flag, flag)}
            for key in sorted(names):
                yield section.fact(f"engine.flags[{key}]", value, line)
            if "model" in names:
                model = (value, line)
        elif model is None and position - 1 == start and text.lower() != "serve":
            model = (text, line)
    if model is not None and not model[0].startswith(("$", "<", "{")):
        yield section.fact("engine.model", model[0], model[1])


def _arguments(texts: list[str]) -> int:
    """Position behind program and verb."""
    for position, text in enumerate(texts[:5]):
        if text in ("serve", "run"):
            return position + 1
        if text == "-m" and position and texts[0].rpartition("/")[2].startswith("python"):
            return position + 2 + (texts[position + 2 : position + 3] == ["serve"])
    return 1


READER = TextReader(
    name="engine launch",
    marks=("vllm", "sglang", "llama-", ".gguf", "ollama", "text-generation", "lmdeploy"),
    commands=None,
    sniff=LAUNCH,
    parse=parse_launch,
)
