"""A snapshot diagnosed elsewhere says what the node says, gives nothing away and touches nothing harmful."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from rocsteady.catalog import load_catalog
from rocsteady.cli.gather import diagnose_input, gather
from rocsteady.events import wanted as event_wanted
from rocsteady.facts import wanted as fact_wanted
from rocsteady.hostfs import HostFS, Input, open_inputs
from rocsteady.hostfs.capture import NEVER, Capture, Wanted
from rocsteady.hostfs.commands import ALLOWED, allowed, run, slug
from rocsteady.hostfs.sleeping import Sleepers
from rocsteady.hostfs.snapshot import plan_snapshot, write_snapshot
from rocsteady.hostfs.store import DirectoryStore, FileStat
from rocsteady.lab import SCENARIOS, SHAPES, build_node, play
from rocsteady.model import Denied, Diagnosis, Failed, InputError
from tests.facts.captured import LACT, card_tree
from tests.hostfs.node import FAULT, FILES, GPU, SECRETS, write_files, write_node
from tests.support import NOW

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "dist-tools" / "rocsteady-snapshot.py"
WANTED = Wanted(fact_wanted.FILES, event_wanted.LOGS, (*fact_wanted.COMMANDS, *event_wanted.COMMANDS))


def diagnosed(*arguments: str, root: Path | None = None) -> Diagnosis:
    """One input, judged."""
    (source,) = open_inputs(arguments, io.BytesIO(), root)
    return diagnose_input(source, load_catalog(), NOW)


def essence(answer: Diagnosis) -> tuple[object, ...]:
    """What must be equal: verdict, findings with their places, unexplained lines, gaps."""
    findings = [
        (f.id, f.mode, f.role, f.severity, f.confidence, [(e.file, e.line) for e in f.evidence])
        for f in answer.findings
    ]
    return (
        answer.verdict,
        findings,
        [(u.file, u.line) for u in answer.unexplained],
        sorted({g.path for g in answer.gaps}),
    )


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The synthetic node."""
    return write_node(tmp_path / "node")


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.gz", ".tar"])
@pytest.mark.parametrize("redact", [True, False])
def test_same_diagnosis(node: Path, tmp_path: Path, suffix: str, redact: bool) -> None:
    """Whatever the packing, redacted or not."""
    target = tmp_path / f"snapshot{suffix}"
    manifest = write_snapshot(target, node, WANTED, redact=redact)
    assert manifest["redacted"] is redact
    there, here = diagnosed(str(target)), diagnosed(root=node)
    assert essence(there) == essence(here)
    assert here.findings and here.verdict == "failing"


@pytest.mark.parametrize("shape", ["mi210x4", "mi300x8-cpx", "w7900x2", "no-gpu", "night-crash"])
def test_same_diagnosis_of_lab_nodes(tmp_path: Path, shape: str) -> None:
    """Whole synthetic nodes, healthy and crashed: same findings, facts, crash timeline."""
    scenario = SCENARIOS.get(shape)
    node = build_node(SHAPES[scenario.shape if scenario else shape])
    if scenario:
        play(node, scenario)
    root, target = tmp_path / "node", tmp_path / "snapshot.tar.zst"
    node.tree.write(root)
    write_snapshot(target, root, WANTED)
    there, here = diagnosed(str(target)), diagnosed(root=root)
    assert essence(there) == essence(here)
    assert [c.at for c in there.crash_timeline.crashes] == [c.at for c in here.crash_timeline.crashes]
    write_snapshot(target, root, WANTED, redact=False)
    (packed,), (plain,) = open_inputs([str(target)], io.BytesIO()), open_inputs([], io.BytesIO(), root)
    assert msgspec.to_builtins(gather(packed, NOW).facts) == msgspec.to_builtins(gather(plain, NOW).facts)
    assert diagnosed(str(target)).crash_timeline == here.crash_timeline


def test_same_facts(node: Path, tmp_path: Path) -> None:
    """Without redaction every fact is equal, not only the findings."""
    target = tmp_path / "snapshot.tar.zst"
    write_snapshot(target, node, WANTED, redact=False)
    (there,), (here,) = open_inputs([str(target)], io.BytesIO()), open_inputs([], io.BytesIO(), node)
    assert msgspec.to_builtins(gather(there, NOW).facts) == msgspec.to_builtins(gather(here, NOW).facts)


def test_nothing_is_given_away(node: Path, tmp_path: Path) -> None:
    """No planted identity or secret is in any member; what a diagnosis needs is."""
    target = tmp_path / "snapshot.tar"
    manifest = write_snapshot(target, node, WANTED)
    data = target.read_bytes()
    for secret in SECRETS:
        assert secret.encode() not in data, secret
    for needed in ("0000:c1:00.0", "0x00007f2c00000000", "6.8.0-45-generic", "113-M3000100-103", "pid 4242"):
        assert needed.encode() in data
    assert b"harm" not in data
    counts = manifest["redactions"]
    assert isinstance(counts, dict) and {"host", "user", "secret", "serial", "mac", "uuid", "ipv4"} <= set(counts)


