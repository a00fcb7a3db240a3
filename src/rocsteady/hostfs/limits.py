"""How much an input may unpack to. Every bound is named in the message of the ``LimitError`` that it causes."""

from __future__ import annotations

import msgspec

from rocsteady.model import LimitError

GIB = 1 << 30
MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds for everything that one command line unpacks, nested archives included.

    unpacked: bytes. A sosreport of a large node unpacks to a few GiB and a log of 5 GiB must pass; three
        times that still fits the disk of a laptop.
    members: entries of an archive. A sosreport has up to about 100,000; an index entry costs about 400
        bytes, so this many cost 100 MB.
    ratio: unpacked to packed, looked at only beyond ``ratio_from``. Logs pack 10 to 60 times; a log that
        repeats one line packs better, so small outputs are let pass whatever their ratio. DEFLATE cannot
        do better than 1,032 times, and archives made to fill disks sit near that.
    header: bytes of one extended tar header (path names, attributes); real ones have a few hundred.
    window: memory that a decompressor may ask for. ``xz -9`` asks for 65 MiB, ``zstd --ultra`` for 128 MiB.
    """

    unpacked: int = 16 * GIB
    members: int = 250_000
    ratio: int = 400
    ratio_from: int = GIB
    header: int = MIB
    window: int = 128 * MIB


DEFAULT = Limits()


class Budget:
    """What is left of the limits; shared by all archives of one command line."""

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self.limits = limits
        self.unpacked = 0
        self.members = 0

    def member(self, name: str) -> None:
        """Count one entry of archive ``name``."""
        self.members += 1
        if self.members > self.limits.members:
            raise LimitError(f"{name}: more than {self.limits.members} members (limit on the number of members)")

    def bytes(self, name: str, count: int) -> None:
        """Count bytes that were written to the spool."""
        self.unpacked += count
        if self.unpacked > self.limits.unpacked:
            raise LimitError(f"{name}: unpacks to more than {amount(self.limits.unpacked)} (limit on unpacked size)")


def check_ratio(name: str, packed: int, unpacked: int, limits: Limits) -> None:
    """Refuse data that unpacks to far more than logs ever do."""
    if unpacked > limits.ratio_from and unpacked > limits.ratio * max(packed, 1):
        raise LimitError(
            f"{name}: unpacks to more than {limits.ratio} times its size "
            f"(limit on the ratio beyond {amount(limits.ratio_from)})"
        )


def amount(count: int) -> str:
    """Bytes for people.

    >>> amount(16 << 30), amount(1500)
    ('16 GiB', '1500 bytes')
    """
    for size, unit in ((GIB, "GiB"), (MIB, "MiB")):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} bytes"
