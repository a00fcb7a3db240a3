"""Configurations of known models with damaged values: a plan or one clear error, never a traceback."""

from __future__ import annotations

import copy
import random

from rocsteady.catalog.models import known_models
from rocsteady.model import InputError
from rocsteady.plan.budget import Request, budget_of
from rocsteady.plan.planner import describe

BAD = [None, 0, -1, 1, 7, 10**12, 1.5, float("nan"), "x", [], {}, True, [1, 2], ["a"], {"a": 1}]


def test_every_known_model_is_planned() -> None:
    for model in known_models():
        plan = describe(budget_of(Request(model=model.name, config=model.config, gpu="MI300X", tp=1)))
        assert plan.per_gpu.weights_gib > 0, model.name


def test_damaged_values_never_end_in_a_traceback() -> None:
    rng = random.Random(3)
    for _ in range(800):
        model = rng.choice(known_models())
        config = copy.deepcopy(model.config)
        parts = [config, *(v for v in config.values() if isinstance(v, dict) and v)]
        for _ in range(rng.randint(1, 3)):
            part = rng.choice(parts)
            key = rng.choice(list(part))
            part[key] = rng.choice(BAD)
        try:
            describe(budget_of(Request(model=model.name, config=config, gpu="MI300X", tp=rng.choice([1, 8]))))
        except InputError as error:
            assert "\n" not in str(error)
