"""The search for the largest micro-batch, on peaks that are known."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "scripts"))
from bench_largest import NoLargest, largest_within  # noqa: E402


def search(limit, peak):
    runs = []

    def counted(batch):
        runs.append(batch)
        return peak(batch)
    try:
        batch, found = largest_within(limit, counted)
        return f"{batch} takes {found:g} after {len(runs)} runs"
    except NoLargest as error:
        return f"{error} after {len(runs)} runs"


print("linear:", search(2048, lambda batch: 48 + 20 * batch))
print("the first:", search(128, lambda batch: 48 + 10 * batch))
# Twice as much a sample from 50 on: the first guess does not fit.
print("steeper:", search(2048, lambda batch: 48 + 10 * batch + 10 * max(0, batch - 50)))
print("nothing fits:", search(50, lambda batch: 48 + 10 * batch))
print("constant:", search(2048, lambda batch: 100))
print("jumps:", search(2048, lambda batch: 100 + batch + (1e4 if batch > 50 else 0)))
