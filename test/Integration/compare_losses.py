#!/usr/bin/env python3
"""Data for small models, and whether two executables have the same losses.

Usage: compare_losses.py data <file> <input>=<elements>...   writes 24 samples
       compare_losses.py equal <metrics> <metrics>    losses are bitwise equal
       compare_losses.py close <metrics> <metrics>    to a relative 1e-5

Losses must fall by a tenth at least: two runs that learn nothing say nothing.
"""

import json
import random
import sys

from training import check, close, write_tensors


def read_losses(path):
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    losses = [line["loss"] for line in lines if "loss" in line]
    check(len(losses) > 1, f"{path} has {len(losses)} updates")
    check(losses[-1] < 0.9 * losses[0],
          f"the loss of {path} goes from {losses[0]} to {losses[-1]}")
    return losses


def write_data(path, inputs):
    """The first input is random; an element of another is half of one of the first."""
    numbers = random.Random(7)
    widths = {name: int(width) for name, width in (word.split("=") for word in inputs)}
    first, tensors = None, {}
    for name, width in widths.items():
        rows = ([[row[i % len(row)] / 2 for i in range(width)] for row in first] if first else
                [[numbers.uniform(-1, 1) for _ in range(width)] for _ in range(24)])
        first = first or rows
        tensors[name] = ([24, width], sum(rows, []))
    write_tensors(path, tensors)


def main(mode, *rest):
    if mode == "data":
        return write_data(rest[0], rest[1:])
    found, wanted = (read_losses(path) for path in rest)
    if mode == "equal":
        check(found == wanted, f"losses are {found}, wanted {wanted}")
    else:
        close("loss", found, wanted, 1e-5)


main(*sys.argv[1:])
