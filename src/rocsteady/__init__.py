"""rocsteady keeps LLM inference on AMD GPUs up."""

__version__ = "0.1.0"
