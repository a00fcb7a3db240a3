"""One module per group of metrics that is read together, and hangs together."""
