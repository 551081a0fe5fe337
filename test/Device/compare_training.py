"""Runs a program that was compiled for CUDA and compares every loss, of training
and of evaluations, with those of the same program on the host:

  compare_training.py [--steps N] HOST DATA TOLERANCE PROGRAM [FLAG...]
  compare_training.py --record HOST DATA METRICS

HOST is the host's executable, or the metrics (.jsonl) that --record wrote of it. N is
30, and a multiple of 10 otherwise.
"""

import json
import os
import subprocess
import sys
import tempfile

STEPS = 30


def train(command, data, path, steps=STEPS):
    command = command + ["--data", data, "--steps", str(steps), "--seed", "1", "--metrics", path,
                         "--eval-every", "10", "--eval-batches", "2", "--validation-data", data]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAIL: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")


def losses(path):
    """By kind: of updates, and of evaluations."""
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    return [[line[kind] for line in lines if kind in line] for kind in ("loss", "validation_loss")]


def compare(steps, host, data, tolerance, *program):
    with tempfile.TemporaryDirectory() as folder:
        wanted, found = (os.path.join(folder, name) for name in ("host", "device"))
        if host.endswith(".jsonl"):
            wanted = host
        else:
            train([host], data, wanted, steps)
        train(list(program), data, found, steps)
        kinds = list(zip(losses(wanted), losses(found), strict=True))
    pairs = [(abs(left - right) / abs(left), f"{kind}[{index}] is {right!r}, wanted {left!r}")
             for kind, both in zip(("loss", "validation_loss"), kinds)
             for index, (left, right) in enumerate(zip(*both, strict=True))]
    worst, where = max(pairs)
    trained = kinds[0][1]
    text = f"{len(trained)} losses from {trained[0]:.6f} to {trained[-1]:.6f} and " \
        f"{len(pairs) - len(trained)} of evaluations, largest relative difference " \
        f"{worst:.2e} ({where})"
    if not worst <= float(tolerance) or not trained[-1] < trained[0]:
        sys.exit(f"FAIL: {text}, wanted {tolerance} at most and a falling loss")
    print("ok:", text)


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        train([sys.argv[2]], *sys.argv[3:5])
    elif sys.argv[1] == "--steps":
        compare(int(sys.argv[2]), *sys.argv[3:])
    else:
        compare(STEPS, *sys.argv[1:])
