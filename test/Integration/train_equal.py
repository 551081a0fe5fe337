#!/usr/bin/env python3
"""Deterministic runs: stages 0 to 3 give the same losses and weights, bit by bit.

Usage: train_equal.py <folder> <precision> <ranks> <kind>

  in-process  all stages, with and without overlap, ranks as threads, with
              evaluations
  mpi         the same, ranks as processes, against stage 0 as threads
  shapes      small buckets, for which gradients are cut into blocks of rows,
              the contiguous layout, parameters that stay whole, gathers that are
              kept and split masters (bf16), against stage 0
  blocks      one micro-batch an update, of few tokens, gradients in blocks of
              rows, against stage 0
  wide        one micro-batch an update, whose gradients of 16 bits travel in f32,
              at all stages
  sums        the same of mlp.mlir, in bf16 against one rank that adds up as many
              micro-batches as there are ranks
  dropout     all stages of a model with dropout; another rank count drops the
              same elements, so its losses are the same but for rounding
  recompute   activations that are recomputed, at all stages of a model with
              dropout, against the same ones kept
  plain       the same of mlp.mlir, a chain of two products
  trivial     one rank that keeps its collectives, at all stages, against one
              that has none

Tied parameters are in all of them; reused and frozen ones, clipping in some
updates, and for fp16 a loss scale that overflows and grows, in the first three
and the last.
"""

import os
import random
import subprocess

from training import (GOLDENS, Setup, arguments, check, close, compile_model, difference,
                      execute, generate, golden, write_tensors)

STEPS = 20
TINY = ["gpt", "--layers", "1", "--width", "32", "--heads", "4", "--sequence", "16",
        "--micro-batch", "2"]
EVALUATE = ["--eval-every", "10", "--eval-batches", "3", "--validation-data",
            os.path.join(GOLDENS, "tiny.txt")]


