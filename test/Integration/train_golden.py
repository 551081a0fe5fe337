#!/usr/bin/env python3
"""Every stage and rank count against the updates that PyTorch recorded.

Usage: train_golden.py <folder> <precision> <ranks>
"""

import os

from training import (GOLDENS, Setup, arguments, check, close, execute, golden,
                      read_tensors, relative_l2)

# Three to five times what runs show; the bar is 1e-5, 1e-2 and 5e-3.
LOSS = {"f32": 2e-6, "bf16": 5e-3, "f16": 1e-3}
# Norms of single updates scatter more than losses in 16 bits.
NORM = {"f32": 1e-5, "bf16": 2e-1, "f16": 2e-2}
PARAMETERS = 1e-5


def compare(folder, setup, recorded, weights, trained):
    run = execute(folder, setup, weights=weights)
    name, precision = setup.name, setup.precision
    check(not any(run.column("skipped")), f"{name} skipped an update")
    loss = close(name + " loss", run.column("loss"), recorded["losses"], LOSS[precision])
    norm = close(name + " norm", run.column("grad_norm"), recorded["grad_norms"],
                 NORM[precision])
    line = f"{name}: loss {loss:.2g}, norm {norm:.2g}"
    if precision == "f16":
        check(run.column("loss_scale") == recorded["loss_scales"],
              f"{name}: the loss scale differs: {run.column('loss_scale')}")
    if trained:
        error = relative_l2(read_tensors(run.weights), read_tensors(trained))
        check(error <= PARAMETERS, f"{name}: parameters are {error:.3g} off")
        line += f", parameters {error:.2g}"
    print(line)


def main():
    folder, precision, ranks = arguments("precision", "ranks")
    ranks, recorded, settings = int(ranks), golden(), golden()["settings"]
    accumulation = settings["global_batch"] // settings["micro_batch"] // ranks
    trained = os.path.join(GOLDENS, "tiny-gpt-trained.safetensors")
    setups = [Setup(stage, ranks, precision, accumulation) for stage in range(4)]
    if ranks > 1:  # reductions and gathers that run from one region into the next
        setups += [Setup(stage, ranks, precision, accumulation, overlap_comm=True,
                         reduce_bucket_size=4000, allgather_bucket_size=4000)
                   for stage in range(4)]
    for setup in setups:
        compare(folder, setup, recorded["gpt"][precision], "tiny-gpt.safetensors",
                trained if precision == "f32" else None)
    if precision == "f32" and ranks in (1, 3):
        compare(folder, Setup(3, ranks, "f32", accumulation, model="tiny-llama.mlir"),
                recorded["llama"]["f32"], "tiny-llama.safetensors", None)
    print("ok")


if __name__ == "__main__":
    main()
