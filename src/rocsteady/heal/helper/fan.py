"""Follows a fan curve on GPUs whose fan is set through hwmon. Whatever goes wrong, the fan becomes automatic again."""

from __future__ import annotations

import contextlib
import threading

from rocsteady.heal.helper.gpus import NotDone
from rocsteady.heal.helper.host import Host
from rocsteady.heal.helper.knobs import AUTOMATIC, MANUAL, hottest, number, pwm, restore_fan, speed
from rocsteady.heal.helper.memory import Saved

EVERY = 2.0
"""Seconds between two looks: a heat sink changes by a few degrees in that time."""
FULL = 255


class Fans:
    """Curves by GPU. ``round`` is called every ``EVERY`` seconds."""

    def __init__(self, host: Host, saved: Saved) -> None:
        self._host = host
        self._saved = saved
        self._curves: dict[str, tuple[tuple[int, int], ...]] = {}
        self._lock = threading.Lock()

    def recover(self) -> None:
        """After a restart: no curve is followed any more, so every fan that we set becomes automatic."""
        for bdf in self._saved.all("fan"):
            if bdf not in self._curves and self._saved.get(bdf, "fan") == "pwm":
                self._release(bdf)

    def follow(self, bdf: str, points: tuple[tuple[int, int], ...]) -> str:
        """Begin to follow a curve.

        Raises:
            NotDone: the GPU has no fan that can be set.
        """
        folder = pwm(self._host, bdf)
        with self._lock:
            self._saved.keep(bdf, "fan", "pwm")
            self._curves[bdf] = points
            self._set(bdf, folder, points)
        return f"fan follows {len(points)} points, now {number(self._host, f'{folder}/pwm1') * 100 // FULL} %"

    def release(self, bdf: str) -> str:
        """Give the fan back."""
        with self._lock:
            self._curves.pop(bdf, None)
            return restore_fan(self._host, self._saved, bdf)

    def release_all(self) -> None:
        """Give all fans back: the helper ends."""
        for bdf in list(self._curves):
            self._release(bdf)

    def round(self) -> None:
        """Set every fan by its temperature."""
        with self._lock:
            for bdf, points in list(self._curves.items()):
                try:
                    self._set(bdf, pwm(self._host, bdf), points)
                except (NotDone, OSError):
                    self._curves.pop(bdf)
                    self._release(bdf)

    def _set(self, bdf: str, folder: str, points: tuple[tuple[int, int], ...]) -> None:
        del bdf
        value = str(round(speed(points, hottest(self._host, folder)) * FULL / 100))
        if self._host.read(f"{folder}/pwm1_enable") != MANUAL:
            self._host.write(f"{folder}/pwm1_enable", MANUAL)
        self._host.write(f"{folder}/pwm1", value)
        if self._host.read(f"{folder}/pwm1_enable") != MANUAL:
            raise NotDone(f"{folder}: the driver keeps the fan automatic ({AUTOMATIC})")

    def _release(self, bdf: str) -> None:
        with contextlib.suppress(NotDone, OSError):  # the GPU is gone, and its fan with it
            restore_fan(self._host, self._saved, bdf)
