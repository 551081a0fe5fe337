"""Compares the pick of a search with all plans that it could have chosen.

Usage: check_search.py <model.mlir> <budget in MiB>...

Stage, overlap and the gather bucket are fixed, so that all that is open can be
tried: the reduce bucket, and which activations of the two layers are recomputed.
"""

import itertools
import json
import subprocess
import sys

SAME = 1.02
# Of the kernels of a GPU, beside what is planned: of each plan the same.
WORKSPACE = 32 << 20
FIXED = "precision=bf16 overlap=true allgather-bucket-size=4096"
RECOMPUTED = ["checkpoint-activations=0", "checkpoint-activations=1", "checkpoint-activations=2"]
RECOMPUTED += [f"checkpoint-layers=0 checkpoint-policy={policy}" for policy in ("all", "cheap")]
RECOMPUTED += ["checkpoint-activations=1 checkpoint-policy=cheap"]


def zero_plan(*arguments):
    done = subprocess.run(["zero-plan", *arguments, "--ranks", "4", "--stage", "2", "--json", "-"],
                          capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def plan(model, bucket, recomputed):
    _, found = zero_plan(model, "--pipeline", f"{FIXED} reduce-bucket-size={bucket} {recomputed}")
    return found["prediction"]["seconds"], found["bytes"]


model, *budgets = sys.argv[1:]
buckets = [2 ** power for power in range(5, 16)] + [4 << 20]
plans = [plan(model, *choice) for choice in itertools.product(buckets, RECOMPUTED)]
picks = set()
for budget in budgets:
    limit = int(float(budget) * 2 ** 20)
    best = min(p for p in plans if p[1] <= limit)
    memory = str(limit + WORKSPACE)
    _, found = zero_plan("search", model, "--memory-budget", memory, "--pipeline", FIXED)
    pick = (found["pick"]["seconds"], found["pick"]["bytes"])
    # Of what is as fast to a prediction, the smallest.
    if pick[0] > SAME * best[0] or pick[1] > limit:
        sys.exit(f"{budget} MiB: the pick is {pick}, and there is {best}")
    front = [(point["bytes"], point["seconds"]) for point in found["front"]]
    if front != sorted(front) or any(a[1] <= b[1] for a, b in zip(front, front[1:])):
        sys.exit(f"the front is none: {front}")
    picks.add(pick)
    print(f"{budget} MiB: {pick[0]} s, {pick[1]} bytes")
if len(picks) < len(budgets):
    sys.exit("two budgets have one pick: they say nothing")
