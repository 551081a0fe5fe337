"""Whole steps of the bundle, its faults, and a measured step, on models of devices: the rows
pass, fail and are skipped. Usage: check_bundle_steps.py FOLDER"""

import itertools
import json
import os
import shutil
import subprocess
import sys

import stand_ins

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle"))
from models import write_tokens, zipf  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
CASES = ("bf16-stage3-2-gpus-threads", "bf16-stage3-2-gpus-processes",
         "bf16-stage3-2-gpus-plain", "bf16-stage3-two-processes",
         "bf16-pipe-2-gpus-threads", "bf16-pipe-2-gpus-processes")
STEPS = 3


def add_suite(folder):
    """The suite's files and programs; zero-compile makes them for the host."""
    for name, files in (("Device", ("suite.py", "compare_training.py")),
                        ("Integration", ("training.py", "train_golden.py", "train_small.py"))):
        os.makedirs(os.path.join(folder, "test", name), exist_ok=True)
        for file in files:
            shutil.copy(os.path.join(TEST, name, file), os.path.join(folder, "test", name))
    os.symlink(os.path.join(TEST, "Models"), os.path.join(folder, "test", "Models"))
    shutil.copytree(os.path.join(TEST, "Goldens"), os.path.join(folder, "test", "Goldens"))
    edit_golden(folder, shorten)
    tools = os.path.join(folder, "tools")
    os.makedirs(tools)
    stand_ins.script(os.path.join(tools, "zero-compile"),
                     f'for flag; do shift; [ "$flag" = --target=cuda ] || set -- "$@" "$flag"; '
                     f'done; exec {shutil.which("zero-compile")} "$@"')
    subprocess.run([sys.executable, os.path.join(folder, "test", "Device", "suite.py"), "compile",
                    os.path.join(folder, "programs", "suite"), *CASES], check=True,
                   env={**os.environ, "PATH": tools + ":" + os.environ["PATH"]})


def edit_golden(folder, edit):
    path = os.path.join(folder, "test", "Goldens", "training.json")
    with open(path) as file:
        golden = json.load(file)
    edit(golden)
    with open(path, "w") as file:
        json.dump(golden, file)


def shorten(golden):
    """A model of a device takes its time."""
    golden["settings"]["steps"] = STEPS
    recorded = golden["gpt"]["bf16"]
    for key in ("losses", "grad_norms"):
        recorded[key] = recorded[key][:STEPS]


def set_device(folder, **facts):
    stand_ins.script(os.path.join(folder, "bin", "zero-device-bench"), stand_ins.prints(**facts))


def check_steps(folder):
    set_device(folder, gpus=1)
    rows, _ = stand_ins.run(folder, "checks", "--only", "bf16-stage3-")
    stand_ins.expect(rows, **{name: ("skipped", "this case wants 2 GPUs, and 1 is here")
                              for name in CASES[:3]},
                     bf16_stage3_two_processes=("skipped", "NCCL before 2.30"))
    set_device(folder, gpus=2, shares_devices=True)
    for name in CASES[:2] + CASES[3:]:
        rows, _ = stand_ins.run(folder, "checks", "--only", name)
        stand_ins.expect(rows, **{name: "passed"})
    # Another loss than PyTorch's: the row says which, and what was wanted.
    edit_golden(folder, lambda golden: golden["gpt"]["bf16"]["losses"].__setitem__(2, 7.5))
    rows, _ = stand_ins.run(folder, "checks", "--only", CASES[2])
    stand_ins.expect(rows, **{CASES[2]: ("failed", "loss[2] is")})


def add_losses(folder):
    """A program with the losses that the host has on skewed ids."""
    programs = os.path.join(folder, "programs")
    path = os.path.join(folder, "test", "Device", "compare_training.py")
    stand_ins.replace(path, "STEPS = 30", "STEPS = 10")
    write_tokens(os.path.join(programs, "zipf.bin"), itertools.islice(zipf(256), 1 << 12))
    model = os.path.join(TEST, "Models", "tiny-gpt.mlir")
    for name, flags in ("gpt.host", ()), ("gpt.so", ("--emit=program",)):
        subprocess.run(["zero-compile", model, *flags, "-o", os.path.join(programs, name)],
                       check=True)
    subprocess.run([sys.executable, path, "--record", os.path.join(programs, "gpt.host"),
                    os.path.join(programs, "zipf.bin"), os.path.join(programs, "gpt-zipf.jsonl")],
                   check=True)
    stand_ins.script(os.path.join(programs, "gpt"),
                     f'exec zero-bench-run {os.path.join(programs, "gpt.so")} "$@"')
    with open(os.path.join(programs, "training.json"), "w") as file:
        json.dump([{"name": "gpt", "tolerance": "1e-4", "flags": []}], file)


def check_losses(folder):
    add_losses(folder)
    rows, _ = stand_ins.run(folder, "checks", "--only", "losses-gpt-zipf")
    stand_ins.expect(rows, losses_gpt_zipf="passed")
    path = os.path.join(folder, "programs", "gpt-zipf.jsonl")
    with open(path) as file:
        lines = file.readlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "loss": 4.25}) + "\n"
    with open(path, "w") as file:
        file.writelines(lines)
    rows, _ = stand_ins.run(folder, "checks", "--only", "losses-gpt-zipf")
    stand_ins.expect(rows, losses_gpt_zipf=("failed", "loss[3] is "))


def check_faults(folder):
    set_device(folder, gpus=2)
    rows, _ = stand_ins.run(folder, "checks", "--only", "rank-")
    stand_ins.expect(rows, **{name: "passed" for name in (
        "rank-fails-thread-shared", "rank-fails-process-shared", "rank-killed-shared",
        "rank-fails-thread-nccl", "rank-fails-process-nccl", "rank-killed-nccl")})
    set_device(folder, gpus=1)
    rows, _ = stand_ins.run(folder, "checks", "--only", "rank-killed", PATH="/nowhere")
    stand_ins.expect(rows, rank_killed_nccl=("skipped", "wants 2 GPUs, and 1 is here"),
                     rank_killed_shared=("skipped", "there is no mpirun"))
    # A program that ends well, one that names no fault, and one that never ends.
    for line, wanted in (("exit 0", "0 updates"),
                         ("for each; do [ $last = --metrics ] && printf '1\\n2\\n3\\n' > $each; "
                          "last=$each; done; echo 'error: no'; exit 1", "60000"),
                         ("exec sleep infinity", "hangs")):
        if wanted == "hangs":
            stand_ins.replace(os.path.join(folder, "faults.py"), "LIMIT = 120 ", "LIMIT = 0.02 ")
        stand_ins.script(os.path.join(folder, "bin", "zero-device-run"), "last=0\n" + line)
        rows, _ = stand_ins.run(folder, "checks", "--only", "rank-fails-thread-shared")
        stand_ins.expect(rows, rank_fails_thread_shared=("failed", wanted))


def main():
    folder = sys.argv[1]
    stand_ins.make(folder, trainer=stand_ins.BENCH)
    add_suite(folder)
    check_steps(folder)
    check_losses(folder)
    check_faults(folder)


if __name__ == "__main__":
    main()
