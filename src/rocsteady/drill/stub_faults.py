"""What can be made to go wrong in a stub worker, from a test, a drill or ``POST /stub/faults``."""

from __future__ import annotations

import asyncio

import msgspec

from rocsteady.model import InputError

OOM_LOG = (
    "ERROR [core.py:1100] EngineCore encountered a fatal error.\n"
    "ERROR [core.py:1100] torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 63.98 GiB of which 1.12 GiB is free. Of the allocated memory 60.05 GiB is allocated by PyTorch, and "
    "1.91 GiB is reserved by PyTorch but unallocated.\n"
    "ERROR [async_llm.py:740] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack "
    "trace (above) for the root cause.\n"
)
"""What the stub writes before it dies of memory. Synthetic: the wording is vLLM's and torch's, the numbers are made up."""


class Faults(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The faults that are on. All off is a healthy worker; unset fields of a document switch a fault off."""

    frozen: bool = False
    """The engine stands still: health and models answer, no token comes, and new requests are not even counted."""
    slow: float = 1.0
    """Every wait takes so many times as long."""
    cut_after_tokens: int | None = None
    """A stream loses its connection after so many tokens."""
    cut_bytes: int = 0
    """How many bytes of the next event still get out before the cut."""
    error_after_tokens: int | None = None
    """A stream gets an error event after so many tokens and ends with [DONE] and status 200."""
    exit_after_tokens: int | None = None
    """The engine runs out of memory when a stream has so many tokens: all streams fail, then the process ends."""
    status: int | None = None
    """Requests are answered with this status."""
    health: int | None = None
    """What /health says."""
    no_token_ids: bool = False
    """``return_token_ids`` is not known, as in old versions and other engines."""
    times: int | None = None
    """How many requests the cut, error or status happens to; None: all."""


class FaultState:
    """The faults of one worker, and what waits for a thaw."""

    def __init__(self) -> None:
        self.now = Faults()
        self._thawed = asyncio.Event()
        self._thawed.set()

    def set(self, faults: Faults) -> None:
        """Replace the faults that are on."""
        self.now = faults
        if faults.frozen:
            self._thawed.clear()
        else:
            self._thawed.set()

    def set_json(self, body: bytes) -> None:
        """The same from a JSON document.

        Raises:
            InputError: it is no document of faults.
        """
        try:
            self.set(msgspec.json.decode(body or b"{}", type=Faults))
        except msgspec.DecodeError as error:
            raise InputError(f"faults: {error}") from error

    async def thawed(self) -> None:
        """Wait while the engine is frozen."""
        if not self._thawed.is_set():
            await self._thawed.wait()

    def take(self) -> Faults:
        """The faults of one new request; counts ``times`` down."""
        faults = self.now
        if faults.times is None:
            return faults
        if faults.times <= 0:
            return Faults(slow=faults.slow, health=faults.health, no_token_ids=faults.no_token_ids)
        faults.times -= 1
        return faults
