#!/usr/bin/env python3
"""Whole steps on a GPU: the updates that PyTorch recorded, and overflows.

  suite.py list                      the cases, one a line
  suite.py compile FOLDER [CASE...]  compiles their programs; needs no GPU
  suite.py run FOLDER [CASE...]      runs cases with the programs of FOLDER

Stages 0 to 3 in f32, bf16 and f16, with micro-batches that add up and with
clipping. One rank keeps its trivial collectives, so that a graph with NCCL in it
is run; ranks share a GPU and add through the host, or through NCCL where it lets
them, or have a GPU each, as threads and as processes. Exit code 77: skipped, and
the last line says why.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ["ZERO_TEST_TARGET"] = "cuda"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Integration"))

SKIPPED = 77
NO_DEVICE = 3  # the exit code of zero-device-bench
NCCL, HOST = ("--collectives=nccl",), ("--share-gpu", "--collectives=host")


class Skip(Exception):
    pass


class Case:
    """Some setups, and what they are checked by."""

    def __init__(self, name, setups, check, flags=(), mpi=False, needs=None):
        self.name, self.setups, self.check = name, setups, check
        self.options = {"flags": flags, "mpi": mpi}
        self.needs = needs

    def run(self, folder):
        if self.options["mpi"] and not shutil.which("mpirun"):
            raise Skip("there is no mpirun")
        if self.needs:
            self.needs()
        self.check(folder, self)


def device():
    """What zero-device-bench says of the GPU, and its output for messages."""
    done = subprocess.run(["zero-device-bench", "device"], capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()[-200:]
    if done.returncode == NO_DEVICE:
        raise Skip(said)
    if done.returncode != 0:
        raise RuntimeError(f"zero-device-bench device ends with {done.returncode}: {said}")
    return json.loads(done.stdout.splitlines()[-1]), said


def needs_nccl_that_shares():
    # One collective at a time holds few multiprocessors, so that the ranks fit.
    os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"
    os.environ.setdefault("NCCL_MAX_CTAS", "2")
    facts, said = device()
    if not facts["shares_devices"]:
        raise Skip(f"NCCL before 2.30 lets no two ranks share a GPU: {said}")


def needs_gpus(count):
    def check():
        found = device()[0]["gpus"]
        if found < count:
            raise Skip(f"this case wants {count} GPUs, and {found} is here")
    return check


def lets_nccl_block():
    os.environ["NCCL_COMM_BLOCKING"] = "1"


def golden_case(name, setup, **options):
    import train_golden
    from training import golden

    def check(folder, case):
        f32 = setup.precision == "f32" and setup.model == "tiny-gpt"
        model = "llama" if setup.model == "tiny-llama" else "gpt"
        train_golden.compare(folder, setup, golden()[model][setup.precision],
                             setup.model + ".safetensors",
                             train_golden.TRAINED if f32 else None, **case.options)
    return Case(name, [setup], check, **options)


def golden_cases():
    from training import Setup, golden
    settings = golden()["settings"]
    samples = settings["global_batch"] // settings["micro_batch"]
    small = {"overlap_comm": True, "reduce_bucket_size": 4000, "allgather_bucket_size": 4000}

    def setup(stage, ranks, precision, **options):
        if ranks == 1:
            options["keep_trivial"] = True
        return Setup(stage, ranks, precision, samples // ranks, **options)

    def pipe(ranks, precision, **options):
        return Setup(1, ranks, precision, samples // (ranks // 2),
                     mesh=f"pipe=2,data={ranks // 2}", **options)

    for precision in ("f32", "bf16", "f16"):
        yield golden_case(f"{precision}-alone", Setup(0, 1, precision, samples))
        yield golden_case(f"{precision}-pipe-shared", pipe(2, precision), flags=HOST)
        for stage in range(4):
            name = f"{precision}-stage{stage}"
            yield golden_case(f"{name}-nccl", setup(stage, 1, precision), flags=NCCL)
            yield golden_case(f"{name}-shared", setup(stage, 2, precision), flags=HOST)
    for stage in range(4):
        yield golden_case(f"bf16-stage{stage}-overlap", setup(stage, 1, "bf16", **small),
                          flags=NCCL)
        yield golden_case(f"f32-stage{stage}-eager", setup(stage, 1, "f32"),
                          flags=NCCL + ("--eager",))
        yield golden_case(f"bf16-stage{stage}-two-processes", setup(stage, 2, "bf16"), mpi=True,
                          flags=("--share-gpu", "--collectives=nccl"),
                          needs=needs_nccl_that_shares)
    yield golden_case("bf16-stage3-four-processes", setup(3, 4, "bf16"), mpi=True,
                      flags=("--share-gpu", "--collectives=nccl"), needs=needs_nccl_that_shares)
    yield from cases_of_several_gpus(setup, pipe)
    yield golden_case("f32-stage3-plain", setup(3, 1, "f32"),
                      flags=NCCL + ("--collectives-memory", "plain"))
    yield golden_case("f32-stage3-blocking", setup(3, 1, "f32"), flags=NCCL,
                      needs=lets_nccl_block)
    yield golden_case("f32-stage3-llama", setup(3, 1, "f32", model="tiny-llama.mlir"),
                      flags=NCCL)
    yield golden_case("f32-stage3-processes", setup(3, 2, "f32"), mpi=True, flags=HOST)


# Those that mpirun starts, and that the executable starts itself.
KINDS = ("threads", False), ("processes", True), ("own-processes", False)


def flags_of(kind):
    return ("--ranks-as=threads",) if kind == "threads" else ()


def cases_of_several_gpus(setup, pipe):
    """A GPU each: windows between them, unregistered memory, graphs of threads and processes,
    messages between stages."""
    for ranks in (2, 4):
        for kind, mpi in KINDS:
            yield golden_case(f"bf16-pipe-{ranks}-gpus-{kind}", pipe(ranks, "bf16"), mpi=mpi,
                              flags=NCCL + flags_of(kind), needs=needs_gpus(ranks))
        yield golden_case(f"f32-pipe-interleaved-{ranks}-gpus",
                          pipe(ranks, "f32", pipeline_schedule="interleaved"), flags=NCCL,
                          needs=needs_gpus(ranks))
        for stage in range(4):
            for kind, mpi in KINDS:
                yield golden_case(f"bf16-stage{stage}-{ranks}-gpus-{kind}",
                                  setup(stage, ranks, "bf16"), mpi=mpi,
                                  flags=NCCL + flags_of(kind), needs=needs_gpus(ranks))
        yield golden_case(f"f16-stage2-{ranks}-gpus-threads", setup(2, ranks, "f16"), flags=NCCL,
                          needs=needs_gpus(ranks))
        yield golden_case(f"bf16-stage3-{ranks}-gpus-plain", setup(3, ranks, "bf16"),
                          flags=NCCL + ("--collectives-memory", "plain"), needs=needs_gpus(ranks))
        yield golden_case(f"f32-stage3-{ranks}-gpus-eager", setup(3, ranks, "f32"),
                          flags=NCCL + ("--eager",), needs=needs_gpus(ranks))


def small_cases():
    import train_small

    def overflow(folder, case):
        train_small.check_overflow(folder, case.setups[0], **case.options)

    for precision in ("f16", "bf16"):
        for stage in range(4):
            # On one of the ranks; and where a graph decides it on the device.
            yield Case(f"{precision}-stage{stage}-overflow",
                       [train_small.overflow_setup(stage, 2, precision, 1)], overflow, HOST)
            yield Case(f"{precision}-stage{stage}-overflow-graph",
                       [train_small.overflow_setup(stage, 1, precision, 2, keep_trivial=True)],
                       overflow, NCCL)
    for stage in range(4):
        yield Case(f"f16-stage{stage}-minimum", list(train_small.minimum_setups(stage)),
                   lambda folder, case, stage=stage:
                   train_small.check_minimum(folder, stage, **case.options), HOST)


def cases():
    return [*golden_cases(), *small_cases()]


def choose(names):
    chosen = [case for case in cases() if not names or case.name in names]
    if len(chosen) < len(set(names)):
        sys.exit(f"suite.py: no such case among {names}")
    return chosen


def run(folder, names):
    chosen, skipped = choose(names), 0
    for case in chosen:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                case.run(scratch)
            except Skip as skip:
                skipped += 1
                print(f"{case.name}: skipped: {skip}")
    if skipped == len(chosen):
        sys.exit(SKIPPED)


def main():
    command, *rest = sys.argv[1:] or [""]
    if command == "list" and not rest:
        print("\n".join(case.name for case in cases()))
    elif command == "compile" and rest:
        from training import compile_model
        os.makedirs(rest[0], exist_ok=True)
        for case in choose(rest[1:]):
            for setup in case.setups:
                compile_model(rest[0], setup)
    elif command == "run" and rest:
        os.environ["ZERO_TEST_PROGRAMS"] = os.path.abspath(rest[0])
        run(rest[0], rest[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