def setups(folder, precision, ranks, kind):
    settings = golden()["settings"]
    common = {"model": "tiny-gpt.mlir"}
    if kind in ("dropout", "recompute"):
        # Wide enough for products that are not cheap.
        wider = ["--layers", "3", "--width", "64", "--sequence", "64"]
        common["model"] = generate(folder, "dropout", *TINY, "--dropout", "0.2",
                                   *(wider if kind == "recompute" else ()))
    elif kind in ("plain", "sums"):
        common["model"] = "mlp.mlir"
    elif kind == "blocks":
        common["model"] = generate(folder, "blocks", *TINY, "--layers", "2",
                                   "--micro-batch", "1", "--share", "mlp.c_fc.weight")
    elif precision == "f16":
        common.update(initial_scale_power=20, loss_scale_window=4, hysteresis=1)
    accumulation = max(1, settings["global_batch"] // settings["micro_batch"] // ranks)

    def setup(stage, **options):
        return Setup(stage, ranks, precision, accumulation, True, **common, **options)

    if kind == "recompute":
        return [setup(0)] + [setup(stage, checkpoint_every=1) for stage in range(4)] + [
            setup(1, checkpoint_every=2), setup(2, checkpoint_every=3),
            setup(2, checkpoint_policy="cheap"), setup(2, checkpoint_layers=[1]),
            setup(3, number_checkpoints=2, stage3_max_reuse_distance=20000)]
    if kind == "plain":
        # One layer by itself keeps what it would recompute from.
        return [setup(0), setup(1, checkpoint_every=1), setup(3, checkpoint_every=1)] + [
            setup(stage, checkpoint_every=2) for stage in (0, 2, 3)] + [
            setup(stage, number_checkpoints=1) for stage in (0, 1, 2, 3)]
    if kind == "blocks":
        accumulation = 1
        return [
            setup(0), setup(2, reduce_bucket_size=1600), setup(3, reduce_bucket_size=1600),
            setup(2, layout="contiguous", reduce_bucket_size=1000),
            setup(2, reduce_bucket_size=2500, overlap_comm=True),
            setup(3, reduce_bucket_size=2500, overlap_comm=True)]
    if kind in ("wide", "sums"):
        accumulation = 1
        wide = {"communication_data_type": "fp32"}
        single = [Setup(0, 1, precision, ranks, True, **common)] * (kind == "sums")
        return single + [
            setup(stage, overlap_comm=overlap, reduce_bucket_size=4000, **wide)
            for stage in range(4) for overlap in (False, True)] + [
            setup(2, layout="contiguous", reduce_bucket_size=1000, **wide),
            setup(3, reduce_bucket_size=1100, **wide),
            setup(2, offload_optimizer={"device": "cpu"}, **wide)]
    if kind == "dropout":
        return [setup(stage) for stage in range(4)]
    if kind == "trivial":
        kept = [setup(stage, keep_trivial=True, overlap_comm=overlap, reduce_bucket_size=4000)
                for stage in range(4) for overlap in (False, True)]
        return [setup(0), *kept, setup(2, keep_trivial=True, layout="contiguous"),
                setup(3, keep_trivial=True, stage3_param_persistence_threshold=100)]
    if kind != "shapes":
        return [setup(0, overlap_comm=False)] + [
            setup(stage, overlap_comm=overlap, reduce_bucket_size=4000)
            for stage in range(4) for overlap in (False, True)]
    split = [setup(stage, split_master=True) for stage in range(4) if precision == "bf16"]
    return [
        setup(0), setup(0, reduce_bucket_size=1), setup(1, reduce_bucket_size=3000),
        setup(1, reduce_bucket_size=3000, allgather_bucket_size=1000, overlap_comm=True),
        setup(1, allgather_bucket_size=1000), setup(2, reduce_bucket_size=1),
        setup(2, reduce_bucket_size=5000), setup(2, layout="contiguous"),
        setup(2, layout="contiguous", reduce_bucket_size=700),
        setup(2, reduce_bucket_size=1600), setup(3, reduce_bucket_size=1100),
        setup(2, layout="contiguous", reduce_bucket_size=900, overlap_comm=True),
        setup(3, reduce_bucket_size=1), setup(3, stage3_param_persistence_threshold=100),
        setup(3, stage3_param_persistence_threshold=10000,
              stage3_model_persistence_threshold=9000),
        setup(3, stage3_param_persistence_threshold=200, overlap_comm=True),
        setup(3, stage3_max_reuse_distance=20000),
        setup(3, stage3_param_persistence_threshold=10**9),
    ] + split


def schedule(folder, setup):
    return subprocess.run([compile_model(folder, setup), "--schedule"], check=True,
                          capture_output=True).stdout


def digits(folder):
    """The path of made-up samples for mlp.mlir."""
    path, count, rng = os.path.join(folder, "digits.safetensors"), 128, random.Random(3)
    labels = [rng.randrange(10) for _ in range(count)]
    pixels = [rng.random() + (i % 10 == label) for label in labels for i in range(784)]
    write_tensors(path, {"x": ([count, 784], pixels), "y": ([count], labels)})
    return path


def check_first(run, precision):
    """What the runs must have in them, so that equality says something."""
    norms, skipped = run.column("grad_norm"), run.column("skipped")
    finite = [n for n, skip in zip(norms, skipped) if not skip]
    clip = golden()["settings"]["clip"]
    check(0 < sum(n > clip for n in finite) < len(finite),
          "clipping must be active in some updates only")
    check(any(skipped) == (precision == "f16"),
          f"updates skipped: {sum(skipped)}; wanted some in fp16 and none else")


def check_dropout(folder, first, setup, precision):
    """The masks follow the samples, whatever rank meets them."""
    single = Setup(0, 1, precision, setup.accumulation * setup.ranks, True,
                   model=setup.path, **setup.options)
    run = execute(folder, single, steps=STEPS, weights=None)
    close("loss on one rank", run.column("loss"), first.column("loss"),
          {"f32": 1e-5, "bf16": 1e-2, "f16": 1e-2}[precision])
    plain = generate(folder, "plain", *TINY)
    run = execute(folder, Setup(0, setup.ranks, precision, setup.accumulation, True,
                                model=plain, **setup.options), steps=STEPS, weights=None)
    found = max(abs(a - b) for a, b in zip(run.column("loss"), first.column("loss")))
    check(found > 0.01, "dropout changes nothing")


def main():
    folder, precision, ranks, kind = arguments("precision", "ranks", "kind")
    cases = [(setup, kind == "mpi") for setup in setups(folder, precision, int(ranks), kind)]
    if kind == "mpi":
        cases.insert(0, (cases[0][0], False))
    first, schedules = None, set()
    untrained = kind in ("blocks", "dropout", "recompute", "plain", "sums")
    data = digits(folder) if kind in ("plain", "sums") else "tiny.txt"
    for setup, mpi in cases:
        run = execute(folder, setup, data=data, steps=STEPS, mpi=mpi,
                      weights=None if untrained else "tiny-gpt.safetensors",
                      arguments=EVALUATE if kind == "in-process" else ())
        name = setup.name + (" (MPI)" if mpi else "")
        check(len(run.validation) == (2 if kind == "in-process" else 0),
              f"{name}: {len(run.validation)} evaluations")
        if first is None:
            first = run
            if not untrained:
                check_first(run, precision)
        found = difference(run, first)
        check(found is None, f"{name}: {found}")
        schedules.add(schedule(folder, setup))
        print(name + ": equal")
    if kind == "dropout":
        check_dropout(folder, first, cases[0][0], precision)
    check(len(schedules) == len({setup.name for setup, _ in cases}),
          "two configurations have one schedule: their equality says nothing")
    print("ok")


if __name__ == "__main__":
    main()
