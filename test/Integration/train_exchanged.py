#!/usr/bin/env python3
"""Stage 3 with quantized gradients: ZeRO++'s qgZ.

Usage: train_exchanged.py <folder> <precision> <ranks> <bits> <within> <kind>

`within` are the ranks of a node, in which gradients are added up first; 1: there is one
exchange. `kind` is in-process or mpi. What ranks add up is an approximation, the same
on all of them: runs with overlap, recomputed activations, offload and a secondary
partition are bitwise equal to the plain one. Their losses are near those of gradients that
travel as they are: the first is equal. Bytes that a rank sends are those of integers
and scales, in each group.
"""

from train_memory import Model, expected_memory, packed_bytes, padded_parameter
from training import Setup, arguments, check, close, difference, execute, variants

STEPS = 6
ACCUMULATION = 2
BLOCK = 16


def expected_bytes(model, setup, bits, within):
    """By group, what a rank sends of gradients in an update."""
    one = sum(packed_bytes(padded_parameter(model.sizes[name], setup) // setup.ranks, bits,
                           BLOCK)
              for group, names in model.groups.items() if group != "frozen" for name in names)
    nodes = setup.ranks // within
    if within == 1:
        return {None: ACCUMULATION * one * (setup.ranks - 1)}
    return {"local": ACCUMULATION * one * nodes * (within - 1),
            "node": ACCUMULATION * one * (nodes - 1)}


def check_update(setup, model, update, bits, within):
    for name, wanted in expected_memory(model, setup)[0].items():
        found = update["memory"][name]
        check(found == wanted, f"{setup.name}: {name} hold {found} bytes, wanted {wanted}")
    for group, wanted in expected_bytes(model, setup, bits, within).items():
        traffic = update["traffic"]
        sent = traffic["groups"][group] if group else traffic
        found = sent["gradient"]["elements"]
        check(abs(found - wanted) < 0.5, f"{setup.name}: a rank sends {found} bytes of "
              f"gradients over {group or 'all ranks'}, wanted {wanted}")


def main():
    folder, precision, ranks, bits, within, kind = arguments(
        "precision", "ranks", "bits", "within", "kind")
    ranks, bits, within = int(ranks), int(bits), int(within)
    common = (3, ranks, precision, ACCUMULATION, True)
    quantized = {"zero_quantized_gradients": True, "quantized_gradients_bits": bits,
                 "quantization_block": BLOCK, "quantized_gradients_within": within}
    exact = execute(folder, Setup(*common), steps=STEPS)
    setup = Setup(*common, **quantized)
    first = execute(folder, setup, steps=STEPS, mpi=kind == "mpi")
    check(first.column("loss")[0] == exact.column("loss")[0], "first losses differ")
    check(difference(first, exact) is not None, f"{setup.name}: nothing is quantized")
    for run, unit in ((exact, "elements that"),
                      (first, "elements, or bytes of what is packed, that")):
        check(f"traffic of an update, {unit} a rank sends" in run.output, "no unit of traffic")
    close("losses beside exact gradients", first.column("loss"), exact.column("loss"),
          {8: 5e-3, 4: 5e-2}[bits])
    model = Model(setup.model_file())
    for update in first.updates:
        check_update(setup, model, update, bits, within)
    for name, options in variants(folder, node=within).items():
        other = Setup(*common, **quantized, **options)
        found = difference(execute(folder, other, steps=STEPS, mpi=kind == "mpi"), first)
        check(found is None, f"{name}, {other.name}: {found}")
        print(other.name + ": equal")
    print("ok")


if __name__ == "__main__":
    main()
