"""Measured fault drills: worker processes, faults, and a synthetic worker that speaks vLLM's protocol."""
