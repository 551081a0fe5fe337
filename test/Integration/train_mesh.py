#!/usr/bin/env python3
"""Training on a mesh of replicas and shards: MiCS, or hybrid sharding.

Usage: train_mesh.py <folder> <precision> <mesh> <kind>

`mesh` is "replica=2,shard=3"; `kind` is in-process or mpi. Deterministic runs of
stages 0 to 3, with and without overlap, have the losses, norms and weights of
stage 0 on the same mesh, bit by bit: an element is reduced over the shards of a
group, then over replicas, at every stage.

Memory is that of as many ranks as a group has. Traffic is counted by group: over
`shard` it is that of so many ranks, and over `replica` an all-reduce, once an
update, of what a rank owns.
"""

from train_memory import Model, expected_memory, expected_traffic, padded_group
from training import Setup, arguments, check, close, difference, execute

STEPS = 6
ACCUMULATION = 2


def expected_replicas(model, setup):
    """Elements that a rank sends to its replicas."""
    replicas = setup.axes["replica"]
    owned = sum(padded_group(model, group, setup) for group in model.groups
                if group != "frozen")
    if setup.stage >= 1:
        owned //= setup.slices
    return 2 * owned * (replicas - 1) / replicas


def check_update(model, setup, update):
    memory, _ = expected_memory(model, setup)
    for name, wanted in memory.items():
        found = update["memory"][name]
        check(found == wanted, f"{setup.name}: {name} hold {found} bytes, wanted {wanted}")
    groups = update["traffic"]["groups"]
    wanted = {"shard": expected_traffic(model, setup),
              "replica": {"gradient": expected_replicas(model, setup), "parameter": 0}}
    for group, classes in wanted.items():
        for name, elements in classes.items():
            found = groups[group][name]["elements"]
            check(abs(found - elements) < 0.5, f"{setup.name}: a rank sends {found} elements "
                  f"of class {name} over {group}, wanted {elements}")
    # Only the loss, the norm and found-inf go to all ranks.
    everywhere = groups[" x ".join(setup.axes)]
    for name in ("gradient", "parameter"):
        check(everywhere[name]["elements"] == 0, f"{setup.name}: {name}s go to all ranks")
    for name in ("gradient", "parameter"):
        total = sum(groups[group][name]["elements"] for group in groups)
        check(abs(update["traffic"][name]["elements"] - total) < 1e-6,
              f"{setup.name}: groups do not add up to all traffic of class {name}")


def main():
    folder, precision, mesh, kind = arguments("precision", "mesh", "kind")
    ranks = 1
    for axis in mesh.split(","):
        ranks *= int(axis.split("=")[1])
    first = None
    for stage in range(4):
        for overlap in (False, True):
            setup = Setup(stage, ranks, precision, ACCUMULATION, True, mesh=mesh,
                          overlap_comm=overlap)
            run = execute(folder, setup, steps=STEPS, mpi=kind == "mpi")
            if first is None:
                first = run
                # Ranks form one group: the same mean of all samples, added in
                # another order.
                line = execute(folder, Setup(0, ranks, precision, ACCUMULATION, True),
                               steps=STEPS)
                close("loss without a mesh", run.column("loss"), line.column("loss"),
                      {"f32": 1e-5, "bf16": 1e-2, "f16": 1e-2}[precision])
                close("norm without a mesh", run.column("grad_norm"),
                      line.column("grad_norm"), {"f32": 1e-4, "bf16": 2e-1, "f16": 2e-2}[precision])
            found = difference(run, first)
            check(found is None, f"{setup.name}: {found}")
            for update in run.updates:
                check_update(Model(setup.model_file()), setup, update)
            print(setup.name + ": equal")
    print("ok")


if __name__ == "__main__":
    main()
