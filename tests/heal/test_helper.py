"""The privileged helper: its verbs on a synthetic host, what it refuses, its socket."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.heal.actuators.helper import unix_socket
from rocsteady.heal.helper.desk import Answer, Desk, Request
from rocsteady.heal.helper.fan import Fans
from rocsteady.heal.helper.knobs import parse_curve, speed
from rocsteady.heal.helper.memory import Saved
from rocsteady.heal.helper.server import Server, load_rules, user_ids
from rocsteady.heal.helper.verbs import VERBS, Parts, Rules
from rocsteady.model import InputError

A, B, C = "0000:05:00.0", "0000:15:00.0", "0000:25:00.0"
PCI = "/sys/bus/pci/devices"


class TreeHost:
    """A host of strings. ``held``: a file whose write the driver does not take. Synthetic."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {"/proc/sys/kernel/random/boot_id": "boot-1", "/sys/module/amdgpu/refcnt": "0"}
        self.links: dict[str, str] = {}
        self.ran: list[tuple[str, ...]] = []
        self.reads: list[str] = []
        self.codes: dict[tuple[str, ...], int] = {}
        self.stuck: set[str] = set()

    def read(self, path: str) -> str:
        self.reads.append(path)
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.files[path]

    def write(self, path: str, text: str) -> None:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory", path)
        if path in self.stuck:
            raise OSError(22, "Invalid argument", path)
        if path.endswith("pp_od_clk_voltage") or path.endswith("fan_curve"):
            self.files[path + ".log"] = self.files.get(path + ".log", "") + text + ";"
        else:
            self.files[path] = text

    def names(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return sorted({p[len(prefix) :].split("/")[0] for p in (*self.files, *self.links) if p.startswith(prefix)})

    def link(self, path: str) -> str:
        if path not in self.links:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.links[path]

    def replace(self, path: str, text: str) -> None:
        self.files[path] = text

    def remove(self, path: str) -> None:
        self.files.pop(path, None)

    def run(self, command: tuple[str, ...]) -> int:
        self.ran.append(command)
        if command == ("modprobe", "-r", "amdgpu") and not self.codes.get(command):
            self.files.pop("/sys/module/amdgpu/refcnt", None)
        if command == ("modprobe", "amdgpu"):
            self.files["/sys/module/amdgpu/refcnt"] = "0"
        return self.codes.get(command, 0)

    def sync(self) -> None:
        self.ran.append(("sync",))


def add_gpu(host: TreeHost, bdf: str, card: int, hive: str | None, fan: bool = False) -> str:
    at = f"{PCI}/{bdf}"
    host.links[f"{at}/driver"] = "../../../bus/pci/drivers/amdgpu"
    mon = f"{at}/hwmon/hwmon{card}"
    host.files |= {
        f"{mon}/power1_cap": "750000000", f"{mon}/power1_cap_default": "750000000", f"{mon}/power1_cap_min": "0",
        f"{mon}/power1_cap_max": "750000000", f"{mon}/temp1_input": "50000", f"{mon}/temp2_input": "70000",
        f"{at}/power_dpm_force_performance_level": "auto", f"{at}/pp_dpm_sclk": "0: 132Mhz *\n1: 2100Mhz",
        f"{at}/pp_od_clk_voltage": "OD_SCLK:\n0: 500Mhz\n1: 2100Mhz\nOD_RANGE:\nSCLK: 500Mhz 2100Mhz",
        f"{at}/drm/card{card}/dev": "226:0", f"{at}/drm/renderD{128 + card}/dev": "226:128",
        f"/sys/kernel/debug/dri/{card}/amdgpu_gpu_recover": "0",
        f"/sys/class/kfd/kfd/topology/nodes/{card + 1}/gpu_id": str(1000 + card),
        f"/sys/class/kfd/kfd/topology/nodes/{card + 1}/properties": f"domain 0\nlocation_id {int(bdf[5:7], 16) << 8}",
    }  # fmt: skip
    if hive:
        host.files[f"{at}/xgmi_hive_info/xgmi_hive_id"] = hive
    if fan:
        host.files |= {f"{mon}/pwm1": "80", f"{mon}/pwm1_enable": "2"}
    return mon


@pytest.fixture
def host() -> TreeHost:
    made = TreeHost()
    add_gpu(made, A, 0, "77")
    add_gpu(made, B, 1, "77")
    add_gpu(made, C, 2, None, fan=True)
    return made


def desk(host: TreeHost, **rules: object) -> Desk:
    saved = Saved(host)
    log: list[str] = []
    made = Desk(Parts(host, saved, Fans(host, saved), Rules(users=("root",), **rules)), log.append)  # type: ignore[arg-type]
    made.recover()
    return made


def ask(made: Desk, verb: str, target: str = "", key: str = "k", **arguments: str) -> Answer:
    """Ask, let it be done, and say what became of it."""
    answer = made.answer(json.dumps({"verb": verb, "key": key, "target": target, "arguments": arguments}).encode(), "t")
    if answer.became != "running":
        return answer
    if (request := made.pending()) is not None:
        made.carry_out(request)
    return made.probe(key)


def test_power_limit_and_back(host: TreeHost) -> None:
    made, cap = desk(host), f"{PCI}/{A}/hwmon/hwmon0/power1_cap"
    assert ask(made, "set-power-share", A, "1", share="0.8").became == "done"
    assert host.files[cap] == "600000000"
    assert ask(made, "set-power-share", A, "2", share="0.5").became == "done"
    assert host.files[cap] == "375000000"
    assert ask(made, "restore-power", A, "3").became == "done"
    assert host.files[cap] == "750000000"
    assert ask(made, "restore-power", A, "4").detail == "nothing to put back"


@pytest.mark.parametrize("share", ["0.1", "2", "-1", "nan", "0.8; reboot", ""])
def test_shares_that_are_refused(host: TreeHost, share: str) -> None:
    assert ask(desk(host), "set-power-share", A, share=share).became == "failed"
    assert host.files[f"{PCI}/{A}/hwmon/hwmon0/power1_cap"] == "750000000"


def test_clock_by_overdrive_and_by_levels(host: TreeHost) -> None:
    made = desk(host)
    assert ask(made, "set-clock-share", A, "1", share="0.8").became == "done"
    assert host.files[f"{PCI}/{A}/pp_od_clk_voltage.log"] == "s 1 1680;c;"
    assert host.files[f"{PCI}/{A}/power_dpm_force_performance_level"] == "manual"
    ask(made, "restore-clock", A, "2")
    assert host.files[f"{PCI}/{A}/pp_od_clk_voltage.log"] == "s 1 1680;c;r;c;"
    assert host.files[f"{PCI}/{A}/power_dpm_force_performance_level"] == "auto"
    del host.files[f"{PCI}/{B}/pp_od_clk_voltage"]
    assert ask(made, "set-clock-share", B, "3", share="0.8").became == "done"
    assert host.files[f"{PCI}/{B}/pp_dpm_sclk"] == "0"


def test_fan_follows_the_curve_and_is_given_back(host: TreeHost) -> None:
    mon = f"{PCI}/{C}/hwmon/hwmon2"
    made = desk(host)
    assert ask(made, "set-fan-curve", C, "1", curve="40:20 80:60 90:100").became == "done"
    assert (host.files[f"{mon}/pwm1_enable"], host.files[f"{mon}/pwm1"]) == ("1", "128")
    fans = made._parts.fans
    host.files[f"{mon}/temp2_input"] = "90000"
    fans.round()
    assert host.files[f"{mon}/pwm1"] == "255"
    del host.files[f"{mon}/temp1_input"], host.files[f"{mon}/temp2_input"]
    fans.round()
    assert host.files[f"{mon}/pwm1_enable"] == "2", "a temperature that cannot be read ends the curve"


def test_fan_is_automatic_after_the_helper_was_killed(host: TreeHost) -> None:
    ask(desk(host), "set-fan-curve", C, "1", curve="40:20 90:100")
    assert host.files[f"{PCI}/{C}/hwmon/hwmon2/pwm1_enable"] == "1"
    desk(host)
    assert host.files[f"{PCI}/{C}/hwmon/hwmon2/pwm1_enable"] == "2"


def test_no_fan_and_firmware_curve(host: TreeHost) -> None:
    made = desk(host)
    assert ask(made, "set-fan-curve", A, "1", curve="40:20 90:100").became == "failed"
    path = f"{PCI}/{B}/gpu_od/fan_ctrl/fan_curve"
    host.files[path] = (
        "OD_FAN_CURVE:\n0: 0C 0%\n1: 0C 0%\n2: 0C 0%\nOD_RANGE:\n"
        "FAN_CURVE(hotspot temp): 25C 100C\nFAN_CURVE(fan speed): 15% 100%"
    )
    assert ask(made, "set-fan-curve", B, "2", curve="40:20 90:100").became == "done"
    assert host.files[path + ".log"] == "0 25 20;1 62 56;2 100 100;c;"
    ask(made, "restore-fan", B, "3")
    assert host.files[path + ".log"].endswith("r;c;")


def test_reset_is_read_once_for_the_hive(host: TreeHost) -> None:
    made = desk(host)
    assert ask(made, "reset-gpu", A, "1", members=f"{A} {B}") == Answer("done", "2 GPUs were reset")
    assert [r for r in host.reads if "gpu_recover" in r] == ["/sys/kernel/debug/dri/0/amdgpu_gpu_recover"]
    ask(made, "reset-gpu", A, "1", members=f"{A} {B}")
    assert len([r for r in host.reads if "gpu_recover" in r]) == 1, "the same key is not carried out twice"


@pytest.mark.parametrize("harm", ["members", "memory", "open file", "no debugfs", "other driver"])
def test_reset_is_refused(host: TreeHost, harm: str) -> None:
    members = f"{A} {B}"
    if harm == "members":
        members = A
    elif harm == "memory":
        host.files["/sys/class/kfd/kfd/proc/4711/vram_1001"] = "4096"
    elif harm == "open file":
        host.links["/proc/99/fd/5"] = "/dev/dri/renderD129"
    elif harm == "no debugfs":
        del host.files["/sys/kernel/debug/dri/0/amdgpu_gpu_recover"]
    else:
        host.links[f"{PCI}/{A}/driver"] = "../vfio-pci"
    answer = ask(desk(host), "reset-gpu", A, members=members)
    assert answer.became == "failed"
    assert answer.detail.startswith("not done: ")
    assert [r for r in host.reads if "gpu_recover" in r] == []


def test_a_process_on_another_hive_does_not_stop_the_reset(host: TreeHost) -> None:
    host.files["/sys/class/kfd/kfd/proc/4711/vram_1002"] = "4096"
    host.links["/proc/4711/fd/5"] = "/dev/dri/renderD129"
    assert ask(desk(host), "reset-gpu", A, members=f"{A} {B}").became == "done"


def test_cut_off_requests(host: TreeHost) -> None:
    line = {"verb": "reset-gpu", "key": "1", "target": A, "arguments": {"members": f"{A} {B}"}}
    desk(host).answer(json.dumps(line).encode(), "t")
    again = desk(host)
    assert again.probe("1") == Answer("unknown", "cut off; it is not done again")
    assert again.answer(json.dumps(line).encode(), "t").became == "unknown"
    desk(host).answer(
        json.dumps({**line, "verb": "set-power-share", "key": "2", "arguments": {"share": "0.8"}}).encode(), "t"
    )
    again = desk(host)
    assert again.probe("2").became == "absent"
    assert ask(again, "set-power-share", A, "2", share="0.8").became == "done"


def test_driver_that_was_unloaded_is_loaded_after_a_restart(host: TreeHost) -> None:
    desk(host).answer(
        json.dumps({"verb": "reload-driver", "key": "1", "arguments": {"boot_id": "boot-1"}}).encode(), "t"
    )
    del host.files["/sys/module/amdgpu/refcnt"]
    assert desk(host).probe("1").became == "done"
    assert host.ran == [("modprobe", "amdgpu")]


def test_reload_and_reboot(host: TreeHost) -> None:
    made = desk(host)
    host.files["/sys/module/amdgpu/refcnt"] = "3"
    assert ask(made, "reload-driver", "n1", "1", boot_id="boot-1").became == "failed"
    host.files["/sys/module/amdgpu/refcnt"] = "0"
    assert ask(made, "reload-driver", "n1", "1b", boot_id="boot-0").became == "failed"
    assert ("modprobe", "-r", "amdgpu") not in host.ran, "a request of an earlier boot does not unload the driver"
    assert ask(made, "reload-driver", "n1", "2", boot_id="boot-1").became == "done"
    assert ask(made, "reboot", "n1", "3", boot_id="boot-0").became == "failed"
    assert ("systemctl", "reboot") not in host.ran, "a request of an earlier boot does not reboot"
    made2 = desk(host)
    assert ask(made2, "reboot", "n1", "4", boot_id="boot-1") == Answer("running", "the machine goes down")
    assert host.ran[-2:] == [("sync",), ("systemctl", "reboot")]
    host.files["/proc/sys/kernel/random/boot_id"] = "boot-2"
    assert desk(host).probe("4").became == "done"


def test_timers_and_units_only_from_the_list(host: TreeHost) -> None:
    made = desk(host, timers=("logrotate.timer",), units=("vllm@0.service",))
    assert ask(made, "set-timer", "", "1", timer="logrotate.timer", calendar="*-*-* 03:20:00").became == "done"
    assert "OnCalendar=*-*-* 03:20:00" in host.files["/etc/systemd/system/logrotate.timer.d/rocsteady.conf"]
    assert ask(made, "restart-unit", "", "2", unit="vllm@0.service").became == "done"
    assert host.ran[-1] == ("systemctl", "restart", "--no-block", "vllm@0.service")
    before = len(host.ran)
    for number, (verb, arguments) in enumerate(
        (
            ("set-timer", {"timer": "apt-daily.timer", "calendar": "*-*-* 03:20:00"}),
            ("set-timer", {"timer": "logrotate.timer", "calendar": "daily\nExecStart=/bin/sh"}),
            ("set-timer", {"timer": "../../x.timer", "calendar": "*-*-* 03:20:00"}),
            ("restart-unit", {"unit": "sshd.service"}), ("stop-unit", {"unit": "vllm@0.service; reboot"}),
        )
    ):  # fmt: skip
        assert ask(made, verb, "", f"x{number}", **arguments).became == "failed"
    assert len(host.ran) == before


@pytest.mark.parametrize(
    "line",
    [
        b"", b"\n", b"{}", b"[]", b"null", b'{"verb": "sh", "key": "1"}', b'{"verb": "reboot", "key": ""}',
        b'{"verb": "reboot", "key": "1"}', b'{"verb": "reboot", "key": "1", "arguments": {"boot_id": "x", "now": "1"}}',
        b'{"verb": "reboot", "key": "1", "extra": 1}', b'{"verb": "reset-gpu", "key": "1", "arguments": {"members": 1}}',
        b"\xff\xfe", b"[" * 4000, b'{"verb": "__class__", "key": "1"}',
    ],
)  # fmt: skip
def test_everything_else_is_refused(host: TreeHost, line: bytes) -> None:
    made = desk(host)
    assert made.answer(line, "t").became == "refused"
    assert (made.pending(), host.ran) == (None, [])


@given(line=st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_no_line_does_anything(line: bytes) -> None:
    host = TreeHost()
    answer = desk(host).answer(line, "t")
    assert answer.became in ("refused", "absent")
    assert host.ran == []


def test_verbs_that_are_off(host: TreeHost) -> None:
    assert ask(desk(host, verbs=("reset-gpu",)), "reboot", "n1", boot_id="boot-1").became == "refused"


@pytest.mark.parametrize("target", ["../../../etc/passwd", "0000:05:00.0/..", "", "0000:99:00.0", "card0"])
def test_targets_that_are_no_gpu(host: TreeHost, target: str) -> None:
    for number, (verb, arguments) in enumerate(
        (
            ("set-power-share", {"share": "0.8"}),
            ("set-clock-share", {"share": "0.8"}),
            ("reset-gpu", {"members": target}),
        )
    ):
        answer = ask(desk(host), verb, target, str(number), **arguments)
        assert (answer.became, answer.detail[:8]) == ("failed", "not done")


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 100)), min_size=2, max_size=6))
def test_curves_never_fall(points: list[tuple[int, int]]) -> None:
    text = " ".join(f"{d}:{p}" for d, p in points)
    try:
        curve = parse_curve(text)
    except Exception:
        return
    speeds = [speed(curve, t) for t in range(-10, 130)]
    assert speeds == sorted(speeds)
    assert speeds[-1] == 100.0


