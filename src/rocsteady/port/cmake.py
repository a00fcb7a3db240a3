"""`CMakeLists.txt` and `*.cmake`: the CUDA language, packages, properties, options and libraries."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocsteady.port.build_text import BuildText
from rocsteady.port.context import Options, ProjectFacts
from rocsteady.port.options import compile_option

# CUDA::target -> (HIP target, package that declares it, rule)
_LIBRARIES = {
    "cudart": ("hip::host", "hip", ""),
    "cudart_static": ("hip::host", "hip", ""),
    "cuda_driver": ("hip::host", "hip", ""),
    "cublas": ("roc::hipblas", "hipblas", ""),
    "cublas_static": ("roc::hipblas", "hipblas", ""),
    "cublasLt": ("roc::hipblaslt", "hipblaslt", ""),
    "cublasLt_static": ("roc::hipblaslt", "hipblaslt", ""),
    "curand": ("hip::hiprand", "hiprand", ""),
    "cufft": ("hip::hipfft", "hipfft", ""),
    "cusparse": ("roc::hipsparse", "hipsparse", ""),
    "cusolver": ("roc::hipsolver", "hipsolver", ""),
    "nvrtc": ("hiprtc::hiprtc", "hiprtc", ""),
    "nvToolsExt": ("roctx64", "", "build-library"),
    "nvtx3": ("roctx64", "", "build-library"),
    "nvml": ("amd_smi", "amd_smi", "build-library"),
    "cudnn": ("MIOpen", "miopen", "build-library"),
    "cupti": ("rocprofiler-sdk::rocprofiler-sdk", "rocprofiler-sdk", "build-library"),
}
_COMMAND = re.compile(r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*\(")
_WORD = re.compile(r'"(?:\\.|[^"\\])*"|\$<\$<COMPILE_LANGUAGE:CUDA>:|#[^\n]*|[^\s()"#>]+(?:\([^()\s]*\))?|>')
_DROPPED_PROPERTIES = {
    "CUDA_RESOLVE_DEVICE_SYMBOLS",
    "CUDA_PTX_COMPILATION",
    "CUDA_CUBIN_COMPILATION",
    "CUDA_FATBIN_COMPILATION",
    "CUDA_RUNTIME_LIBRARY",
    "CUDA_OPTIX_COMPILATION",
}
_OWN_MACRO = re.compile(r"(?:^|_)(?:CUDA|NVCC|CUBLAS|CUDNN|NCCL|NVTX|NVML)", re.I)
_OLD_CALLS = {
    "cuda_add_library",
    "cuda_add_executable",
    "cuda_compile",
    "cuda_compile_ptx",
    "cuda_include_directories",
    "cuda_add_cublas_to_target",
    "cuda_add_cufft_to_target",
    "cuda_select_nvcc_arch_flags",
}


class Command(NamedTuple):
    """One command: lower-case name, start of its line text, span between the brackets."""

    name: str
    start: int
    first: int
    last: int


class Word(NamedTuple):
    """One argument."""

    text: str
    start: int
    end: int


def convert(text: str, path: str, options: Options, project: ProjectFacts) -> BuildText:
    """Convert one CMake file."""
    del path, project
    built = BuildText(text)
    commands = list(_commands(text))
    used = sorted({name for name in re.findall(r"\bCUDA::(\w+)", text) if name in _LIBRARIES})
    separable: set[str] = set()
    for command in commands:
        _one(built, command, options, used, separable)
    _sources(built, commands, options)
    _relocatable(built, commands, separable)
    return built


def _commands(text: str) -> list[Command]:
    found, at = [], 0
    while (match := _COMMAND.search(text, at)) is not None:
        depth, position, limit = 1, match.end(), len(text)
        while position < limit and depth:
            char = text[position]
            if char == '"':
                close = re.compile(r'(?:\\.|[^"\\])*"', re.S).match(text, position + 1)
                position = close.end() if close else limit
                continue
            if char == "#":
                newline = text.find("\n", position)
                position = newline if newline >= 0 else limit
                continue
            depth += (char == "(") - (char == ")")
            position += 1
        start = match.start(1)
        found.append(Command(match[1].lower(), start, match.end(), position - 1 if not depth else position))
        at = position
    return found


def _words(built: BuildText, command: Command) -> list[Word]:
    return [
        Word(match.group(), match.start(), match.end())
        for match in _WORD.finditer(built.original, command.first, command.last)
        if not match.group().startswith("#")
    ]


def _one(built: BuildText, command: Command, options: Options, used: list[str], separable: set[str]) -> None:
    words = _words(built, command)
    name = command.name
    if name in {"project", "enable_language"}:
        for word in words:
            if word.text == "CUDA":
                built.replace(word.start, word.end, "HIP", "cmake-language")
    elif name == "find_package" and words:
        _find_package(built, command, words, used)
    elif name in _OLD_CALLS:
        built.note("build-findcuda", command.start)
    elif name in {"set", "list", "option"} and words:
        _set(built, words, options)
    elif name in {"set_target_properties", "set_property", "set_source_files_properties"}:
        _properties(built, command, words, options, separable)
    elif name == "target_link_libraries":
        _link(built, words)
    elif name in {"target_compile_definitions", "add_definitions", "add_compile_definitions"}:
        for word in words[1:] if name.startswith("target") else words:
            if _OWN_MACRO.search(word.text.removeprefix("-D")) and word.text not in {"PRIVATE", "PUBLIC", "INTERFACE"}:
                built.note("build-define", word.start)
    elif name in {"target_compile_options", "add_compile_options"}:
        _options(built, words, options)
    if name not in {"find_package", "set", "project"}:
        _variables(built, words)


def _find_package(built: BuildText, command: Command, words: list[Word], used: list[str]) -> None:
    if words[0].text == "CUDA":
        built.note("build-findcuda", command.start)
        return
    if words[0].text in {"CUDNN", "NCCL"}:
        built.replace(words[0].start, words[0].end, {"CUDNN": "miopen", "NCCL": "rccl"}[words[0].text], "cmake-package")
        return
    if words[0].text != "CUDAToolkit":
        return
    end = next((word.end for word in words[1:] if re.fullmatch(r"[\d.]+", word.text)), words[0].end)
    built.replace(words[0].start, end, "hip", "cmake-package")
    packages = sorted({_LIBRARIES[library][1] for library in used} - {"hip", ""})
    indent = built.original[built.line_start(command.start) : command.start]
    extra = "".join(f"\n{indent}find_package({package} REQUIRED)" for package in packages)
    if extra:
        built.edits.add(command.last + 1, command.last + 1, extra, "cmake-package")


def _set(built: BuildText, words: list[Word], options: Options) -> None:
    head = next((word for word in words if word.text.startswith("CMAKE_CUDA_")), None)
    if head is None:
        return
    if head.text == "CMAKE_CUDA_ARCHITECTURES":
        built.note("build-arch", head.start)
        values = [
            word
            for word in words
            if word.start > head.start
            and word.text not in {"CACHE", "STRING", "FORCE", "PARENT_SCOPE"}
            and not re.match(r'"[^"\d]* ', word.text)
        ]
        if values and not values[0].text.startswith("$"):
            quoted = values[0].text.startswith('"')
            joined = (";" if quoted or ";" in values[0].text else " ").join(options.targets)
            built.replace(values[0].start, values[-1].end, f'"{joined}"' if quoted else joined, "cmake-arch")
    elif "FLAGS" in head.text:
        for word in words:
            if word.start > head.start:
                _flag_word(built, word, options)
    built.replace(head.start, head.start + len("CMAKE_CUDA_"), "CMAKE_HIP_", "cmake-variable")


def _flag_word(built: BuildText, word: Word, options: Options) -> None:
    """Options inside one argument, quoted or not."""
    for match in re.finditer(r"[^\s\";]+", word.text):
        _option(built, match.group(), word.start + match.start(), options)


def _option(built: BuildText, option: str, start: int, options: Options) -> None:
    change = compile_option(option, options.targets)
    if change is None:
        if "CMAKE_CUDA_" in option:
            at = start + option.index("CMAKE_CUDA_")
            built.replace(at, at + len("CMAKE_CUDA_"), "CMAKE_HIP_", "cmake-variable")
        return
    if change.rule:
        built.note(change.rule, start, option)
    if change.text:
        built.replace(start, start + len(option), change.text, "option")
    else:
        built.drop_word(start, start + len(option), "option")


def _options(built: BuildText, words: list[Word], options: Options) -> None:
    for word in words:
        if word.text.startswith("$<$<COMPILE_LANGUAGE:CUDA>:"):
            at = word.start + word.text.index("CUDA")
            built.replace(at, at + 4, "HIP", "cmake-language")
        elif word.text.startswith("-"):
            _option(built, word.text, word.start, options)
        elif word.text.startswith('"'):
            _flag_word(built, word, options)
        for match in re.finditer(r"COMPILE_LANGUAGE:CUDA|COMPILE_LANG_AND_ID:CUDA,NVIDIA", word.text):
            if not word.text.startswith("$<$<COMPILE_LANGUAGE:CUDA>:"):
                fresh = "COMPILE_LANGUAGE:HIP"
                built.replace(word.start + match.start(), word.start + match.end(), fresh, "cmake-language")


def _properties(built: BuildText, command: Command, words: list[Word], options: Options, separable: set[str]) -> None:
    at = next((number for number, word in enumerate(words) if word.text in {"PROPERTIES", "PROPERTY"}), None)
    if at is None:
        return
    pairs = [(words[i], words[i + 1]) for i in range(at + 1, len(words) - 1, 2)]
    dropped = []
    for key, value in pairs:
        if key.text == "CUDA_SEPARABLE_COMPILATION":
            built.note("build-rdc", key.start)
            if value.text.upper() in {"ON", "TRUE", "1", "YES"}:
                separable |= {word.text for word in words[:at]}
            dropped.append((key, value))
        elif key.text in _DROPPED_PROPERTIES:
            built.note("build-property", key.start, key.text)
            dropped.append((key, value))
        elif key.text == "CUDA_ARCHITECTURES":
            built.note("build-arch", key.start)
            built.replace(key.start, key.end, "HIP_ARCHITECTURES", "cmake-property")
            if not value.text.startswith("$"):
                built.replace(value.start, value.end, '"' + ";".join(options.targets) + '"', "cmake-arch")
        elif key.text.startswith("CUDA_"):
            built.replace(key.start, key.end, "HIP_" + key.text[5:], "cmake-property")
        elif key.text == "LANGUAGE" and value.text == "CUDA":
            built.replace(value.start, value.end, "HIP", "cmake-language")
    if dropped and len(dropped) == len(pairs):
        begin, end = built.line_start(command.start), built.line_end(command.last)
        if not built.original[command.last + 1 : end].strip():
            built.replace(begin, end, "", "cmake-property")
    else:
        for key, value in dropped:
            built.drop_word(key.start, value.end, "cmake-property")


def _link(built: BuildText, words: list[Word]) -> None:
    for word in words:
        match = re.fullmatch(r"CUDA::(\w+)", word.text)
        if match and match[1] in _LIBRARIES:
            hip, _, rule = _LIBRARIES[match[1]]
            built.replace(word.start, word.end, hip, "cmake-library")
            if rule:
                built.note(rule, word.start, word.text)
        elif match or re.match(r"\$\{CUDA_\w*LIBRAR|\$\{CUDNN", word.text):
            built.note("build-library", word.start, word.text)


def _variables(built: BuildText, words: list[Word]) -> None:
    """Variables of the CUDA packages that are read."""
    for word in words:
        for match in re.finditer(
            r"\$\{(CMAKE_CUDA_\w+|CUDAToolkit_\w+|CUDA_(?:INCLUDE_DIRS|VERSION\w*|TOOLKIT_ROOT_DIR|LIBRARIES|NVCC_\w+|FOUND))\}",
            word.text,
        ):
            start = word.start + match.start(1)
            if match[1].startswith("CMAKE_CUDA_") and "COMPILER_VERSION" not in match[1]:
                built.replace(start, start + len("CMAKE_CUDA_"), "CMAKE_HIP_", "cmake-variable")
            else:
                built.note("build-variable", start, match[1])


def _sources(built: BuildText, commands: list[Command], options: Options) -> None:
    """Sources keep their `.cu` suffix, so each target's must be told to be HIP."""
    if options.rename:
        return
    for command in commands:
        if command.name not in {"add_library", "add_executable", "target_sources"}:
            continue
        sources = [word.text for word in _words(built, command)[1:] if word.text.endswith(".cu")]
        already = any(
            other.name == "set_source_files_properties"
            and sources
            and sources[0] in built.original[other.first : other.last]
            for other in commands
        )
        if not sources or already:
            continue
        indent = built.original[built.line_start(command.start) : command.start]
        text = f"{indent}set_source_files_properties({' '.join(sources)} PROPERTIES LANGUAGE HIP)\n"
        at = built.line_end(command.last)
        if at == len(built.original) and not built.original.endswith("\n"):
            text = "\n" + text.rstrip("\n")
        if built.edits.add(at, at, text, "cmake-language"):
            built.converted += 1


def _relocatable(built: BuildText, commands: list[Command], separable: set[str]) -> None:
    """`-fgpu-rdc` in the HIP options of each separable target."""
    for target in sorted(separable):
        for command in commands:
            words = _words(built, command)
            if command.name != "target_compile_options" or not words or words[0].text != target:
                continue
            opened = next((word for word in words if word.text.startswith("$<$<COMPILE_LANGUAGE:CUDA>:")), None)
            if opened is None:
                continue
            close = next((word for word in words if word.text == ">" and word.start > opened.start), None)
            if close is not None:
                built.edits.add(close.start, close.start, " -fgpu-rdc", "cmake-rdc")
            break
        else:
            last = next(
                (
                    command
                    for command in commands
                    if command.name in {"add_library", "add_executable"}
                    and _words(built, command)
                    and _words(built, command)[0].text == target
                ),
                None,
            )
            if last is not None:
                at = built.line_end(last.last)
                built.edits.add(
                    at,
                    at,
                    f"target_compile_options({target} PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)\n",
                    "cmake-rdc",
                )
