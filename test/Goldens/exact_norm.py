#!/usr/bin/env python3
"""Writes exact_norm.json: exact sums of squares of f32 values, by fractions.

Usage: exact_norm.py > exact_norm.json

Each case has the values' bits, the sum in units of 2^-298 as a hexadecimal
integer, and the nearest f64's bits.
"""

import json
import random
import struct
from fractions import Fraction


def value_of(bits):
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def case(name, bits):
    total = sum((value_of(b)**2 for b in bits), Fraction(0))
    units = total * 2**298
    assert units.denominator == 1
    # Fraction to float is rounded to nearest even.
    nearest = struct.unpack("<Q", struct.pack("<d", float(total)))[0]
    return {"name": name, "values": bits, "units": format(units.numerator, "x"),
            "nearest": format(nearest, "x")}


def main():
    generator = random.Random(3)
    finite = lambda: generator.choice([0, 1 << 31]) | generator.randrange(0x7f800000)
    normal = lambda: bits_of(generator.gauss(0, 1e-3))
    cases = [
        case("empty", []),
        case("zeros", [0, 1 << 31]),
        case("smallest subnormal", [1]),
        case("largest", [0x7f7fffff] * 33),
        case("subnormals of 1e-40", [bits_of(1e-40)] * 100 + [0x007fffff]),
        case("1e30 among 1e-40", [bits_of(1e30), bits_of(1e-40)] * 50),
        case("any finite", [finite() for _ in range(500)]),
        case("a tie and a bit", [bits_of(2.0**27), bits_of(1.0), 1]),
        case("a tie", [bits_of(3 * 2.0**26), bits_of(2.0**26), bits_of(2.0**0.5)]),
        case("ordinary", [normal() for _ in range(1000)]),
    ]
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


if __name__ == "__main__":
    main()
