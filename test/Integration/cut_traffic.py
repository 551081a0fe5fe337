#!/usr/bin/env python3
"""What a rank of a cut model sends, by closed forms that read nothing of the compiler's.

Usage: cut_traffic.py <folder>

zero-plan's activations, by the axes that they travel over, are those of train_cut.py to the
element, and gradients and parameters those of S, the elements of parameters that are on a
rank: from the shapes in the model's file, by the names of those that an axis cuts. Runs are
held against the same numbers by train_cut.py.
"""

import json
import math
import os
import re
import subprocess

from training import arguments, check

# What Megatron cuts: heads, widths of perceptrons, and vocabularies.
CUT = {
    "tensor": re.compile(r"wte|c_attn|c_fc|c_proj\.weight|embed_tokens|lm_head|[qkvo]_proj|"
                         r"(gate|up|down|gate_up)_proj"),
    "expert": re.compile(r"experts\."),
}
# Gathers of a micro-batch at stage 3, by names: forward and backward, but for what one of
# them reads, or both in a row. Both layers of tiny-gpt have one matrix.
GATHERS = ((re.compile(r"embed_tokens|lm_head|wpe|bias"), 1), (re.compile(r"c_fc\.weight"), 4),
           (re.compile(r""), 2))
PARAMETER = re.compile(r"^zero\.parameter @(\S+) : (\S+) = (.*)$", re.M)
ALIAS = re.compile(r"^(!\w+) = (tensor<\S+>)$", re.M)


def elements_of(text):
    return math.prod(int(size) for size in text[len("tensor<"):].split("x")[:-1])


def partitions_of(case):
    """By the axes that gradients are added up over: the elements of a rank of trained
    parameters, and of all by their gathers."""
    with open(case.setup(0).model_file()) as file:
        text = file.read()
    aliases = dict(ALIAS.findall(text))
    axes = case.setup(0).axes
    found = {}
    for name, shape, rest in PARAMETER.findall(text):
        elements = elements_of(aliases.get(shape, shape))
        cut = [axis for axis in case.cut if axis in CUT and CUT[axis].search(name)]
        for axis in cut:
            elements //= axes[axis]
        group = tuple(axis for axis in axes if axis != "tensor" and axis not in cut)
        trained, gathered = found.get(group, (0, 0))
        times = next(times for pattern, times in GATHERS if pattern.search(name))
        found[group] = (trained + elements * (not rest.endswith("frozen")),
                        gathered + elements * times)
    return found


def wanted_of(case, stage, accumulation):
    """By group, elements of gradients and of parameters that a rank sends in an update."""
    sizes, wanted = case.setup(0).axes, {}

    def add(group, kind, elements):
        entry = wanted.setdefault(group, {"gradient": 0, "parameter": 0})
        entry[kind] += elements

    for axes, (elements, gathered) in partitions_of(case).items():
        # Where an axis is named so, states are cut over it alone.
        group = ("shard",) if "shard" in axes else axes
        others = tuple(axis for axis in axes if axis not in group)
        replicas = math.prod(sizes[axis] for axis in others)
        slices = math.prod(sizes[axis] for axis in group)
        sent = elements * (slices - 1) / slices
        times = {0: 2, 1: 1}.get(stage, accumulation)
        add(group, "gradient", times * sent)
        if replicas > 1:
            add(others, "gradient",
                2 * elements / (slices if stage else 1) * (replicas - 1) / replicas)
        if stage in (1, 2):
            add(group, "parameter", sent)
        if stage == 3:
            add(group, "parameter", accumulation * gathered * (slices - 1) / slices)
    return wanted


def leaves_rest(setup):
    """Whether an axis has an odd number of ranks, which do not divide the models' sizes."""
    return any(size > 1 and size % 2 for size in setup.axes.values())


def check_states(case, setup, traffic, accumulation):
    """`traffic` is what a run says of an update. Below stage 3, and where the ranks do not
    divide what is cut, what travels is padded."""
    is_padded = setup.stage < 3 or leaves_rest(setup)
    for group, kinds in wanted_of(case, setup.stage, accumulation).items():
        found = traffic["groups"][" x ".join(group)]
        for kind, elements in kinds.items():
            most = 1.1 * elements if is_padded else elements
            check(elements - 0.5 <= found[kind]["elements"] <= most + 0.5,
                  f"{setup.name}: a rank sends {found[kind]['elements']} elements of {kind}s over "
                  f"{group}, wanted {elements}")


def plan(folder, case, setup):
    path = os.path.join(folder, "plan.json")
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(setup.config(), file)
    subprocess.run(["zero-plan", setup.model_file(), "--config", file.name, "--mesh", case.mesh,
                    "--json", path], check=True, capture_output=True)
    with open(path) as file:
        return json.load(file)["traffic"]


def check_plan(folder, case, stage, accumulation):
    setup = case.setup(stage)
    found = plan(folder, case, setup)
    for axis in case.cut:
        wanted = case.traffic(axis)
        if wanted is None:
            continue
        for which in ("planned", "closed_form"):
            elements = found[f"activations over {axis}"][which]["elements"]
            check(abs(elements - accumulation * wanted) <= 0.5,
                  f"{setup.name}: {which} {elements} of activations over {axis}, wanted "
                  f"{accumulation * wanted}")
    wanted = wanted_of(case, stage, accumulation)
    for kind, rows in (("gradient", ("gradients", "gradients of cut parameters",
                                     "between replicas")),
                       ("parameter", ("parameters", "cut parameters"))):
        elements = sum(kinds[kind] for kinds in wanted.values())
        total = sum(found[row]["closed_form"]["elements"] for row in rows if row in found)
        is_padded = stage == 3 and kind == "parameter" and leaves_rest(setup)
        most = 1.1 * elements if is_padded else elements
        check(elements - len(rows) <= total <= most + len(rows),
              f"{setup.name}: {total} elements of {kind}s, wanted {elements}")


# Models and meshes, of which several have groups of one size.
CASES = (
    ("tiny-gpt", "data=2,tensor=2"), ("tiny-gpt", "data=1,tensor=4"),
    ("tiny-gpt", "data=3,tensor=2"), ("tiny-gpt", "data=2,sequence=2"),
    ("tiny-gpt", "data=1,sequence=4"), ("tiny-gpt", "data=1,tensor=2,sequence=2"),
    ("tiny-llama", "data=2,tensor=2"), ("tiny-llama", "replica=2,shard=2,tensor=2"),
    ("tiny-llama", "data=2,sequence=2"), ("tiny-llama", "replica=2,shard=2,sequence=2"),
    ("tiny-llama", "data=2,tensor=2,sequence=2"),
    ("tiny-moe", "data=2,tensor=2"), ("tiny-moe", "data=2,expert=2"),
    ("tiny-moe", "data=1,expert=4"), ("tiny-moe", "data=2,tensor=2,expert=2"),
    ("tiny-capacity", "data=2,expert=2"), ("tiny-capacity", "data=1,expert=4"),
)


def main():
    # It asks this file in turn.
    from train_cut import ACCUMULATION, Case

    (folder,) = arguments()
    for model, mesh in CASES:
        for stage in range(4):
            check_plan(folder, Case(model, mesh, "in-process"), stage, ACCUMULATION)
        print(model, mesh)
    print("ok")


if __name__ == "__main__":
    main()
