#!/usr/bin/env python3
"""What quantized communication costs in losses, and saves in bytes.

Usage: bench_quantization.py [--build FOLDER] [--model FILE] [--updates N] [--ranks N]
                             TEXT

Trains the model at stage 3 in bf16 on TEXT, once as it is and once with each of the
settings below, with the same seed and samples. Prints a table in Markdown: losses, their
differences, and what a rank sends in the last update.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
ROWS = (1, 2, 5, 10, 20, 30, 40, 50)


def settings(within):
    """Options of zero-pipeline by name; `within` are the ranks of a node."""
    return {
        "as they are": "",
        "hpZ": f"hpz-partition-size={within}",
        "qwZ, 8 bits": "quantized-weights=8",
        "qwZ, 4 bits": "quantized-weights=4",
        "qgZ, 8 bits": "quantized-gradients=8",
        "qgZ, 4 bits": "quantized-gradients=4",
        "qgZ, 4 bits, fed back": "quantized-gradients=4 error-feedback=0.8",
        "qgZ, 4 bits, two steps":
            f"quantized-gradients=4 quantized-gradients-within={within}",
        "qgZ, 4 bits, two steps, fed back":
            f"quantized-gradients=4 quantized-gradients-within={within} error-feedback=0.8",
        "hpZ, qwZ of 8 bits, qgZ of 4":
            f"hpz-partition-size={within} quantized-weights=8 quantized-gradients=4",
    }


def train(arguments, folder, options):
    """The updates of one run, as its metrics have them."""
    program, metrics = os.path.join(folder, "train"), os.path.join(folder, "metrics")
    fixed = "stage=3 precision=bf16 param-persistence-threshold=0 lr=0.0003"
    subprocess.run([os.path.join(arguments.build, "bin", "zero-compile"), arguments.model,
                    "--ranks", str(arguments.ranks), "--pipeline", f"{fixed} {options}",
                    "-o", program], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program, "--data", arguments.text, "--steps", str(arguments.updates),
                    "--metrics", metrics], check=True, stdout=subprocess.DEVNULL)
    with open(metrics) as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if "loss" in line]


def sent(update, kind):
    """What a rank sends of `kind`: over all ranks, and by group where there are any."""
    traffic = update["traffic"]
    groups = traffic.get("groups") or {"all ranks": traffic}
    return ", ".join(f"{group}: {group_traffic[kind]['bytes']:,.0f}"
                     for group, group_traffic in groups.items()
                     if group_traffic.get(kind, {}).get("bytes"))


def print_table(runs):
    names = list(runs)
    first = [update["loss"] for update in runs[names[0]]]
    print("| update | " + " | ".join(names) + " |")
    print("| --- |" + " --- |" * len(names))
    for row in ROWS:
        if row <= len(first):
            print(f"| {row} | " + " | ".join(f"{runs[name][row - 1]['loss']:.4f}"
                                            for name in names) + " |")
    for what, combine in (("largest", max), ("mean", statistics.mean)):
        differences = [combine([abs(update["loss"] - loss)
                                for update, loss in zip(runs[name], first)])
                       for name in names]
        print(f"| {what} difference | "
              + " | ".join(f"{value:.4f}" for value in differences) + " |")
    for kind in ("parameter", "gradient"):
        print(f"| bytes, {kind} | "
              + " | ".join(sent(runs[name][-1], kind) for name in names) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", help="a file to train on")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--model", default=os.path.join(ROOT, "test/Models/gpt-small.mlir"))
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--within", type=int, default=2, help="ranks of a node")
    arguments = parser.parse_args()
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in settings(arguments.within).items():
            print(f"bench_quantization: {name}", file=sys.stderr)
            runs[name] = train(arguments, folder, options)
    print_table(runs)


if __name__ == "__main__":
    main()
