"""Folders of accelerate's FSDP: a checkpoint of DCP for the model, and one for its
optimizer."""

from __future__ import annotations

import os
import re
from typing import Iterable

from zero.checkpoints.distributed import METADATA, read_distributed
from zero.checkpoints.errors import CheckpointError
from zero.checkpoints.run import SavedRun

# With SHARDED_STATE_DICT; the number is that of the model among those that are prepared.
_MODEL = re.compile(r"pytorch_model_fsdp_(\d+)")
# By torch.save: with FULL_STATE_DICT, of all ranks, else of each.
_FILE = re.compile(r"pytorch_model_fsdp(_\d+)?(_rank\d+)?\.bin")


def is_part(name: str) -> bool:
    """Whether accelerate calls the model of a checkpoint so."""
    return bool(_MODEL.fullmatch(name) or _FILE.fullmatch(name))


def read_accelerate(folder: str, names: Iterable[str], weights_only: bool) -> SavedRun:
    """What `save_state` of accelerate, or a Trainer of transformers, has written to
    `folder`, whose entries are `names`: the weights, and the states of the optimizer with
    the model's number, where there are some."""
    models = sorted(name for name in names if _MODEL.fullmatch(name))
    if not models:
        raise CheckpointError(
            f"{folder}: its model is a file of torch.save, {min(filter(_FILE.fullmatch, names))}, "
            "which is not read: save it with SHARDED_STATE_DICT as the state dict type and with "
            "DCP, or import the module with these weights"
        )
    if len(models) > 1:
        raise CheckpointError(
            f"{folder}: has several models, in {', '.join(models)}: name the folder of one, "
            "whose weights are read without an optimizer"
        )
    optimizer = f"optimizer_{_MODEL.fullmatch(models[0])[1]}"
    parts = models
    if not weights_only and optimizer in names:
        parts = [*models, optimizer]
    for part in parts:
        if not os.path.exists(os.path.join(folder, part, METADATA)):
            raise CheckpointError(
                f"{os.path.join(folder, part)}: has no {METADATA}: the checkpoint is incomplete"
            )
    return read_distributed(folder, parts)
