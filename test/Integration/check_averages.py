#!/usr/bin/env python3
"""What averages are after a run.

Usage: check_averages.py <weights> <metrics> <micro-batches an update>

`seen` follows 3 by a tenth a micro-batch, from 0: whatever the stage, the ranks, the
loss scale and clipping are, it has a known value after the updates that were not
skipped. The running statistics of the batch norm have left their initial values.
"""

import json
import sys

from training import check, close, read_tensors


def main(weights, metrics, micros):
    with open(metrics) as file:
        updates = [line for line in map(json.loads, file) if "loss" in line]
    done = sum(not line["skipped"] for line in updates)
    check(done > 1, f"{done} updates were made")
    tensors = read_tensors(weights)
    close("seen", list(tensors["seen"]), [3 * (1 - 0.9 ** (done * int(micros)))], 1e-5)
    check(all(abs(value) > 1e-4 for value in tensors["mean"]), "means are at 0")
    check(all(abs(value - 1) > 1e-4 for value in tensors["variance"]), "variances are at 1")
    print(f"{done} updates, {len(updates) - done} skipped: averages are right")


main(*sys.argv[1:])
