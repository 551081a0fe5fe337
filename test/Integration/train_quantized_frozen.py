#!/usr/bin/env python3
"""Stage 3 with frozen weights that are stored quantized.

Usage: train_quantized_frozen.py <folder> <precision> <ranks> <bits> <kind>

`kind` is in-process or mpi. The layers of the model are frozen. A run that packs slices
where they are stored is bitwise equal to one that packs them for each gather, and so are
runs with overlap, slices in host memory or in files, a secondary partition, and one that
is saved and resumed. What a run saves are the exact weights that it started from. Bytes
of parameters that a rank stores are those of integers and scales.
"""

import os
import re
import shutil

from train_memory import Model, arena, packed_bytes, padded_parameter
from training import (ELEMENT_BYTES, MODELS, Setup, arguments, check, close, difference,
                      execute, read_tensors, variants)

STEPS = 6
ACCUMULATION = 2
BLOCK = 16


def freeze(folder):
    """The path of a tiny-gpt whose layers are frozen."""
    with open(os.path.join(MODELS, "tiny-gpt.mlir")) as file:
        text = file.read()
    path = os.path.join(folder, "frozen-gpt.mlir")
    with open(path, "w") as file:
        file.write(re.sub(r'^(zero\.parameter @h\..* = #zero\.\w+(?:<.*>)?)(?: group "\w+")?$',
                          r"\1 frozen", text, flags=re.MULTILINE))
    return path


def expected_parameters(model, setup, bits):
    """Bytes of parameters that a rank stores: in each partition one slice after the other,
    in the order in which the first parameters of partitions are declared."""
    partitions = {}
    for name, size in model.sizes.items():
        group = next(group for group, names in model.groups.items() if name in names)
        slice_ = padded_parameter(size, setup) // setup.ranks
        is_packed = group == "frozen" and slice_ >= BLOCK
        key = (group, is_packed)
        partitions[key] = partitions.get(key, 0) + (
            packed_bytes(slice_, bits, BLOCK) if is_packed
            else slice_ * ELEMENT_BYTES[setup.precision])
    check(("frozen", True) in partitions, "no frozen slice is packed")
    return arena(partitions.values())


def main():
    folder, precision, ranks, bits, kind = arguments("precision", "ranks", "bits", "kind")
    ranks, bits, mpi = int(ranks), int(bits), kind == "mpi"
    model = freeze(folder)

    def setup(**options):
        return Setup(3, ranks, precision, ACCUMULATION, True, model=model,
                     quantization_block=BLOCK, **options)

    stored = {"zero_quantized_nontrainable_weights": True,
              "quantized_nontrainable_weights_bits": bits}
    travels = {"zero_quantized_weights": True, "quantized_weights_bits": bits}
    exact = execute(folder, setup(), steps=STEPS)
    plain = setup(**stored)
    first = execute(folder, plain, steps=STEPS, mpi=mpi)
    check(first.column("loss") != exact.column("loss"), "nothing is quantized")
    close("losses beside exact weights", first.column("loss"), exact.column("loss"),
          {8: 5e-3, 4: 5e-2}[bits])
    wanted = expected_parameters(Model(model), plain, bits)
    for update in first.updates:
        found = update["memory"]["parameters"]
        check(found == wanted, f"parameters hold {found} bytes, wanted {wanted}")

    # Frozen weights are saved as they were read, and those that are trained differ.
    saved, start = read_tensors(first.weights), read_tensors(exact.weights)
    for name in Model(model).groups["frozen"]:
        check(saved[name] == start[name], f"{name} is not saved as it was")

    def expect_equal(what, options, other, **kwargs):
        run = execute(folder, setup(**options), steps=STEPS, mpi=mpi, **kwargs)
        found = difference(run, other)
        check(found is None, f"{what}: {found}")
        print(what + ": equal")

    # In one run all is packed for gathers, in the other frozen slices are stored so.
    packs = execute(folder, setup(**travels), steps=STEPS, mpi=mpi)
    expect_equal("packed for gathers", {**travels, **stored}, packs)
    for name, options in variants(folder, node=2 if ranks % 2 == 0 else 1).items():
        expect_equal(name, {**stored, **options}, first)

    checkpoint = os.path.join(folder, "checkpoint")
    execute(folder, plain, steps=STEPS // 2, mpi=mpi, tag="-half", flags=("--checkpoint", checkpoint))
    resumed = execute(folder, plain, steps=STEPS, mpi=mpi, weights=None, tag="-resumed",
                      flags=("--checkpoint", checkpoint, "--resume"))
    check(resumed.column("loss") == first.column("loss")[STEPS // 2:],
          "the resumed run differs")
    # Any other program goes on with frozen weights as they were.
    other = Setup(1, 1, precision, ACCUMULATION * ranks, True, model=model)
    home = os.path.join(folder, "other")
    shutil.copytree(checkpoint, home)
    moved = execute(folder, other, steps=STEPS, weights=None, tag="-moved",
                    flags=("--checkpoint", home, "--resume"))
    found = read_tensors(moved.weights)
    check(all(found[name] == start[name] for name in Model(model).groups["frozen"]),
          "a frozen weight is not resumed as it was")

    # One rank packs what it has whole, and computes with what comes back.
    alone = Setup(3, 1, precision, ACCUMULATION, True, model=model,
                  quantization_block=BLOCK, **stored)
    whole = execute(folder, Setup(3, 1, precision, ACCUMULATION, True, model=model), steps=STEPS)
    one = execute(folder, alone, steps=STEPS)
    check(one.column("loss") != whole.column("loss"), "one rank quantizes nothing")
    close("losses of one rank", one.column("loss"), whole.column("loss"), {8: 5e-3, 4: 5e-2}[bits])
    check(one.updates[0]["memory"]["parameters"] < whole.updates[0]["memory"]["parameters"],
          "one rank stores no less")
    print("ok")


if __name__ == "__main__":
    main()
