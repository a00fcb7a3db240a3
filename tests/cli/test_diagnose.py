"""The diagnose command: the JSON contract, exit codes, formats, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULT = (
    "[    5.000001] [drm] amdgpu kernel modesetting enabled.\n"
    "[    9.605986] amdgpu 0000:23:00.0: Direct firmware load for amdgpu/arcturus_gpu_info.bin failed with error -2\n"
    "[    9.605988] amdgpu 0000:23:00.0: Fatal error during GPU init\n"
    "[    9.606063] amdgpu: probe of 0000:23:00.0 failed with error -2\n"
)
KEYS = {"schema", "verdict", "findings", "unexplained", "gaps", "timeline", "node"}
FINDING_KEYS = {
    "id", "slug", "category", "severity", "mode", "role", "confidence", "subject", "title", "cause", "remedies",
    "evidence", "explains", "sources",
}  # fmt: skip


def run(*arguments: str, stdin: bytes = b"", **extra: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "NO_COLOR": "1", **extra}
    return subprocess.run(
        [sys.executable, "-m", "rocsteady", *arguments], input=stdin, capture_output=True, env=env, check=False
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(FAULT)
    return path


def test_json_contract(log: Path) -> None:
    done = run("diagnose", str(log), "--format", "json")
    document = json.loads(done.stdout)
    assert set(document) >= KEYS
    assert document["schema"] == "rocsteady.diagnosis/1"
    assert document["verdict"] == "failing" and done.returncode == 1
    first = document["findings"][0]
    assert set(first) >= FINDING_KEYS
    assert first["category"] == "firmware" and first["role"] == "cause"
    assert first["evidence"][0]["text"] in FAULT
    ids = [f["id"] for f in document["findings"]]
    assert len(set(ids)) == len(ids)
    assert all(e in ids for f in document["findings"] for e in f["explains"])
    lines = FAULT.splitlines()
    for finding in document["findings"]:
        for evidence in finding["evidence"]:
            if evidence["line"] is not None:
                assert lines[evidence["line"] - 1] == evidence["text"]


def test_standard_input_is_an_input() -> None:
    done = run("diagnose", "-", "--format", "json", stdin=FAULT.encode())
    assert json.loads(done.stdout)["findings"][0]["evidence"][0]["file"] == "stdin"


def test_text_is_plain_in_a_pipe(log: Path) -> None:
    done = run("diagnose", str(log))
    text = done.stdout.decode()
    assert "\x1b" not in text and "FAILING" in text and "log.txt:2" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_html_is_one_file_without_outside_resources(log: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    done = run("diagnose", str(log), "--format", "html", "-o", str(target))
    assert done.returncode == 1 and done.stdout == b""
    page = target.read_text()
    assert page.startswith("<!doctype html>") and "<script" not in page and 'src="' not in page


@pytest.mark.parametrize(
    "arguments",
    [("diagnose", "no-such-file"), ("diagnose", "--no-such-option"), ("diagnose", "--since", "yesterday"),
     ("diagnose", "--format", "xml"), ("diagnose", "--root", "/no/such/directory"),
     ("diagnose", "--config", "/no/such/file"), ("no-such-command",)],
)  # fmt: skip
def test_bad_usage_is_two_and_no_traceback(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == b"" and done.stderr and b"Traceback" not in done.stderr


def test_nothing_known_is_unknown_and_zero(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.write_text("")
    done = run("diagnose", str(empty), "--format", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "unknown"


def test_suppressed_findings_do_not_count_until_they_expire(log: Path, tmp_path: Path) -> None:
    first = json.loads(run("diagnose", str(log), "--format", "json").stdout)["findings"]
    config = tmp_path / "rocsteady.toml"
    entries = "".join(f'[[suppress]]\nmode = "{f["mode"]}"\nreason = "known"\nexpires = 2999-01-01\n' for f in first)
    config.write_text(entries)
    done = run("diagnose", str(log), "--format", "json", "--config", str(config))
    document = json.loads(done.stdout)
    assert document["findings"] == [] and done.returncode == 0
    assert {s["reason"] for s in document["suppressed"]} == {"known"}
    config.write_text(entries.replace("2999", "2001"))
    assert run("diagnose", str(log), "--config", str(config)).returncode == 1


def test_a_suppressed_cause_does_not_bring_up_its_symptom_or_its_lines(log: Path, tmp_path: Path) -> None:
    first = json.loads(run("diagnose", str(log), "--format", "json").stdout)["findings"][0]
    config = tmp_path / "rocsteady.toml"
    config.write_text(f'[[suppress]]\nmode = "{first["mode"]}"\nreason = "known"\nexpires = 2999-01-01\n')
    done = run("diagnose", str(log), "--format", "json", "--config", str(config))
    document = json.loads(done.stdout)
    assert (document["findings"], document["unexplained"], done.returncode) == ([], [], 0)


def test_config_check_knows_the_modes_and_says_what_ended(tmp_path: Path) -> None:
    config = tmp_path / "rocsteady.toml"
    config.write_text('[[suppress]]\nmode = "FW-0002"\nreason = "ticket"\nexpires = 2001-01-01\n')
    done = run("config", "check", str(config))
    assert done.returncode == 0 and b"expired 2001-01-01, hides nothing: FW-0002 (ticket)" in done.stdout
    config.write_text('[[suppress]]\nmode = "FW-9902"\nreason = "ticket"\nexpires = 2999-01-01\n')
    done = run("config", "check", str(config))
    assert done.returncode == 2 and b"FW-9902" in done.stderr


def test_catalog_show_is_for_people_and_knows_targets() -> None:
    assert run("catalog", "show", "FW-0002").stdout.startswith(b"## FW-0002 ")
    assert b"MI300X" in run("catalog", "show", "gfx942").stdout


def test_two_hosts_are_two_nodes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        (folder / "etc").mkdir(parents=True)
        (folder / "etc/hostname").write_text(f"node-{name}\n")
        (folder / "var/log").mkdir(parents=True)
        (folder / "var/log/dmesg").write_text(FAULT)
    done = run("diagnose", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json")
    document = json.loads(done.stdout)
    assert document["schema"] == "rocsteady.diagnoses/1"
    assert [n["node"]["host"] for n in document["nodes"]] == ["node-a", "node-b"]


def test_one_trouble_on_four_gpus_is_one_entry_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "dmesg.txt"
    path.write_text(
        "".join(
            f"[    1.0] amdgpu 0000:0{n}:00.0: Direct firmware load for amdgpu/arcturus_sos.bin failed with error -2\n"
            f"[    1.1] amdgpu 0000:0{n}:00.0: amdgpu: Fatal error during GPU init\n"
            for n in range(1, 5)
        )
    )
    text = run("diagnose", str(path)).stdout.decode()
    assert text.count("FW-0002") == 1 and "the same on: 0000:02:00.0, 0000:03:00.0, 0000:04:00.0" in text
    assert run("diagnose", str(path), "-v").stdout.decode().count("FW-0002") >= 4


def test_a_reader_that_goes_away_is_no_failure() -> None:
    listing = subprocess.Popen([sys.executable, "-m", "rocsteady", "catalog", "list"], stdout=subprocess.PIPE)
    assert listing.stdout is not None
    listing.stdout.readline()
    listing.stdout.close()
    assert listing.wait(60) == 0
