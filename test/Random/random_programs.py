#!/usr/bin/env python3
"""Trains random models under random settings, and compares them with stage 0.

Usage: random_programs.py --data FILE --out FOLDER [--seed S] [--first I] [--runs N]
                          [--program I] [--inject FAULT]

Program i is a function of the seed and i: a model of random_models.py, a mesh of 1 to 9
ranks, a ZeRO stage and options. It is compiled and trained for a few updates, and so is the
same model at stage 0 with no options that only move work about: both are deterministic, so
losses, norms and weights must be bitwise equal. What the compiler refuses with an error
is counted by its message. Anything else (a signal, an error of the run, other bits) is a
finding. Its model stays in the folder, with a smaller one, `*.small.mlir`, that has no
operation and no setting that is not needed to show the same, and `*.sh`, which shows it.
"""

import argparse
import collections
import contextlib
import math
import os
import random
import re
import shutil
import sys

from comparing import Comparison, Finding, Refused, pattern_of, written
from random_models import Model, missing_operations
from shrinking import Case, operations_in

MESHES = (
    "",
    "",
    "",
    "replica=2,shard=2",
    "replica=2,shard=3",
    "data=2,tensor=2",
    "tensor=2",
    "data=2,sequence=2",
    "data=2,pipe=2",
    "replica=2,shard=2,tensor=2",
)


# Axes that cut models, beside an axis of samples, for random-schedules.
CUT_MESHES = (
    "data=1,tensor=2",
    "data=2,tensor=2",
    "tensor=4,data=1",
    "data=2,sequence=2",
    "data=1,sequence=4",
    "data=1,tensor=2,sequence=2",
    "data=2,pipe=2",
    "pipe=3,data=1",
    "data=1,tensor=2,pipe=2",
    "pipe=2,data=1,sequence=2",
)
EXPERT_MESHES = (
    "data=1,expert=2",
    "data=2,expert=2",
    "expert=2,data=1,tensor=2",
) * 3


def settings(choose, model):
    """Options of both programs, and those of the first one only."""
    has_experts = "nn.dispatch" in model.operations
    mesh = choose.choice(MESHES + ("data=2,expert=2", "expert=2") * has_experts)
    # What the documents refuse is refused there; here it would only be drawn in vain.
    cuts = any(axis in mesh for axis in ("tensor", "sequence", "expert", "pipe"))
    stage = choose.randrange(2 if "pipe" in mesh else 4)
    both = {"mesh": mesh} if mesh else {"ranks": choose.randrange(1, 10)}
    both["deterministic"] = "true"
    both["accumulation"] = choose.choice((1, 1, 2, 3))
    both["clip"] = choose.choice((0, 0, 0.5))
    both["precision"] = choose.choice(("f32", "f32", "bf16", "f16"))
    both["optimizer"] = choose.choice(
        ("adamw", "adamw", "adam", "sgd", "lion", "adagrad")
    )
    both["lr"] = choose.choice((0.001, 0.01))
    if both["precision"] == "f16":
        both["loss-scale"] = choose.choice((0, 128))
    for fusion in ("fuse-moves", "fuse-additions", "fuse-cross-entropy"):
        if choose.random() < 0.2:
            both[fusion] = choose.choice(("true", "false"))
    if choose.random() < 0.1 and stage == 3 and not cuts:
        # It rounds what travels, so that the plain program does, too.
        both.update({"stage": 3, "quantization-block": choose.choice((2, 16, 64))})
        both[choose.choice(("quantized-weights", "quantized-gradients"))] = (
            choose.choice((4, 8))
        )
    if has_experts and not cuts and choose.random() < 0.3:
        both["expert-capacity-factor"] = choose.choice((0.5, 1, 2))
    own = {"stage": stage}
    if stage > 0:
        own["reduce-bucket-size"] = choose.choice((40, 200, 1000, 100000))
        own["allgather-bucket-size"] = choose.choice((40, 1000, 100000))
        own["overlap"] = choose.choice(("true", "false"))
        own["alignment"] = choose.choice((1, 2, 4))
    if stage == 2:
        own["layout"] = choose.choice(("bucketed", "bucketed", "contiguous"))
    if stage == 3:
        own["param-persistence-threshold"] = choose.choice((0, 4, 30, 1000))
        own["gathers-in-flight"] = choose.choice((0, 1, 3))
        own["prefetch-bucket-size"] = choose.choice((0, 100, 10000))
        own["max-reuse-distance"] = choose.choice((0, 100, 10000))
        if both.get("ranks", 1) in (4, 6, 8) and choose.random() < 0.5:
            own["hpz-partition-size"] = 2
    if stage > 0 and not cuts and choose.random() < 0.3:
        own["offload-optimizer"] = "cpu"
        own["offload-ratio"] = choose.choice((0.3, 1.0))
        own["sub-group-size"] = choose.choice((50, 1000))
        own["pipeline-updates"] = choose.choice(("true", "false"))
        if stage == 3 and choose.random() < 0.5:
            own.update({"offload-param": "cpu", "offload-ratio": 1.0})
    if choose.random() < 0.2:
        # Stages are cut where they take alike, and what several stages use is rounded once
        # a stage.
        of = both if "pipe" in mesh else own
        of["checkpoint-activations"] = choose.choice((1, 2, 3))
        of["checkpoint-policy"] = choose.choice(("all", "cheap"))
    if both["precision"] == "bf16":
        own["split-master"] = choose.choice(("true", "false"))
    if "quantization-block" in both:
        # Neighbours that share a scale follow from slices.
        for key in (
            "alignment",
            "param-persistence-threshold",
            "hpz-partition-size",
            "reduce-bucket-size",
            "offload-param",
        ):
            own.pop(key, None)
    return both, own


