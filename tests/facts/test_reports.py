"""Whole reports as people write them: prose, fences, prompts of containers, forms."""

from __future__ import annotations

from tests.facts.reading import facts_of

FORM = """\
### Problem Description

`rocminfo` produces the output:

```
root:~# rocminfo
ROCk module version 6.7.0 is loaded
Unable to open /dev/kfd read-write: Invalid argument
root is member of nogroup group
```

### Operating System

Ubuntu 22.04.5 LTS (Jammy Jellyfish)

### CPU

AMD EPYC 9474F 48-Core Processor

### ROCm Version

ROCm 6.2.1, ROCm 5.7.0

```
root:/workspace/rocm# rocm-smi --showallinfo
Driver version: 6.7.0
GPU[0]\t\t: Device Name: \t\tAMD Instinct MI300X OAM
GPU[0]\t\t: Device ID: \t\t0x74a1
```
"""


def test_a_form() -> None:
    """Answers, sessions; two versions in one answer say nothing."""
    facts = facts_of(FORM)
    assert (facts.host.os_id, facts.host.os_version, facts.host.cpu) == (
        "ubuntu",
        "22.04",
        "AMD EPYC 9474F 48-Core Processor",
    )
    assert (facts.rocm.version, facts.rocm.driver, facts.rocm.runtime_works_as_root) == (None, "6.7.0", False)
    assert (facts.devices["/dev/kfd"].exists, facts.devices["/dev/kfd"].error) == (True, "EINVAL")
    assert (facts.gpus[0].device, facts.gpus[0].name) == ("74a1", "AMD Instinct MI300X OAM")


SESSION = """\
user@host:~/ROCm-docker$ docker run -u 1000 -it --device=/dev/kfd --device=/dev/dri --group-add video --group-add render 0a29866b8289 /bin/bash
I have no name!@39764af76254:/$ rocminfo | grep gfx*
  Name:                    gfx90a
      Name:                    amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
  Name:                    gfx90a
I have no name!@39764af76254:/$ ls -lart /dev/dri/
total 0
crw-rw---- 1 root render 226, 129 Aug 22 21:34 renderD129
drwxr-xr-x 2 root root        140 Aug 22 21:34 .
I have no name!@39764af76254:/$ ls -lart /dev/kfd
crw-rw---- 1 root render 509, 0 Aug 22 21:34 /dev/kfd
I have no name!@39764af76254:/$
"""


def test_a_session_in_a_container() -> None:
    """Prompts without a user name; options, device files and agents together."""
    facts = facts_of(SESSION)
    assert (
        facts.container is not None and facts.container.groups == ("video", "render") and facts.container.user == "1000"
    )
    assert len(facts.gpus) == 2 and facts.devices["/dev/kfd"].group == "render"
    assert facts.devices["/dev/dri/renderD129"].mode == "0660"


def test_lines_in_back_quotes() -> None:
    """Each line of a short session on its own."""
    facts = facts_of(
        "The error occurs when I run:\n`root@101acc:/var/lib# /opt/rocm-5.2.0/bin/rocminfo`\nThen the output:\n`ROCk module is loaded`\n"
        "`Unable to open /dev/kfd read-write: No such file or directory`\n`NCCL_PROTO=Simple vllm serve Qwen/M -tp 2`\n"
    )
    assert facts.devices["/dev/kfd"].exists is False and facts.modules["amdgpu"].loaded is True
    assert facts.env == {"NCCL_PROTO": "Simple"} and facts.engine.flags["tensor_parallel_size"] == "2"


def test_an_image_that_starts_its_server() -> None:
    """The command of the container is the model and its flags."""
    facts = facts_of(
        "docker run --rm -it \\\n  --device /dev/kfd \\\n  --ipc=host \\\n  vllm/vllm-openai-rocm:v0.23.0 \\\n  Qwen/Q \\\n  --port 3456\n"
    )
    assert (facts.engine.name, facts.engine.model, facts.engine.flags) == ("vllm", "Qwen/Q", {"port": "3456"})


def test_rocminfo_that_could_not_ask_lsmod() -> None:
    """Its 'NOT loaded' then means nothing."""
    facts = facts_of("$ rocminfo\nsh: 1: lsmod: not found\nROCk module is NOT loaded, possibly no GPU devices\n")
    assert not facts.modules
