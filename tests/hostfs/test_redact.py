"""Secrets and identities never survive, what a diagnosis needs always does, and equal stays equal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.hostfs.redact import Redactor, people
from tests.facts.captured import CAPTURES

KEY = b"k" * 32
HOSTS, USERS = ("gpunode17.corp.example.com", "gpu"), ("roberta", "max")


def redacted(text: str, path: str = "") -> str:
    """With a fixed key."""
    return Redactor(HOSTS, USERS, KEY).text(text, path)


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuv", "hf_abc"),
        ("export OPENAI_API_KEY='my-own-key-1'", "my-own"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalr"),
        ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AKIA"),
        ("vllm serve m --api-key mysecretvalue", "mysecret"),
        ("vllm\0serve\0--api-key\0mysecretvalue\0--port\x008000\0", "mysecret"),
        ("python -m x --hf-token=abcd1234", "abcd1234"),
        ("non-default args: {'api_key': ['hunter2hunter']}", "hunter2"),
        ('"registry_password": "s3cretpw"', "s3cretpw"),
        ("Authorization: Bearer abcdefgh123456", "abcdefgh"),
        ("curl -H 'Authorization: Basic dXNlcjpwYXNz'", "dXNlcj"),
        ("https://joe:pw4711@git.example.org/x", "pw4711"),
        ("http_proxy=http://proxyuser:pr0xy@proxy:3128", "pr0xy"),
        ("GET /v1?access_token=abcdef123", "abcdef123"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "eyJzdWI"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("mail bob.smith@example.com", "bob.smith"),
        ("Nov 30 12:00:01 othernode kernel: x", "othernode"),
        ("2026-11-30T12:00:01+0000 othernode vllm[1]: x", "othernode"),
        ("Linux othernode 6.8.0-45-generic #45", "othernode"),
        ("connect to gpunode17 failed", "gpunode17"),
        ("connect to GPUNODE17.corp.example.com", "GPUNODE17"),
        ("srv1.rack2.corp.internal refused", "rack2"),
        ("/home/somebody/venv/bin/python", "somebody"),
        ("session opened for user max(uid=1000)", "max("),
        ("uid=1000(max) gid=1000(max)", "(max)"),
        ("killed job of roberta", "roberta"),
        ("src 10.1.2.3:22", "10.1.2.3"),
        ("http://10.20.30.40:8000", "10.20.30.40"),
        ("fe80::0211:22ff:feaa:bbcc", "feaa"),
        ("link/ether 00:11:22:aa:bb:cc", "aa:bb"),
        ("Device Serial Number 00-02-c9-03-00-aa-bb-cc", "aa-bb"),
        ('"Card Serial Number": "PCB052349-1234"', "PCB0"),
        ("GPU[0]\t\t: Serial Number: PCB052349-1234", "PCB0"),
        ("node_guid: 0002:c903:00aa:bbcc", "00aa"),
        ("root=UUID=0f3a1b2c-1234-5678-9abc-def012345678", "0f3a"),
        ("Unique ID: 0x1234567890abcdef", "90abcdef"),
        ("  Uuid:                    GPU-1234567890abcdef", "90abcdef"),
    ],
)
def test_taken_out(line: str, secret: str) -> None:
    """Each kind of secret and identity, in the places where it occurs."""
    assert secret not in redacted(line)
    assert redacted(line).count("\n") == line.count("\n")


@pytest.mark.parametrize(
    "line",
    [
        "amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] page fault (src_id:0 ring:24 vmid:3 pasid:32770)",
        "c1:00.0 0300: 1002:74a1", "RIP: 0010:amdgpu_vm_pt_update+0x12/0x40 RSP: 0018:ffffb2c3c0a3f9e8",
        "in page starting at address 0x00007f2c00000000", "Linux version 6.8.0-45-generic (gcc 13.2.0)",
        "VBIOS version 022.040.003.043.000001 113-M3000100-103", "fw version 230.2.49.0/pkg 230.2.52.0",
        "nvidia-cublas-cu12==12.4.5.8", "linux-image-5.15.0.101.98", "smc firmware version: 0x00554500 (85.69.0)",
        "max_num_batched_tokens=8192 eos_token_id=151645 pad_token=<|endoftext|>", "TOKENIZERS_PARALLELISM=false",
        "--max-num-batched-tokens 8192 --tokenizer meta-llama/Llama-3.1-8B", "std::vector c10::Error at::native",
        "12:34:56 12:34:56.789 [rank0]: 127.0.0.1:8000 0.0.0.0:8000 255.255.255.0", "::1 localhost",
        "getty@tty1.service user@1000.service", "max memory for user space, gpu hang", "Serial: 8250/16550 driver, 32 ports",
        "console=ttyS0,115200n8 iommu=pt amdgpu.noretry=0", "HIP_VISIBLE_DEVICES=0,1 HSA_OVERRIDE_GFX_VERSION=11.0.0",
        "GPU core dump: /dev/kfd gfx942:sramecc+:xnack-", "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout",
        "UMC 0x1002 mca: [Hardware Error]: CPU:2 (19:11:1) MC21_STATUS[-|CE|MiscV]: 0xdc2040000400011b",
    ],
)  # fmt: skip
def test_left_alone(line: str) -> None:
    """PCI addresses, versions, kernel addresses, times, options, ordinary words."""
    assert redacted(line) == line


def test_consistent() -> None:
    """One name, one pseudonym, over files and spellings; another key gives another."""
    one = Redactor(HOSTS, USERS, KEY)
    first = one.text("Nov 30 12:00:01 gpunode17 kernel: 10.1.2.3 of roberta")
    second = one.text("gpunode17.corp.example.com 10.1.2.3 /home/roberta/x")
    words = set(re.findall(r"host-\w+|user-\w+|198\.\S+", first))
    assert len(words) == 3 and all(word in second for word in words)
    other = Redactor(HOSTS, USERS, b"x" * 32).text("Nov 30 12:00:01 gpunode17 kernel: 10.1.2.3 of roberta")
    assert not words & set(other.split())
    assert one.text("10.1.2.4") != one.text("10.1.2.3")


def test_accounts() -> None:
    """People get pseudonyms, system accounts stay, and both files agree."""
    one = Redactor((), ("roberta", "max"), KEY)
    passwd = one.text("root:x:0:0:root:/root:/bin/sh\nmax:x:1001:1001:Max Q,,,:/home/max:/bin/sh\n", "etc/passwd")
    group = one.text("video:x:44:max,gdm\nmax:x:1001:\nrender:x:109:\n", "etc/group")
    assert "root:x:0:0:root:/root" in passwd and "Max Q" not in passwd and "max" not in passwd
    (name,) = set(re.findall(r"user-\w+", passwd))
    assert group == f"video:x:44:{name},gdm\n{name}:x:1001:\nrender:x:109:\n"
    assert people("a:x:1000:1:::\nb:x:999:1:::\nbad\n") == ("a",)


def test_binary_is_untouched() -> None:
    """Tables of the driver and PCI configuration are no text."""
    data = b"\x01\x0010.1.2.3 00:11:22:aa:bb:cc\0\x02"
    one = Redactor(HOSTS, USERS, KEY)
    assert one.data("sys/x/gpu_metrics", data) == data
    assert one.data("sys/x/config", data) == data
    assert one.data("var/log/kern.log", data) != data  # a log may hold NUL after a crash, and is redacted all the same


WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=8, max_size=20).map(lambda s: "q7" + s + "z")
AROUND = st.text("abcXYZ 09 =:,\"'()[]{}/\\|<>@.-_\n\t", max_size=30)


@given(
    WORDS,
    AROUND,
    AROUND,
    st.sampled_from(["HF_TOKEN={}", "--api-key {}", "Authorization: Bearer {}", "'password': '{}'", "https://u:{}@h/"]),
)
def test_planted_secret_never_survives(secret: str, before: str, after: str, form: str) -> None:
    """Whatever text is around it."""
    assert secret not in redacted(f"{before} {form.format(secret)} {after}")


@given(st.ip_addresses(v=4).filter(lambda a: str(a).partition(".")[0] not in ("0", "127", "255")), AROUND)
def test_address_never_survives(address: object, before: str) -> None:
    """Unless the text before says that it is a version."""
    assert f" {address} " not in redacted(f"{before} to {address} end") or str(address).startswith("198.1")


@given(st.text(max_size=300))
def test_never_fails_and_keeps_lines(text: str) -> None:
    """Any text; evidence quotes line numbers, so these must not move."""
    assert redacted(text).count("\n") == text.count("\n")


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    """Invalid UTF-8 comes out as it went in."""
    out = Redactor(HOSTS, USERS, KEY).data("var/log/x", data)
    assert out.count(b"\n") == data.count(b"\n")


BDFS = st.builds(
    "{:04x}:{:02x}:{:02x}.{:x}".format,
    st.integers(0, 0xFFFF),
    st.integers(0, 255),
    st.integers(0, 31),
    st.integers(0, 7),
)


@given(BDFS, st.integers(0, 2**64 - 1), st.integers(4, 7), st.integers(0, 20), st.integers(0, 300))
def test_diagnostic_words_survive(bdf: str, address: int, major: int, minor: int, patch: int) -> None:
    """PCI addresses, kernel addresses and kernel versions, in the lines that hold them."""
    line = f"[ 12.345678] amdgpu {bdf}: amdgpu: fault at {address:#018x} kernel {major}.{minor}.{patch}-generic"
    assert redacted(line) == line


@pytest.mark.shared
@pytest.mark.skipif(not CAPTURES.is_dir(), reason="needs the material beside the checkout")
def test_real_trees() -> None:
    """Addresses and serial numbers of laboratory machines go; the files keep their lines and PCI addresses."""
    one = Redactor((), (), KEY)
    mac = re.compile(r"(?<![\w:])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![\w:])", re.IGNORECASE)
    bdf = re.compile(r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")
    seen = 0
    for path in sorted(CAPTURES.rglob("*")):
        if not path.is_file() or path.stat().st_size > 1 << 20 or path.suffix == ".md":
            continue
        text = Path(path).read_bytes().decode("utf-8", "replace")
        out = one.text(text, path.relative_to(CAPTURES).as_posix())
        assert out.count("\n") == text.count("\n")
        assert bdf.findall(out) == bdf.findall(text), path
        for address in set(mac.findall(text)) - {"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"}:
            seen += 1
            assert address not in out
    assert seen