class Programs:
    def __init__(self, options):
        self.seed, self.data, self.out = options.seed, options.data, options.out
        self.tells = options.program is not None or options.verbose
        self.fault = options.inject
        self.refused = collections.Counter()
        self.operations = collections.Counter()

    def write(self, number):
        """The model with its options for random-schedules; over axes that cut it, too, where it
        has any. Then what is run is in one precision."""
        choose = random.Random(f"{self.seed} {number}")
        model = Model(choose)
        text = model.text()
        both, own = settings(choose, model)
        mesh = both.get("mesh", "")
        both["precision"] = "f32"
        for key in ("loss-scale", "split-master"):
            both.pop(key, None)
            own.pop(key, None)
        if any(axis in mesh for axis in ("tensor", "sequence", "expert", "pipe")):
            # Also over as many ranks as there are positions.
            both["mesh"] = choose.choice(
                CUT_MESHES
                + (f"data=1,sequence={model.positions}",) * 2
                + EXPERT_MESHES * ("nn.dispatch" in model.operations)
            )
            # One stage has all of its passes in flight, and no state of others.
            stage = {"stage": min(own["stage"], 1)} if "pipe" in both["mesh"] else own
            self.write_program(f"{number}-cut", text, both | stage, {})
            del both["mesh"]
            both["ranks"] = choose.randrange(1, 6)
        ranks = both.get("ranks") or math.prod(
            map(int, re.findall(r"\d+", both["mesh"]))
        )
        plain = {
            "stage": 0,
            "ranks": 1,
            "accumulation": ranks * both["accumulation"],
            "clip": both["clip"],
        }
        self.write_program(number, text, both | own, plain)

    def write_program(self, name, text, options, plain):
        path = os.path.join(self.out, f"program-{self.seed}-{name}.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"// {written(options)} | {written(plain)}\n{text}")

    def run(self, number):
        """What becomes of a program: "equal", "refused" or "found"."""
        choose = random.Random(f"{self.seed} {number}")
        model = Model(choose)
        text = model.text()
        both, own = settings(choose, model)
        stem = os.path.join(self.out, f"program-{self.seed}-{number}")
        with open(stem + ".mlir", "w", encoding="utf-8") as file:
            file.write(text)
        try:
            Comparison(self.data, self.fault).run(
                stem + ".mlir", [both | own, {"stage": 0} | both], stem
            )
        except Refused as reason:
            self.refused[pattern_of(str(reason))] += 1
            if self.tells:
                print(f"refused: {stem}.mlir: {reason}")
            return "refused"
        except Finding as finding:
            print(f"program {self.seed} {number}: {finding}", flush=True)
            self.shrink(
                Case(stem, self.data, self.fault, finding.kind, [both, own]), finding
            )
            return "found"
        os.remove(stem + ".mlir")
        self.operations.update(model.operations)
        return "equal"

    @staticmethod
    def shrink(case, finding):
        """Writes a smaller model that shows it, and the commands that do."""
        whole, small = case.stem + ".mlir", case.stem + ".small.mlir"
        shutil.copyfile(whole, small)
        case.shrink(small)
        with open(case.stem + ".sh", "w", encoding="utf-8") as file:
            file.write(case.comparison().script(small, case.options(), case.stem))
        with open(case.stem + ".txt", "w", encoding="utf-8") as file:
            file.write(f"{finding}\n")
        print(
            f"shrunk from {operations_in(whole)} to {operations_in(small)} operations, with "
            f"{written(case.options()[0])}: sh {case.stem}.sh",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="text whose bytes are tokens")
    parser.add_argument("--out", required=True, help="folder for findings")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--program", type=int, help="this one only")
    parser.add_argument(
        "--operations",
        metavar="NN.md",
        help="check that models have each operation of the reference, and end",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the programs for random-schedules, and train none",
    )
    parser.add_argument("--verbose", action="store_true", help="print each refusal")
    parser.add_argument(
        "--inject",
        metavar="FAULT",
        help="a fault of each first program, as a run takes it: it is found",
    )
    options = parser.parse_args()
    if options.operations:
        missing = missing_operations(options.operations)
        sys.exit(f"no model has {', '.join(missing)}" if missing else 0)
    os.makedirs(options.out, exist_ok=True)
    programs, counts = Programs(options), collections.Counter()
    numbers = (
        [options.program]
        if options.program is not None
        else range(options.first, options.first + options.runs)
    )
    if options.write:
        for number in numbers:
            programs.write(number)
        return
    with contextlib.suppress(KeyboardInterrupt):  # What was tried by then counts.
        for number in numbers:
            counts[programs.run(number)] += 1
    print(
        f"{counts['equal']} equal, {counts['refused']} refused, {counts['found']} findings"
    )
    for reason, count in programs.refused.most_common():
        print(f"  refused {count}: {reason}")
    print("  operations:", ", ".join(sorted(programs.operations)))
    sys.exit(1 if counts["found"] else 0)


if __name__ == "__main__":
    main()
