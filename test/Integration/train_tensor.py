#!/usr/bin/env python3
"""Training on a mesh with an axis that cuts the model: tensor parallelism.

Usage: train_tensor.py <folder> <model> <mesh> <kind>

`mesh` is "data=2,tensor=2"; `kind` is in-process or mpi. At every stage losses,
norms and weights are those of one rank that accumulates the same micro-batches,
with SGD and with AdamW. Deterministic runs of the stages of one mesh are equal bit
by bit, and a run starts from weights that another mesh has saved.

Traffic over `tensor` is that of the closed form: a layer has two sums forward and
two backward, each an all-reduce of the residual stream.
"""

import os
import shutil

from training import GOLDENS, Setup, arguments, check, close, difference, execute, \
    read_tensors, relative_l2

STEPS = 20
ACCUMULATION = 2
MODELS = {
    # Layers, and elements of the residual stream of a micro-batch.
    "tiny-gpt": (2, 2 * 16 * 32),
    "tiny-llama": (2, 2 * 16 * 32),
}
SGD = {"type": "SGD", "params": {"lr": 0.05, "momentum": 0.9}}


def whole(folder, model, batch_ranks, **options):
    """One rank with the micro-batches of all."""
    setup = Setup(0, 1, "f32", ACCUMULATION * batch_ranks, model=model + ".mlir", **options)
    return execute(folder, setup, steps=STEPS, weights=model + ".safetensors")


def compare(name, run, wanted, tolerances):
    loss, norm, weights = tolerances
    close(name + " loss", run.column("loss"), wanted.column("loss"), loss)
    close(name + " norm", run.column("grad_norm"), wanted.column("grad_norm"), norm)
    error = relative_l2(read_tensors(run.weights), read_tensors(wanted.weights))
    check(error <= weights, f"{name}: weights differ by {error:.3g}, wanted {weights:g}")


def check_traffic(setup, run):
    layers, elements = MODELS[setup.model]
    ranks = setup.axes["tensor"]
    wanted = ACCUMULATION * layers * 4 * elements * 2 * (ranks - 1) / ranks
    for update in run.updates:
        found = update["traffic"]["groups"]["tensor"]["activation"]["elements"]
        check(abs(found - wanted) < 0.5, f"{setup.name}: a rank sends {found} elements of "
              f"activations over tensor, wanted {wanted}")


def main():
    folder, model, mesh, kind = arguments("model", "mesh", "kind")
    ranks = 1
    for axis in mesh.split(","):
        ranks *= int(axis.split("=")[1])
    for optimizer, tolerances in ((SGD, (1e-5, 1e-5, 1e-5)), (None, (1e-5, 1e-4, 1e-4))):
        options = {"optimizer": optimizer} if optimizer else {}
        batch_ranks = ranks // Setup(0, ranks, mesh=mesh).axes["tensor"]
        wanted = whole(folder, model, batch_ranks, **options)
        for stage in range(4):
            setup = Setup(stage, ranks, "f32", ACCUMULATION, model=model + ".mlir", mesh=mesh,
                          **options)
            run = execute(folder, setup, steps=STEPS, weights=model + ".safetensors",
                          mpi=kind == "mpi")
            compare(setup.name, run, wanted, tolerances)
            check_traffic(setup, run)
            print(setup.name + ": equal")
    first = None
    for stage in range(4):
        setup = Setup(stage, ranks, "f32", ACCUMULATION, True, model=model + ".mlir", mesh=mesh)
        run = execute(folder, setup, steps=STEPS, weights=model + ".safetensors",
                      mpi=kind == "mpi")
        first = first or run
        found = difference(run, first)
        check(found is None, f"{setup.name}: {found}")
    # Files know of no mesh.
    middle = os.path.join(folder, "middle.safetensors")
    shutil.copy(first.weights, middle)
    setup = Setup(0, 1, "f32", ACCUMULATION * batch_ranks, model=model + ".mlir")
    cut = Setup(0, ranks, "f32", ACCUMULATION, model=model + ".mlir", mesh=mesh)
    here = os.path.relpath(middle, GOLDENS)
    compare("other weights", execute(folder, cut, steps=2, weights=here, tag="-again",
                                     mpi=kind == "mpi"),
            execute(folder, setup, steps=2, weights=here, tag="-again"), (1e-5, 1e-4, 1e-5))
    print("ok")


if __name__ == "__main__":
    main()
