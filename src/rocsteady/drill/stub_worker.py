"""The stub worker without a transport: requests in, bodies and events out. Synthetic, never a model.

``stub`` serves it over HTTP; a simulation with a virtual clock calls :meth:`StubWorker.answer` itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

import msgspec

from rocsteady.drill.stub_chunks import DONE, Piece, Writer
from rocsteady.drill.stub_faults import OOM_LOG, Faults, FaultState
from rocsteady.drill.stub_metrics import Counters, exposition
from rocsteady.drill.stub_request import Refused, Request, chat_prompt, completion_prompt, error_body, parse
from rocsteady.drill.stub_tokens import EOS, Detokenizer, Generation, Sampling, decode

GENERATES = {"/v1/completions": False, "/v1/chat/completions": True}
"""Routes that generate: path to whether it is a chat."""


class StubConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the stub pretends to be."""

    model: str = "stub"
    precision: str = "bf16"
    """Another precision gives other tokens, as it may in reality."""
    max_model_len: int = 4096
    max_num_seqs: int = 64
    block_size: int = 16
    blocks: int = 16384
    stream_interval: int = 1
    """Tokens in an event of a stream, as vLLM's option of that name; a loaded engine merges them too."""
    first_token_s: float = 0.0
    token_s: float = 0.0


class Cut(Exception):
    """The connection is to be dropped here; ``last`` is what still gets out."""

    def __init__(self, last: bytes) -> None:
        self.last = last
        super().__init__("cut")


