"""The verbs of the helper: what each takes, and what it does. Nothing that is not in this file can be asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from rocsteady.heal.helper import knobs
from rocsteady.heal.helper.fan import Fans
from rocsteady.heal.helper.gpus import NotDone, device, hive, holders
from rocsteady.heal.helper.host import Host
from rocsteady.heal.helper.memory import Saved

SHARE = re.compile(r"(0\.\d{1,3}|1(\.0)?)")
CALENDAR = re.compile(r"\*-\*-\* [0-9*/]{1,6}:[0-9/]{1,6}:00")
TIMER = re.compile(r"[A-Za-z0-9@_.-]{1,100}\.timer")
UNIT = re.compile(r"[A-Za-z0-9@_.-]{1,100}\.service")
LOWEST_SHARE = 0.3
"""Below this a GPU serves nobody; a wrong figure in a configuration must not do that."""
MODULE = "/sys/module/amdgpu"
DROP_IN = "/etc/systemd/system/{}.d/rocsteady.conf"


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``helper.toml``: who may ask, which verbs are on, which timers and units may be named."""

    users: tuple[str, ...]
    socket: str = "/run/rocsteady-helper/helper.sock"
    verbs: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


class Parts(NamedTuple):
    """What the verbs work with."""

    host: Host
    saved: Saved
    fans: Fans
    rules: Rules


Arguments = dict[str, str]


class Verb(NamedTuple):
    """``repeatable``: doing it twice is doing it once, so it is done again when it was cut off."""

    takes: frozenset[str]
    act: Callable[[Parts, str, Arguments], str]
    repeatable: bool


def _share(arguments: Arguments) -> float:
    text = arguments["share"]
    if not SHARE.fullmatch(text) or float(text) < LOWEST_SHARE:
        raise NotDone(f"share: {LOWEST_SHARE} to 1 was wanted")
    return float(text)


def _fan(parts: Parts, bdf: str, arguments: Arguments) -> str:
    points = knobs.parse_curve(arguments["curve"])
    return knobs.firmware_curve(parts.host, parts.saved, bdf, points) or parts.fans.follow(bdf, points)


def _reset(parts: Parts, bdf: str, arguments: Arguments) -> str:
    """One reset of one member: the hardware takes the hive along. Once for each member would reset all of them as often."""
    host = parts.host
    device(host, bdf)
    members = hive(host, bdf)
    if set(arguments["members"].split()) != set(members):
        raise NotDone(f"the hive is {' '.join(members)}")
    if pids := holders(host, members):
        raise NotDone(f"held by processes {', '.join(map(str, pids[:10]))}")
    path = _recover_file(host, bdf)
    answer = host.read(path)
    if answer not in ("", "0") and not answer.startswith("gpu recover"):
        raise OSError(f"the driver answers {answer[:60]!r}")
    return f"{len(members)} GPUs were reset"


def _recover_file(host: Host, bdf: str) -> str:
    """The file whose reading resets: below the PCI address in newer kernels, else below the card's number."""
    cards = [
        n.removeprefix("card") for n in host.names(f"/sys/bus/pci/devices/{bdf}/drm") if re.fullmatch(r"card\d+", n)
    ]
    for name in (bdf, *cards):
        if "amdgpu_gpu_recover" in host.names(f"/sys/kernel/debug/dri/{name}"):
            return f"/sys/kernel/debug/dri/{name}/amdgpu_gpu_recover"
    raise NotDone("no amdgpu_gpu_recover: debugfs is not mounted, or the kernel is locked down")


def _same_boot(parts: Parts, arguments: Arguments) -> None:
    """Whoever asked saw the machine as it is now, not as it was before it was started anew."""
    if arguments["boot_id"] != boot_id(parts.host):
        raise NotDone("the request is of an earlier boot")


def _reload(parts: Parts, target: str, arguments: Arguments) -> str:
    del target
    _same_boot(parts, arguments)
    host = parts.host
    users = knobs.number(host, f"{MODULE}/refcnt")
    if users:
        raise NotDone(f"{users} users hold the driver")
    if code := host.run(("modprobe", "-r", "amdgpu")):
        raise NotDone(f"modprobe -r amdgpu ended with code {code}")
    return load_driver(host)


