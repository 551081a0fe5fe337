#!/usr/bin/env python3
"""moe-small, of 11 million parameters, on a mesh whose axes cut it.

Usage: train_moe_small.py <folder> <mesh>

Losses, norms and weights of a few updates are those of one rank that accumulates the same
micro-batches, and a rank sends what closed forms say.
"""

import os
import random

from cut_traffic import check_states
from train_cut import SGD, Case, check_traffic, compare, traffic_of_experts
from training import Setup, arguments, execute

MODEL = "moe-small"
LAYERS, TOKENS, WIDTH, CHOSEN = 4, 4 * 256, 256, 2
STEPS = 2


def main():
    folder, mesh = arguments("mesh")
    case = Case(MODEL, mesh, "in-process")

    data = os.path.join(folder, "text.txt")
    with open(data, "w") as file:
        file.write("".join(random.Random(5).choices("the quick brown fox", k=40 * 256)))

    def run(setup):
        return execute(folder, setup, data=data, steps=STEPS, weights=None,
                       arguments=["--validation-fraction", "0", "--data-format", "text"])

    options = {"model": MODEL + ".mlir", "optimizer": SGD}
    wanted = run(Setup(0, 1, "f32", case.batch_ranks, **options))
    elements = TOKENS * WIDTH
    # Of so many tokens, what tables give is dearer than the tables: they stay whole.
    sent = {"expert": lambda n: traffic_of_experts(n, LAYERS, TOKENS, elements, CHOSEN, 0),
            "tensor": lambda n: 2 * LAYERS * (1 + CHOSEN) * elements * 2 * (n - 1) / n}
    for stage in (1, 3):
        setup = Setup(stage, case.ranks, "f32", 1, mesh=mesh, **options)
        found = run(setup)
        compare(setup.name, found, wanted, (1e-5, 1e-5, 1e-5), {})
        for axis, ranks in case.cut.items():
            check_traffic(setup, found, axis, sent[axis](ranks), accumulation=1)
        for update in found.updates if "expert" in case.cut else ():
            check_states(case, setup, update["traffic"], 1)
        print(setup.name + ": equal")
    print("ok")


if __name__ == "__main__":
    main()
