#!/usr/bin/env python3
"""Training of models with other losses than a mean over labels, on a mesh that cuts them.

Usage: cut_losses.py <folder> <mesh> <model>,<model>...

Models are those of test/Models/Cut: with label smoothing, class weights, a z-loss, or
several documents in a sample. Of their labels some are ignored, as many as there happen to
be in a micro-batch. Losses, norms and weights at stages 0 and 3 are those of one rank that
accumulates the same micro-batches; so they are with cross entropy in chunks where its
logits have no other reader.
"""

import math
import os
import random

from training import MODELS, Setup, arguments, check, close, execute, read_tensors, relative_l2, \
    write_tensors

STEPS, ACCUMULATION = 10, 2
SAMPLES, LENGTH, VOCABULARY = 64, 16, 100


def write_samples(path):
    """Tokens, of which a model ignores some as labels."""
    numbers = random.Random(7)
    ids = [numbers.randrange(VOCABULARY) for _ in range(SAMPLES * LENGTH)]
    labels = [(3 * token + 1) % VOCABULARY for token in ids]
    write_tensors(path, {"input_ids": ([SAMPLES, LENGTH], ids),
                         "labels": ([SAMPLES, LENGTH], labels)})


def main():
    folder, mesh, models = arguments("mesh", "models")
    sizes = dict(axis.split("=") for axis in mesh.split(","))
    ranks = math.prod(map(int, sizes.values()))
    data = os.path.join(folder, "data.safetensors")
    write_samples(data)

    def run(model, stage, ranks, accumulation, **options):
        setup = Setup(stage, ranks, "f32", accumulation,
                      model=os.path.join(MODELS, "Cut", model + ".mlir"), **options)
        return execute(folder, setup, data=data, steps=STEPS, weights=None)

    for model in models.split(","):
        wanted = run(model, 0, 1, ACCUMULATION * int(sizes["data"]))
        losses = wanted.column("loss")
        check(losses[-1] < losses[0], f"{model} learns nothing: {losses}")
        for stage, chunked in ((0, False), (3, False), (3, True)):
            options = {"fuse_cross_entropy": True,
                       "cross_entropy_chunk_bytes": 1} if chunked else {}
            found = run(model, stage, ranks, ACCUMULATION, mesh=mesh, **options)
            name = f"{model} on {mesh}, stage {stage}, {options}"
            close(name + " loss", found.column("loss"), losses, 1e-5)
            close(name + " norm", found.column("grad_norm"), wanted.column("grad_norm"), 1e-4)
            error = relative_l2(read_tensors(found.weights), read_tensors(wanted.weights))
            check(error <= 1e-4, f"{name}: weights differ by {error:.3g}")
        print(model + ": equal")
    print("ok")


if __name__ == "__main__":
    main()