def load_driver(host: Host) -> str:
    """Load amdgpu."""
    if code := host.run(("modprobe", "amdgpu")):
        raise OSError(f"modprobe amdgpu ended with code {code}")
    return "the driver was loaded anew"


def _reboot(parts: Parts, target: str, arguments: Arguments) -> str:
    del target
    _same_boot(parts, arguments)
    parts.host.sync()
    if code := parts.host.run(("systemctl", "reboot")):
        raise NotDone(f"systemctl reboot ended with code {code}")
    return "reboot was asked for"


def boot_id(host: Host) -> str:
    """Id of this boot."""
    return host.read("/proc/sys/kernel/random/boot_id")


def _named(name: str, shape: re.Pattern[str], allowed: tuple[str, ...]) -> str:
    if not shape.fullmatch(name) or name not in allowed:
        raise NotDone("not in the list of helper.toml")
    return name


def _set_timer(parts: Parts, target: str, arguments: Arguments) -> str:
    del target
    timer = _named(arguments["timer"], TIMER, parts.rules.timers)
    calendar = arguments["calendar"]
    if not CALENDAR.fullmatch(calendar):
        raise NotDone("calendar: '*-*-* HOURS:MINUTES:00' was wanted")
    text = f"# Written by rocsteady heal; remove this file to undo it.\n[Timer]\nOnCalendar=\nOnCalendar={calendar}\nRandomizedDelaySec=0\n"
    parts.host.replace(DROP_IN.format(timer), text)
    return _reloaded(parts.host, timer)


def _restore_timer(parts: Parts, target: str, arguments: Arguments) -> str:
    del target
    timer = _named(arguments["timer"], TIMER, parts.rules.timers)
    parts.host.remove(DROP_IN.format(timer))
    return _reloaded(parts.host, timer)


def _reloaded(host: Host, timer: str) -> str:
    for command in (("systemctl", "daemon-reload"), ("systemctl", "try-restart", timer)):
        if code := host.run(command):
            raise OSError(f"{' '.join(command)} ended with code {code}")
    return timer


def _unit(word: str) -> Callable[[Parts, str, Arguments], str]:
    def act(parts: Parts, target: str, arguments: Arguments) -> str:
        del target
        unit = _named(arguments["unit"], UNIT, parts.rules.units)
        if code := parts.host.run(("systemctl", word, "--no-block", unit)):
            raise NotDone(f"systemctl {word} {unit} ended with code {code}")
        return f"{word} {unit}"

    return act


VERBS: dict[str, Verb] = {
    "set-power-share": Verb(
        frozenset({"share"}), lambda p, t, a: knobs.set_power(p.host, p.saved, t, _share(a)), True
    ),
    "restore-power": Verb(frozenset(), lambda p, t, _: knobs.restore_power(p.host, p.saved, t), True),
    "set-clock-share": Verb(
        frozenset({"share"}), lambda p, t, a: knobs.set_clock(p.host, p.saved, t, _share(a)), True
    ),
    "restore-clock": Verb(frozenset(), lambda p, t, _: knobs.restore_clock(p.host, p.saved, t), True),
    "set-fan-curve": Verb(frozenset({"curve"}), _fan, True),
    "restore-fan": Verb(frozenset(), lambda p, t, _: p.fans.release(t), True),
    "reset-gpu": Verb(frozenset({"members"}), _reset, False),
    "reload-driver": Verb(frozenset({"boot_id"}), _reload, False),
    "reboot": Verb(frozenset({"boot_id"}), _reboot, False),
    "set-timer": Verb(frozenset({"timer", "calendar"}), _set_timer, True),
    "restore-timer": Verb(frozenset({"timer"}), _restore_timer, True),
    "start-unit": Verb(frozenset({"unit"}), _unit("start"), True),
    "stop-unit": Verb(frozenset({"unit"}), _unit("stop"), True),
    "restart-unit": Verb(frozenset({"unit"}), _unit("restart"), False),
}  # fmt: skip
