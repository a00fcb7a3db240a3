"""Measured fault drills: worker processes, real Prometheus and Alertmanager, replays, and a synthetic worker of vLLM's protocol."""
