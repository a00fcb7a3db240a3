"""vLLM as an executor, against the stub that speaks its protocol (synthetic)."""

from __future__ import annotations

import asyncio

from rocsteady.cpu_worker.executor import Sampling
from rocsteady.cpu_worker.vllm_http import VllmExecutor
from rocsteady.drill.stub import StubConfig, StubServer
from rocsteady.drill.stub_tokens import decode, encode

GREEDY = Sampling(temperature=0.0)


def test_tokens_of_a_running_server() -> None:
    async def main() -> None:
        async with StubServer(StubConfig(model="tiny", max_model_len=512)) as stub:
            executor = await asyncio.to_thread(VllmExecutor, stub.url)
            assert (executor.about.model, executor.about.context) == ("tiny", 512)
            prompt = await asyncio.to_thread(executor.encode, "The quick")
            assert prompt == encode("The quick")
            chat = await asyncio.to_thread(executor.chat_prompt, [{"role": "user", "content": "hi"}])
            assert "user: hi" in decode(chat)
            tokens = await asyncio.to_thread(lambda: list(executor.generate(prompt, 30, GREEDY)))
            again = await asyncio.to_thread(
                lambda: list(executor.generate([*prompt, *(t.id for t in tokens[:10])], 20, GREEDY))
            )
            assert [t.id for t in again] == [t.id for t in tokens[10:]]
            first = await asyncio.to_thread(lambda: next(iter(executor.generate(prompt, 30, GREEDY))))
            assert first == tokens[0]

    asyncio.run(main())