class EngineDied(Exception):
    """The engine ended while a request ran."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: either a body or events."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    events: AsyncIterator[bytes] | None = None


class StubWorker:
    """One worker. All waiting goes through ``sleep``; nothing else reads a clock but ``wall`` (for ``created``)."""

    def __init__(
        self,
        config: StubConfig,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wall: Callable[[], float] = time.time,
        on_exit: Callable[[str], None] | None = None,
    ) -> None:
        self.config = config
        self.faults = FaultState()
        self.counters = Counters()
        self.dead = False
        self._sleep = sleep
        self._wall = wall
        self._on_exit = on_exit
        self._slots = asyncio.Semaphore(config.max_num_seqs)
        self._kv_blocks = 0
        self._number = 0

    def kv_usage(self) -> float:
        """Share of the KV blocks in use, 0 to 1 (and above: the stub does not preempt)."""
        return self._kv_blocks / self.config.blocks

    def metrics(self) -> str:
        """Body of /metrics."""
        c = self.config
        return exposition(self.counters, c.model, self.kv_usage(), c.block_size, c.blocks)

    def health(self) -> int:
        """Status of /health. A frozen engine is 200: that is how the real one answers."""
        return 503 if self.dead else self.faults.now.health or 200

    def models(self) -> bytes:
        """Body of /v1/models."""
        row = {
            "id": self.config.model, "object": "model", "created": int(self._wall()), "owned_by": "vllm",
            "root": f"synthetic/{self.config.model}", "parent": None, "max_model_len": self.config.max_model_len,
            "permission": [],
        }  # fmt: skip
        return msgspec.json.encode({"object": "list", "data": [row]})

    async def answer(self, path: str, data: bytes) -> Reply:
        """Answer a POST."""
        try:
            if path in GENERATES:
                return await self._generate(GENERATES[path], data)
            if path == "/tokenize":
                return Reply(body=self._tokenize(data))
            if path == "/detokenize":
                return Reply(body=self._detokenize(data))
            if path == "/v1/embeddings":
                return Reply(body=self._embed(data))
        except Refused as refusal:
            return Reply(status=refusal.code, body=refusal.body())
        except EngineDied:
            return Reply(status=500, body=_died())
        except msgspec.DecodeError as error:
            return Reply(status=400, body=error_body(str(error), "BadRequestError", None, 400))
        return Reply(status=404, body=b'{"detail":"Not Found"}')

    async def _generate(self, chat: bool, data: bytes) -> Reply:
        if self.dead:
            return Reply(status=500, body=_died())
        request = parse(data, chat, self.config.model, self.config.max_model_len)
        faults = self.faults.take()
        if faults.status is not None:
            kind = "synthetic fault"
            return Reply(status=faults.status, body=error_body(kind, "InternalServerError", None, faults.status))
        self._number += 1
        identity = f"{'chatcmpl' if chat else 'cmpl'}-{self._number:016x}"
        writer = Writer(request, identity, int(self._wall()), self.config.model, not faults.no_token_ids)
        if request.body.stream:
            return Reply(events=self._stream(request, writer, faults), content_type="text/event-stream; charset=utf-8")
        return Reply(body=await self._whole(request, writer, faults))

    async def _whole(self, request: Request, writer: Writer, faults: Faults) -> bytes:
        answers = []
        for index in range(request.body.n or 1):
            text, last = "", Piece("", [])
            tokens: list[int] = []
            async with contextlib.aclosing(self._pieces(request, index, faults)) as pieces:
                async for piece in pieces:
                    if faults.cut_after_tokens is not None and len(tokens) >= faults.cut_after_tokens:
                        raise Cut(b"")
                    text, last = text + piece.text, piece
                    tokens += piece.tokens
            answers.append(Piece(text, tokens, last.finish, last.stop))
        return writer.whole(answers)

    async def _stream(self, request: Request, writer: Writer, faults: Faults) -> AsyncIterator[bytes]:
        count = 0
        try:
            for index in range(request.body.n or 1):
                begun = index > 0
                async with contextlib.aclosing(self._merged(request, index, faults)) as pieces:
                    async for piece in pieces:
                        count += len(piece.tokens)
                        out = writer.piece(index, piece, count)
                        if not begun and request.chat:
                            out = writer.role() + out
                        begun = True
                        if faults.cut_after_tokens is not None and count > faults.cut_after_tokens:
                            raise Cut(out[: faults.cut_bytes])
                        if faults.error_after_tokens is not None and count > faults.error_after_tokens:
                            raise EngineDied
                        yield out
        except EngineDied:
            yield b"data: " + json.dumps(msgspec.json.decode(_died())).encode() + b"\n\n"
            yield DONE
            return
        if request.usage:
            yield writer.final_usage(count)
        yield DONE

    async def _merged(self, request: Request, index: int, faults: Faults) -> AsyncGenerator[Piece, None]:
        """The pieces, ``stream_interval`` tokens at a time."""
        text = ""
        tokens: list[int] = []
        async with contextlib.aclosing(self._pieces(request, index, faults)) as pieces:
            async for piece in pieces:
                text, tokens = text + piece.text, tokens + piece.tokens
                if len(tokens) >= self.config.stream_interval or piece.finish:
                    yield Piece(text, tokens, piece.finish, piece.stop)
                    text, tokens = "", []

    async def _pieces(self, request: Request, index: int, faults: Faults) -> AsyncGenerator[Piece, None]:
        """Run one generation; yields after each token."""
        await self.faults.thawed()
        c, config = Counting(self), self.config
        try:
            await c.start(len(request.prompt))
            generation, text = self._begin(request, index)
            emitted, held = 0, 0
            if not request.body.include_stop_str_in_output:  # a stop string must not get out in pieces
                held = max(map(len, request.stops), default=1) - 1
            detokenizer = Detokenizer(request.prompt, request.body.skip_special_tokens)
            await self._wait(config.first_token_s)
            while True:
                output = generation.output
                token = generation.next(
                    allow_eos=not request.body.ignore_eos and len(output) >= request.body.min_tokens
                )
                c.token()
                if faults.exit_after_tokens is not None and len(output) > faults.exit_after_tokens:
                    self._die()
                if self.dead:
                    raise EngineDied
                finish, stop = self._finish(request, token, len(output))
                before = len(text)
                if finish != "stop" or request.body.include_stop_str_in_output:
                    text += detokenizer.step(token)
                if (found := _stop_string(request, text, before)) is not None and len(output) > request.body.min_tokens:
                    finish, stop, text = "stop", found[0], text[: found[1]]
                end = len(text) if finish else max(emitted, len(text) - held)
                yield Piece(text[emitted:end], [token], finish, stop)
                emitted = end
                if finish:
                    c.finish(finish)
                    return
                await self._wait(config.token_s)
        finally:
            c.end()

    def _begin(self, request: Request, index: int) -> tuple[Generation, str]:
        body = request.body
        temperature = 1.0 if body.temperature is None else body.temperature
        seed = None if body.seed is None else body.seed + index
        sampling = Sampling(
            temperature, seed, presence=bool(body.presence_penalty or body.frequency_penalty),
            repetition=body.repetition_penalty not in (None, 1, 1.0),
        )  # fmt: skip
        name = f"{self.config.model}/{self.config.precision}"
        return Generation(name, request.prompt, sampling), decode(request.prompt, True) if body.echo else ""

    def _finish(self, request: Request, token: int, count: int) -> tuple[str | None, str | int | None]:
        if token == EOS and not request.body.ignore_eos:
            return "stop", None
        if token in request.stop_ids and count > request.body.min_tokens:
            return "stop", token
        if count >= request.max_tokens:
            return "length", None
        return None, None

    async def _wait(self, seconds: float) -> None:
        await self._sleep(seconds * self.faults.now.slow)
        await self.faults.thawed()

    def _die(self) -> None:
        if not self.dead:
            self.dead = True
            if self._on_exit is not None:
                self._on_exit(OOM_LOG)

    def _tokenize(self, data: bytes) -> bytes:
        asked = msgspec.json.decode(data, type=dict)
        ids = chat_prompt(asked["messages"]) if "messages" in asked else completion_prompt(asked.get("prompt", ""))
        row = {"count": len(ids), "max_model_len": self.config.max_model_len, "tokens": ids, "token_strs": None}
        return msgspec.json.encode(row)

    def _detokenize(self, data: bytes) -> bytes:
        asked = msgspec.json.decode(data, type=dict)
        return msgspec.json.encode({"prompt": decode(asked.get("tokens", []))})

    def _embed(self, data: bytes) -> bytes:
        asked = msgspec.json.decode(data, type=dict)
        given = asked.get("input", "")
        inputs = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
        rows, count = [], 0
        for index, text in enumerate(inputs):
            ids = completion_prompt(text)
            count += len(ids)
            vector = [((sum(ids) + 31 * i) % 97) / 97 for i in range(8)]
            rows.append({"index": index, "object": "embedding", "embedding": vector})
        counts = {"prompt_tokens": count, "total_tokens": count, "completion_tokens": 0, "prompt_tokens_details": None}
        return msgspec.json.encode(
            {"id": "embd-stub", "object": "list", "created": int(self._wall()), "model": self.config.model, "data": rows,
             "usage": counts}
        )  # fmt: skip


class Counting:
    """What one generation adds to the worker's counters, taken back whatever happens to it."""

    def __init__(self, worker: StubWorker) -> None:
        self._worker = worker
        self._tokens = 0
        self._blocks = 0
        self._has_slot = False
        self._reason: str | None = None

    async def start(self, prompt: int) -> None:
        """Wait for a free slot."""
        worker = self._worker
        worker.counters.waiting += 1
        try:
            await worker._slots.acquire()
        finally:
            worker.counters.waiting -= 1
        self._has_slot = True
        worker.counters.running += 1
        worker.counters.prompt_tokens += prompt
        worker.counters.iteration_tokens += prompt
        self._grow(prompt)

    def token(self) -> None:
        """One output token."""
        counters = self._worker.counters
        counters.generation_tokens += 1
        counters.iterations += 1
        counters.iteration_tokens += 1
        self._grow(1)

    def finish(self, reason: str) -> None:
        """The generation came to its end."""
        self._reason = reason

    def end(self) -> None:
        """Give back the slot and the blocks."""
        if not self._has_slot:
            return
        self._has_slot = False
        worker = self._worker
        worker.counters.running -= 1
        worker._kv_blocks -= self._blocks
        reason = self._reason or ("error" if worker.dead else "abort")
        worker.counters.finished[reason] = worker.counters.finished.get(reason, 0) + 1
        worker._slots.release()

    def _grow(self, tokens: int) -> None:
        self._tokens += tokens
        blocks = -(-self._tokens // self._worker.config.block_size)
        self._worker._kv_blocks += blocks - self._blocks
        self._blocks = blocks


def _stop_string(request: Request, text: str, before: int) -> tuple[str, int] | None:
    """The stop string that the newest text completes, and where the output ends."""
    for stop in request.stops:
        at = text.find(stop, max(0, before - len(stop) + 1))
        if at >= 0:
            return stop, at + (len(stop) if request.body.include_stop_str_in_output else 0)
    return None


def _died() -> bytes:
    """The error document of an engine that died (recorded from vLLM 0.32)."""
    message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    return error_body(message, "InternalServerError", None, 500)


async def drain(events: AsyncIterator[bytes]) -> bytes:
    """All events of a stream in one; what came before a cut, where it is cut."""
    out = b""
    with contextlib.suppress(Cut):
        async for one in events:
            out += one
    return out
