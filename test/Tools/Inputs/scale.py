"""Plans a model for 8 and for 16,384 ranks and compares CPU time and memory.

The least of several runs counts: what else the machine does only adds."""

import sys

from measure import measure

RUNS = 5
MOST = 1.5


def least(ranks):
    times, sizes = zip(*(measure(sys.argv[1], sys.argv[2], ranks)
                         for _ in range(RUNS)))
    return min(times), min(sizes)


few, many = least(8), least(16384)
for what, small, large in zip(("CPU time", "memory"), few, many):
    print(f"{what}: {small} for 8 ranks, {large} for 16384")
    if large > MOST * small:
        sys.exit(f"{what} grows {large / small:.2f} times")