def test_identity_joins_across_files(node: Path, tmp_path: Path) -> None:
    """The unique id of a GPU is hexadecimal in one file and decimal in another: the pseudonyms agree."""
    target = tmp_path / "snapshot.tar"
    write_snapshot(target, node, WANTED)
    (source,) = open_inputs([str(target)], io.BytesIO())
    own = int(source.fs.line(f"{GPU}/unique_id"), 16)
    assert f"unique_id {own}\n" in source.fs.text("sys/class/kfd/kfd/topology/nodes/1/properties")
    assert own != 0x1234567890ABCDEF


def test_manifest(node: Path, tmp_path: Path) -> None:
    """The last member says what was taken and by what."""
    target = tmp_path / "snapshot.tar.gz"
    written = write_snapshot(target, node, WANTED)
    (source,) = open_inputs([str(target)], io.BytesIO())
    manifest = json.loads(source.fs.text("manifest.json"))
    assert manifest == json.loads(json.dumps(written))
    assert manifest["schema"] == "rocsteady.snapshot/1" and manifest["files"] > 40
    assert target.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob(".snapshot*"))


def test_harmful_files_are_never_opened(node: Path, tmp_path: Path) -> None:
    """They are not planned, whatever pattern asks for them."""
    greedy = Wanted((*fact_wanted.FILES, f"{GPU}/*", "sys/kernel/debug/dri/*/*"), event_wanted.LOGS, ())
    planned = {path.rpartition("/")[2] for _, path in plan_snapshot(node, greedy, ())}
    assert "unique_id" in planned
    assert not planned & {"amdgpu_gpu_recover", "xgmi_error", "pcie_bw", "resource0"}
    for pattern in fact_wanted.FILES:
        assert pattern.rpartition("/")[2] not in NEVER
    write_snapshot(tmp_path / "s.tar", node, greedy)
    assert b"harm" not in (tmp_path / "s.tar").read_bytes()


