#!/usr/bin/env python3
"""Injects each kind of fault into runs, and compares what happens with the documents.

Usage: train_injected.py <folder> <docs/Reliability.md> threads|mpi

The table of faults in docs/Reliability.md has a row for each kind; what its run is to do
is a row of `ROWS`, here. Each run is of a model with 3 ranks at stage 3, which gathers
ahead, or of one whose states are in files.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys

RANKS = 3
GATHER = "'all_gather h.0.ln_1.weight h.0.ln_1.bias'"
NEXT = "'all_gather h.0.attn.c_attn.weight h.0.attn.c_attn.bias'"
GPT, FILES = "gpt", "files"
# Of a state in a file that is not what was written: which, where, and what to do.
CHANGED = ("rank 1", "read_states @p0", "zero-states", "reading 4096 bytes at ",
           "other bytes than were written", "--resume")
# Kind, operation, program, exit code, words of the errors, words of zero-flight.
ROWS = (
    ("kill", "all-gather.3", GPT, "killed", (), ("ended without a word", GATHER)),
    ("delay=0.1", "all-gather.3", GPT, 0, (), ()),
    ("alloc", "nn.linear", GPT, 1, ("rank 1", "nn.linear", "not enough memory"), None),
    ("alloc", "wait", GPT, 1, ("rank 1", "wait for", "not enough memory"), None),
    ("skip", "all-gather.3", GPT, 1, ("all ranks must start the same operations",),
     (f"started all-gather {GATHER}", f"rank 1 skipped it, and went on with all-gather {NEXT}")),
    ("double", "all-gather.3", GPT, 1, ("all ranks must start the same operations",),
     (f"rank 1 started all-gather {GATHER}", "once more")),
    ("reorder", "all-gather.3", GPT, 1, ("all ranks must start the same operations",),
     (f"rank 1 changed the order, and started all-gather {NEXT}",)),
    ("payload", "all-gather.3", GPT, 1, ("elements",), ("with other counts or types",)),
    ("skip", "kernel.5", GPT, 0, (), ()),
    ("double", "kernel.5", GPT, 0, (), ()),
    ("flip", "all-gather.3", GPT, 0, (), ()),
    ("flip", "nn.linear", GPT, 0, (), ()),
    ("wire", "all-gather.3", GPT, 0, (), ()),
    ("eio", "file-write", FILES, 1, ("zero-states", "Input/output error"), None),
    ("eio", "file-read", FILES, 1, ("read_states @p0", "Input/output error"), None),
    ("enospc", "file-write", FILES, 1, ("zero-states", "No space left on device"), None),
    ("short", "file-write", FILES, 0, (), ()),
    ("short", "file-read", FILES, 0, (), ()),
    ("torn", "file-write", FILES, 1, CHANGED, None),
    ("flip", "file-write", FILES, 1, CHANGED, None),
    ("flip", "file-read", FILES, 1, CHANGED, None),
)
# Runs that save checkpoints: what zero-checkpoint says of that of update 2.
SAVED = (
    ("eio", 1, "Input/output error", ""),
    ("enospc", 1, "No space left on device", ""),
    ("torn", 0, "", "the checkpoint is damaged"),
    ("flip", 0, "", "the checkpoint is damaged"),
)
# What each operation does alike, at all stages and whatever travels: fault, exit code, and
# words of the errors or of zero-flight.
EVERYWHERE = (
    ("skip@1:2:collective.2", 1, "rank 1 skipped it"),
    ("double@1:2:collective.2", 1, "once more"),
    ("payload@1:2:collective.2", 1, "with other counts or types"),
    ("flip@1:2:collective.2", 0, ""),
    ("wire@1:2:collective.2", 0, ""),
    ("alloc@1:2:collective.2", 1, "not enough memory"),
    ("alloc@1:2:wait.2", 1, "not enough memory"),
    ("alloc@1:2:kernel.7", 1, "not enough memory"),
    ("skip@1:2:kernel.7", 0, ""),
    ("double@1:2:kernel.7", 0, ""),
    ("delay=0.01@1:2:wait.2", 0, ""),
)
PROGRAMS = {
    # Nothing is joined: gathers have the names above.
    GPT: ["--stage=3", "--pipeline", "gathers-in-flight=2"],
    FILES: ["--stage=3", "--pipeline", "offload-optimizer=nvme nvme-path={folder} "
            "nvme-min-bytes=0 pipeline-updates=true sub-group-size=3000"],
    "stage0": ["--stage=0"],
    "stage1": ["--stage=1"],
    "stage2": ["--stage=2"],
    "quantized": ["--stage=3", "--pipeline", "quantized-weights=8 quantized-gradients=8 "
                  "quantized-gradients-within=1 quantization-block=64"],
    "offloaded": ["--stage=3", "--pipeline", "offload-optimizer=cpu sub-group-size=3000"],
}


def check(condition, message):
    if not condition:
        sys.exit(f"train_injected.py: {message}")


def compile_programs(folder, models):
    for name, options in PROGRAMS.items():
        subprocess.run(["zero-compile", os.path.join(models, "tiny-gpt.mlir"), f"--ranks={RANKS}",
                        *(option.format(folder=folder) for option in options),
                        "-o", os.path.join(folder, name)], check=True, capture_output=True)


class Runs:
    def __init__(self, folder, goldens, under_mpi):
        self.folder, self.under_mpi = folder, under_mpi
        self.data = os.path.join(goldens, "tiny.txt")
        self.records = os.path.join(folder, "records")

    def command(self, program, faults, more=(), steps=4):
        command = (["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(RANKS)]
                   if self.under_mpi else [])
        command += [os.path.join(self.folder, program), "--data", self.data, "--steps", str(steps),
                    "--threads", "1", "--flight", self.records, *more]
        for fault in faults:
            command += ["--inject", fault]
        shutil.rmtree(self.records, ignore_errors=True)
        os.makedirs(self.records)
        return command

    def run(self, program, faults, more=()):
        return subprocess.run(self.command(program, faults, more), capture_output=True, text=True)

    def flight(self):
        """What the records say, or None where there are none."""
        files = glob.glob(os.path.join(self.records, "*", "rank-*"))
        if not files:
            check(not os.listdir(self.records), f"left: {os.listdir(self.records)}")
            return None
        return subprocess.run(["zero-flight", *files], check=True, capture_output=True,
                              text=True).stdout


def check_row(runs, kind, operation, program, code, errors, flight):
    fault = f"{kind}@1:2:{operation}"
    done = runs.run(program, [fault])
    if code == "killed":
        check(done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL),
              f"{fault}: ends with {done.returncode}: {done.stderr}")
    else:
        check(done.returncode == code, f"{fault}: ends with {done.returncode}: {done.stderr}")
    check(f"rank 1: {fault} happens" in done.stderr, f"{fault}: did not happen: {done.stderr}")
    for word in errors:
        check(word in done.stderr, f"{fault}: wanted '{word}' in: {done.stderr}")
    told = runs.flight()
    if code == 0 or flight is None:
        check(told is None, f"{fault}: records remain: {told}")
        return
    check(told is not None, f"{fault}: there are no records: {done.stderr}")
    for word in flight:
        check(word in told, f"{fault}: wanted '{word}' in: {told}")


def check_everywhere(runs, program):
    for fault, code, word in EVERYWHERE:
        done = runs.run(program, [fault])
        told = (runs.flight() or "") + done.stderr
        check(done.returncode == code, f"{program}, {fault}: ends with {done.returncode}: {told}")
        check(f"{fault} happens" in told, f"{program}, {fault}: did not happen: {told}")
        check(word in told, f"{program}, {fault}: wanted '{word}' in: {told}")


def check_saved(runs, kind, code, error, verdict):
    folder = os.path.join(runs.folder, "checkpoints")
    shutil.rmtree(folder, ignore_errors=True)
    fault = f"{kind}@1:2:checkpoint-write"
    done = runs.run(GPT, [fault], ["--checkpoint", folder, "--checkpoint-every", "2"])
    check(done.returncode == code, f"{fault}: ends with {done.returncode}: {done.stderr}")
    check(error in done.stderr, f"{fault}: wanted '{error}' in: {done.stderr}")
    judged = subprocess.run(["zero-checkpoint", "verify", folder], capture_output=True, text=True)
    check(verdict in judged.stdout, f"{fault}: wanted '{verdict}' in: {judged.stdout}")


def check_stopped(runs):
    """At the timeout the rank that stopped is named. On a machine that is slower than the
    timeout, another one is too: then a longer one tells."""
    fault = "stop@1:2:all-gather.3"
    timeout = 2
    while timeout < 600:
        done = runs.run(GPT, [fault], [f"--timeout={timeout}"])
        check(done.returncode != 0, f"{fault}: ends well: {done.stderr}")
        if re.search(r"remark: waited for: .*: ranks 0, 2 arrived, rank 1 did not; rank 1: in "
                     "update 2", done.stderr):
            break
        timeout *= 8
    check(timeout < 600, f"{fault}: wanted the rank that stopped in: {done.stderr}")
    check("rank 1 did not" in runs.flight(), "the records do not name the rank that stopped")


def check_lost(runs):
    """A process that is gone is named by those that are left, unless the launcher ends them
    before: then again."""
    fault = "kill@1:2:all-gather.3"
    for _ in range(20):
        done = runs.run(GPT, [fault])
        if re.search(r"error: rank [02] of 3 aborted: rank 1 is lost: its process \(\d+ on \S+\) "
                     r"has ended without a word, in update 2, in all-gather", done.stderr):
            return
    check(False, f"{fault}: wanted the rank that is lost in: {done.stderr}")


def check_asked(runs):
    """SIGQUIT has a run that hangs say why, as often as it is asked."""
    fault = "stop@1:2:all-gather.3"
    process = subprocess.Popen(runs.command(GPT, [fault]), stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL)
    for line in process.stderr:
        if "happens" in line:
            break
    told = ""
    while "ranks 0, 2 arrived, rank 1 did not" not in told:
        process.send_signal(signal.SIGQUIT)
        told = process.stderr.readline()
        check(told, "the run has ended")
    process.kill()
    process.communicate()


def check_table(document):
    """Each kind that the document names is tried out, and the other way round."""
    with open(document, encoding="utf-8") as file:
        section = file.read().split("## Faults on request")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    tried = {row[0].split("=")[0] for row in ROWS + SAVED} | {"stop"}
    check(documented == tried, f"only in one of document and test: {documented ^ tried}")


def main():
    folder, document, how, models, goldens = sys.argv[1:6]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    compile_programs(folder, models)
    runs = Runs(folder, goldens, how == "mpi")
    check_table(document)
    for row in ROWS:
        check_row(runs, *row)
    for row in SAVED:
        check_saved(runs, *row)
    check_stopped(runs)
    if how == "threads":
        check_asked(runs)
        for program in PROGRAMS:
            check_everywhere(runs, program)
    else:
        check_lost(runs)
    print("ok")


if __name__ == "__main__":
    main()
