"""Tells people: a webhook that gets JSON, a mail command that gets the text on standard input."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Callable

import msgspec

from rocsteady.heal.actuators.base import Probe, Refused
from rocsteady.heal.journal import Journal
from rocsteady.heal.records import Action, Step
from rocsteady.heal.state import Notice

SECONDS = 10.0
"""Limit of one attempt; it is repeated in later rounds until it gets through."""
Sender = Callable[[str], None]
"""Sends a text; raises OSError where that failed."""


class People:
    """The actuator ``people``: a notice on disk, sent by ``Notifier``; done as soon as it is on disk."""

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        self._journal = journal
        self._clock = clock

    def begin(self, action: Action, step: Step, key: str) -> None:
        """Put the notice on disk; the same key is told once."""
        del action
        if step.verb != "notify":
            raise Refused(f"{step.verb} is nothing that people do here")
        with self._journal.transaction():
            self._journal.notice(Notice(key, step.arguments["text"]), self._clock())

    def probe(self, action: Action, step: Step, key: str) -> Probe:
        """On disk or not."""
        del action, step
        return Probe("done" if self._journal.noticed(key) else "absent")


class Notifier:
    """Sends what waits; what fails is sent again."""

    def __init__(self, journal: Journal, senders: tuple[Sender, ...], clock: Callable[[], float]) -> None:
        self._journal = journal
        self._senders = senders
        self._clock = clock
        self.last_error = ""

    def send(self) -> int:
        """Send all that waits; how many got through. A notice gets through when one of the ways worked."""
        count = 0
        for notice in self._journal.unsent():
            good = not self._senders
            for sender in self._senders:
                try:
                    sender(notice.text)
                    good = True
                except (OSError, subprocess.SubprocessError) as error:
                    self.last_error = str(error)
            if not good:
                break
            self._journal.sent(notice.key, self._clock())
            count += 1
        return count


def webhook(url: str, token: str | None) -> Sender:
    """A sender that posts ``{"schema": "rocsteady.heal-notice/1", "text": ...}``."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def send(text: str) -> None:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        body = msgspec.json.encode({"schema": "rocsteady.heal-notice/1", "text": text})
        with opener.open(urllib.request.Request(url, data=body, headers=headers), timeout=SECONDS) as answer:
            answer.read(1024)

    return send


def mail(command: tuple[str, ...]) -> Sender:
    """A sender that runs a command with the text on standard input. No shell."""

    def send(text: str) -> None:
        message = f"Subject: rocsteady heal: {text[:60]}\n\n{text}\n"
        subprocess.run(
            command, input=message.encode(), check=True, timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )  # fmt: skip

    return send
