"""Runs a program that was compiled for CUDA and compares every loss with those
of the same program on the host:

  compare_training.py HOST DATA TOLERANCE PROGRAM [FLAG...]

HOST is the host's executable, or the metrics (.jsonl) that it wrote elsewhere.
"""

import json
import os
import subprocess
import sys
import tempfile

STEPS = 30


def train(command, data, path):
    done = subprocess.run(command + ["--data", data, "--steps", str(STEPS), "--seed", "1",
                                     "--metrics", path], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAIL: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")


def losses(path):
    with open(path) as file:
        return [json.loads(line)["loss"] for line in file]


def main():
    host, data, tolerance, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        wanted, found = (os.path.join(folder, name) for name in ("host", "device"))
        if host.endswith(".jsonl"):
            wanted = host
        else:
            train([host], data, wanted)
        train(program, data, found)
        pairs = list(zip(losses(wanted), losses(found), strict=True))
    worst = max(abs(left - right) / abs(left) for left, right in pairs)
    text = f"{len(pairs)} losses from {pairs[0][1]:.6f} to {pairs[-1][1]:.6f}, " \
           f"largest relative difference {worst:.2e}"
    if not worst <= float(tolerance) or not pairs[-1][1] < pairs[0][1]:
        sys.exit(f"FAIL: {text}, wanted {tolerance} at most and a falling loss")
    print("ok:", text)


if __name__ == "__main__":
    main()