def test_sleeping_gpu_is_not_woken(tmp_path: Path) -> None:
    """Of a suspended GPU only what the PCI core knows is read; the rest is listed."""
    node = write_node(tmp_path / "node", {f"{GPU}/power/runtime_status": "suspended\n"})
    capture = Capture(str(node), WANTED)
    assert capture._sleepers is None  # a saved tree wakes nothing
    capture._sleepers = Sleepers(capture._quick)
    with tarfile.open(tmp_path / "s.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        manifest = capture.take(archive)
    (source,) = open_inputs([str(tmp_path / "s.tar")], io.BytesIO())
    assert source.fs.line(f"{GPU}/current_link_width") == "16"
    with pytest.raises(Failed, match="asleep"):
        source.fs.bytes(f"{GPU}/gpu_metrics")
    refused = manifest["refused"]
    assert isinstance(refused, list) and any(r["path"].endswith("gpu_metrics") for r in refused)


def test_links_stay_inside(tmp_path: Path) -> None:
    """A link of a foreign tree that leads out of it takes nothing from outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("outside secret\n")
    node = write_node(
        tmp_path / "node", {"etc/sysctl.conf": f"link:{outside}/secret", "etc/sysctl.d": f"link:../../..{outside}"}
    )
    write_snapshot(tmp_path / "s.tar", node, WANTED, redact=False)
    assert b"outside secret" not in (tmp_path / "s.tar").read_bytes()


def test_denied_file_stays_denied(node: Path, tmp_path: Path) -> None:
    """What could not be read on the node is denied in the snapshot too, not absent."""

    class Refusing:
        seconds = 1.0

        def read(self, path: str, limit: int) -> tuple[int, bytes]:
            if path.endswith("vbios_version"):
                return 13, b""
            with Path(path).open("rb") as file:
                return 0, file.read(limit)

        def close(self) -> None: ...

    capture = Capture(str(node), WANTED)
    capture._reader = Refusing()  # type: ignore[assignment]
    target = tmp_path / "s.tar"
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        manifest = capture.take(archive)
    (source,) = open_inputs([str(target)], io.BytesIO())
    with pytest.raises(Denied):
        source.fs.text(f"{GPU}/vbios_version")
    assert any(r["why"].startswith("denied") for r in manifest["refused"])  # type: ignore[attr-defined]


def test_named_logs(node: Path, tmp_path: Path) -> None:
    """A log that a person names is taken; one that does not exist is listed."""
    log = tmp_path / "my.log"
    log.write_text("".join(f"{line}\n" for line in FAULT))
    manifest = write_snapshot(tmp_path / "s.tar", node, WANTED, (str(log), "nosuch"))
    (source,) = open_inputs([str(tmp_path / "s.tar")], io.BytesIO())
    assert source.fs.exists("logs/my.log")
    assert [r for r in manifest["refused"] if r["path"] == "container nosuch"]  # type: ignore[attr-defined]


def test_unusable_output(node: Path, tmp_path: Path) -> None:
    """One line, and nothing half-written."""
    for name in ("snapshot.rar", "none/snapshot.tar"):
        with pytest.raises(InputError):
            write_snapshot(tmp_path / name, node, WANTED)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["node"]


class Recording(DirectoryStore):
    """Notes which files are opened or followed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: set[str] = set()

    def open(self, path: str) -> BinaryIO:
        """Note and open."""
        self.opened.add(path)
        return super().open(path)

    def stat(self, path: str) -> FileStat:
        """Pass on."""
        return super().stat(path)


def trees() -> Iterator[object]:
    """The synthetic node, and the real GPU trees beside the checkout."""
    yield pytest.param(FILES, id="synthetic")
    for shape in ("mi300x8", "mi250x4"):
        yield pytest.param(build_node(SHAPES[shape]).tree.contents(), id=shape)
    for folder in sorted(LACT.iterdir()) if LACT.is_dir() else []:
        if folder.is_dir():
            yield pytest.param({**FILES, **card_tree(folder)}, id=folder.name)


@pytest.mark.parametrize("files", list(trees()))
def test_everything_that_is_read_is_captured(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    """A fact reader that opens a file which no snapshot has would say more on the node than elsewhere."""
    node = write_files(tmp_path / "node", files)
    store = Recording(node)
    gather(Input(HostFS(store, live=False), "tree", "node"), NOW)
    captured = {path for _, path in plan_snapshot(node, WANTED, ())}
    opened = {HostFS(store, live=False).real(p) for p in store.opened if (node / p).is_file()}
    skipped = {p for p in opened if Capture._never(p)}
    assert opened - skipped <= captured


# --- commands ------------------------------------------------------------------------------------


def test_every_wanted_command_is_allowed() -> None:
    """And nothing that opens the GPU is."""
    for argv in WANTED.commands:
        assert argv in ALLOWED
    for program in ("rocminfo", "rocm-smi", "amd-smi", "clinfo"):
        assert not allowed((program,)) and not any(argv[0] == program for argv in ALLOWED)
    assert not allowed(("docker", "logs", "--timestamps", "--tail", "200000", "--follow"))
    assert not allowed(("dmesg", "--clear"))
    assert run(("rm", "-rf", "/"))[0] == "failed"


def test_command_slugs_are_unique() -> None:
    """Each output has a file of its own; the rule is that of sosreport."""
    assert len({slug(argv) for argv in ALLOWED}) == len(ALLOWED)
    assert slug(("/usr/sbin/lspci", "-nnvv")) == "lspci_-nnvv"
    assert slug(("cat", "/proc/x")) == "cat_.proc.x"


def test_recorded_commands() -> None:
    """A snapshot's own place first, then a sosreport's."""
    from rocsteady.hostfs.memory import MemoryStore
    from rocsteady.model import Absent

    fs = HostFS(
        MemoryStore({"commands/uname_-a": "a", "sos_commands/kernel/uname_-a": "b", "sos_commands/x/lsmod": "c"}),
        live=False,
    )
    assert fs.command(("uname", "-a")).text == "a"
    assert fs.command(("lsmod",)).path == "sos_commands/x/lsmod"
    with pytest.raises(Absent):
        fs.command(("dmesg",))


def test_command_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time and size are bounded; the environment is clean."""
    from rocsteady.hostfs import commands

    monkeypatch.setattr(commands, "ALLOWED", (("sleep", "20"), ("yes",), ("env",), ("printenv",)))
    monkeypatch.setenv("SECRET_OF_TEST", "1")
    assert run(("sleep", "20"), seconds=0.2)[0] == "timeout"
    status, out, detail = run(("yes",), limit=100_000)
    assert (status, len(out) < 300_000, detail) == ("ok", True, "cut after 100000 bytes")
    assert b"LC_ALL=C" in run(("printenv",))[1] and b"SECRET_OF_TEST" not in run(("printenv",))[1]


# --- the stand-alone script ------------------------------------------------------------------------


@pytest.mark.parametrize("python", ["/usr/bin/python3", sys.executable])
def test_standalone_script(node: Path, tmp_path: Path, python: str) -> None:
    """One file without the package: its snapshot gives the same diagnosis."""
    if not Path(python).exists():
        pytest.skip(f"no {python}")
    target = tmp_path / "node.tar.gz"
    command = [python, "-I", str(SCRIPT), "-q", "--root", str(node), "-o", str(target)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert essence(diagnosed(str(target))) == essence(diagnosed(root=node))
    assert not [
        s
        for s in SECRETS
        if s.encode() in subprocess.run(["gzip", "-dc", target], capture_output=True, check=True).stdout
    ]
    listed = subprocess.run(
        [*command[:3], "--list", "--root", str(node)], capture_output=True, text=True, check=True, timeout=60
    )
    assert len(listed.stdout.splitlines()) == len(plan_snapshot(node, WANTED, ()))
    wrong = subprocess.run([*command[:3], "-o", "x.rar"], capture_output=True, text=True, check=False, timeout=60)
    assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1
