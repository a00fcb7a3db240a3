"""Cutting pastes into sections: prompts, headings, fences, quoting, prefixes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.facts.prompts import heading_command, prompt_command
from rocsteady.facts.sections import LOG, sections


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("root@host:~# rocminfo", "rocminfo"),
        ("[user@host ~]$ ls -l /dev/kfd", "ls -l /dev/kfd"),
        ("(venv) user@host:/opt/x$ pip list", "pip list"),
        ("(base) (env) user@host:~$ pip list", "pip list"),
        ("user@host ~ % uname -a", "uname -a"),
        ("user@host ~> uname -a", "uname -a"),
        ("host:~ # zypper lr", "zypper lr"),
        ("$ lspci -nn", "lspci -nn"),
        ("# lspci -nn", "lspci -nn"),
        ("+ rocm-smi", "rocm-smi"),
        ("++ rocm-smi --json", "rocm-smi --json"),
        ("> rocminfo", "rocminfo"),
        ("➜  ~ rocminfo", "rocminfo"),
        ("➜  vllm git:(main) ✗ pip freeze", "pip freeze"),
        ("❯ uname -r", "uname -r"),
        ("└─$ id", "id"),
        ("bash-5.1# id", "id"),
        ("sh-4.4$ id", "id"),
        ("Singularity> python3 x.py", "python3 x.py"),
        ("PS C:\\Users\\x> hipinfo", "hipinfo"),
        ("root@host:~#", ""),
    ],
)
def test_prompts(line: str, command: str) -> None:
    """Shells and distributions."""
    assert prompt_command(line) == command


@pytest.mark.parametrize(
    "line",
    [
        "# This file is generated", "> I tried that", "+ added a line", "- item", "## rocminfo", "#include <x>",
        "[    1.0] amdgpu 0000:c1:00.0: x", "  Name:   gfx942", "user is member of video group", "mail@example.com wrote",
        "50% of runs", "> 3 GPUs",
    ],
)  # fmt: skip
def test_no_prompt(line: str) -> None:
    """Comments, quotes, lists, logs."""
    assert prompt_command(line) is None


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("=== lspci ===", "lspci"),
        ("----- cat /proc/cmdline -----", "cat /proc/cmdline"),
        ("### `rocminfo`", "rocminfo"),
        ("## Output of rocm-smi", "rocm-smi"),
        ("**rocminfo**", "rocminfo"),
        ("**rocminfo:**", "rocminfo"),
        ("cat /proc/cmdline:", "cat /proc/cmdline"),
        ("rocminfo output:", "rocminfo"),
        ("<summary>rocminfo</summary>", "rocminfo"),
        ("==> /proc/cmdline <==", "cat /proc/cmdline"),
        ("===== Section: lsmod loaded module     ===============", "lsmod"),
        ("===== Section: ROCm SMI showrasinfo all===============", "rocm-smi --showrasinfo all"),
        ("===== Section: ROCm ldconfig entries   ===============", ""),
        ("CMD: rocminfo", "rocminfo"),
    ],
)
def test_headings(line: str, command: str) -> None:
    """Headings that name a command; an unknown section of rocm_techsupport ends the last one."""
    assert heading_command(line) == command


@pytest.mark.parametrize(
    "line",
    ["======= ROCm System Management Interface =======", "====== Concise Info ======", "*******", "HSA Agents", "==========",
     "GPU models and configuration:", "  Pool Info:", "## Steps to reproduce", "kernel: 6.8.0"],
)  # fmt: skip
def test_no_heading(line: str) -> None:
    """Decoration of the tools themselves."""
    assert heading_command(line) is None


def test_a_paste_of_several_commands() -> None:
    """Commands, their output, line numbers; fences end a section; evidence quotes the line as it stands."""
    text = "```\r\nuser@h:~$ uname -r\r\n6.8.0\r\nuser@h:~$ cat /x \\\r\n  /y\r\nvalue\r\n```\r\nprose\r\n"
    found = [(s.command, s.first, s.lines) for s in sections("f", text)]
    assert found == [
        ("shell: uname -r", 2, ("uname -r",)),
        ("uname -r", 3, ("6.8.0",)),
        ("shell: cat /x \\", 4, ("cat /x \\", "  /y")),
        ("cat /x \\", 6, ("value",)),
        (None, 8, ("prose",)),
    ]


def test_quoting_prefixes_and_colours_are_taken_off() -> None:
    """Evidence keeps them."""
    quoted = list(sections("f", "> GPU: 0\n>     BDF: x\n"))
    assert quoted[0].lines == ("GPU: 0", "    BDF: x") and quoted[0].evidence(0).text == "> GPU: 0"
    composed = list(sections("f", "llm-1  | a\nllm-1  | b\nllm-1  | c\n"))
    assert composed[0].lines == ("a", "b", "c")
    coloured = next(iter(sections("f", "\x1b[37mROCk module is loaded\x1b[0m\n")))
    assert coloured.lines == ("ROCk module is loaded",)


def test_logs_are_no_command_output() -> None:
    """A run of log lines is set apart; a few lines are not."""
    log = "".join(f"[{i:5}.000000] amdgpu: x\n" for i in range(20))
    assert [s.command for s in sections("f", log + "Name: x\n")] == [LOG, None]
    assert [s.command for s in sections("f", "[ 1.0] a\nName: x\n")] == [None]


@given(st.text(alphabet=st.sampled_from("#$>=-+ \n\r`rocminfo@:~[]\x1b\\|."), max_size=300))
def test_every_line_is_in_at_most_one_section(text: str) -> None:
    """Never raises; sections do not overlap and quote existing lines."""
    last = 0
    lines = text.split("\n")
    for section in sections("f", text):
        assert section.first > last
        last = section.first + len(section.lines) - 1
        assert last <= len(lines)
        assert section.raw is not None and len(section.raw) == len(section.lines)
