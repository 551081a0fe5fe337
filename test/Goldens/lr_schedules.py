#!/usr/bin/env python3
"""Writes lr_schedules.json: the learning rates of DeepSpeed's schedules.

Usage: lr_schedules.py [--source LR_SCHEDULES_PY] > lr_schedules.json

The classes themselves are run: the installed package's, or those in the file
deepspeed/runtime/lr_schedules.py of a source archive, given with --source (made from 0.19.8).
Each case has the configuration, two groups' own rates, and both groups' rates
in each of its updates: what the optimizer uses before the scheduler's step.
"""

import argparse
import importlib.util
import json
import logging
import sys
import types

UPDATES = 60
RATES = [0.01, 0.003]

SETTINGS = [
    ("WarmupLR", {"warmup_min_lr": 0.001, "warmup_max_lr": 0.02, "warmup_num_steps": 20}),
    ("WarmupLR", {"warmup_max_lr": 0.02, "warmup_num_steps": 20, "warmup_type": "linear"}),
    ("WarmupLR", {"warmup_num_steps": 20}),
    ("WarmupLR", {"warmup_max_lr": 0.02, "warmup_num_steps": 1}),
    ("WarmupDecayLR", {"total_num_steps": 50, "warmup_min_lr": 0.0005, "warmup_max_lr": 0.02, "warmup_num_steps": 10}),
    ("WarmupDecayLR", {"total_num_steps": 40, "warmup_max_lr": 0.01, "warmup_num_steps": 7, "warmup_type": "linear"}),
    ("WarmupDecayLR", {"total_num_steps": 10, "warmup_max_lr": 0.01, "warmup_num_steps": 20}),
    ("WarmupCosineLR", {"total_num_steps": 50, "warmup_num_steps": 10}),
    ("WarmupCosineLR", {"total_num_steps": 45, "warmup_min_ratio": 0.1, "warmup_num_steps": 9, "cos_min_ratio": 0.05, "warmup_type": "linear"}),
    ("WarmupCosineLR", {"total_num_steps": 5, "warmup_num_steps": 20}),
]


def load(source):
    if source is None:
        from deepspeed.runtime import lr_schedules
        return lr_schedules

    # Of torch and the package the file needs a base class, a type test and a
    # logger.
    def module(name, **members):
        made = types.ModuleType(name)
        made.__path__ = []
        made.__dict__.update(members)
        sys.modules[name] = made

    module("torch", is_tensor=lambda value: False)
    module("torch.optim", Optimizer=type("Optimizer", (), {}))
    module("deepspeed")
    module("deepspeed.utils", logger=logging.getLogger("golden"))
    logging.disable(logging.WARNING)
    spec = importlib.util.spec_from_file_location("lr_schedules", source)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def record(module, kind, parameters):
    class Fake(module.Optimizer):
        def __init__(self):
            self.param_groups = [{"lr": rate} for rate in RATES]

    optimizer = Fake()
    scheduler = getattr(module, kind)(optimizer, **parameters)
    rates = []
    for _ in range(UPDATES):
        rates.append([group["lr"] for group in optimizer.param_groups])
        scheduler.step()
    return {"kind": kind, "parameters": parameters, "group_rates": RATES, "rates": rates}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source")
    module = load(parser.parse_args().source)
    cases = [record(module, *setting) for setting in SETTINGS]
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


if __name__ == "__main__":
    main()
