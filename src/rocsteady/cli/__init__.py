"""Arguments in, exit code out. No logic."""
