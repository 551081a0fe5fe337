#!/usr/bin/env python3
"""One parameter of three elements on up to four ranks: most ranks own nothing.

Usage: train_small.py <folder> <finite|overflow|minimum>

  finite    against the same training in Python, f32
  overflow  one sample is too large, or NaN in f32: on the rank that meets it
            the gradient is not finite, and all ranks must skip that update and
            no other; the learning rate's schedule and the step count must not
            advance
  minimum   every update overflows: a static loss scale skips them all and
            changes nothing; a dynamic one ends the run at its minimum
"""

import math
import os
import random

from training import (Setup, arguments, check, close, execute, golden, read_tensors,
                      same_bytes, write_tensors)

MASK = (1 << 64) - 1
MODEL = {"model": "tiny-mlp.mlir", "lr": 0.05}
INITIAL = [0.5, 0.25, -0.125]


# The order of samples: runtime/data/Permutation.cpp and Batches.cpp.

def mix_bits(a, b):
    z = (a + 0x9e3779b97f4a7c15 * (b + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def permute(index, count, key):
    bits = 1
    while (count - 1) >> (2 * bits):
        bits += 1
    half = (1 << bits) - 1
    while True:
        left, right = index >> bits, index & half
        for turn in range(6):
            left, right = right, left ^ (mix_bits((key + turn) & MASK, right) & half)
        index = left << bits | right
        if index < count:
            return index


def batch(update, size, count):
    """Numbers of the samples of an update."""
    seed = golden()["settings"]["seed"]
    return [permute(i % count, count, mix_bits(seed, i // count))
            for i in range(update * size, (update + 1) * size)]


class Data:
    """Samples x, y = 2 x0 - x1 + x2 / 2; `bad` is the x of one sample."""

    def __init__(self, folder, name, count, bad=None):
        rng = random.Random(5)
        self.path, self.count = os.path.join(folder, name), count
        self.x = [[rng.randrange(-16, 17) / 8 for _ in range(3)] for _ in range(count)]
        self.y = [2 * a - b + c / 2 for a, b, c in self.x]
        self.bad = count // 2 if bad else None
        if bad:
            self.x[self.bad] = [bad] * 3
        flat = [value for row in self.x for value in row]
        write_tensors(self.path, {"x": ([count, 3], flat), "y": ([count, 1], self.y)})


class Reference:
    """AdamW on a linear model, in doubles; updates with the bad sample are
    skipped."""

    def __init__(self, data, size, rate=lambda step: MODEL["lr"]):
        self.data, self.size, self.rate = data, size, rate
        self.settings = golden()["settings"]
        self.weights = list(INITIAL)
        self.m, self.v, self.steps = [0.0] * 3, [0.0] * 3, 0
        self.losses, self.skipped = [], []

    def update(self, number):
        rows = batch(number, self.size, self.data.count)
        self.skipped.append(self.data.bad in rows)
        errors = [sum(w * x for w, x in zip(self.weights, self.data.x[r])) - self.data.y[r]
                  for r in rows]
        self.losses.append(sum(e * e for e in errors) / len(rows))
        if self.skipped[-1]:
            return
        gradient = [sum(2 * e * self.data.x[r][i] for e, r in zip(errors, rows)) / len(rows)
                    for i in range(3)]
        norm = math.sqrt(sum(g * g for g in gradient))
        factor = min(1.0, self.settings["clip"] / (norm + 1e-6))
        self.adam([g * factor for g in gradient])

    def adam(self, gradient):
        (b1, b2), rate = self.settings["betas"], self.rate(self.steps)
        self.steps += 1
        for i, g in enumerate(gradient):
            self.weights[i] *= 1 - rate * self.settings["weight_decay"]
            self.m[i] = b1 * self.m[i] + (1 - b1) * g
            self.v[i] = b2 * self.v[i] + (1 - b2) * g * g
            mean = self.m[i] / (1 - b1 ** self.steps)
            root = math.sqrt(self.v[i] / (1 - b2 ** self.steps))
            self.weights[i] -= rate * mean / (root + self.settings["eps"])


def run(folder, setup, data, steps, **options):
    start = os.path.join(folder, "initial.safetensors")
    write_tensors(start, {"fc1.w": ([3, 1], INITIAL)})
    return execute(folder, setup, data=data.path, weights=start, steps=steps, **options)


def finite(folder):
    data = Data(folder, "data.safetensors", 40)
    for ranks, accumulation in ((1, 12), (2, 6), (3, 4), (4, 3), (4, 1)):
        reference = Reference(data, 2 * ranks * accumulation)
        for number in range(20):
            reference.update(number)
        for stage in range(4):
            for layout in ("bucketed", "contiguous")[:1 + (stage == 2)]:
                setup = Setup(stage, ranks, "f32", accumulation, layout=layout, **MODEL)
                result = run(folder, setup, data, 20)
                error = close(setup.name, result.column("loss"), reference.losses, 1e-5)
                close(setup.name + " weights", read_tensors(result.weights)["fc1.w"],
                      reference.weights, 1e-5)
                print(f"{setup.name}: {error:.2g}")


SCHEDULER = {"type": "WarmupLR", "params": {
    "warmup_min_lr": 0.01, "warmup_max_lr": 0.05, "warmup_num_steps": 4,
    "warmup_type": "linear"}}


def warm_up(step):
    """DeepSpeed's schedule: the first two updates have the lowest rate."""
    return min(0.05, 0.01 + 0.04 * max(0, step - 1) / 4)


def check_skips(name, result, reference):
    check(result.column("skipped") == reference.skipped,
          f"{name}: skipped {result.column('skipped')}, wanted {reference.skipped}")
    rates, done = [], 0
    for skipped in reference.skipped:
        rates.append(warm_up(done))
        done += not skipped
    close(name + " learning rate", result.column("lr"), rates, 1e-6)
    pairs = [(a, b) for a, b, skipped in
             zip(result.column("loss"), reference.losses, reference.skipped) if not skipped]
    worst = max(abs(a - b) / (0.01 + b) for a, b in pairs)
    check(worst < 0.05, f"{name}: losses {pairs} differ by {worst:.3g}")
    weights = read_tensors(result.weights)["fc1.w"]
    worst = max(abs(a - b) for a, b in zip(weights, reference.weights))
    check(worst < 0.01, f"{name}: weights {list(weights)}, wanted {reference.weights}")


STEPS = 9


def overflow_setup(stage, ranks, precision, accumulation, **options):
    return Setup(stage, ranks, precision, accumulation, True, scheduler=SCHEDULER,
                 initial_scale_power=4, **options, **MODEL)


def check_overflow(folder, setup, **options):
    """One setup of `overflow`, against the training in Python; returns its run."""
    data = Data(folder, setup.precision + ".safetensors", 24,
                {"f16": 3e4, "bf16": 1e30, "f32": math.nan}[setup.precision])
    reference = Reference(data, 2 * setup.ranks * setup.accumulation, warm_up)
    for number in range(STEPS):
        reference.update(number)
    check(0 < sum(reference.skipped) < STEPS, "the case must skip some updates")
    result = run(folder, setup, data, STEPS, **options)
    check_skips(setup.name, result, reference)
    # What a skipped update leaves behind is what it found.
    number = reference.skipped.index(True)
    before = run(folder, setup, data, number, tag="-before", **options)
    after = run(folder, setup, data, number + 1, tag="-after", **options)
    check(same_bytes(before.weights, after.weights),
          f"{setup.name}: update {number + 1} was skipped, yet weights changed")
    print(f"{setup.name}: skipped {sum(reference.skipped)} of {STEPS}")
    return result


def overflow(folder):
    for precision in ("f16", "bf16", "f32"):
        for ranks, accumulation in ((2, 1), (4, 1), (3, 2)):
            first = None
            for stage in range(4):
                setup = overflow_setup(stage, ranks, precision, accumulation)
                result = check_overflow(folder, setup)
                first = first or result
                check(same_bytes(result.weights, first.weights),
                      f"{setup.name}: the weights are not those of stage 0")


def minimum_setups(stage):
    """A static scale that is too large, and a dynamic one."""
    return (Setup(stage, 3, "f16", 2, loss_scale=1e9, **MODEL),
            Setup(stage, 3, "f16", 2, initial_scale_power=30, min_loss_scale=2.0 ** 28,
                  hysteresis=2, **MODEL))


def check_minimum(folder, stage, **options):
    data = Data(folder, "data.safetensors", 24)
    static, dynamic = minimum_setups(stage)
    result = run(folder, static, data, 4, **options)
    check(all(result.column("skipped")), f"{static.name}: every update must be skipped")
    check(list(read_tensors(result.weights)["fc1.w"]) == INITIAL,
          f"{static.name}: the weights changed")
    result = run(folder, dynamic, data, 10, expect=1, **options)
    # Hysteresis takes the first; then 2^30 -> 2^29 -> 2^28, the minimum.
    check(result.column("loss_scale")[:4] == [2.0 ** p for p in (30, 30, 29, 28)][
        :len(result.updates)], f"{dynamic.name}: {result.column('loss_scale')}")
    check(3 <= len(result.updates) <= 4, f"{dynamic.name}: {len(result.updates)} updates")
    for text in ("smallest loss scale", "fc1.w", "not finite", "tiny-mlp.mlir"):
        check(text in result.output, f"{dynamic.name}: the message lacks '{text}': "
              f"{result.output[-600:]}")
    print(dynamic.name, "ends at its minimum")


def minimum(folder):
    for stage in range(4):
        check_minimum(folder, stage)


def main():
    folder, kind = arguments("kind")
    {"finite": finite, "overflow": overflow, "minimum": minimum}[kind](folder)
    print("ok")


if __name__ == "__main__":
    main()
