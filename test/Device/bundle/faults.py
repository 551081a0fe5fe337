"""A rank that fails, or is killed: the others end with one error, and nothing hangs."""

import os
import random
import shutil
import signal
import tempfile
import time

from commands import PROGRAMS, binary, run

PROGRAM = "tiny-gpt-stage3-ranks2-bf16-a6.so"
RANKS, VOCABULARY, SEQUENCE = 2, 256, 16
SAMPLES = 288      # of the data; an update takes 24
BAD_SAMPLE = 100   # is read in one of the updates of the first epoch that are not its first three
BEFORE = 3         # updates that are done when a rank ends
LIMIT = 120        # seconds
KILL_LIMIT = 240   # half of it to come to the updates, half of it to end
LOOK_S = 0.05
HOST, NCCL = ("--share-gpu", "--collectives=host"), ("--collectives=nccl",)


def write_data(path, bad):
    """Random bytes as ids of 16 bits; `bad`: in one sample an id that no table has."""
    generator = random.Random(1)
    ids = [generator.randrange(VOCABULARY) for _ in range(SAMPLES * SEQUENCE + 1)]
    if bad:
        ids[BAD_SAMPLE * SEQUENCE + SEQUENCE // 2] = 60000
    with open(path, "wb") as file:
        file.write(b"".join(each.to_bytes(2, "little") for each in ids))


def updates_in(path):
    if not os.path.exists(path):
        return 0
    with open(path) as file:
        return sum(line.endswith("\n") for line in file)


def launch(folder, flags, mpi, steps):
    """The command of a run, each of whose processes writes its number into `folder`."""
    command = [binary("zero-device-run"), os.path.join(PROGRAMS, "suite", PROGRAM), *flags,
               "--data", os.path.join(folder, "data.bin"), "--steps", str(steps),
               "--metrics", os.path.join(folder, "metrics.jsonl"), "--validation-fraction", "0"]
    if not mpi:
        return command
    return ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(RANKS), "sh", "-c",
            'echo $$ > "$0/rank$OMPI_COMM_WORLD_RANK.pid"; exec "$@"', folder, *command]


def judge(code, output, updates, limit, names):
    """`names`: what the error has to say, one of them."""
    # Each process says the same.
    errors = sorted({line for line in output.splitlines() if line.startswith("error:")})
    numbers = {"exit": code, "updates": updates, "errors": len(errors)}
    if code is None:
        return "failed", f"hangs: not ended {limit:.0f} s after its begin", numbers
    if updates < BEFORE:
        return "failed", f"{updates} updates before the failure, wanted {BEFORE}", numbers
    if code == 0:
        return "failed", "exit status 0, although a rank failed", numbers
    if not any(name in output for name in names):
        return "failed", f"wanted one error with {' or '.join(names)}, found: {errors}", numbers
    if len(errors) > 1:
        return "failed", f"wanted one error, found {len(errors)}: {errors}", numbers
    return "passed", f"exit status {code} after {updates} updates: " + "".join(errors), numbers


def failing(flags, mpi):
    """Rank 0 or 1 meets an id that is out of range, while the other one waits for it."""
    def body(limit):
        with tempfile.TemporaryDirectory() as folder:
            write_data(os.path.join(folder, "data.bin"), bad=True)
            code, output = run(launch(folder, flags, mpi, 12), limit)
            return judge(code, output, updates_in(os.path.join(folder, "metrics.jsonl")), limit,
                         ["60000"])
    return body


def killed(flags):
    """SIGKILL of the process of rank 1, after some updates."""
    def body(limit):
        with tempfile.TemporaryDirectory() as folder:
            write_data(os.path.join(folder, "data.bin"), bad=False)
            metrics = os.path.join(folder, "metrics.jsonl")

            def kill(process):
                for _ in range(int(limit / 2 / LOOK_S)):
                    if updates_in(metrics) >= BEFORE or process.poll() is not None:
                        break
                    time.sleep(LOOK_S)
                if process.poll() is None:
                    with open(os.path.join(folder, "rank1.pid")) as file:
                        os.kill(int(file.read()), signal.SIGKILL)

            code, output = run(launch(folder, flags, True, 1000000), limit / 2, during=kill)
            return judge(code, output, updates_in(metrics), limit / 2, ["signal 9", "SIGKILL"])
    return body


def when(machine, gpus, mpi, body):
    """`body`, where there are so many GPUs and a launcher."""
    def checked(limit):
        if machine.gpus < gpus:
            return "skipped", f"wants {gpus} GPUs, and {machine.gpus} is here", {}
        if mpi and not shutil.which("mpirun"):
            return "skipped", "there is no mpirun", {}
        return body(limit)
    return checked


def fault_checks(machine):
    """(name, body, limit) of each."""
    for name, flags, gpus in ("shared", HOST, 1), ("nccl", NCCL, RANKS):
        for kind, mpi in ("thread", False), ("process", True):
            yield f"rank-fails-{kind}-{name}", when(machine, gpus, mpi, failing(flags, mpi)), LIMIT
        yield f"rank-killed-{name}", when(machine, gpus, True, killed(flags)), KILL_LIMIT
