"""Logs of a healthy node: the driver's start in the kernel log, an engine that serves."""

from __future__ import annotations

from rocsteady.lab.gpu import Slot
from rocsteady.lab.host import HOST_NAME
from rocsteady.lab.kfd import FIRST_PID, serving_gpus
from rocsteady.lab.shapes import Shape

MIB = 1 << 20
MODEL = "/models/Llama-3.1-8B-Instruct"
BLOCK = 16


def dmesg(shape: Shape, slots: list[Slot], driver: str) -> str:
    """The boot messages that matter, in the driver's wording."""
    host = shape.host
    lines = [
        (0.0, f"Linux version {host.kernel} (buildd@synthetic) (gcc version 11.4.0) #{host.kernel.split('-')[1]}-Ubuntu SMP"),
        (0.0, f"Command line: BOOT_IMAGE=/vmlinuz-{host.kernel} root=/dev/mapper/vg-root ro amd_iommu=on iommu=pt"),
        (0.0, "BIOS-provided physical RAM map:"),
        (0.31, f"DMI: {host.vendor} {host.product}, BIOS 2.7 08/12/2025"),
        (0.93, f"smpboot: CPU0: {host.cpu} (family: 0x19, model: 0x1, stepping: 0x1)"),
        (1.52, "AMD-Vi: Using global IVHD EFR:0x246577efa2254afa, EFR2:0x0"),
        (1.55, "iommu: Default domain type: Passthrough (set via kernel command line)"),
        (2.21, "systemd[1]: Inserted module 'autofs4'"),
        (2.90, "EXT4-fs (dm-0): mounted filesystem with ordered data mode. Opts: (null). Quota mode: none."),
    ]  # fmt: skip
    part = shape.part
    if part is not None:
        lines += [(7.00, "[drm] amdgpu kernel modesetting enabled."), (7.01, f"[drm] amdgpu version: {driver}"),
                  (7.02, "[drm] OS DRM version: 5.15.0"), (7.10, "amdgpu: Virtual CRAT table created for CPU"),
                  (7.11, "amdgpu: Topology: Add CPU node")]  # fmt: skip
        for slot in slots:
            lines += _gpu_lines(shape, slot, 7.5 + slot.number * 1.75)
    if shape.nics:
        for number, nic in enumerate(shape.nics):
            bdf = f"0000:{nic.bus:02x}:00.0"
            lines.append((30.0 + number, f"mlx5_core {bdf}: firmware version: 28.41.1000"))
            lines.append((30.4 + number, f"mlx5_core {bdf} eth{number + 2}: Link up"))
    return "".join(f"[{at:12.6f}] {text}\n" for at, text in lines)


def _gpu_lines(shape: Shape, slot: Slot, at: float) -> list[tuple[float, str]]:
    part = shape.part
    assert part is not None
    head = f"amdgpu {slot.bdf}: amdgpu:"
    ids = f"0x1002:0x{part.device_id:04X} 0x{part.subsystem[0]:04X}:0x{part.subsystem[1]:04X} 0x{part.revision:02X}"
    vram = part.vram // MIB
    texts = [
        f"[drm] initializing kernel modesetting ({part.chip} {ids}).",
        f"{head} Fetched VBIOS from ROM BAR", f"amdgpu: ATOM BIOS: {part.vbios}",
        f"{head} Trusted Memory Zone (TMZ) feature not supported", f"{head} MEM ECC is active.",
        f"{head} SRAM ECC is active.", f"{head} VRAM: {vram}M 0x0000008000000000 - 0x000000{0x8000000000 + part.vram - 1:010X} ({vram}M used)",
        f"{head} GART: 512M 0x0000000000000000 - 0x000000001FFFFFFF", f"[drm] amdgpu: {vram}M of VRAM memory ready",
        f"[drm] amdgpu: {shape.host.memory_gib * shape.host.sockets * 512}M of GTT memory ready.",
        f"{head} SMU is initialized successfully!", f"amdgpu: HMM registered {vram}MB device memory",
        "amdgpu: Virtual CRAT table created for GPU", f"amdgpu: Topology: Add dGPU node [0x{part.device_id:04x}:0x1002]",
    ]  # fmt: skip
    if not part.ras_blocks or part.fan:
        texts = [t for t in texts if "ECC is active" not in t]
    if shape.partitions > 1:
        texts.append(f"kfd kfd: amdgpu: Total number of KFD nodes to be created: {shape.partitions}")
    texts.append(f"kfd kfd: amdgpu: added device 1002:{part.device_id:04x}")
    if part.xgmi:
        texts.append(
            f"{head} XGMI: Add node {slot.number}, hive 0x{0x3A5C00007E110000 | len(shape.buses) << 8 | len(shape.name):x}."
        )
    texts.append(f"[drm] Initialized amdgpu 3.61.0 20150101 for {slot.bdf} on minor {slot.card}")
    return [(at + 0.05 * i, text) for i, text in enumerate(texts)]


