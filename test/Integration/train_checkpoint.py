#!/usr/bin/env python3
"""Runs that are stopped, saved and resumed: bitwise equal to the one that never was.

Usage: train_checkpoint.py <folder> <precision> <kind> <optimizer>

`kind` is `in-process`, where ranks are threads, or `mpi`. Deterministic runs at
stage 3 on 4 ranks save a checkpoint and are resumed on 4 ranks by the same
program, at every other stage, with states on the host and, in bf16, with split
masters: the same losses and weights, bit by bit. Resumed on 3 ranks at stage 1
the weights are the same, and the losses close. fp16 has a loss scale that
overflows, so that updates are skipped before the checkpoint and after it.
"""

import json
import os
import shutil

from training import Setup, arguments, check, close, execute, golden, same_bytes

STEPS = 10
RANKS = 4
# Where a run is stopped: fp16 skips updates around the first.
STOPS = (3, 7)
LOSS_TOLERANCE = {"f32": 1e-5, "bf16": 2e-2, "f16": 1e-2}


def others(precision, files):
    """Stage and options of programs that go on on as many ranks; states in files are
    in the folder `files`."""
    yield 3, {}
    yield 0, {}
    yield 1, {"reduce_bucket_size": 4000}
    yield 2, {"overlap_comm": True}
    yield 3, {"offload_optimizer": {"device": "cpu", "ratio": 0.5, "pipeline": True},
              "sub_group_size": 700}
    yield 3, {"offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"},
              "stage3_param_persistence_threshold": 300}
    nvme = {"device": "nvme", "nvme_path": files, "pipeline": True}
    yield 2, {"offload_optimizer": nvme, "reduce_bucket_size": 4000, "sub_group_size": 700,
              "offload_nvme_min_bytes": 600}
    yield 3, {"offload_optimizer": nvme, "offload_nvme_min_bytes": 0,
              "offload_param": {"device": "nvme", "max_in_cpu": 2000}}
    if precision == "bf16":
        yield 3, {"split_master": True, "offload_optimizer": nvme,
                  "offload_nvme_min_bytes": 0, "offload_param": {"device": "cpu"}}
        yield 3, {"split_master": True}
        yield 1, {"split_master": True, "offload_optimizer": {"device": "cpu"}}


def copied(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def main():
    folder, precision, kind, optimizer = arguments("precision", "kind", "optimizer")
    settings = golden()["settings"]
    common = {"initial_scale_power": 20, "loss_scale_window": 4, "hysteresis": 1}
    common = common if precision == "f16" else {}
    if optimizer != "AdamW":
        params = {"lr": 0.01, "momentum": 0.9} if optimizer == "SGD" else {"lr": 0.003}
        common["optimizer"] = {"type": optimizer, "params": params}
    batch = settings["global_batch"] // settings["micro_batch"]

    def setup(stage, ranks=RANKS, **options):
        return Setup(stage, ranks, precision, max(1, batch // ranks), True, **common, **options)

    wanted = execute(folder, setup(3), steps=STEPS)
    if precision == "f16":
        skips = wanted.column("skipped")
        check(any(skips[:STOPS[0]]) and any(skips[STOPS[0]:]), f"skipped updates: {skips}")
    home, count = folder + "-saved", 0
    shutil.rmtree(home, ignore_errors=True)
    os.mkdir(home)
    for stop in STOPS[:1] if kind == "mpi" else STOPS:
        saved = os.path.join(home, str(stop))
        half = execute(folder, setup(3), steps=stop, tag=f"-{stop}", mpi=kind == "mpi",
                       flags=("--checkpoint", saved))
        check(f"saved {saved}/update-" in half.output, half.output)
        for index, (stage, options) in enumerate(others(precision, folder)):
            mine = copied(saved, os.path.join(home, "mine"))
            other = setup(stage, **options)
            run = execute(folder, other, steps=STEPS, tag=f"-{stop}-{index}", mpi=kind == "mpi",
                          flags=("--checkpoint", mine, "--resume", "--checkpoint-every", "1",
                                 "--keep", "2"))
            check(run.column("step") == list(range(stop + 1, STEPS + 1)),
                  f"{other.name} trains the updates {run.column('step')}")
            for key in ("loss", "grad_norm", "loss_scale", "skipped", "lr"):
                check(run.column(key) == wanted.column(key)[stop:],
                      f"{other.name} after {stop}: {key} is {run.column(key)}, "
                      f"wanted {wanted.column(key)[stop:]}")
            check(same_bytes(run.weights, wanted.weights), f"{other.name}: the weights differ")
            with open(os.path.join(mine, f"update-{STEPS:010}", "manifest.json")) as file:
                manifest = json.load(file)
            check(manifest["skipped"] == sum(wanted.column("skipped"))
                  and manifest["ranks"] == RANKS and manifest["stage"] == stage,
                  f"{other.name} has saved {manifest['skipped']} skipped updates")
            count += 1
        mine = copied(saved, os.path.join(home, "mine"))
        fewer = setup(1, ranks=3)
        same = execute(folder, fewer, steps=stop, tag=f"-{stop}-same",
                       flags=("--checkpoint", mine, "--resume"))
        check(same_bytes(same.weights, half.weights), f"{fewer.name}: the weights differ")
        run = execute(folder, fewer, steps=STEPS, tag=f"-{stop}-fewer",
                      flags=("--checkpoint", mine, "--resume"))
        # Where 3 ranks overflow and 4 do not, the runs part.
        both = list(zip(run.column("skipped"), wanted.column("skipped")[stop:]))
        alike = next((i + 1 for i, (a, b) in enumerate(both) if a != b), len(both))
        close(f"{fewer.name} after {stop}: loss", run.column("loss")[:alike],
              wanted.column("loss")[stop:stop + alike], LOSS_TOLERANCE[precision])
    shutil.rmtree(home)
    print(f"{count} resumed runs in {precision}: bitwise equal to the one that was not stopped")


if __name__ == "__main__":
    main()
