#!/usr/bin/env python3
"""--dump of a model that is cut: whole tensors, as one rank writes them.

Usage: cut_dump.py <folder> <model> <mesh>

All parameters after an update are bitwise equal at every stage; names, types and shapes
are those of one rank that accumulates the same micro-batches, and values near its.
"""

import json
import os
import re
import struct

from train_cut import ACCUMULATION, SGD, Case, weights_of
from training import Setup, arguments, check, execute, read_tensors, relative_l2, same_bytes

UPDATE = 3

def dump(folder, setup, model):
    """The path of what a run dumps."""
    path = os.path.join(folder, setup.name + ".dump")
    names = re.findall(r"^zero\.parameter @(\S+)", open(setup.model_file()).read(), re.M)
    flags = [word for name in names for word in ("--dump", "@" + name)]
    execute(folder, setup, weights=weights_of(model), steps=UPDATE, save=False,
            arguments=["--validation-fraction", "0", *flags, "--dump-update", str(UPDATE),
                       "--dump-file", path])
    return path


def header(path):
    with open(path, "rb") as file:
        found = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return {name: (entry["dtype"], entry["shape"]) for name, entry in found.items()
            if name != "__metadata__"}


def main():
    folder, model, mesh = arguments("model", "mesh")
    case = Case(model, mesh, "in-process")
    one = Setup(0, 1, "f32", ACCUMULATION * case.batch_ranks, deterministic=True,
                model=model + ".mlir", optimizer=SGD)
    wanted = dump(folder, one, model)
    check({name.rsplit("/", 1)[-1] for name in header(wanted)} >= {"gradient", "momentum_buffer"},
          f"{one.name}: dumped are {sorted(header(wanted))}")
    first = None
    for stage in range(4):
        setup = case.setup(stage, deterministic=True, optimizer=SGD)
        found = dump(folder, setup, model)
        check(header(found) == header(wanted),
              f"{setup.name}: dumped are {header(found)}, wanted {header(wanted)}")
        first = first or found
        check(same_bytes(found, first), f"{setup.name}: other bits than at stage 0")
    values, others = read_tensors(first), read_tensors(wanted)
    for name, other in others.items():
        check(any(other), f"{one.name}: {name} is zero")
        error = relative_l2({name: values[name]}, {name: other})
        check(error <= 1e-5, f"{mesh}: {name} differs by {error:.3g}, wanted 1e-5")
    print("ok")


if __name__ == "__main__":
    main()
