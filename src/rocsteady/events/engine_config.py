"""Inference engines: settings, files and names that they refuse at start-up (vLLM, SGLang, TGI, llama.cpp)."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_ROCM = "https://github.com/vllm-project/vllm/blob/v0.10.2/vllm/platforms/rocm.py"

KINDS = (
    Kind(
        name="argument-unknown",
        needles=("unrecognized arguments:", "error: invalid argument:", "unexpected keyword argument"),
        pattern=r"(?:error: unrecognized arguments: |error: invalid argument: |(?:EngineArgs|LLM|ServerArgs)\S* got an unexpected keyword argument ')(?P<flag>[\w-]+)",
        sample="api_server.py: error: unrecognized arguments: --swap-space 16",
        source="https://github.com/kserve/kserve/pull/6037",
        about="service",
    ),
    Kind(
        name="vllm-unknown-environment",
        needles=("Unknown vLLM environment variable",),
        pattern=r"Unknown vLLM environment variable detected: (?P<variable>\w+)",
        sample="WARNING 06-01 10:00:00 [envs.py:1400] Unknown vLLM environment variable detected: VLLM_USE_TRITON_FLASH_ATTN",
        source="https://github.com/vllm-project/vllm/pull/49932",
        level="notice",
        about="service",
    ),
    Kind(
        name="max-model-len-too-long",
        needles=("is greater than the derived max_model_len",),
        pattern=r"User-specified max_model_len \((?P<wanted>\d+)\) is greater than the derived max_model_len \((?:(?P<key>[\w.]+)=)?(?P<derived>[\d.]+)",
        sample="ValueError: User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=32768 or model_max_length=None in model's config.json).",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="batched-tokens-too-few",
        needles=("max_num_batched_tokens (",),
        pattern=r"max_num_batched_tokens \((?P<tokens>\d+)\) (?:is smaller than max_model_len|must be greater than or equal to max_num_seqs) \((?P<other>\d+)\)",
        sample="ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (8192). This effectively limits the maximum sequence length to max_num_batched_tokens",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="trust-remote-code-needed",
        needles=("trust_remote_code=True", "--trust-remote-code"),
        pattern=r"(?:requires you to execute the configuration file|contains custom code which must be executed|Please pass the argument `trust_remote_code=True`"
        r"|set the option `trust_remote_code=True`|consider setting `trust_remote_code=True`)",
        sample="ValueError: Loading /models/x requires you to execute the configuration file in that repo on your local machine. Make sure you have read the code there "
        "to avoid malicious use, then set the option `trust_remote_code=True` to remove this error.",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="model-gated",
        needles=("gated repo", "GatedRepoError", "Access to model", "401 Client Error", "403 Client Error", "Invalid user token"),
        pattern=r"You are trying to access a gated repo|GatedRepoError|Access to model (?P<model>\S+) is restricted|(?P<code>40[13]) Client Error.{0,120}(?:huggingface|hf-mirror|resolve)"
        r"|Invalid user token|Cannot access gated repo",
        sample="OSError: You are trying to access a gated repo. Make sure to have access to it at https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct.",
        source="https://github.com/vllm-project/vllm/issues/17526",
        about="service",
    ),
    Kind(
        name="model-not-found",
        needles=("is not a local folder and is not a valid model identifier", "RepositoryNotFoundError", "Invalid repository ID or local directory",
                 "Can't load the configuration of", "No such file or directory: '", "failed to open GGUF file", "Repo id must be in the form"),
        pattern=r"(?P<name>\S+) is not a local folder and is not a valid model identifier|RepositoryNotFoundError|Invalid repository ID or local directory specified:? ?'?(?P<path>[^'\s]*)"
        r"|Can't load the configuration of '(?P<config>[^']+)'|No such file or directory: '(?P<file>[^']*(?:config\.json|\.safetensors|\.gguf|tokenizer\w*\.\w+))'"
        r"|failed to open GGUF file '(?P<gguf>[^']+)'|Repo id must be in the form",
        sample="OSError: meta-llama/Lama-3 is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
        source="https://github.com/vllm-project/vllm/issues/13150",
        about="service",
    ),
    Kind(
        name="hub-not-reachable",
        needles=("We couldn't connect to 'https://huggingface.co'", "outgoing traffic has been disabled", "LocalEntryNotFoundError", "Max retries exceeded with url",
                 "OfflineModeIsEnabled", "Temporary failure in name resolution"),
        pattern=r"We couldn't connect to 'https://huggingface\.co'|outgoing traffic has been disabled|LocalEntryNotFoundError|OfflineModeIsEnabled"
        r"|host='(?P<host>[\w.-]*(?:huggingface|hf-mirror|modelscope)[\w.-]*)'.*Max retries exceeded|(?:huggingface|modelscope)\S*.*Temporary failure in name resolution",
        sample="OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
        source="https://github.com/vllm-project/vllm/issues/17526",
        about="service",
    ),
    Kind(
        name="port-in-use",
        needles=("address already in use", "EADDRINUSE", "couldn't bind HTTP server socket", "couldn't bind to server socket"),
        pattern=r"address already in use|EADDRINUSE|couldn't bind (?:HTTP server|to server) socket",
        sample=(
            "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
            "Error: listen tcp 127.0.0.1:11434: bind: address already in use",
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        ),
        source="https://github.com/vllm-project/vllm/issues/13150",
        about="service",
    ),
    Kind(
        name="heads-not-divisible",
        needles=("must be divisible by tensor parallel size", "is not divisible by", "must be divisible by tp"),
        pattern=r"(?:(?P<what>[A-Z][\w ]+?) \((?=\d+\) must be)|(?=\b\d+ is not divisible by \d))(?P<heads>\d+)\)?"
        r" (?:must be divisible by tensor parallel size \(|is not divisible by )(?P<tp>\d+)",
        sample="ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3).",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="tensor-parallel-too-large",
        needles=("is larger than the number of available GPUs", "GPUs are needed but only", "cannot find enough GPUs"),
        pattern=r"[Ww]orld size \((?P<wanted>\d+)\) is larger than the number of available GPUs \((?P<have>\d+)\)",
        sample="ValueError: World size (8) is larger than the number of available GPUs (4) in this node.",
        source="https://github.com/vllm-project/vllm/issues/14807",
        about="service",
    ),
    Kind(
        name="ollama-load-timeout",
        needles=("timed out waiting for llama",),
        pattern=r"timed out waiting for llama[ -](?:runner|server) to start(?:.*?progress (?P<progress>[\d.]+))?",
        sample='error="timed out waiting for llama runner to start - progress 0.00 - "',
        source="https://github.com/ollama/ollama/issues/6092",
        about="service",
    ),
    Kind(
        name="ollama-system-memory",
        needles=("model requires more system memory",),
        pattern=r"model requires more system memory \((?P<needed>[\d.]+ [KMG]iB)\) than is available \((?P<available>[\d.]+ [KMG]iB)\)",
        sample='error="model requires more system memory (37.3 GiB) than is available (12.1 GiB)"',
        source="https://github.com/ollama/ollama/issues/4131",
        about="service",
    ),
    Kind(
        name="lora-rank-too-large",
        needles=("is greater than max_lora_rank",),
        pattern=r"LoRA rank (?P<rank>\d+) is greater than max_lora_rank (?P<most>\d+)",
        sample="ValueError: LoRA rank 64 is greater than max_lora_rank 16.",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="lora-not-supported",
        needles=("does not support LoRA",),
        pattern=r"(?P<model>\w+) does not support LoRA(?: yet)?",
        sample="ValueError: Model GptOssForCausalLM does not support LoRA yet.",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="chat-template-missing",
        needles=("you must provide a chat template",),
        pattern=r"default chat template is no longer allowed, so you must provide a chat template",
        sample="ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one.",
        source="https://github.com/vllm-project/vllm/issues/13150",
        about="service",
    ),
    Kind(
        name="attention-backend-not-on-rocm",
        needles=("is not supported on ROCm", "is not valid for this configuration", "Invalid attention backend", "is not supported in AMD GPUs"),
        pattern=r"(?:[Ss]elected backend,? (?:\w+\.)*(?=\w+,? is not (?:supported on ROCm|valid))|Invalid attention backend(?: for \w+)?:? ?'?"
        r"|(?=(?:FlashMLA|FlashInfer|DeepGEMM) is not supported on ROCm))(?P<backend>\w+)",
        sample="ValueError: The selected backend, FLASHINFER, is not supported on ROCm.",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="head-size-not-supported",
        needles=("Head size", "head_size not supported", "Unsupported head size", "not supported by PagedAttention"),
        pattern=r"(?:Head size (?=\d+ is not supported by)|[Uu]nsupported head size:? ?)(?P<size>\d+)",
        sample="ValueError: Head size 80 is not supported by PagedAttention. Supported head sizes are: [64, 128, 256].",
        source="https://github.com/vllm-project/vllm/issues/40677",
        about="service",
    ),
    Kind(
        name="vllm-v1-feature-refused",
        needles=("VLLM_USE_V1=1 is not supported with", "V1 does not support"),
        pattern=r"VLLM_USE_V1=1 is not supported with (?P<feature>.{1,60}?)\.?$|V1 does not support (?P<other>.{1,60})",
        sample="NotImplementedError: VLLM_USE_V1=1 is not supported with --kv-cache-dtype.",
        source="https://github.com/vllm-project/vllm/issues/16337",
        about="service",
    ),
    Kind(
        name="fork-after-gpu-init",
        needles=("Cannot re-initialize CUDA in forked subprocess",),
        pattern=r"Cannot re-initialize CUDA in forked subprocess",
        sample="RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
        source="https://github.com/vllm-project/vllm/pull/38434",
        about="service",
    ),
    Kind(
        name="spawn-without-main-guard",
        needles=("An attempt has been made to start a new process",),
        pattern=r"An attempt has been made to start a new process before the",
        more=r"current process has finished its bootstrapping phase",
        sample="An attempt has been made to start a new process before the current process has finished its bootstrapping phase.",
        source="https://github.com/vllm-project/vllm/issues/12498",
        about="service",
    ),
    Kind(
        name="speculative-config-refused",
        needles=("num_speculative_tokens", "speculative"),
        pattern=r"num_speculative_tokens was provided(?: but)? without speculative[_ ]model|draft model's vocab|draft_tensor_parallel_size.{0,60}(?:cannot|must)"
        r"|Speculative decoding (?:with|is) .{0,60}not supported",
        sample="ValueError: num_speculative_tokens was provided without speculative model.",
        source=_ROCM,
        about="service",
    ),
    Kind(
        name="weights-file-damaged",
        needles=("Error while deserializing header", "MetadataIncompleteBuffer", "HeaderTooLarge", "invalid load key", "tensor data is not within the file bounds",
                 "data is not within the file bounds"),
        pattern=r"Error while deserializing header: (?P<why>\w+)|MetadataIncompleteBuffer|HeaderTooLarge|invalid load key, '(?P<key>.)'|data is not within the file bounds",
        sample="safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        source="https://github.com/vllm-project/vllm/issues/13150",
        about="service",
    ),
    Kind(
        name="weights-names-not-matched",
        needles=("Following weights were not initialized from checkpoint", "There is no module or parameter named"),
        pattern=r"Following weights were not initialized from checkpoint|There is no module or parameter named '(?P<name>[\w.]+)' in (?P<model>\w+)",
        sample="ValueError: There is no module or parameter named 'lm_head.biases' in Qwen3ForCausalLM",
        source="https://github.com/vllm-project/vllm/issues/9713",
        about="service",
    ),
)  # fmt: skip
