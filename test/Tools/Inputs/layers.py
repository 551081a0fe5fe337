"""Plans a model and one of four times the layers: what planning does is in
proportion, or bounded.

Usage: layers.py <model> <model of four times the layers> <options> <ranks>
"""

import sys

from counts import count

GROWTH = 4.5
# Buffers that are alive together are compared in pairs; the allocator makes fewer
# attempts where pairs are many, and so at most this. A search for better offsets
# has a number of steps for each arena of a timeline.
BOUNDED = {"zero-allocate.numCompared": 600_000_000,
           "zero-allocate.numSearched": 200_000_000}

small, large = sys.argv[1:3]
options, ranks = sys.argv[3], int(sys.argv[4])
few, many = (count(model, options, ranks) for model in (small, large))
failed = False
for name in sorted(many):
    before = few.get(name, 0)
    print(f"{options}: {name} {before} and {many[name]}")
    failed |= many[name] > BOUNDED.get(name, GROWTH * max(before, 1))
if failed:
    sys.exit(f"wanted at most {GROWTH} times as many of each, or {BOUNDED}")
