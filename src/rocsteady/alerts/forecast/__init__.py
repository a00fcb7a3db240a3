"""Forecasts of latency and memory with a band, and the time until an objective is missed (extra ``forecast``)."""

import os

# The matrices here are small: a second BLAS thread costs more than it gains, and takes a core from the engine. It is
# read when numpy is first imported, so it stands before all modules that do so; what the user has set stays.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
