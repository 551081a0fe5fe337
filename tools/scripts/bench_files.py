#!/usr/bin/env python3
"""Times reads and writes of memory in files beside fio's of the same kind.

Usage: bench_files.py [--folder FOLDER] [--rounds N] [--ranges N] [--bytes B] ...

Needs fio (apt-get install fio) and the target zero-file-bench. Both write and read
the same bytes in blocks of the same size, as many of them in flight, past the page
cache, in turn, so that what else the disk does hits both. The figures are medians of
all passes, in MiB/s, with the least and the most. Beside io_uring runs fio's engine of
that name, beside threads its psync with as many jobs. Below is what one thread makes of
the checksums that each write and read takes.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ours(args, folder, engine):
    """Writes, reads and checksums of the passes of one run."""
    output = subprocess.run(
        [args.bench, folder, str(args.ranges), str(args.bytes), str(args.block),
         str(args.depth), str(args.passes), engine], check=True, capture_output=True, text=True)
    passes = [line.split() for line in output.stdout.splitlines()]
    return [[float(one[i]) for one in passes] for i in range(3)]


def fio(args, folder, engine, kind):
    """The rates of passes of one kind over a file that is there already."""
    total = args.ranges * args.bytes
    command = ["fio", "--name=states", f"--directory={folder}", f"--bs={args.block}",
               "--direct=1", "--overwrite=1", "--group_reporting", "--output-format=json",
               f"--rw={kind}"]
    if engine == "uring":
        command += ["--ioengine=io_uring", f"--iodepth={args.depth}", f"--size={total}"]
    else:
        command += ["--ioengine=psync", "--thread", f"--numjobs={args.depth}",
                    f"--size={total // args.depth}"]
    rates = []
    for _ in range(args.passes):
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        job = json.loads(result.stdout)["jobs"][0][kind]
        rates.append(job["bw_bytes"] / (1 << 20))
    return rates


def text(rates):
    return f"{statistics.median(rates):.0f} ({min(rates):.0f} to {max(rates):.0f})"


def measure(args, folder, engine):
    rates = {"write": ([], []), "read": ([], [])}
    checksums = []
    for turn in range(args.rounds):
        for mine in [True, False] if turn % 2 else [False, True]:
            if mine:
                *moved, digested = ours(args, folder, engine)
                checksums.extend(digested)
                for kind, found in zip(rates, moved):
                    rates[kind][0].extend(found)
            else:
                for kind in rates:
                    rates[kind][1].extend(fio(args, folder, engine, kind))
    for kind, (here, there) in rates.items():
        ratio = statistics.median(here) / statistics.median(there)
        print(f"{engine:8} {kind:6} {text(here):>22} {text(there):>22} {ratio:6.2f}")
    print(f"{engine:8} sums   {text(checksums):>22}")
    for old in pathlib.Path(folder).iterdir():
        old.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folder", help="on the disk; a new one is made in it")
    parser.add_argument("--bench", default=ROOT / "build/release/bin/zero-file-bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=3, help="of a round")
    parser.add_argument("--ranges", type=int, default=16)
    parser.add_argument("--bytes", type=int, default=16 << 20, help="of a range")
    parser.add_argument("--block", type=int, default=1 << 20)
    parser.add_argument("--depth", type=int, default=8)
    args = parser.parse_args()
    if not shutil.which("fio"):
        sys.exit("bench_files.py: there is no fio; on Debian, apt-get install fio")
    print(f"{args.ranges} x {args.bytes >> 20} MiB, blocks of {args.block} bytes, "
          f"{args.depth} in flight; MiB/s")
    print(f"{'':15} {'zero':>22} {'fio':>22} {'ratio':>6}")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for engine in ["uring", "threads"]:
            measure(args, folder, engine)


if __name__ == "__main__":
    main()
