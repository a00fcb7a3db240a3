"""Recorded command output in a tree: sosreport and our snapshots name the file after the command."""

from __future__ import annotations

from rocsteady.facts import Builder, read_facts
from rocsteady.facts.read import recorded_command
from tests.support import tree


def test_names() -> None:
    """Words by underscores; a file that is named after something else has no command."""
    assert recorded_command("sos_commands/pci/lspci_-nnvv") == "lspci -nnvv"
    assert recorded_command("commands/rocm-smi.txt") == "rocm-smi"
    assert recorded_command("sos_commands/x/some_file") is None


def test_facts_of_a_sosreport() -> None:
    """Each file by its own reader."""
    builder = Builder()
    builder.add(
        read_facts(
            tree(
                {
                    "sos_commands/kernel/sysctl_-a": "kernel.numa_balancing = 1\n",
                    "sos_commands/pci/lspci_-nnvv": "c1:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] X [1002:740f]\n",
                    "sos_commands/host/uname_-r": "6.8.0-60-generic\n",
                }
            )
        )
    )
    facts = builder.build()
    assert facts.sysctl == {"kernel.numa_balancing": "1"} and facts.kernel.release == "6.8.0-60-generic"
    assert [g.bdf for g in facts.gpus] == ["0000:c1:00.0"]
