"""Exposition of a node's metrics and of the health of its GPUs."""
