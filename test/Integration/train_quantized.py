#!/usr/bin/env python3
"""Stage 3 with quantized weights: ZeRO++'s qwZ.

Usage: train_quantized.py <folder> <precision> <ranks> <bits> <kind>

`kind` is in-process or mpi. What ranks compute with is an approximation, the same on
all of them: runs with overlap, recomputed activations, parameters in host memory and
a secondary partition are bitwise equal to the plain one. Their losses are near those of
weights that travel as they are, and not the same. Bytes that a rank sends are those of
integers and scales.
"""

from train_memory import Model, expected_memory, packed_bytes, padded_parameter
from training import Setup, arguments, check, close, difference, execute, variants

STEPS = 6
ACCUMULATION = 2
BLOCK = 16


def expected_elements(model, setup, bits):
    """What a rank sends of parameters in an update, as the runtime counts it: bytes of
    what is quantized, and elements of what is not."""
    total, last = 0, None
    for name in model.forward + model.backward:
        if name != last:
            slice_ = padded_parameter(model.sizes[name], setup) // setup.ranks
            total += packed_bytes(slice_, bits, BLOCK) if slice_ >= BLOCK else slice_
        last = name
    return ACCUMULATION * total * (setup.ranks - 1)


def main():
    folder, precision, ranks, bits, kind = arguments("precision", "ranks", "bits", "kind")
    ranks, bits = int(ranks), int(bits)
    common = (3, ranks, precision, ACCUMULATION, True)
    quantized = {"zero_quantized_weights": True, "quantized_weights_bits": bits,
                 "quantization_block": BLOCK}
    exact = execute(folder, Setup(*common), steps=STEPS)
    setup = Setup(*common, **quantized)
    first = execute(folder, setup, steps=STEPS, mpi=kind == "mpi")
    check(difference(first, exact) is not None, f"{setup.name}: nothing is quantized")
    close("losses beside exact weights", first.column("loss"), exact.column("loss"),
          {8: 5e-3, 4: 5e-2}[bits])
    model = Model(setup.model_file())
    memory, _ = expected_memory(model, setup)
    for update in first.updates:
        for name, wanted in memory.items():
            found = update["memory"][name]
            check(found == wanted, f"{setup.name}: {name} hold {found} bytes, wanted {wanted}")
        found = update["traffic"]["parameter"]["elements"]
        wanted = expected_elements(model, setup, bits)
        check(abs(found - wanted) < 0.5,
              f"{setup.name}: a rank sends {found} elements of parameters, wanted {wanted}")
    for name, options in variants(folder, node=2 if ranks % 2 == 0 else 1).items():
        other = Setup(*common, **quantized, **options)
        found = difference(execute(folder, other, steps=STEPS, mpi=kind == "mpi"), first)
        check(found is None, f"{name}, {other.name}: {found}")
        print(other.name + ": equal")
    print("ok")


if __name__ == "__main__":
    main()
