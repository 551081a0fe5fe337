#!/usr/bin/env python3
"""Stage 3 with a secondary partition within nodes: ZeRO++'s hpZ.

Usage: train_secondary.py <folder> <precision> <nodes> <local> <kind>

`nodes` times `local` ranks, where `zero_hpz_partition_size` is `local`; `kind` is
in-process or mpi. Runs are bitwise equal to stage 0 on one group of as many ranks, and
to stage 3 without a secondary partition; with overlap, with activations that are
recomputed, which gathers a parameter a third time, with parameters and states in
host memory.

Memory of states is that of stage 3: secondary slices are values of a micro-batch,
and lie with activations. Traffic is counted by group: over all ranks each parameter
is gathered once a micro-batch, and every other gather is over `local`.
"""

from train_memory import Model, expected_memory, padded_parameter
from training import Setup, arguments, check, difference, execute, variants

STEPS = 4
ACCUMULATION = 2
FURTHER = {
    "plain": {},
    "reused": {"stage3_max_reuse_distance": 3000},
    "resident": {"stage3_param_persistence_threshold": 40},
}


def expected_gathers(model, setup):
    """Elements of all first gathers of a micro-batch, and of all others, padded."""
    first, again, seen, last = 0, 0, set(), None
    for name in model.forward + model.backward:
        if name == last:
            continue
        elements = padded_parameter(model.sizes[name], setup)
        if name in seen:
            again += elements
        else:
            first += elements
        seen.add(name)
        last = name
    return first, again


def check_traffic(setup, update, local):
    groups = update["traffic"]["groups"]
    model = Model(setup.model_file())
    memory, _ = expected_memory(model, setup)
    for name, wanted in memory.items():
        found = update["memory"][name]
        check(found == wanted, f"{setup.name}: {name} hold {found} bytes, wanted {wanted}")
    first, again = expected_gathers(model, setup)
    for group, elements, ranks in (("node x local", first, setup.ranks),
                                   ("local", again, local)):
        wanted = ACCUMULATION * elements * (ranks - 1) / ranks
        found = groups[group]["parameter"]["elements"]
        check(abs(found - wanted) < 0.5, f"{setup.name}: a rank sends {found} elements of "
              f"parameters over {group}, wanted {wanted}")
    check(groups["local"]["gradient"]["elements"] == 0,
          f"{setup.name}: gradients are reduced within a node")


def main():
    folder, precision, nodes, local, kind = arguments("precision", "nodes", "local", "kind")
    nodes, local = int(nodes), int(local)
    ranks = nodes * local
    common = (ranks, precision, ACCUMULATION, True)
    first = execute(folder, Setup(0, *common), steps=STEPS)
    for name, options in {**FURTHER, **variants(folder)}.items():
        setup = Setup(3, *common, zero_hpz_partition_size=local, **options)
        run = execute(folder, setup, steps=STEPS, mpi=kind == "mpi")
        found = difference(run, first)
        check(found is None, f"{name}, {setup.name}: {found}")
        for update in run.updates:
            if name in ("plain", "overlap"):
                check_traffic(setup, update, local)
            check(update["traffic"]["groups"]["local"]["parameter"]["elements"] > 0,
                  f"{name}, {setup.name}: nothing is gathered within a node")
        print(setup.name + ": equal")
    print("ok")


if __name__ == "__main__":
    main()