def engine_log(shape: Shape) -> str:
    """A vLLM start that went well, and a while of serving."""
    part = shape.part
    assert part is not None
    size = len(serving_gpus(shape))
    gib = part.vram / (1 << 30) / shape.partitions
    weights = 14.99 / size
    kv = gib * 0.9 - weights - 1.1
    tokens = int(kv * size * (1 << 30) / (128 * 1024)) // BLOCK * BLOCK
    day = "11-29"
    rows = [
        ("INFO", "08:00:01", "api_server.py:1419", "vLLM API server version 0.9.2"),
        ("INFO", "08:00:01", "cli_args.py:325", f"non-default args: {{'model': '{MODEL}', 'tensor_parallel_size': {size}}}"),
        ("INFO", "08:00:09", "config.py:841", "This model supports multiple tasks: {'generate', 'embed'}. Defaulting to 'generate'."),
        ("INFO", "08:00:12", "core.py:69", f"Initializing a V1 LLM engine (v0.9.2) with config: model='{MODEL}', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size={size}, quantization=None, kv_cache_dtype=auto"),
        ("INFO", "08:00:31", "rocm.py:220", "Using Triton Attention backend on V1 engine."),
        ("INFO", "08:00:58", "gpu_model_runner.py:1801", f"Model loading took {weights:.4f} GiB and 21.3 seconds"),
        ("INFO", "08:01:26", "gpu_worker.py:232", f"Available KV cache memory: {kv:.2f} GiB"),
        ("INFO", "08:01:27", "kv_cache_utils.py:716", f"GPU KV cache size: {tokens:,} tokens"),
        ("INFO", "08:01:27", "kv_cache_utils.py:720", f"Maximum concurrency for 8,192 tokens per request: {tokens / 8192:.2f}x"),
        ("INFO", "08:01:49", "gpu_model_runner.py:2325", "Graph capturing finished in 22 secs, took 0.61 GiB"),
    ]  # fmt: skip
    lines = [f"{level} {day} {at} [{place}] {text}" for level, at, place, text in rows]
    lines += [f"INFO:     Started server process [{FIRST_PID}]", "INFO:     Waiting for application startup.",
              "INFO:     Application startup complete."]  # fmt: skip
    for minute in range(2, 42, 10):
        lines.append(
            f"INFO {day} 08:{minute:02d}:30 [loggers.py:118] Engine 000: Avg prompt throughput: 412.5 tokens/s, "
            f"Avg generation throughput: 610.3 tokens/s, Running: 11 reqs, Waiting: 0 reqs, "
            f"GPU KV cache usage: {3 + minute / 10:.1f}%, Prefix cache hit rate: 21.4%"
        )
        lines.append('INFO:     127.0.0.1:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK')
    return "\n".join(lines) + "\n"


def syslog() -> str:
    """A quiet hour of system log."""
    jobs = (
        "systemd[1]: Starting Daily apt download activities...",
        "systemd[1]: Finished Daily apt download activities.",
        "CRON[40112]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)",
        "systemd[1]: Started Session 3 of User operator.",
    )
    return "".join(f"Nov 29 06:{10 + i * 7:02d}:01 {HOST_NAME} {text}\n" for i, text in enumerate(jobs))