@pytest.fixture
def served(host: TreeHost, quick: Path) -> Iterator[tuple[Path, Desk]]:
    made = desk(host)
    path = quick / "helper.sock"
    server = Server(path, frozenset({os.geteuid()}), made, lambda _: None)
    threading.Thread(target=server.serve, daemon=True).start()
    yield path, made
    server.close()


def test_over_the_socket(served: tuple[Path, Desk]) -> None:
    path, made = served
    answer = unix_socket(path)(Request("set-power-share", "1", A, {"share": "0.8"}))
    assert answer.became == "running"
    request = made.pending()
    assert request is not None
    made.carry_out(request)
    assert unix_socket(path)(Request("probe", "1")).became == "done"
    assert unix_socket(path)(Request("sh", "2")).became == "refused"


def test_only_users_in_the_list(host: TreeHost, quick: Path) -> None:
    path = quick / "helper.sock"
    said: list[str] = []
    server = Server(path, frozenset({os.geteuid() + 4242}), desk(host), said.append)
    threading.Thread(target=server.serve, daemon=True).start()
    answer = unix_socket(path)(Request("reboot", "1", "n1", {"boot_id": "boot-1"}))
    server.close()
    assert answer == Answer("refused", "not in users")
    assert said == [f"uid {os.geteuid()} pid {os.getpid()} refused: not in users"]
    assert host.ran == []


def test_too_long_and_half_lines(served: tuple[Path, Desk]) -> None:
    path, made = served
    for data in (b"x" * 5000 + b"\n", b'{"verb": "reboot"'):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(path))
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
            assert b'"refused"' in link.recv(1000)
    assert made.pending() is None


def test_rules_file(tmp_path: Path) -> None:
    file = tmp_path / "helper.toml"
    file.write_text('users = ["root"]\nverbs = ["reboot"]\n')
    file.chmod(0o644)
    assert load_rules(file).users == ("root",)
    assert user_ids(("root", "4242")) == {0, 4242}
    file.chmod(0o666)
    for text, mode in (
        ('users = ["root"]', 0o666), ('users = ["root"]\nverbs = ["sh"]', 0o644), ("users = 1", 0o644),
        ('users = ["root"]\nunits = ["a;b"]', 0o644), ('users = ["root"]\nshell = true', 0o644),
    ):  # fmt: skip
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(InputError):
            load_rules(file)
    for users in ((), ("no-such-user-here",)):
        with pytest.raises(InputError):
            user_ids(users)


def test_every_verb_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/heal.md").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"`{verb}`" not in page] == []
