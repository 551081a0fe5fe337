#!/usr/bin/env python3
"""Training where ranks have different layers: pipelines of stages.

Usage: train_pipe.py <folder> <model> <mesh> <kind>

`model` is gpt4, llama4, moe4, gpt6 and so on, with so many layers and dropout, in moe of
experts; GPT's output projection is its table of tokens, which the first and the last stage both have. `mesh` has
an axis `pipe`; `kind` is in-process or mpi. At stages 0 and 1 losses, norms and weights are
those of one rank that accumulates the same micro-batches, with SGD and with AdamW.

Deterministic runs of all orders of passes and all stages of ZeRO are bitwise equal, and
where one rank has each sample and no parameter is in two stages they are those of one rank.
Clipped, recomputed, weighted and fused losses change nothing. In 16 bits a run is as far
from the f32 run as one whose ranks each have the whole model, within half of it. Runs are
evaluated alike, start from weights that another mesh has saved, and go on from its
checkpoints: bitwise equal on the mesh that wrote them. Each stage sends what it hands on
once a micro-batch, and memory does not grow with their number but for `gpipe`. Where each
stage has several groups of layers, all of this is the same.
"""

import math
import os
import re
import shutil

from train_cut import compare
from training import ALL_CASES, GOLDENS, Setup, arguments, check, close, difference, execute, generate

STEPS = 20
ACCUMULATION = 4
SGD = {"type": "SGD", "params": {"lr": 0.05, "momentum": 0.9}}
# Slow enough that rounding does not grow.
ADAMW = {"type": "AdamW", "params": {"lr": 0.001}}
WIDTH, SEQUENCE, MICRO_BATCH = 32, 16, 2


class Case:
    """One model on one mesh."""

    def __init__(self, folder, model, mesh, kind):
        self.folder, self.mesh, self.mpi = folder, mesh, kind == "mpi"
        architecture, self.layers = re.fullmatch(r"([a-z]+)(\d)", model).groups()
        self.isTied = architecture == "gpt"
        extra = [] if self.isTied else ["--key-heads", "2", "--hidden", "64"]
        extra += ["--experts", "4", "--chosen", "2"] if architecture == "moe" else []
        self.path = generate(folder, model, "gpt" if self.isTied else "llama", "--layers", self.layers, "--width",
                             str(WIDTH), "--heads", "4", "--vocabulary", "256", "--sequence",
                             str(SEQUENCE), "--micro-batch", str(MICRO_BATCH), "--dropout",
                             "0.1", *extra)
        self.ranks = math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))
        self.axes = self.setup(0).axes
        self.batch_ranks = self.ranks
        for axis in ("pipe", "tensor", "sequence"):
            self.batch_ranks //= self.axes.get(axis, 1)
        # A model can be cut between the two halves of a layer as well.
        self.chunks = [chunks for chunks in (2, 3)
                       if chunks * self.axes["pipe"] <= 2 * int(self.layers)]

    def setup(self, stage, precision="f32", deterministic=False, accumulation=ACCUMULATION,
              **options):
        return Setup(stage, self.ranks, precision, accumulation, deterministic,
                     model=self.path, mesh=self.mesh, **{"optimizer": ADAMW, **options})

    def run(self, stage, precision="f32", deterministic=False, steps=STEPS, tag="",
            arguments=(), accumulation=ACCUMULATION, weights=None, **options):
        return execute(self.folder,
                       self.setup(stage, precision, deterministic, accumulation, **options),
                       steps=steps, weights=weights, mpi=self.mpi, tag=tag,
                       arguments=arguments)

    def whole(self, precision="f32", deterministic=False, steps=STEPS, tag="", arguments=(),
              weights=None, **options):
        """One rank with the micro-batches of all."""
        setup = Setup(0, 1, precision, ACCUMULATION * self.batch_ranks, deterministic,
                      model=self.path, **{"optimizer": ADAMW, **options})
        return execute(self.folder, setup, steps=steps, weights=weights, tag=tag,
                       arguments=arguments)


def check_runs(case):
    for optimizer, tolerances in ((SGD, (1e-5, 1e-5, 1e-5)), (ADAMW, (1e-5, 1e-4, 1e-4))):
        wanted = case.whole(optimizer=optimizer)
        for stage in (0, 1):
            compare(f"{case.mesh}, stage {stage}, {optimizer}",
                    case.run(stage, optimizer=optimizer), wanted, tolerances)


def check_orders(case):
    first = None
    orders = [{"pipeline_schedule": "1f1b"}, {"pipeline_schedule": "gpipe"}]
    orders += [{"pipeline_schedule": "interleaved", "pipeline_chunks": chunks}
               for chunks in case.chunks]
    for order in orders:
        for stage in (0, 1):
            run = case.run(stage, deterministic=True, **order)
            first = first or run
            found = difference(run, first)
            check(found is None, f"{case.mesh}, stage {stage}, {order}: {found}")
    isCut = set(case.axes) - {"pipe", "data"}
    if case.batch_ranks == 1 and not case.isTied and not isCut:
        found = difference(first, case.whole(deterministic=True))
        check(found is None, f"{case.mesh} beside one rank: {found}")
    return first


def check_options(case):
    for options in ({"gradient_clipping": 0.5}, {"checkpoint_every": 1},
                    {"checkpoint_every": 1, "checkpoint_policy": "full"},
                    {"loss_mean": "tokens"}, {"fuse_cross_entropy": True,
                                              "cross_entropy_chunk_bytes": 1}):
        compare(f"{case.mesh}, {options}", case.run(1, **options), case.whole(**options),
                (1e-5, 1e-4, 1e-4))


