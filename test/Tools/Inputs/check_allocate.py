"""Solves files of buffers with zero-plan-bench and checks the offsets by itself.

Usage: check_allocate.py <capacity> <seconds> <buffers.csv>...

Every buffer needs an offset; none may end above the capacity, and no two that
are alive at one time may overlap. A file may take so many seconds of a core.
"""

import csv
import resource
import subprocess
import sys


def check(buffers, offsets, capacity):
    """What is wrong with the offsets, or None."""
    if sorted(offsets) != sorted(row["id"] for row in buffers):
        return "the ids are not the file's"
    placed = []
    for row in buffers:
        lower, upper, size = (int(row[key]) for key in ("lower", "upper", "size"))
        offset = offsets[row["id"]]
        if not 0 <= offset <= capacity - size:
            return f"buffer {row['id']} ends at {offset + size}"
        for name, begin, end, low, high in placed:
            if lower < end and begin < upper and offset < high and low < offset + size:
                return f"buffers {name} and {row['id']} overlap"
        placed.append((row["id"], lower, upper, offset, offset + size))
    return None


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def solve(path, capacity, limit):
    before = used()
    done = subprocess.run(["zero-plan-bench", "allocate", path, "--capacity", str(capacity)],
                          capture_output=True, text=True)
    seconds = used() - before
    if done.returncode:
        sys.exit(f"{path}: {done.stderr}")
    with open(path, newline="") as file:
        buffers = list(csv.DictReader(file))
    offsets = {row["id"]: int(row["offset"])
               for row in csv.DictReader(done.stdout.splitlines())}
    wrong = check(buffers, offsets, capacity)
    if wrong:
        sys.exit(f"{path}: {wrong}")
    print(f"{path}: {len(buffers)} buffers, {seconds:.2f} s")
    if seconds > limit:
        sys.exit(f"{path}: took {seconds:.2f} s of a core, wanted {limit}")


if __name__ == "__main__":
    for file in sys.argv[3:]:
        solve(file, int(sys.argv[1]), float(sys.argv[2]))
