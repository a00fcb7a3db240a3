"""The last rung of the ladder: an OpenAI-compatible server on a CPU runtime, with limits that it states itself."""
