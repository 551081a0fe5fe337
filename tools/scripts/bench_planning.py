#!/usr/bin/env python3
"""Times zero-plan on GPTs of GPT-3's width and more and more layers.

Usage: bench_planning.py [--zero-plan PROGRAM] [--layers N,N,...] [--runs N] [--options TEXT] ...

Seconds are of a core, user and system, the least of the runs; on a busy machine
they are too long. The default buckets are those of a plain DeepSpeed file.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGE3 = "stage=3 accumulation=4 overlap=true machine=h100 reduce-bucket-size=500000000"


def seconds(program, model, options, ranks):
    """CPU seconds of one plan."""
    with open(os.devnull, "w") as nothing:
        process = subprocess.Popen([program, model, "--pipeline", options, "--ranks", str(ranks)],
                                   stdout=nothing)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{program} fails for '{options}'")
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--zero-plan", default=ROOT / "build/release/bin/zero-plan")
    parser.add_argument("--layers", default="24,48,96,100")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--options", default=STAGE3, help="of zero-pipeline")
    args = parser.parse_args()
    print(f"{args.options}, {args.ranks} ranks")
    for layers in map(int, args.layers.split(",")):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as model:
            subprocess.run(
                [sys.executable, ROOT / "test/Models/generate.py", "gpt", "--width", "12288",
                 "--heads", "96", "--vocabulary", "50304", "--sequence", "2048",
                 "--micro-batch", "1", "--layers", str(layers)], stdout=model, check=True)
            least = min(seconds(args.zero_plan, model.name, args.options, args.ranks)
                        for _ in range(args.runs))
        print(f"{layers} layers: {least:.2f} s, {1000 * least / layers:.1f} ms a layer")


if __name__ == "__main__":
    main()
