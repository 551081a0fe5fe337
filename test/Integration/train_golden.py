#!/usr/bin/env python3
"""Every stage and rank count against the updates that PyTorch recorded.

Usage: train_golden.py <folder> <precision> <ranks>
"""

import os

from training import (GOLDENS, TOLERANCES, Setup, arguments, check, close, execute, fail,
                      golden, read_tensors, relative_l2, worst_element)

TRAINED = os.path.join(GOLDENS, "tiny-gpt-trained.safetensors")


def compare(folder, setup, recorded, weights, trained, **options):
    run = execute(folder, setup, weights=weights, **options)
    name, precision = setup.name, setup.precision
    check(not any(run.column("skipped")), f"{name} skipped an update")
    loss = close(name + " loss", run.column("loss"), recorded["losses"], TOLERANCES["loss"][precision])
    norm = close(name + " norm", run.column("grad_norm"), recorded["grad_norms"],
                 TOLERANCES["norm"][precision])
    line = f"{name}: loss {loss:.2g}, norm {norm:.2g}"
    if precision == "f16":
        check(run.column("loss_scale") == recorded["loss_scales"],
              f"{name}: the loss scale differs: {run.column('loss_scale')}")
    if trained:
        weights, wanted = read_tensors(run.weights), read_tensors(trained)
        error = relative_l2(weights, wanted)
        if error > TOLERANCES["parameters"]:
            fail(f"{name}: parameters are {error:.3g} off; the worst: "
                 f"{worst_element(weights, wanted)}")
        line += f", parameters {error:.2g}"
    print(line)


def main():
    folder, precision, ranks = arguments("precision", "ranks")
    ranks, recorded, settings = int(ranks), golden(), golden()["settings"]
    accumulation = settings["global_batch"] // settings["micro_batch"] // ranks
    setups = [Setup(stage, ranks, precision, accumulation) for stage in range(4)]
    if ranks > 1:  # reductions and gathers that run from one region into the next
        setups += [Setup(stage, ranks, precision, accumulation, overlap_comm=True,
                         reduce_bucket_size=4000, allgather_bucket_size=4000)
                   for stage in range(4)]
    for setup in setups:
        compare(folder, setup, recorded["gpt"][precision], "tiny-gpt.safetensors",
                TRAINED if precision == "f32" else None)
    if precision == "f32" and ranks in (1, 3):
        compare(folder, Setup(3, ranks, "f32", accumulation, model="tiny-llama.mlir"),
                recorded["llama"]["f32"], "tiny-llama.safetensors", None)
    print("ok")


if __name__ == "__main__":
    main()
