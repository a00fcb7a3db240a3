"""The error tree. Everything that a command reports to a person descends from ``RocsteadyError``.

RocsteadyError
├── InputError        the user's input or arguments cannot be used (exit code 2)
│   └── LimitError    an input is larger than a limit allows; the limit is named
├── ReadError         one file of a tree could not be read; becomes a ``Gap``
│   ├── Absent
│   ├── Denied
│   ├── TimedOut
│   └── Failed
│       └── TooLarge  larger than the caller wanted to read at once
└── CatalogError      the knowledge itself is malformed
"""

from __future__ import annotations

from typing import Literal

Why = Literal["absent", "denied", "malformed", "timeout", "failed"]


class RocsteadyError(Exception):
    """Base of all errors that carry a message for a person."""


class InputError(RocsteadyError):
    """The input or the arguments cannot be used."""


class LimitError(InputError):
    """An input is larger than a stated limit."""


class CatalogError(RocsteadyError):
    """A catalog file is malformed; the message names file and key."""


class ReadError(RocsteadyError):
    """One file could not be read. ``why`` is the word a ``Gap`` uses."""

    why: Why = "failed"

    def __init__(self, path: str, detail: str = "") -> None:
        self.path = path
        self.detail = detail
        super().__init__(f"{path}: {self.why}{': ' + detail if detail else ''}")


class Absent(ReadError):
    """The file does not exist, or the input does not hold it."""

    why: Why = "absent"


class Denied(ReadError):
    """Permission denied."""

    why: Why = "denied"


class TimedOut(ReadError):
    """The read or the command took longer than its limit."""

    why: Why = "timeout"


class Failed(ReadError):
    """Any other error of the operating system; ``detail`` holds its text."""

    why: Why = "failed"


class TooLarge(Failed):
    """The file is larger than the caller wanted to read at once."""
