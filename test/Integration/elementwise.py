#!/usr/bin/env python3
"""Writes data for generated code, and compares what that computes.

Usage: elementwise.py angles FILE            arguments of sin and cos, small and large
       elementwise.py check FILE OUTPUTS     their values beside those of f64
       elementwise.py numbers FILE           arguments of functions.mlir
       elementwise.py distances FILE OUTPUTS how far from those of f64 its values are
       elementwise.py quotients FILE X Y     quotients, of X and Y as well
"""

import array
import math
import random
import struct
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


def nearest(x):
    """x as an f32."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


SMALLEST = 2.0**-126  # normal number
# What no number is, or is none of f64 either.
EXTREMES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, SMALLEST, -SMALLEST, 88.3, -87.3]


def numbers(count):
    """Numbers of all sizes up to 2^24, most where functions bend."""
    draw = random.Random(1)
    drawn = list(EXTREMES)
    for exponent in range(-30, 24):
        for _ in range(24):
            drawn.append(draw.choice((-1, 1)) * math.ldexp(1 + draw.random(), exponent))
    while len(drawn) < count:
        reach = draw.choice((1.2, 12, 12, 87))
        drawn.append(draw.uniform(-reach, reach))
    return [nearest(x) for x in drawn]


def edges(function, bounds):
    """The function, with what Python raises at the edges of its domain."""

    def whole(x):
        if x in bounds:
            return bounds[x]
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return whole


LOG = {0.0: -math.inf}
# By name: the function in f64, and by how many units in the last place of the
# result the one in f32 may differ.
FUNCTIONS = {
    "exp": (math.exp, {}, 1.5),
    "exp2": (lambda x: 2.0**x, {}, 1.5),
    "expm1": (math.expm1, {}, 2.5),
    "log": (math.log, LOG, 1.5),
    "log2": (math.log2, LOG, 1.5),
    "log10": (math.log10, LOG, 2),
    "log1p": (math.log1p, {-1.0: -math.inf}, 2),
    "sqrt": (math.sqrt, {}, 0.5),
    "rsqrt": (lambda x: 1 / math.sqrt(x) if x else math.copysign(math.inf, x), {}, 1.5),
    "cbrt": (lambda x: math.copysign(abs(x) ** (1 / 3), x), {}, 1.5),
    "erf": (math.erf, {}, 3.5),
    "erfc": (math.erfc, {}, 3),
    "tanh": (math.tanh, {}, 1.3),
    "sinh": (lambda x: math.copysign(edges(math.sinh, {})(abs(x)), x), {}, 2.5),
    "cosh": (math.cosh, {}, 2.5),
    "tan": (math.tan, {}, 3.5),
    "atan": (math.atan, {}, 3),
    "asin": (math.asin, {}, 2.5),
    "acos": (math.acos, {}, 2),
    "asinh": (math.asinh, {}, 2.5),
    "acosh": (math.acosh, {}, 2),
    "atanh": (math.atanh, {1.0: math.inf, -1.0: -math.inf}, 2),
    "sin": (math.sin, {}, 1.5),
    "cos": (math.cos, {}, 1.5),
}
# Of these, the difference counts beside the argument: 1 + erf(x) has no more digits.
ROOT = math.sqrt(2 / math.pi)
ACTIVATIONS = {
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(ROOT * (x + 0.044715 * x**3))),
    "gelu_exact": lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else -0.0,
}


def compare(name, x, found, wanted, unit, most):
    """The distance in units, an error where it is more than `most`."""
    near = nearest(wanted)
    if math.isfinite(near) and math.isfinite(found):
        far = abs(found - wanted) / unit
    else:
        far = 0 if found == near or (math.isnan(found) and math.isnan(near)) else math.inf
    if not far <= most:
        sys.exit(f"{name}({x}) is {found}, wanted {wanted}: {far:.2f} units in the last place")
    return far


def distances(data, outputs):
    xs, found = read_tensors(data)["x"], read_tensors(outputs)
    for name, (function, bounds, most) in FUNCTIONS.items():
        whole = edges(function, bounds)
        worst = 0
        for x, y in zip(xs, found[name]):
            wanted = whole(x)
            # Results that are no normal numbers may be 0.
            unit = SMALLEST
            if SMALLEST <= abs(wanted) < math.inf:
                unit = math.ldexp(1, math.frexp(wanted)[1] - 24)
            worst = max(worst, compare(name, x, y, wanted, unit, most))
        print(f"{name}: {worst:.2f}")
    for name, function in ACTIVATIONS.items():
        for x, y in zip(xs, found[name]):
            if math.isfinite(x):
                compare(name, x, y, function(x), max(abs(x), SMALLEST) * 2.0**-24, 4)


def main(command, path, *words):
    if command == "angles":
        write_tensors(path, {"x": ([len(ANGLES)], list(array.array("f", ANGLES)))})
    elif command == "numbers":
        write_tensors(path, {"x": ([4096], numbers(4096))})
    elif command == "distances":
        distances(path, *words)
    elif command == "check":
        check(path, *words)
    else:
        x, y = map(int, words)
        write_tensors(path, {"x": ([8], [7, x, 9, x] * 2), "y": ([8], [2, y, 3, y] * 2)})


main(*sys.argv[1:])
