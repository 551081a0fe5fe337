"""Runs DeepSpeed on the CPU, a process for each rank."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch

needs_deepspeed = pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None, reason="DeepSpeed is not installed"
)


def prepare(folder: pathlib.Path, config: dict, **settings) -> None:
    """What deepspeed_peer.py reads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    torch.save(settings, folder / "settings.pt")


def run_deepspeed(ranks: int, *folders: pathlib.Path) -> list[list[float]]:
    """The losses of each folder's run, one after the other in the same processes."""
    script = pathlib.Path(__file__).with_name("deepspeed_peer.py")
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(ranks), *map(str, folders)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]
    outputs = [process.communicate(timeout=1200)[0] for process in processes]
    for process, output in zip(processes, outputs, strict=True):
        assert process.returncode == 0, output[-4000:]
    return [json.loads((folder / "losses.json").read_text()) for folder in folders]
