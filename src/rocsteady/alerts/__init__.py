"""Alert rules made from the metrics and the catalog, with their unit tests, Alertmanager route and dashboards; latency forecast."""
