#!/usr/bin/env python3
"""Starts processes as torchrun does: launch.py [--slurm] N COMMAND... N processes of COMMAND
with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; or as srun
does, with Slurm's variables, and MASTER_PORT. Ends with 0 where all of them do, and otherwise with the status of one that does not: others then have PATIENCE
seconds to end, and are killed."""

import os
import socket
import subprocess
import sys

PATIENCE = 8


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def main():
    arguments = sys.argv[1:]
    is_slurm = arguments[0] == "--slurm"
    ranks, *command = int(arguments[is_slurm]), *arguments[is_slurm + 1:]
    common = {"MASTER_PORT": free_port()}
    numbers = ("SLURM_PROCID", "SLURM_LOCALID") if is_slurm else ("RANK", "LOCAL_RANK")
    if is_slurm:
        common.update(SLURM_JOB_ID=7, SLURM_STEP_ID=0, SLURM_STEP_NUM_TASKS=ranks,
                      SLURM_STEP_NODELIST="localhost", SLURM_NODEID=0,
                      SLURM_STEP_TASKS_PER_NODE=ranks)
    else:
        common.update(WORLD_SIZE=ranks, LOCAL_WORLD_SIZE=ranks, MASTER_ADDR="127.0.0.1")
    processes = []
    for rank in range(ranks):
        mine = {**common, **dict.fromkeys(numbers, rank)}
        processes.append(subprocess.Popen(command, env={
            **os.environ, **{name: str(value) for name, value in mine.items()}}))
    left = {process.pid: process for process in processes}
    while left and not any(process.returncode for process in processes):
        pid, status = os.wait()
        if pid in left:
            left.pop(pid).returncode = os.waitstatus_to_exitcode(status)
    for process in left.values():
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
    sys.exit(max((abs(process.wait()) for process in processes)))


if __name__ == "__main__":
    main()