def check_interleaved(case):
    if not case.chunks:
        return
    order = {"pipeline_schedule": "interleaved"}
    for options in ({"gradient_clipping": 0.5}, {"checkpoint_every": 1}, {"loss_mean": "tokens"},
                    {"precision": "bf16"}):
        wanted = case.run(1, deterministic=True, **options)
        found = difference(case.run(1, deterministic=True, **order, **options), wanted)
        check(found is None, f"{case.mesh}, {order}, {options}: {found}")
    # No multiple of the stages.
    odd = dict(deterministic=True, accumulation=2 * case.axes["pipe"] + 1, steps=3)
    found = difference(case.run(0, **order, **odd), case.run(0, **odd))
    check(found is None, f"{case.mesh}, {order}, an odd number of micro-batches: {found}")


def check_precisions(case):
    def distance(run, wanted):
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(run.column("loss"),
                                                          wanted.column("loss"))) / STEPS)

    wanted = case.whole()
    # Sums of f16 have a factor for all gradients, and experts' have another group.
    for precision in ("bf16",) if "expert" in case.axes else ("bf16", "f16"):
        limit = 1.5 * distance(case.whole(precision), wanted)
        found = distance(case.run(1, precision), wanted)
        check(found <= limit, f"{case.mesh}, {precision}: the loss is {found:.3g} from that of "
              f"f32, wanted at most {limit:.3g}")


def check_evaluation(case):
    flags = ("--validation-fraction", "0.3", "--eval-every", "3", "--eval-batches", "2")
    found = case.run(0, steps=6, tag="-evaluated", arguments=flags)
    flags = (*flags[:-1], str(2 * case.batch_ranks))
    wanted = case.whole(steps=6, tag="-evaluated", arguments=flags)
    close(case.mesh + " validation", found.validation, wanted.validation, 1e-5)


def check_resume(case, first):
    saved = os.path.join(case.folder, "saved")

    def through(runner, tag, keep=False, **options):
        """Five updates, and five more from their checkpoint."""
        if not keep:
            shutil.rmtree(saved, ignore_errors=True)
        place = ("--validation-fraction", "0", "--checkpoint", saved)
        runner(steps=5, tag=tag + "-saving", arguments=(*place, "--checkpoint-every", "5"),
               **options)
        return (*place, "--resume")

    pipe = lambda **options: case.run(1, deterministic=True, **options)
    flags = through(pipe, "-a")
    order = {"pipeline_schedule": "interleaved"} if case.chunks else {}
    resumed = pipe(steps=STEPS, tag="-a-resumed", arguments=flags, **order)
    close("resumed", resumed.column("loss"), first.column("loss")[5:], 0)
    # From a pipeline to one rank, and back.
    wanted = case.whole(steps=10).column("loss")[5:]
    plain = lambda **options: case.run(1, **options)
    flags = through(plain, "-b")
    close("resumed on one rank",
          case.whole(steps=10, tag="-b-resumed", arguments=flags).column("loss"), wanted, 1e-5)
    flags = through(case.whole, "-c")
    close("resumed as a pipeline",
          plain(steps=10, tag="-c-resumed", arguments=flags).column("loss"), wanted, 1e-5)


def check_weights(case, first):
    """Files know of no mesh."""
    middle = os.path.join(case.folder, "middle.safetensors")
    shutil.copy(first.weights, middle)
    here = os.path.relpath(middle, GOLDENS)
    compare("other weights", case.run(0, steps=2, weights=here, tag="-again"),
            case.whole(steps=2, weights=here, tag="-again"), (1e-5, 1e-4, 1e-5))


def check_traffic(case, run):
    """A stage that has another one behind it hands on the residual stream. What rank 0
    sends is reported."""
    elements = MICRO_BATCH * SEQUENCE * WIDTH // case.axes.get("sequence", 1)
    for update in run.updates:
        found = update["traffic"]["groups"]["pipe"]["activation"]["elements"]
        check(found == ACCUMULATION * elements,
              f"{case.mesh}: the first stage sends {found} elements, "
              f"wanted {ACCUMULATION * elements}")


def stash_of(run):
    return int(re.search(r"stash +([\d,]+)", run.output)[1].replace(",", ""))


def check_memory(case):
    few, many = (stash_of(case.run(0, steps=1, accumulation=micros, tag=f"-{micros}"))
                 for micros in (case.axes["pipe"], 16))
    check(few == many, f"{case.mesh}: the stash of {case.axes['pipe']} micro-batches has {few} "
          f"bytes, and that of 16 has {many}")
    if case.chunks:
        order = {"pipeline_schedule": "interleaved"}
        two, five = (stash_of(case.run(0, steps=1, accumulation=rounds * case.axes["pipe"],
                                       tag=f"-{rounds}", **order)) for rounds in (2, 5))
        check(two == five, f"{case.mesh}, {order}: the stash of 2 rounds has {two} bytes, and "
              f"that of 5 has {five}")
    all_of_them = stash_of(case.run(0, steps=1, accumulation=16, tag="-16",
                                    pipeline_schedule="gpipe"))
    check(all_of_them * case.axes["pipe"] == many * 16,
          f"{case.mesh}: gpipe stashes {all_of_them} bytes, wanted 16 of "
          f"{many // case.axes['pipe']}")


def main():
    folder, model, mesh, kind = arguments("model", "mesh", "kind")
    case = Case(folder, model, mesh, kind)
    check_runs(case)
    first = check_orders(case)
    check_traffic(case, first)
    if ALL_CASES or not case.mpi:
        if case.ranks <= 4:
            check_options(case)
            check_interleaved(case)
        check_precisions(case)
        check_memory(case)
    check_evaluation(case)
    check_resume(case, first)
    check_weights(case, first)
    print("ok")


if __name__ == "__main__":
    main()
