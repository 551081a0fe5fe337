#!/usr/bin/env python3
"""Runs that check themselves: bitwise equal to those that do not, and their reports of faults.

Usage: train_self_check.py <folder> threads|mpi <models> <goldens>

Programs are those of train_injected.py, meshes besides. A fault of a row is noticed, its
rank named, and where the run goes on, it ends with the weights of one without faults.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys

from train_injected import FILES, GPT, PROGRAMS, RANKS, Runs, check, compile_programs

MESHES = {
    "hsdp": ("tiny-gpt.mlir", "--mesh=replica=2,shard=2", "--stage=3"),
    "tensor": ("tiny-llama.mlir", "--mesh=data=2,tensor=2", "--stage=2"),
    "expert": ("tiny-moe.mlir", "--mesh=data=2,expert=2", "--stage=1"),
    "pipe": ("tiny-gpt.mlir", "--mesh=data=2,pipe=2", "--stage=1", "--pipeline",
             "accumulation=4"),
    "f16": ("tiny-gpt.mlir", "--ranks=3", "--stage=2", "--pipeline", "precision=f16"),
}
# A fault, with `--self-check 1` or another K, the exit code and what is said.
ROWS = (
    ("flip@1:2:nn.linear.3", 1, 0, r"remark: update 2 was computed again, and came out differently: "
     r"rank 1 computed something else in nn.linear"),
    ("skip@1:2:nn.attention", 1, 0, "differently: rank 1 computed something else in nn.attention"),
    ("wire@1:2:{reduction}", 1, 0, "differently: ranks? 1 received something else in"),
    ("flip@1:2:parameters", 1, 1, r"rank 1(?: of 3 aborted)?: parameter '\S+\[\d+.*', or something in the "
     r"\S+ \S+ from there on, has changed since update 1"),
    ("flip@1:2:exp_avg", 1, 1, r"rank 1(?: of 3 aborted)?: state 'exp_avg' of '\S+\[.*has changed since"),
)
REDUCTIONS = {"stage0": "all-reduce", "stage2": "reduce-scatter", GPT: "reduce-scatter"}
# Of a state that others have as well: after the update that is checked.
REPLICAS = (
    ("flip@1:3:parameters", 4, "stage0", r"rank 1(?: of 3 aborted)?: parameter '\S+\[.*' is \S+ on rank 1, "
     r"and \S+ on ranks 0, 2, which ought to have the same"),
    ("flip@1:3:exp_avg_sq", 4, "stage0", r"error: rank 1: \w+ '.*, which ought to have the same"),
)
PERSISTENT = 30  # an update with enough before it to know what is usual


def weights_of(runs, program, faults, every, steps=4):
    weights = os.path.join(runs.folder, "weights.safetensors")
    if os.path.exists(weights):
        os.remove(weights)
    more = ["--save-weights", weights, *([f"--self-check={every}"] if every else [])]
    done = subprocess.run(runs.command(program, faults, more, steps), capture_output=True,
                          text=True)
    digest = None
    if os.path.exists(weights):
        with open(weights, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    return done, digest


def check_clean(runs, program):
    """Nothing is said, and nothing changes."""
    plain, wanted = weights_of(runs, program, [], 0)
    check(plain.returncode == 0, f"{program}: {plain.stderr}")
    for every in (1, 3):
        done, digest = weights_of(runs, program, [], every)
        check(done.returncode == 0 and not done.stderr, f"{program}: {done.stderr}")
        check(digest == wanted, f"{program}: other weights with --self-check {every}")


def check_row(runs, program, fault, every, code, pattern):
    fault = fault.format(reduction=REDUCTIONS.get(program))
    wanted = weights_of(runs, program, [], 0)[1] if code == 0 else None
    done, digest = weights_of(runs, program, [fault], every)
    what = f"{program}, {fault}, --self-check {every}"
    check("happens, at" in done.stderr, f"{what}: did not happen: {done.stderr}")
    check(done.returncode == code, f"{what}: ends with {done.returncode}: {done.stderr}")
    check(re.search(pattern, done.stderr), f"{what}: wanted {pattern} in: {done.stderr}")
    check(code or digest == wanted, f"{what}: other weights")


def count_of(runs, program, kernel):
    """How often a micro-batch runs a kernel."""
    listed = subprocess.run([os.path.join(runs.folder, program), "--schedule"], check=True,
                            capture_output=True, text=True).stdout
    micro = listed.split("\nmicro:")[1].split("\napply:")[0]
    return len(re.findall(rf"^ *\d+ +{re.escape(kernel)} ", micro, re.MULTILINE))


def check_persistent(runs, program):
    """What a rank computes wrongly each time is told from what the samples do."""
    count = count_of(runs, program, "nn.linear")
    faults = [f"flip@1:{PERSISTENT}:nn.linear.{count // 2 + 2 + count * i}" for i in range(6)]
    done, _ = weights_of(runs, program, faults, 7, PERSISTENT + 2)
    check(done.returncode == 1 and re.search(
        rf"error: rank 1: update {PERSISTENT}: in nn.linear .* this rank computes something else "
        r"than another one with the same samples, each time", done.stderr),
          f"{program}: wanted a persistent fault in: {done.stderr}")


def check_twice(runs, models):
    """A fault that comes twice in one place, on one rank: a third time tells."""
    subprocess.run(["zero-compile", os.path.join(models, "tiny-gpt.mlir"), "--ranks=1", "-o",
                    os.path.join(runs.folder, "one")], check=True, capture_output=True)
    count = count_of(runs, "one", "nn.linear")
    faults = [f"flip@0:{PERSISTENT}:nn.linear.{count // 2 + 2 + count * i}" for i in range(2)]
    wanted = weights_of(runs, "one", [], 0, PERSISTENT + 2)[1]
    done, digest = weights_of(runs, "one", faults, 7, PERSISTENT + 2)
    check(done.returncode == 0 and digest == wanted and re.search(
        rf"remark: update {PERSISTENT} was computed again, and came out differently: rank 0 "
        "computed something else in", done.stderr) and "no fault" not in done.stderr,
          f"wanted what came out twice in: {done.stderr}")


def check_true(runs, models):
    """A run that fails by itself: where, and that nobody is wrong."""
    config = os.path.join(runs.folder, "wild.json")
    with open(config, "w", encoding="utf-8") as file:
        file.write('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}, '
                   '"optimizer": {"type": "SGD", "params": {"lr": 1e30}}}')
    subprocess.run(["zero-compile", os.path.join(models, "tiny-gpt.mlir"), f"--ranks={RANKS}",
                    "--config", config, "-o", os.path.join(runs.folder, "wild")], check=True,
                   capture_output=True)
    done, _ = weights_of(runs, "wild", [], 10)
    check(done.returncode == 1 and re.search(
        r"error: rank \d: the loss or a gradient of update \d is not finite, also when it is "
        r"computed again, and by other ranks: the first is (nan|inf), element \[.*\] of what it "
        r"computed in .* at \S+:\d+:\d+ in micro-batch 0, of '\S+tiny.txt'.*nothing was updated",
        done.stderr), f"wanted what is not finite in: {done.stderr}")


def main():
    folder, how, models, goldens = sys.argv[1:5]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    compile_programs(folder, models)
    runs = Runs(folder, goldens, how == "mpi")
    for program in REDUCTIONS:
        for row in ROWS:
            check_row(runs, program, *row)
    check_row(runs, FILES, "flip@1:2:exp_avg", 1, 1, "state 'exp_avg' of")
    if how == "threads":
        for fault, every, program, pattern in REPLICAS:
            check_row(runs, program, fault, every, 1, pattern)
        for program in PROGRAMS:
            check_clean(runs, program)
        for program, (model, *options) in MESHES.items():
            subprocess.run(["zero-compile", os.path.join(models, model), *options, "-o",
                            os.path.join(folder, program)], check=True, capture_output=True)
            check_clean(runs, program)
        for program in REDUCTIONS:
            check_persistent(runs, program)
        check_twice(runs, models)
        check_true(runs, models)
    print("ok")


main()
