#!/usr/bin/env python3
"""Writes data for outputs.mlir, and computes its outputs again.

Usage: check_outputs.py write TRAINING VALIDATION
       check_outputs.py check WEIGHTS VALIDATION OUTPUTS MICRO_BATCH RANKS
"""

import json
import random
import struct
import sys

from training import read_tensors, write_tensors

SAMPLES = 11  # of validation
IN, OUT = 3, 2


def write(training, validation):
    numbers = random.Random(4)
    for path, samples in ((training, 40), (validation, SAMPLES)):
        write_tensors(path, {
            "x": ([samples, IN], [numbers.gauss(0, 1) for _ in range(samples * IN)]),
            "y": ([samples, OUT], [numbers.gauss(0, 1) for _ in range(samples * OUT)]),
        })


def shapes_of(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def close(what, found, wanted):
    if len(found) != len(wanted):
        sys.exit(f"{what}: {len(found)} values, wanted {len(wanted)}")
    for i, (a, b) in enumerate(zip(found, wanted)):
        if abs(a - b) > 1e-5 * max(1, abs(b)):
            sys.exit(f"{what}: value {i} is {a}, wanted {b}")


def check(weights, validation, outputs, micro_batch, ranks):
    micro_batch, ranks = int(micro_batch), int(ranks)
    w = read_tensors(weights)["w"]
    data = read_tensors(validation)
    x, y = data["x"], data["y"]
    predictions = [sum(x[row * IN + i] * w[i * OUT + j] for i in range(IN))
                   for row in range(SAMPLES) for j in range(OUT)]
    errors = [p - t for p, t in zip(predictions, y)]
    rows_of_all = micro_batch * ranks
    micros = -(-SAMPLES // rows_of_all) * ranks
    worst = []
    for micro in range(micros):
        rows = [(micro * micro_batch + i) % SAMPLES for i in range(micro_batch)]
        worst.append(max(abs(errors[row * OUT + j]) for row in rows for j in range(OUT)))
    found = read_tensors(outputs)
    shapes = shapes_of(outputs)
    if shapes != {"prediction": [SAMPLES, OUT], "squares": [SAMPLES, OUT], "worst": [micros]}:
        sys.exit(f"the file has {shapes}")
    close("prediction", found["prediction"], predictions)
    close("squares", found["squares"], [e * e for e in errors])
    close("worst", found["worst"], worst)


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
