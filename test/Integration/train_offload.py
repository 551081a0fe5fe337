#!/usr/bin/env python3
"""Deterministic runs whose optimizer states are in host memory or in files, and are
updated on the host: the same losses and weights, bit by bit, as stage 0 on the device.

Usage: train_offload.py <folder> <precision> <ranks> <kind> <device>

`kind` is `in-process`, where ranks are threads, or `mpi`; `device` is `cpu` or `nvme`.
At stages 1 to 3: all states; half of them, in small sub-groups whose copies overlap
with updates; and with split masters (bf16). At stage 3, with all parameters on the
host, too, or in files. In files, what is small stays in host memory. fp16 has a loss
scale that overflows, so that some updates are skipped.
"""

import os
import subprocess

from training import (ELEMENT_BYTES, GOLDENS, Setup, arguments, check, compile_model,
                      difference, execute, golden)

STEPS = 8


def variants(stage, precision, states):
    """Options of each run beside stage 0's; `states` says where states are kept."""
    small = {"reduce_bucket_size": 4000, "sub_group_size": 700}
    yield {"offload_optimizer": states}
    yield {**small, "offload_optimizer": {**states, "ratio": 0.5, "pipeline": True},
           "overlap_comm": True}
    yield {**small, "offload_optimizer": {**states, "pipeline_read": True}}
    if precision == "bf16":
        yield {"offload_optimizer": states, "split_master": True}
    if stage < 3:
        return
    everything = {"offload_optimizer": states, "offload_param": {"device": "cpu"}}
    yield everything
    yield {**everything, **small, "overlap_comm": True, "stage3_max_reuse_distance": 0,
           "stage3_param_persistence_threshold": 300,
           "offload_optimizer": {**states, "pipeline": True}}
    if precision == "bf16":
        yield {**everything, "split_master": True}
    if states["device"] != "nvme":
        return
    # Parameters in files, too: all that are large enough, all but the first ones, and all
    # but those that are larger than a buffer.
    everything["offload_param"] = {"device": "nvme", "max_in_cpu": 0}
    yield everything
    yield {**everything, **small, "overlap_comm": True, "stage3_max_reuse_distance": 0,
           "stage3_param_persistence_threshold": 300,
           "offload_optimizer": {**states, "pipeline": True},
           "offload_param": {"device": "nvme", "max_in_cpu": 1500, "buffer_count": 2}}
    yield {**everything, "offload_param": {**everything["offload_param"], "buffer_count": 1,
                                               "buffer_size": 1000},
           "stage3_param_persistence_threshold": 300}
    if precision == "bf16":
        yield {**everything, "split_master": True}


def check_memory(name, precision, options, run, plain):
    """What the process measured of its tiers."""
    memory, before = (r.updates[-1]["memory"] for r in (run, plain))
    offload = options["offload_optimizer"]
    tier = "file" if offload["device"] == "nvme" else "host"
    check(f"optimizer on {tier}" in memory, f"{name} has the arenas {sorted(memory)}")
    part = offload.get("ratio", 1)
    kept = memory.get("optimizer", 0)
    check((kept > 0) == (part < 1), f"{name} keeps {kept} bytes of optimizer state on the device")
    away = memory.get("optimizer on host", 0) + memory.get("optimizer on file", 0)
    check(away >= part * before["optimizer"] * 0.9,
          f"{name} has {away} bytes on the host and in files, and {before['optimizer']} "
          "without offload")
    if "offload_param" in options:
        # Resident copies stay; buffers begin at multiples of 64 bytes, those in files of
        # 4,096.
        kept = {tier: memory.get(tier, 0) for tier in
                ("parameters", "parameters on host", "parameters on file")}
        in_files = options["offload_param"]["device"] == "nvme"
        check(abs(sum(kept.values()) - before["parameters"]) <= (4096 if in_files else 256),
              f"{name} keeps the parameters {kept}, together other than the "
              f"{before['parameters']} bytes without offload")
        if not in_files:
            return check(not kept["parameters on file"], f"{name} keeps the parameters {kept}")
        if "buffer_size" in options["offload_param"]:
            return check(kept["parameters on file"] > 0 and
                         kept["parameters on host"] > 0.25 * before["parameters"],
                         f"{name} keeps the parameters {kept}, of which slices that are larger "
                         "than a buffer should be on the host")
        most = options["offload_param"]["max_in_cpu"] * ELEMENT_BYTES[precision]
        check(kept["parameters on file"] > 0.8 * (before["parameters"] - kept["parameters"]) - most
              and kept["parameters on file"] > 0 and kept["parameters on host"] >= 0.5 * most,
              f"{name} keeps the parameters {kept}, of which the host should keep {most} bytes")


def check_cap(folder, setup):
    """A device tier that is too small is one error before the first update."""
    command = [compile_model(folder, setup), "--data", os.path.join(GOLDENS, "tiny.txt"),
               "--steps", "1", "--device-memory", "4KiB"]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 1 and "bytes of the device tier" in done.stderr
          and "--device-memory is 4096" in done.stderr,
          f"{setup.name} in 4 KiB ends with {done.returncode}: {done.stderr[-500:]}")


def main():
    folder, precision, ranks, kind, device = arguments("precision", "ranks", "kind", "device")
    states = {"device": device}
    files = {}
    if device == "nvme":
        states["nvme_path"] = os.path.join(folder, "states")
        os.makedirs(states["nvme_path"], exist_ok=True)
        files = {"offload_nvme_min_bytes": 600, "aio": {"block_size": 4096, "queue_depth": 3}}
    ranks = int(ranks)
    extra = {"initial_scale_power": 20, "loss_scale_window": 4, "hysteresis": 1}
    common = extra if precision == "f16" else {}
    settings = golden()["settings"]
    accumulation = max(1, settings["global_batch"] // settings["micro_batch"] // ranks)

    def run(stage, mpi=False, **options):
        setup = Setup(stage, ranks, precision, accumulation, True, **common, **options)
        return setup, execute(folder, setup, steps=STEPS, mpi=mpi)

    _, wanted = run(0)
    if precision == "f16":
        check(any(wanted.column("skipped")), "no update of stage 0 is skipped")
    count = 0
    check_cap(folder, Setup(2, ranks, precision, accumulation, True, **common))
    for stage in (1, 2, 3):
        for options in variants(stage, precision, states):
            setup, found = run(stage, kind == "mpi", **options, **files)
            different = difference(found, wanted)
            check(not different, f"{setup.name}: {different}")
            plain_options = {key: value for key, value in options.items()
                             if key not in ("offload_optimizer", "offload_param",
                                            "sub_group_size")}
            _, plain = run(stage, **plain_options)
            check_memory(setup.name, precision, options, found, plain)
            count += 1
    left = os.listdir(states["nvme_path"]) if files else []
    check(not left, f"files of states remain: {left}")
    print(f"{count} offloaded runs in {precision} on {ranks} ranks: bitwise equal to stage 0")


if __name__ == "__main__":
    main()
