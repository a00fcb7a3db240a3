"""Scenarios of living nodes, one YAML file each; the words are explained in ``rocsteady.lab.live.scenario``."""
