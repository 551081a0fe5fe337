#!/usr/bin/env python3
"""Writes data for generated code, and compares what that computes.

Usage: elementwise.py angles FILE            arguments of sin and cos, small and large
       elementwise.py check FILE OUTPUTS     their values beside those of f64
       elementwise.py quotients FILE X Y     quotients, of X and Y as well
"""

import array
import math
import sys

from training import read_tensors, write_tensors

LARGEST = 7e15  # beyond, a number of turns is no exact f64
ANGLES = [-0.5, 3.0, 355.0, -1e4, 1.6e9, -1.7e9, 4e10, 1e12, -3e13, 6.9e15,
          6913788171255808.0, 6946317179813888.0,
          9.3e18, -1e30, math.inf, math.nan]  # fmt: skip


def check(data, outputs):
    angles, found = read_tensors(data)["x"], read_tensors(outputs)
    for name, function in (("sin", math.sin), ("cos", math.cos)):
        for x, y in zip(angles, found[name]):
            known = abs(x) < LARGEST
            if known and not abs(y - function(x)) < 2e-7 or not known and not math.isnan(y):
                sys.exit(f"{name}({x}) is {y}, wanted {function(x) if known else math.nan}")


def main(command, path, *words):
    if command == "angles":
        write_tensors(path, {"x": ([len(ANGLES)], list(array.array("f", ANGLES)))})
    elif command == "check":
        check(path, *words)
    else:
        x, y = map(int, words)
        write_tensors(path, {"x": ([8], [7, x, 9, x] * 2), "y": ([8], [2, y, 3, y] * 2)})


main(*sys.argv[1:])
