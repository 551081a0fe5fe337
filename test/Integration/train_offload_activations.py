#!/usr/bin/env python3
"""Deterministic runs whose kept activations wait in host memory: the same losses and
weights, bit by bit, as stage 0 that keeps all activations on the device, and each
tier as large as planned.

Usage: train_offload_activations.py <folder> <precision> <ranks> <kind>

`kind` is `in-process`, where ranks are threads, or `mpi`. Stages 0 to 3, what every
policy keeps, with overlap, and with offloaded optimizer states and
parameters.
"""

import json
import subprocess

from training import Setup, arguments, check, compile_model, difference, execute, generate

STEPS = 3
GPT = ["gpt", "--layers", "4", "--width", "64", "--heads", "4", "--vocabulary", "256",
       "--sequence", "64", "--micro-batch", "2", "--dropout", "0.2"]


def cases():
    """Stage and options of each run."""
    for stage in range(4):
        yield stage, {"checkpoint_every": 1}
    yield 1, {"checkpoint_policy": "full"}
    yield 2, {"checkpoint_policy": "cheap", "overlap_comm": True}
    yield 3, {"checkpoint_policy": "cheap", "overlap_comm": True, "checkpoint_layers": [0, 1, 2]}
    yield 2, {"checkpoint_every": 1, "offload_optimizer": {"device": "cpu"}}
    yield 3, {"checkpoint_every": 1, "offload_optimizer": {"device": "cpu"},
              "offload_param": {"device": "cpu"}, "stage3_max_reuse_distance": 0}


def check_plan(folder, setup, memory):
    """What the process measured of each arena is what the plan has."""
    path = compile_model(folder, setup)
    done = subprocess.run(
        ["zero-plan", setup.model_file(), "--config", path + ".json", "--ranks",
         str(setup.ranks), "--json", "-"], capture_output=True, text=True, check=True)
    planned = {name: arena["bytes"] for name, arena in json.loads(done.stdout)["memory"].items()
               if arena["bytes"]}
    found = {name: size for name, size in memory.items() if name in planned or size}
    for name in sorted(planned):
        check(found.get(name) == planned.get(name),
              f"{setup.name} has {found.get(name)} bytes of {name}, planned {planned.get(name)}")


def main():
    folder, precision, ranks, kind = arguments("precision", "ranks", "kind")
    model = generate(folder, "layers", *GPT)

    def run(stage, mpi=False, **options):
        setup = Setup(stage, int(ranks), precision, 2, True, model=model, **options)
        found = execute(folder, setup, steps=STEPS, weights=None, mpi=mpi,
                        arguments=["--validation-fraction", "0.2", "--eval-every", "2"])
        return setup, found, found.updates[-1]["memory"]

    _, wanted, _ = run(0)
    count = 0
    for stage, options in cases():
        _, plain, before = run(stage, **options)
        setup, found, memory = run(stage, kind == "mpi", checkpoint_offload=True, **options)
        for name, other in ((setup.name, found), ("the run without offload", plain)):
            different = difference(other, wanted)
            check(not different, f"{name}: {different}")
        check("activations on host" not in before, f"{setup.name} without offload has {before}")
        check(memory["activations"] < before["activations"],
              f"{setup.name} has {memory['activations']} bytes of activations on the device, and "
              f"{before['activations']} without offload")
        check_plan(folder, setup, memory)
        count += 1
    print(f"{count} runs in {precision} on {ranks} ranks: bitwise equal to stage 0")


if __name__ == "__main__":
    main()
