"""Load against an OpenAI endpoint: throughput, latency percentiles, goodput, energy, soak; comparison of two runs."""
