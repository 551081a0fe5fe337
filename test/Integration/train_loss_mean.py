#!/usr/bin/env python3
"""Losses by tokens do not depend on how samples are dealt to micro-batches.

Usage: train_loss_mean.py <folder> <mpi: yes or no>

Samples have any number of labels, half of them none, so that some micro-batches have
none at all. What all samples of an update give in one micro-batch, ranks and
micro-batches give together, by tokens: losses, norms, weights and validation losses,
at all stages. By micro-batches they do not.
"""

import os
import random

from training import (Setup, arguments, check, close, execute, generate, read_tensors,
                      relative_l2, write_tensors)

SAMPLES, LENGTH, VOCABULARY, UPDATE, STEPS = 60, 16, 50, 12, 8
IGNORED = -100
# Ranks, micro-batches an update, samples a micro-batch.
LAYOUTS = [(1, 4, 3), (2, 2, 3), (4, 1, 3), (3, 2, 2)]
SPLIT = ["--validation-fraction", "0.2", "--eval-every", "4"]


def write_samples(path):
    draw = random.Random(7)
    tokens = [draw.randrange(VOCABULARY) for _ in range(SAMPLES * LENGTH)]
    targets = []
    for sample in range(SAMPLES):
        labels = draw.choice([0, 0, 0, 1, 5, LENGTH])
        row = tokens[sample * LENGTH + 1:(sample + 1) * LENGTH] + [0]
        targets += [token if at < labels else IGNORED for at, token in enumerate(row)]
    shape = [SAMPLES, LENGTH]
    write_tensors(path, {"tokens": (shape, tokens), "targets": (shape, targets)})


class Case:
    def __init__(self, folder):
        self.folder, self.data = folder, os.path.join(folder, "samples.safetensors")
        write_samples(self.data)

    def run(self, micro_batch, stage, ranks, micros, precision="f32", mpi=False,
            deterministic=False, **options):
        name = f"gpt-{micro_batch}"
        path = os.path.join(self.folder, name + ".mlir")
        if not os.path.exists(path):
            generate(self.folder, name, "gpt", "--layers", "2", "--width", "32", "--heads", "2",
                     "--sequence", str(LENGTH), "--vocabulary", str(VOCABULARY),
                     "--micro-batch", str(micro_batch))
        setup = Setup(stage, ranks, precision, micros, deterministic, path,
                      optimizer={"type": "SGD", "params": {"lr": 0.3}}, **options)
        return execute(self.folder, setup, data=self.data, weights=None, steps=STEPS,
                       arguments=SPLIT, mpi=mpi)


def compare(name, found, wanted, tolerance):
    close(f"{name}: loss", found.column("loss"), wanted.column("loss"), tolerance)
    close(f"{name}: norm", found.column("grad_norm"), wanted.column("grad_norm"), 10 * tolerance)
    check(len(found.validation) == STEPS // 4, f"{name}: {len(found.validation)} evaluations")
    error = relative_l2(read_tensors(found.weights), read_tensors(wanted.weights))
    check(error <= tolerance, f"{name}: weights are off by {error:.3g}")


def distance(run, wanted):
    return max(abs(a - b) / abs(b) for a, b in zip(run.column("loss"), wanted.column("loss")))


def main(folder, mpi):
    case, mpi = Case(folder), mpi == "yes"
    whole = case.run(UPDATE, 0, 1, 1)
    apart = [case.run(size, 0, ranks, micros) for ranks, micros, size in LAYOUTS[:2]]
    check(all(distance(run, whole) > 1e-2 for run in apart),
          "losses by micro-batches do not depend on the layout")
    if mpi:
        run = case.run(3, 2, 2, 2, mpi=True, loss_mean="tokens")
        return compare("MPI", run, whole, 1e-5)
    variants = {"": {}, "fused": {"pipeline": "fuse-cross-entropy=true"},
                "overlapped": {"overlap_comm": True}, "recomputed": {"checkpoint_every": 1},
                "deterministic": {"deterministic": True}}
    for ranks, micros, size in LAYOUTS:
        for stage in range(4):
            run = case.run(size, stage, ranks, micros, loss_mean="tokens")
            compare(f"{ranks} x {micros} at stage {stage}", run, whole, 1e-5)
    for name, options in variants.items():
        for stage in (0, 3):
            run = case.run(3, stage, 2, 2, loss_mean="tokens", **options)
            compare(f"{name} at stage {stage}", run, whole, 1e-5)
    for stage in range(4):
        run = case.run(3, stage, 4, 1, loss_mean="tokens", mesh="replica=2,shard=2")
        compare(f"a mesh at stage {stage}", run, whole, 1e-5)
    for stage in (1, 2, 3):  # Stage 0 offloads nothing.
        run = case.run(3, stage, 2, 2, loss_mean="tokens", offload_optimizer={"device": "cpu"})
        compare(f"offloaded at stage {stage}", run, whole, 1e-5)
    for precision, most in (("bf16", 2e-2), ("f16", 5e-3)):
        run = case.run(3, 2, 2, 2, precision, loss_mean="tokens")
        check(distance(run, whole) < most, f"{precision}: losses are off by "
              f"{distance(run, whole):.3g}")
    print("losses by tokens do not depend on the layout")


main(*arguments("mpi"))
