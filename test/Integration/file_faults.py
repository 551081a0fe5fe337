#!/usr/bin/env python3
"""What can go wrong with states in files ends a run with one error that says where.

Usage: file_faults.py <program> <data> <folder>
"""

import os
import re
import resource
import subprocess
import sys
import time


def check(condition, message):
    if not condition:
        sys.exit(f"file_faults.py: {message}")


def find_file(process, rank):
    """The open file of a rank, which has no name any more; waits for it."""
    folder = f"/proc/{process.pid}/fd"
    while process.poll() is None:
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry)
            try:
                target = os.readlink(path)
            except OSError:
                continue
            if "zero-states" in target and target.endswith(f"-{rank} (deleted)"):
                return path
        time.sleep(0.01)
    sys.exit(f"file_faults.py: ended before it had a file: {process.stderr.read()}")


def lose_file(process, path):
    """Empties the file until a read finds that. Once may not do: what was read before may
    be all that is written afterwards."""
    with open(path, "r+b") as file:
        while True:
            file.truncate(0)
            try:
                output, errors = process.communicate(timeout=0.01)
            except subprocess.TimeoutExpired:
                continue
            return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def expect(done, *words):
    check(done.returncode == 1, f"ends with {done.returncode}: {done.stderr}")
    for word in words:
        check(word in done.stderr, f"wanted '{word}' in: {done.stderr}")


def main():
    program, data, folder = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    command = [program, "--data", data, "--nvme-path", folder]
    run = lambda arguments, **options: subprocess.run(
        arguments, capture_output=True, text=True, **options)

    missing = os.path.join(folder, "missing")
    expect(run([program, "--data", data, "--steps", "1", "--nvme-path", missing]), missing,
           "No such file or directory", "nvme_path")

    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    expect(run(command + ["--steps", "1"], preexec_fn=limit), " on file", "bytes more",
           "File too large")

    # As a disk that loses what was written.
    process = subprocess.Popen(command + ["--steps", "100000000"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    while not process.stdout.readline().startswith("step "):
        check(process.poll() is None, "ends before training begins")
    done = lose_file(process, find_file(process, 1))
    expect(done, "rank 1", "zero-states", "bytes at ")
    # Writes that come before make the file as long as it was, and zeros are read.
    check("the file ends there" in done.stderr or "checksum differs" in done.stderr,
          f"wanted what was read in: {done.stderr}")
    # A write reads a block that it does not fill.
    check(re.search(r"wait for zero\.copy '(read_parameters|(read|write)_states @p\d+) \w",
                    done.stderr), f"wanted the name of what read in: {done.stderr}")

    left = os.listdir(folder)
    check(not left, f"files remain: {left}")


if __name__ == "__main__":
    main()
