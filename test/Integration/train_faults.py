#!/usr/bin/env python3
"""Breaks the rules of deterministic runs one by one: the comparison must fail.

Usage: train_faults.py <folder> <link file of the faults>

Executables are linked with test/Integration/Faults, which break the rule that
ZERO_TEST_FAULT names. Each pair of runs is compared twice, as train_equal.py
does: equal with the rule kept, different with the rule broken.
"""

import os

from training import Setup, arguments, check, difference, execute

STEPS = 3
BUCKETS = {"reduce_bucket_size": 5000}


def pair(folder, fault, one, other, columns=("loss", "grad_norm", "loss_scale", "skipped")):
    """What differs between two runs, each a setup and a thread count."""
    os.environ["ZERO_TEST_FAULT"] = fault
    runs = [execute(folder, setup, steps=STEPS, threads=threads, tag=f"-{fault}-{threads}")
            for setup, threads in (one, other)]
    return difference(runs[1], runs[0], columns)


def check_rule(name, kept, broken):
    check(kept is None, f"{name}: with the rule kept, {kept}")
    check(broken is not None, f"{name}: nothing differs with the rule broken")
    print(f"{name}: {broken.split(':')[0]}")


def check_faults(folder):
    def setup(stage, **options):
        return Setup(stage, 3, "f32", 3, True, **options)

    whole, slices = (setup(0), 1), (setup(2, **BUCKETS), 1)
    kept = pair(folder, "none", whole, slices)
    for fault in ("rank-order", "tail", "token-order"):
        check_rule(fault, kept, pair(folder, fault, whole, slices))
    few, many = (setup(0), 1), (setup(0), 2)
    check_rule("thread-blocks", pair(folder, "none", few, many),
               pair(folder, "thread-blocks", few, many))


def check_accumulation(folder):
    """Without --deterministic, stage 0 adds micro-batches before it reduces.

    Nothing is clipped, so that the norm, which is then rounded, has no part in
    it; with one micro-batch an update there is nothing to add.
    """
    def compare(accumulation):
        def setup(stage, deterministic):
            return Setup(stage, 3, "f32", accumulation, deterministic, gradient_clipping=0.0)
        return pair(folder, "none", (setup(2, True), 1), (setup(0, False), 1), ("loss",))

    check_rule("add-then-reduce", compare(1), compare(3))


def main():
    folder, link = arguments("link")
    os.environ["ZERO_RUNTIME_LINK"] = link
    check_faults(folder)
    check_accumulation(folder)
    print("ok")


if __name__ == "__main__":
    main()
