"""Asks the privileged helper over its unix socket."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from rocsteady.heal.actuators.base import Probe, Refused
from rocsteady.heal.helper.desk import Answer, Request
from rocsteady.heal.records import Action, Step

SECONDS = 5.0
"""The helper answers at once; what takes long goes on in it."""
Ask = Callable[[Request], Answer]


class Helper:
    """The actuator ``helper``: one socket for each node that has one."""

    def __init__(self, nodes: Mapping[str, Ask]) -> None:
        self._nodes = nodes

    def begin(self, action: Action, step: Step, key: str) -> None:
        """Hand the request over; the helper remembers the key."""
        answer = self._ask(action, Request(step.verb, key, step.target, step.arguments))
        if answer.became == "refused":
            raise Refused(f"the helper refuses: {answer.detail}")

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        """What became of it."""
        del step
        if action.node not in self._nodes:
            return Probe("absent", "no helper any more")
        answer = self._ask(action, Request("probe", key))
        return Probe("unknown" if answer.became == "refused" else answer.became, answer.detail)

    def _ask(self, action: Action, request: Request) -> Answer:
        ask = self._nodes.get(action.node)
        if ask is None:
            raise Refused(f"no helper on {action.node}")
        return ask(request)


def unix_socket(path: Path) -> Ask:
    """Asks through a socket file. Raises ``OSError`` where nobody answers."""

    def ask(request: Request) -> Answer:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(SECONDS)
            link.connect(str(path))
            link.sendall(msgspec.json.encode(request) + b"\n")
            data = b""
            while not data.endswith(b"\n"):
                piece = link.recv(65536)
                if not piece:
                    break
                data += piece
        try:
            return msgspec.json.decode(data, type=Answer)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise OSError(f"{path}: {error}") from error

    return ask
