#!/usr/bin/env python3
"""Times zero-compile, from a model to an executable, at every stage.

Usage: bench_compile.py [--zero-compile PROGRAM] [--runs N] [MODEL.mlir ...]

Seconds are of a core, user and system, the linker's included, the least of the
runs; on a busy machine they are too long.
"""

import argparse
import pathlib
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = [["--ranks=1"]] + [[f"--stage={stage}", "--ranks=4", "--pipeline=precision=bf16"]
                             for stage in range(4)]


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(*command):
    before = used()
    subprocess.run(command, check=True)
    return used() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--zero-compile", default=ROOT / "build/release/bin/zero-compile")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("models", nargs="*", default=[ROOT / "test/Models/gpt2-124m.mlir"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        executable = pathlib.Path(folder) / "train"
        for model in args.models:
            for options in OPTIONS:
                least = min(seconds(args.zero_compile, model, "-o", executable, *options)
                            for _ in range(args.runs))
                print(f"{pathlib.Path(model).stem} {' '.join(options)}: {least:.2f} s")


main()
