#!/usr/bin/env python3
"""Gradients that overflow on one rank of a mesh whose axes cut the model.

Usage: train_cut_overflow.py <folder> <mesh> <kind>

One token, in one sample, has a large element, which the perceptron's first weights ignore
and their gradients do not. Over `tensor` these overflow in one rank's part alone, since the
units of the others give nothing yet; over `sequence` on the rank alone that has the second
half of the positions. Every rank skips that update and no other, at one loss scale, and the
weights are those of one rank that has accumulated the same micro-batches.
"""

import math
import os
import random

from training import Setup, arguments, check, close, execute, read_tensors, write_tensors

STEPS, POSITIONS, WIDTH, HIDDEN, CLASSES = 8, 16, 8, 32, 32
EXPERTS, UNITS, LARGEST = 4, 16, 3e38
# So large that it overflows at each scale that the run has, however many micro-batches the
# loss is divided by; and one in three updates meets it.
LARGE, TOKEN, RARE = 6e4, CLASSES - 1, 3
SGD = {"type": "SGD", "params": {"lr": 0.05}}


def write_data(path, samples):
    rng = random.Random(5)
    ids = [[rng.randrange(TOKEN) for _ in range(POSITIONS)] for _ in range(samples)]
    labels = [rng.randrange(CLASSES) for _ in range(samples * POSITIONS)]
    ids[samples // 2][POSITIONS - 3] = TOKEN
    shape = [samples, POSITIONS]
    write_tensors(path, {"input_ids": (shape, sum(ids, [])), "labels": (shape, labels)})


def write_weights(path):
    """The element of the large token is that of row 0 of `up`; the units that one rank of
    two would have of the others give nothing."""
    rng = random.Random(6)

    def normal(rows, columns):
        return [[rng.gauss(0, 0.3) for _ in range(columns)] for _ in range(rows)]

    table, up, down = normal(CLASSES, WIDTH), normal(WIDTH, HIDDEN), normal(HIDDEN, WIDTH)
    for row in table:
        row[0] = 0.0
    table[TOKEN][0] = LARGE
    up[0] = [0.0] * HIDDEN
    for unit in range(HIDDEN // 2):
        down[unit] = [0.0] * WIDTH
    tensors = {"table": table, "up": up, "down": down, "head": normal(WIDTH, CLASSES)}
    write_tensors(path, {name: ([len(rows), len(rows[0])], sum(rows, []))
                         for name, rows in tensors.items()})


def write_experts(path):
    """The last expert is that of the large token, whose large element no router sees."""
    rng = random.Random(6)

    def normal(*sizes, of=0.3):
        if not sizes:
            return rng.gauss(0, of)
        return [normal(*sizes[1:], of=of) for _ in range(sizes[0])]

    table, router = normal(CLASSES, WIDTH), normal(EXPERTS, WIDTH)
    up, down = normal(EXPERTS, UNITS, WIDTH), normal(EXPERTS, WIDTH, UNITS)
    for row in (*table, *router, *(unit for expert in up for unit in expert)):
        row[0] = 0.0
    for row in (*table, *router):
        row[1] = 0.0
    down[-1] = normal(WIDTH, UNITS, of=100)
    table[TOKEN][:2] = LARGEST, 10.0
    router[-1][1] = 10.0

    def flat(values):
        return [x for row in values for x in flat(row)] if isinstance(values, list) else [values]

    shapes = {"table": (table, [CLASSES, WIDTH]), "router": (router, [EXPERTS, WIDTH]),
              "up": (up, [EXPERTS, UNITS, WIDTH]), "down": (down, [EXPERTS, WIDTH, UNITS]),
              "head": (normal(WIDTH, CLASSES), [WIDTH, CLASSES])}
    write_tensors(path, {name: (shape, flat(values)) for name, (values, shape) in shapes.items()})


def setup_of(stage, mesh, ranks, accumulation, has_experts):
    name, precision = ("overflow-experts", "f32") if has_experts else ("overflow", "f16")
    model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", name + ".mlir")
    options = {"mesh": mesh} if mesh else {}
    return Setup(stage, ranks, precision, accumulation, model=model, optimizer=SGD,
                 gradient_clipping=1.0, initial_scale_power=16, loss_scale_window=2, hysteresis=1,
                 **options)


def run(folder, setup, mpi=False, arguments=(), steps=STEPS):
    files = [os.path.join(folder, name + ".safetensors") for name in ("data", "initial")]
    return execute(folder, setup, data=files[0], weights=files[1], steps=steps, mpi=mpi,
                   arguments=("--validation-fraction", "0", *arguments))


def check_one_rank(folder, setup, update, places):
    """Only these elements of `up` overflow: what one rank alone has, or adds up."""
    path = os.path.join(folder, "dumped.safetensors")
    flags = [word for name in ("up", "down", "head") for word in ("--dump", "@" + name)]
    run(folder, setup, arguments=(*flags, "--dump-update", str(update), "--dump-file", path))
    gradients = read_tensors(path)
    infinite = {(name, index) for name in ("up", "down", "head")
                for index, value in enumerate(gradients[name + "/gradient"])
                if not math.isfinite(value)}
    check(infinite and infinite <= {("up", place) for place in places},
          f"not finite in update {update} are {sorted(infinite)}, wanted some of {places} of 'up'")


def changes(run, initial):
    return {name: [a - b for a, b in zip(values, initial[name])]
            for name, values in read_tensors(run.weights).items()
            if name not in ("table", "router")}


def check_changes(name, found, wanted):
    """What training has changed, since weights themselves hardly differ."""
    for key, values in wanted.items():
        size = math.sqrt(sum(value * value for value in values))
        error = math.sqrt(sum((a - b) ** 2 for a, b in zip(found[key], values)))
        check(size > 0 and error <= 0.02 * size,
              f"{name}: the change of {key} differs by {error:.3g} of {size:.3g}")


def main():
    folder, mesh, kind = arguments("mesh", "kind")
    sizes = dict(axis.split("=") for axis in mesh.split(","))
    ranks = math.prod(map(int, sizes.values()))
    batches = 2 * ranks // int(sizes.get("tensor", 1)) // int(sizes.get("sequence", 1))
    write_data(os.path.join(folder, "data.safetensors"), RARE * 2 * batches)
    has_experts = "expert" in sizes
    start = os.path.join(folder, "initial.safetensors")
    (write_experts if has_experts else write_weights)(start)
    initial = read_tensors(start)
    last = (EXPERTS - 1) * UNITS * WIDTH
    places = (range(last, last + UNITS * WIDTH, WIDTH) if has_experts
              else range(HIDDEN // 2, HIDDEN))
    one = setup_of(0, None, 1, batches, has_experts)
    wanted = run(folder, one)
    skipped = wanted.column("skipped")
    check(STEPS // RARE <= sum(skipped) <= STEPS // RARE + 1,
          f"skipped are {skipped}, wanted one of {RARE}")
    check_one_rank(folder, one, skipped.index(True) + 1, places)
    for stage in range(4):
        setup = setup_of(stage, mesh, ranks, 2, has_experts)
        found = run(folder, setup, mpi=kind == "mpi")
        for key in ("skipped", "loss_scale"):
            check(found.column(key) == wanted.column(key),
                  f"{setup.name}: {key} is {found.column(key)}, wanted {wanted.column(key)}")
        close(setup.name + " loss", found.column("loss"), wanted.column("loss"), 1e-3)
        check_changes(setup.name, changes(found, initial), changes(wanted, initial))
        print(f"{setup.name}: skipped {sum(skipped)} of {STEPS}")
    print("ok")


if __name__ == "__main__":
    main()
