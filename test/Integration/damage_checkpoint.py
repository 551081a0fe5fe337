#!/usr/bin/env python3
"""Damages checkpoints of compiled programs: verification and resumed runs refuse them.

Usage: damage_checkpoint.py <folder> <models> <goldens>

A plain run and one with states in files save a checkpoint each. Of each of their files
bytes are changed, spread over it, and parts cut off, and each is missing once:
`zero-checkpoint verify` names the file, and so does `--resume` of the program itself, of
fewer ranks with states in files, and of a mesh, and no update is made. The unit tests
(CheckpointDamageTest.cpp) do that of every byte of small checkpoints.
"""

import os
import random
import shutil
import subprocess
import sys

NVME = ("--pipeline", "offload-optimizer=nvme nvme-path={folder} nvme-min-bytes=0 "
        "sub-group-size=3000")
PROGRAMS = {
    "plain": ("--stage", "3", "--ranks", "4"),
    "files": ("--stage", "2", "--ranks", "2", *NVME),
    "fewer": ("--stage", "1", "--ranks", "3", *NVME),
    "mesh": ("--stage", "1", "--mesh", "replica=2,shard=2"),
}
WRITERS = ("plain", "files")
# Changed bytes of a file, and every how many of the changes a run is to refuse.
BYTES, RUNS = 24, 9


def check(condition, message):
    if not condition:
        sys.exit(f"damage_checkpoint.py: {message}")


def call(*command):
    # What is said of a byte that is no text has it.
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def compile_programs(folder, models):
    for name, options in PROGRAMS.items():
        options = [option.format(folder=folder) for option in options]
        done = call("zero-compile", os.path.join(models, "tiny-gpt.mlir"), *options,
                    "-o", os.path.join(folder, name))
        check(done.returncode == 0, done.stderr)


def train(folder, goldens, name, home, steps, *more):
    return call(os.path.join(folder, name), "--data", os.path.join(goldens, "tiny.txt"),
                "--threads", "1", "--steps", str(steps), "--checkpoint", home, *more)


def damages(content):
    """Contents that a file of `content` may have after an accident, with a name; None where
    it is missing."""
    numbers = random.Random(len(content))
    places = {0, 8, len(content) - 1, *numbers.sample(range(len(content)), BYTES - 3)}
    for at in sorted(places):
        byte = content[at] ^ (1 << numbers.randrange(5))  # no letter's case
        yield f"byte {at}", content[:at] + bytes([byte]) + content[at + 1:]
    # A newline is all that follows a manifest.
    for size in sorted({0, 1, len(content) // 2, len(content) - 2}):
        yield f"{size} bytes", content[:size]
    yield "missing", None


def put(path, content):
    if content is None:
        os.remove(path)
        return
    with open(path, "wb") as file:
        file.write(content)


def expect_refused(done, path, what):
    text = done.stdout + done.stderr
    check(done.returncode == 1, f"{what}: ends with {done.returncode}: {text}")
    check(path in text, f"{what}: wanted '{path}' in: {text}")
    check("\nstep " not in "\n" + text, f"{what}: trains: {text}")


def damage(path, home, resume):
    """Returns how many damages were tried."""
    with open(path, "rb") as file:
        content = file.read()
    count = 0
    for what, changed in damages(content):
        put(path, changed)
        what = f"{path}, {what}"
        done = call("zero-checkpoint", "verify", home)
        expect_refused(done, path, f"{what}: verify")
        if count % RUNS == 0 or changed is None:
            for name in PROGRAMS:
                expect_refused(resume(name), path, f"{what}: {name}")
        count += 1
        put(path, content)
    return count


def main():
    folder, models, goldens = sys.argv[1:4]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    compile_programs(folder, models)
    count = 0
    for writer in WRITERS:
        home = os.path.join(folder, "run-" + writer)
        done = train(folder, goldens, writer, home, 2)
        check(done.returncode == 0, done.stderr)
        resume = lambda name: train(folder, goldens, name, home, 3, "--resume")
        update = os.path.join(home, "update-0000000002")
        for name in sorted(os.listdir(update)):
            count += damage(os.path.join(update, name), home, resume)
        done = call("zero-checkpoint", "verify", home)
        check(done.returncode == 0, f"what is as it was: {done.stdout}")
        for name in PROGRAMS:
            mine = os.path.join(folder, "mine")
            shutil.rmtree(mine, ignore_errors=True)
            shutil.copytree(home, mine)
            done = train(folder, goldens, name, mine, 3, "--resume")
            check(done.returncode == 0 and "step 3/3" in done.stdout, f"{name}: {done.stderr}")
    print(f"{count} damages of checkpoints: each refused with the file's name")


if __name__ == "__main__":
    main()
