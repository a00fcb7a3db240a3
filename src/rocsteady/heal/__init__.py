"""Repairs: a finding or alert becomes a remedy, is checked, carried out, verified, and leaves a receipt.

``decide`` is pure: state, event, time and policy in, faults and actions out. ``journal`` keeps them in SQLite, ``healer``
carries them out through actuators. What acts on the host as root is ``helper``, a process of its own with fixed verbs.
"""
