"""Forecasts of latency and memory with a band, and the time until an objective is missed (extra ``forecast``)."""
