"""From a request to the budget of one GPU: the arithmetic of that engine version, term by term."""

from __future__ import annotations

from typing import Any

import msgspec

from rocsteady.model import InputError, Interval, PerGpu
from rocsteady.plan import activation as act
from rocsteady.plan.constants import ZERO, Term
from rocsteady.plan.families import shape_of
from rocsteady.plan.gpus import Device, device_of
from rocsteady.plan.kv import Cache, blocks_per_request, cache_of, printed_tokens
from rocsteady.plan.shapes import Shape
from rocsteady.plan.versions import Engine, parse_engine
from rocsteady.plan.weights import DTYPE_BYTES, Scheme, scheme_of, weights_on

GIB = 1 << 30


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. None: the engine's default of that version."""

    model: str
    config: dict[str, Any]
    gpu: str
    gpu_mem_gib: float | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False
    dtype: str | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    enforce_eager: bool = False
    block_size: int | None = None
    kv_cache_memory_bytes: int | None = None
    speculative_tokens: int = 0
    engine_version: str = "0.33.0"
    weight_bytes: int | None = None


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """All that the plan is told from. Sizes in GiB."""

    request: Request
    shape: Shape
    device: Device
    engine: Engine
    scheme: Scheme | None
    dtype: str
    utilization: float
    limits: act.Limits
    weights: Term
    activation: Term
    non_torch: Term
    graph: Term
    kv_gib: float
    interval: Interval
    per_gpu: PerGpu
    cache: Cache
    per_request: int
    kv_tokens: int
    max_concurrency: float
    fits: bool
    fits_by_gib: float
    notes: tuple[str, ...]


def check(request: Request) -> None:
    """Refuse what no engine takes.

    Raises:
        InputError: one line that names the flag.
    """
    for flag, value, high in (
        ("--tp", request.tp, 1024), ("--pp", request.pp, 1024), ("--dp", request.dp, 4096),
        ("--max-model-len", request.max_model_len, 1 << 31), ("--max-num-seqs", request.max_num_seqs, 1 << 20),
        ("--max-num-batched-tokens", request.max_num_batched_tokens, 1 << 31), ("--block-size", request.block_size, 1 << 16),
        ("--kv-cache-memory-bytes", request.kv_cache_memory_bytes, 1 << 45),
    ):  # fmt: skip
        if value is not None and not 1 <= value <= high:
            raise InputError(f"{flag} {value}: expected 1 to {high}")
    share = request.gpu_memory_utilization
    if share is not None and not 0 < share <= 1:
        raise InputError(f"--gpu-memory-utilization {share:g}: expected more than 0 and at most 1")
    if request.ep and request.tp * request.dp == 1:
        raise InputError("--ep with one GPU: expert parallelism needs --tp or --dp above 1")
    if request.dtype and request.dtype not in (*DTYPE_BYTES, "auto"):
        raise InputError(f"--dtype {request.dtype}: one of auto, {', '.join(DTYPE_BYTES)}")


