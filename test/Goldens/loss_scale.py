#!/usr/bin/env python3
"""Writes loss_scale.json: what DeepSpeed's DynamicLossScaler does.

Usage: loss_scale.py [--source LOSS_SCALER_PY] > loss_scale.json

The class itself is run: the installed package's, or the one in the file
deepspeed/runtime/fp16/loss_scaler.py of a source archive, given with --source.
For each setting the file holds 5,000 overflow flags ('1': the update's
gradients were not finite), and the scale after each update as runs of
[updates, scale]. A run that stops at the minimum ends there.
"""

import argparse
import importlib.util
import json
import logging
import random
import sys
import types

UPDATES = 5000

# initial power, window, minimum, hysteresis, consecutive, the power beyond
# which gradients overflow, the chance of an overflow anywhere
SETTINGS = [
    (16, 1000, 1.0, 2, False, 24, 0.0005),
    (16, 100, 1.0, 2, False, 15, 0.003),
    (16, 100, 1.0, 2, True, 15, 0.003),
    (16, 7, 0.25, 1, False, 11, 0.01),
    (20, 3, 4.0, 4, False, 10, 0.05),
    (12, 5, 1.0, 3, True, 13, 0.08),
    (32, 1, 2.0, 2, False, 18, 0.2),
    (4, 50, 1.0, 2, False, 40, 0.6),
]


def load_class(source):
    if source is None:
        from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler
        return DynamicLossScaler
    # The file needs a logger, a rank and a base class of the package, and a
    # type of torch; the class's rule uses none of them.
    def module(name, **members):
        made = types.ModuleType(name)
        made.__path__ = []
        made.__dict__.update(members)
        sys.modules[name] = made
        return made

    module("torch", half="half", float16="half")
    module("deepspeed", comm=module("deepspeed.comm", get_rank=lambda: 0))
    module("deepspeed.runtime")
    module("deepspeed.runtime.config_utils", DeepSpeedConfigObject=object)
    module("deepspeed.runtime.utils", has_inf_or_nan=None)
    module("deepspeed.utils", log_dist=None, logger=logging.getLogger("golden"))
    spec = importlib.util.spec_from_file_location("loss_scaler", source)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.DynamicLossScaler


def record(scaler_class, setting, generator):
    power, window, minimum, hysteresis, consecutive, limit, chance = setting
    scaler = scaler_class(2.0**power, window, minimum, hysteresis, consecutive)
    flags, runs, stopped = "", [], False
    for _ in range(UPDATES):
        overflow = scaler.cur_scale > 2.0**limit or generator.random() < chance
        flags += "1" if overflow else "0"
        try:
            scaler.update_scale(overflow)
        except Exception as failure:
            if "at minimum" not in str(failure):
                raise
            stopped = True
            break
        if runs and runs[-1][1] == scaler.cur_scale:
            runs[-1][0] += 1
        else:
            runs.append([1, scaler.cur_scale])
    return {
        "initial": 2.0**power, "window": window, "minimum": minimum,
        "hysteresis": hysteresis, "consecutive": consecutive,
        "flags": flags, "scales": runs, "stopped": stopped,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source")
    scaler_class = load_class(parser.parse_args().source)
    generator = random.Random(20240229)
    cases = [record(scaler_class, setting, generator) for setting in SETTINGS]
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


if __name__ == "__main__":
    main()
