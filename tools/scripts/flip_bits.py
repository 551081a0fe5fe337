#!/usr/bin/env python3
"""Flips bits in runs that check themselves, and counts what is noticed.

Usage: flip_bits.py [--flips N] [--seed S] [--every K ...] [--first I]

Each run trains test/Models/tiny-gpt.mlir on 3 ranks, at stage 0, 2 or 3, and changes one
random bit of one rank in one update: of a state between updates, of what a kernel has
computed, of what a collective sends or of what it receives. The run is compared with one
without the fault: a fault that changes no weight is harmless; one that does is caught where
the run ends with an error or computes again, and its rank is among those that it names, or not. Run i is
a function of the seed and i alone. Prints a table for docs/Reliability.md.
"""

import argparse
import collections
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "test")
RANKS, UPDATES = 3, 60
STAGES = (0, 2, 3)
KINDS = {
    "parameters": ("flip", ("parameters",)),
    "optimizer states": ("flip", ("exp_avg", "exp_avg_sq")),
    "results of kernels": ("flip", ("kernel",)),
    "what collectives send": ("flip", ("collective",)),
    "what collectives receive": ("wire", ("collective",)),
}
# What a run says of a fault that it has noticed, with the rank that it names.
NAMED = (re.compile(r"time: ranks? ([\d, and]+)"), re.compile(r"differently: ranks? ([\d, and]+)"),
         re.compile(r"error: rank (\d+)"))


def count_operations(program):
    """Kernels and collectives of an update, from the program's own list."""
    text = subprocess.run([program, "--schedule"], check=True, capture_output=True,
                          text=True).stdout
    counts, region = collections.Counter(), ""
    for line in text.splitlines():
        if re.match(r"\w+:", line):
            region = line.split(":")[0]
        words = line.split()
        if region not in ("micro", "apply") or not words or not words[0].isdigit():
            continue
        is_collective = words[1] in ("all-gather", "all-reduce", "reduce-scatter")
        if words[1] != "wait":
            counts["collective" if is_collective else "kernel"] += 1
    return counts


class Campaign:
    def __init__(self, folder):
        self.folder, self.programs, self.operations, self.clean = folder, {}, {}, {}
        for stage in STAGES:
            program = os.path.join(folder, f"stage{stage}")
            subprocess.run(["zero-compile", os.path.join(TESTS, "Models", "tiny-gpt.mlir"),
                            f"--ranks={RANKS}", f"--stage={stage}", "-o", program], check=True,
                           capture_output=True)
            self.programs[stage] = program
            self.operations[stage] = count_operations(program)
            self.clean[stage] = self.run(stage, [])[1]

    def run(self, stage, more):
        """Exit code, digest of the weights and what was said."""
        weights = os.path.join(self.folder, "weights.safetensors")
        if os.path.exists(weights):
            os.remove(weights)
        done = subprocess.run([self.programs[stage], "--data",
                               os.path.join(TESTS, "Goldens", "tiny.txt"), "--steps",
                               str(UPDATES), "--threads", "1", "--save-weights", weights, *more],
                              capture_output=True, text=True)
        digest = None
        if os.path.exists(weights):
            with open(weights, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        return done.returncode, digest, done.stderr

    def flip(self, kind, every, choose):
        """What becomes of one fault: a word, and whether its rank is among those that are named."""
        fault, operations = KINDS[kind]
        stage, rank = choose.choice(STAGES), choose.randrange(RANKS)
        update, operation = choose.randrange(25, 50), choose.choice(operations)
        bit = choose.randrange(1, 1 << 40)
        if operation in self.operations[stage]:
            operation += f".{choose.randrange(1, self.operations[stage][operation] + 1)}"
        text = f"{fault}={bit}@{rank}:{update}:{operation}"
        code, digest, errors = self.run(stage, ["--self-check", str(every), "--inject", text])
        said = [line for line in errors.splitlines() if "happens, at" not in line]
        if "happens, at" not in errors:
            sys.exit(f"flip_bits.py: {text} did not happen: {errors}")
        if code not in (0, 1):
            sys.exit(f"flip_bits.py: {text} ends with {code}: {errors}")
        for line in said:
            for pattern in NAMED:
                if found := pattern.search(line):
                    return "caught", str(rank) in re.findall(r"\d+", found.group(1))
        if digest == self.clean[stage]:
            return "harmless", True
        return "missed", False


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=100, help="of each kind and each K")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", type=int, nargs="+", default=[1, 10])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(folder)
        print("| bit flipped in | `--self-check` | flips | harmless | caught | missed "
              "| its rank is named |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for kind in KINDS:
            for every in options.every:
                counts = collections.Counter()
                for i in range(options.first, options.first + options.flips):
                    choose = random.Random(f"{options.seed} {kind} {every} {i}")
                    word, right = campaign.flip(kind, every, choose)
                    counts[word] += 1
                    counts["right"] += word == "caught" and right
                print(f"| {kind} | {every} | {options.flips} | {counts['harmless']} | "
                      f"{counts['caught']} | {counts['missed']} | {counts['right']} |",
                      flush=True)


main()
