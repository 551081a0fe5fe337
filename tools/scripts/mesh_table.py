#!/usr/bin/env python3
"""Prints the table of the meshes that tests train on.

It is made of the commands of test/Integration/*.test: each is a model on a mesh whose axes
cut it, with ranks as threads or as processes.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Some run with --all only.
COMMAND = re.compile(r"^RUN: (?:%if all-cases %\{ )?%python %S/train_cut\.py \S+ (\S+) (\S+) "
                     r"(in-process|mpi)(?: %\})?$", re.M)
ROLES = ("tensor", "sequence", "expert")
RANKS = {"in-process": "threads", "mpi": "processes"}


def read_runs():
    """(model, mesh, kind) of each command, in the order of files and lines."""
    for path in sorted((ROOT / "test/Integration").glob("*.test")):
        text = path.read_text()
        found = COMMAND.findall(text)
        # One that is written in another way would be missing in silence.
        if len(found) != text.count("train_cut.py"):
            sys.exit(f"{path}: a command of train_cut.py has another form; wanted "
                     "'RUN: %python %S/train_cut.py <folder> <model> <mesh> <kind>'")
        yield from found


def axes_of(mesh):
    """The axes that cut a model, in one order."""
    sizes = dict(axis.split("=") for axis in mesh.split(","))
    return tuple(axis for axis in ROLES if int(sizes.get(axis, 1)) > 1)


def make_table():
    rows = {}
    for model, mesh, kind in read_runs():
        row = rows.setdefault((axes_of(mesh), mesh), {})
        row.setdefault(model, set()).add(RANKS[kind])
    lines = ["| cut by | mesh | models, with ranks as |", "| --- | --- | --- |"]
    order = sorted(rows, key=lambda key: (len(key[0]), [ROLES.index(axis) for axis in key[0]]))
    for axes, mesh in order:
        models = ", ".join(f"{model}: {' and '.join(sorted(kinds, reverse=True))}"
                           for model, kinds in rows[axes, mesh].items())
        lines.append(f"| {', '.join(f'`{axis}`' for axis in axes)} | `{mesh}` | {models} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(make_table())
