"""Plans a model for 8 and for 16,384 ranks and compares CPU time and memory.

The least of several runs counts: what else the machine does only adds."""

import os
import subprocess
import sys

RUNS = 5
MOST = 1.5


def measure(ranks):
    """CPU seconds and KiB of one run of zero-plan."""
    with open(os.devnull, "w") as nothing:
        process = subprocess.Popen(
            ["zero-plan", sys.argv[1], "--pipeline", sys.argv[2],
             "--ranks", str(ranks)], stdout=nothing)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"zero-plan fails for {ranks} ranks")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def least(ranks):
    times, sizes = zip(*(measure(ranks) for _ in range(RUNS)))
    return min(times), min(sizes)


few, many = least(8), least(16384)
for what, small, large in zip(("CPU time", "memory"), few, many):
    print(f"{what}: {small} for 8 ranks, {large} for 16384")
    if large > MOST * small:
        sys.exit(f"{what} grows {large / small:.2f} times")
