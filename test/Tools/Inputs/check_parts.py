#!/usr/bin/env python3
"""Whether a model that an axis cuts in two is planned as what one rank computes of it.

Usage: check_parts.py <models> <folder>

Parameters, gradients and states, each by its name, and activations take as many bytes as
those of a model of the parts, which is written by hand and planned for one rank: at every
stage, with masters, 16-bit activations and accumulated gradients. Where the vocabulary is
cut as well, states do; of activations there are others, since what the ranks of the axis
look up and lose together is exchanged.
"""

import itertools
import json
import os
import subprocess
import sys

MODELS = {"tiny-gpt": ("wte.weight",), "tiny-llama": ("model.embed_tokens.weight",
                                                      "lm_head.weight")}
STATES = ("parameters", "gradients", "optimizer")
OPTIONS = ("", "precision=bf16", "precision=bf16 accumulation=2")


def plan(folder, model, mesh, stage, options, sharding):
    """The parts of each kind of memory, by name, and the activations at their peak."""
    config = os.path.join(folder, "config.json")
    with open(config, "w") as file:
        json.dump({"zero": {"mesh": mesh, "sharding": sharding} if sharding else
                   {"mesh": mesh}}, file)
    text = subprocess.run(
        ["zero-plan", model, "--config", config, "--stage", str(stage), "--lines", "100",
         "--json=-", "--pipeline=" + options], check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True).stdout
    memory = json.loads(text)["memory"]
    states = {kind: {part["name"]: part["bytes"] for part in memory[kind]["parts"]}
              for kind in STATES}
    return states, memory["activations"]["bytes"]


def halve_table(folder, path):
    """The same with a vocabulary of half as many words."""
    with open(path) as file:
        text = file.read()
    for name, whole, part in (("table", "256x32", "128x32"), ("logits", "2x16x256", "2x16x128")):
        old = f"!{name} = tensor<{whole}xf32>"
        assert old in text, old
        text = text.replace(old, f"!{name} = tensor<{part}xf32>")
    halved = os.path.join(folder, "halved.mlir")
    with open(halved, "w") as file:
        file.write(text)
    return halved


def check(where, found, wanted, uncut, compares_activations):
    """The differences, as text."""
    if found[0] != wanted[0]:
        yield f"{where}: states are {found[0]}, wanted {wanted[0]}"
    if compares_activations and found[1] != wanted[1]:
        yield f"{where}: activations are {found[1]} bytes, wanted {wanted[1]}"
    # It is not that nothing is cut.
    if uncut[1] <= found[1] or uncut[0] == found[0]:
        yield f"{where}: a rank keeps as much as of the whole model"


def main():
    models, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    problems = []
    for name, tables in MODELS.items():
        whole = os.path.join(models, name + ".mlir")
        part = os.path.join(models, "Parts", name + ".mlir")
        cases = ((part, {table: -1 for table in tables}), (halve_table(folder, part), None))
        for stage, options in itertools.product(range(4), OPTIONS):
            uncut = plan(folder, whole, {"data": 1}, stage, options, None)
            for local, sharding in cases:
                found = plan(folder, whole, {"data": 1, "tensor": 2}, stage, options, sharding)
                wanted = plan(folder, local, {"data": 1}, stage, options, None)
                where = f"{name}, stage {stage}, {options or 'f32'}, " + \
                    ("whole vocabulary" if sharding else "cut vocabulary")
                problems += check(where, found, wanted, uncut, bool(sharding))
    print("\n".join(problems) or "equal")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
