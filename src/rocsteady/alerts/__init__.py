"""Alerting: Prometheus rules from the catalog and the metrics, and forecasts of latency and memory."""
