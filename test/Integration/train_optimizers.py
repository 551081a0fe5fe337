#!/usr/bin/env python3
"""Deterministic runs with one optimizer: bitwise equal at all stages.

Usage: train_optimizers.py <folder> <type> states=<name>,.. [<key>=<value> ...]

`states` names what the optimizer keeps beside a master, the others are its
settings. Ranks are threads. bf16 with two micro-batches an update, so that there
are master weights and f32 gradients: at every stage, with split masters, with
every state of the optimizer in the memory of the host, and updated by the host.
"""

import json
import os
import sys

from training import Setup, check, difference, execute, fail

RANKS = 3
STEPS = 6


def main():
    if len(sys.argv) < 4:
        fail(f"usage: {sys.argv[0]} <folder> <type> states=<name>,.. [<key>=<value> ...]")
    folder, kind = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    params = dict(pair.split("=", 1) for pair in sys.argv[3:])
    states = ",".join(f"{state}=host" for state in params.pop("states").split(","))
    optimizer = {"type": kind,
                 "params": {key: json.loads(value) for key, value in params.items()}}

    def setup(stage, **options):
        return Setup(stage, RANKS, "bf16", 2, True, optimizer=optimizer, **options)

    wanted = execute(folder, setup(0), steps=STEPS)
    losses = wanted.column("loss")
    check(losses[-1] < losses[0], f"{kind} does not learn: {losses}")
    for stage in range(4):
        others = [setup(stage, reduce_bucket_size=4000), setup(stage, split_master=True),
                  setup(stage, pipeline=f"state-tiers={states}")]
        if stage > 0:
            others.append(setup(stage, reduce_bucket_size=4000,
                                offload_optimizer={"device": "cpu", "pipeline": True}))
        for other in others:
            run = execute(folder, other, steps=STEPS)
            found = difference(run, wanted)
            check(not found, f"{other.name}: {found}")
            memory = run.updates[-1]["memory"]
            on_host = "pipeline" in other.options or "offload_optimizer" in other.options
            check(("optimizer on host" in memory) == on_host,
                  f"{other.name} has the arenas {sorted(memory)}")
    print(f"{kind}: bitwise equal at all stages")


if __name__ == "__main__":
    main()
