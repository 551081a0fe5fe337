"""Compares docs/Planning.md's table of GPT-2 124M with the plan, and both with
what a process asks the system for, arena by arena, at every stage.

Usage: plan_table.py <folder> <model.mlir> <Planning.md>

Nothing is trained: the arenas of all four ranks are mapped, and that is all.
"""

import json
import os
import re
import subprocess
import sys

RANKS = 4
COLUMNS = ("parameters", "gradients", "optimizer", "activations", "communication")


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ends with {done.returncode}:\n{done.stdout}")
    return done.stdout


def written(path):
    """The rows of the table: figures by (precision, stage), MiB as they are written."""
    with open(path) as file:
        rows = re.findall(r"^\| (b?f\d+), stage (\d) \|(.*)\|$", file.read(), re.M)
    return {(precision, int(stage)): [cell.strip() for cell in cells.split("|")]
            for precision, stage, cells in rows}


def asked(program):
    """Bytes that each arena of a rank asks for, and those of all ranks."""
    text = output("zero-step-memory", "--arenas", program)
    arenas = {name: int(size) for name, size in
              re.findall(r"^arena (\w+): (\d+) bytes$", text, re.M) if int(size)}
    return arenas, int(re.search(r"^asked of the system: (\d+) bytes$", text, re.M)[1])


def mebibytes(size):
    return f"{size / 2 ** 20:.1f}" if size else ""


def main():
    folder, model, page = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "program.so")
    table = written(page)
    if sorted(table) != [(precision, stage) for precision in ("bf16", "f32")
                         for stage in range(4)]:
        sys.exit(f"{page} has no table of all stages, only {sorted(table)}")
    for (precision, stage), row in table.items():
        options = [f"--stage={stage}", f"--ranks={RANKS}", f"--pipeline=precision={precision}"]
        output("zero-compile", model, "--emit=program", "-o", program, *options)
        plan = json.loads(output("zero-plan", model, "--json", "-", *options))
        planned = {name: arena["bytes"] for name, arena in plan["memory"].items()}
        arenas, total = asked(program)
        name = f"{precision}, stage {stage}"
        if arenas != planned or total != RANKS * plan["bytes"]:
            sys.exit(f"{name}: planned {planned} of {plan['bytes']}, asked for {arenas}, "
                     f"{RANKS} ranks for {total}")
        wanted = [mebibytes(planned.get(column, 0)) for column in COLUMNS]
        wanted.append(mebibytes(plan["bytes"]))
        if row[:len(wanted)] != wanted:
            sys.exit(f"{name}: the table has {row}, the plan {wanted}")
        print(f"{name}: {total} bytes of {RANKS} ranks, as planned")
    print("ok")


main()
