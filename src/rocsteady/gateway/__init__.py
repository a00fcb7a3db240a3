"""OpenAI-compatible gateway: health-aware routing, a ladder of stages, continuation of broken streams.

How a request goes through::

    server ── handler ── admission ── routing ── attempt ── connector ── worker
                 │           (who may start)  (pure)    (one try)   (HTTP/1.1)
                 └── relay: what comes back, event by event; may resume on another worker

``interfaces`` holds what these parts know of each other. Policy is pure and takes the time as an argument (``health``,
``progress``, ``ladder``, ``scheduler``, ``retry``); what opens a socket gets its clock, connector and random source
from outside (``Runtime``), so the same logic runs under a virtual clock.
"""
