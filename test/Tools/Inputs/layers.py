"""Plans a model and one of four times the layers: the time is in proportion.

Usage: layers.py <model> <model of four times the layers> <options> <ranks>

A run that takes too long is repeated, since the machine may do other things:
the least counts."""

import sys

from measure import measure

RUNS = 4
GROWTH = 6.0
SECONDS = 20.0

small, large = sys.argv[1:3]
options, ranks = sys.argv[3], int(sys.argv[4])
few = many = float("inf")
for _ in range(RUNS):
    few = min(few, measure(small, options, ranks)[0])
    many = min(many, measure(large, options, ranks)[0])
    print(f"{options}: {few:.2f} and {many:.2f} s, {many / few:.2f} times as long")
    if many <= min(SECONDS, GROWTH * few):
        break
else:
    sys.exit(f"wanted at most {SECONDS} s and {GROWTH} times as long")