def budget_of(request: Request) -> Budget:
    """Plan it.

    Raises:
        InputError: contradictory or impossible input.
    """
    check(request)
    shape, notes = shape_of(request.config, request.model)
    device = device_of(request.gpu, request.gpu_mem_gib)
    engine = parse_engine(request.engine_version, device.rocm)
    notes += device.notes
    if engine.guessed:
        notes.append(f"no version in {request.engine_version!r}: planned as {'.'.join(map(str, engine.version))}")
    tp, pp = request.tp, request.pp
    if tp > 1 and shape.heads % tp:
        raise InputError(f"--tp {tp} does not divide the {shape.heads} attention heads of {request.model}")
    mla = any(k.kind == "mla" for k in shape.layers)
    if not mla and shape.kv_heads % tp and tp % shape.kv_heads:
        raise InputError(
            f"--tp {tp}: the {shape.kv_heads} key-value heads of {request.model} are neither divided nor repeated by it"
        )
    if not mla and "ds_mla" in (request.kv_cache_dtype or ""):
        raise InputError(f"--kv-cache-dtype {request.kv_cache_dtype}: {request.model} has no latent attention (MLA)")
    if pp > len(shape.layers):
        raise InputError(f"--pp {pp}: the model has {len(shape.layers)} layers")
    dtype = request.dtype if request.dtype and request.dtype != "auto" else shape.dtype
    if dtype == "float32" and not request.dtype:
        dtype = "bfloat16"
        notes.append("a float32 checkpoint is loaded in 16 bit by --dtype auto")
    dtype = dtype if dtype in DTYPE_BYTES and not dtype.startswith("float8") else "bfloat16"
    length = request.max_model_len or shape.positions
    if length > shape.positions:
        notes.append(
            f"--max-model-len {length} is above the {shape.positions} positions of the configuration: the engine refuses it unless told otherwise"
        )
    utilization = request.gpu_memory_utilization or engine.default_utilization
    if request.gpu_memory_utilization is None:
        notes.append(f"gpu_memory_utilization {utilization:g} is the default of this version")
    limits = act.default_limits(
        engine, device.total_gib, length, request.max_num_seqs, request.max_num_batched_tokens, device.name
    )
    if request.max_num_seqs is None or request.max_num_batched_tokens is None:
        notes.append(
            f"scheduler defaults of this version: {limits.sequences} sequences, {limits.batched_tokens} batched tokens"
        )
    scheme = scheme_of(request.config, request.quantization)
    if request.quantization and request.quantization.lower() not in ("none", "auto") and scheme is None:
        raise InputError(f"--quantization {request.quantization}: not known")
    if limits.batched_tokens < limits.sequences:
        raise InputError(
            f"--max-num-batched-tokens {limits.batched_tokens} is below --max-num-seqs {limits.sequences}: the engine refuses it"
        )
    stated = scheme.name if scheme is not None and scheme.sure else None
    if request.quantization and stated and stated.split("_")[0].split("-")[0] not in request.quantization.lower():
        notes.append(
            f"the configuration states {stated}: planned so, --quantization {request.quantization} is not applied"
        )
    load = weights_on(
        shape,
        engine,
        scheme,
        dtype,
        tp,
        pp,
        shape.positions,
        device.gfx,
        request.weight_bytes,
        request.dp if request.ep else 1,
    )
    notes += load.notes
    width = DTYPE_BYTES[dtype]
    activation = act.activation_gib(shape, engine, limits, tp, width, device.gfx)
    if not shape.known:
        activation = Term(activation.point, 0.5 * activation.low, 2 * activation.high)
    non_torch = act.non_torch_gib(shape, engine, tp, device.gfx)
    graph = act.graph_gib(shape, engine, limits, request.enforce_eager, device.gfx)
    requested = device.total_gib * utilization
    deducted = graph if engine.graphs_in_budget else ZERO
    kv = requested - load.gib.point - activation.point - non_torch.point - deducted.point
    terms = [
        load.gib,
        activation,
        non_torch,
        deducted,
        Term(0.0, -device.doubt_gib * utilization, device.doubt_gib * utilization),
    ]
    less, more = act.spread(terms)
    low, high = kv - more, kv + less
    if request.kv_cache_memory_bytes is not None:
        kv = low = high = request.kv_cache_memory_bytes / GIB
        notes.append("--kv-cache-memory-bytes: the KV cache is given; gpu_memory_utilization is ignored")
    if any(k.compress > 1 for k in shape.layers):
        low, high = 0.96 * low, 1.04 * high
        notes.append("compressed latents (DeepSeek V4): page sizes checked against one start only, 3 % off")
    cache = cache_of(shape, engine, tp, pp, dtype, request.kv_cache_dtype, request.block_size)
    per_request = blocks_per_request(cache, engine, length, limits.batched_tokens, request.speculative_tokens)
    tokens = [printed_tokens(cache, engine, cache.blocks(x * GIB), length, per_request) for x in (kv, low, high)]
    blocks = cache.blocks(kv * GIB)
    need = per_request * cache.block_bytes / GIB
    used = load.gib.point + activation.point + non_torch.point + graph.point + max(kv, 0.0)
    fits_by = kv - need
    if request.kv_cache_memory_bytes is not None:
        fits_by = min(fits_by, device.total_gib - used)
    notes.append(_what_is_inside(engine))
    per_gpu = PerGpu(
        total_gib=device.total_gib, requested_gib=requested, weights_gib=load.gib.point, activation_gib=activation.point,
        non_torch_gib=non_torch.point, graph_gib=graph.point, kv_cache_gib=max(0.0, kv),
    )  # fmt: skip
    return Budget(
        request=request, shape=shape, device=device, engine=engine, scheme=scheme, dtype=dtype, utilization=utilization,
        limits=limits, weights=load.gib, activation=activation, non_torch=non_torch, graph=graph, kv_gib=kv,
        interval=Interval(kv_cache_gib=(max(0.0, low), max(0.0, high)), kv_tokens=(tokens[1], tokens[2])),
        per_gpu=per_gpu, cache=cache, per_request=per_request, kv_tokens=tokens[0],
        max_concurrency=blocks / per_request if per_request else 0.0, fits=fits_by >= 0, fits_by_gib=fits_by, notes=tuple(notes),
    )  # fmt: skip


def _what_is_inside(engine: Engine) -> str:
    graphs = "graphs come out of it" if engine.graphs_in_budget else "graphs are captured outside it"
    where = "V0" if engine.v0 else "V1"
    shared = "RCCL buffers made before the snapshot do not count" if not engine.v0 else "the profile run sets the peak"
    return f"{where} engine, {'.'.join(map(str, engine.version))}: requested memory is total x utilization; {graphs}; {shared}"
