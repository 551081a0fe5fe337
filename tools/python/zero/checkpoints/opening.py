"""Which kind of checkpoint a folder holds."""

from __future__ import annotations

import os
import re

from zero.checkpoints.accelerate import is_part, read_accelerate
from zero.checkpoints.deepspeed import OPTIMIZER, read_deepspeed
from zero.checkpoints.distributed import METADATA, read_distributed
from zero.checkpoints.errors import CheckpointError, reading
from zero.checkpoints.model_states import MODEL
from zero.checkpoints.own import MANIFEST, newest, read_own
from zero.checkpoints.run import SavedRun
from zero.checkpoints.universal import read_universal
from zero.files import open_file

_OWN = re.compile(r"update-\d{10}")
_POINTERS = ("latest_universal", "latest")


def is_own(folder: str | os.PathLike) -> bool:
    """Whether `folder` has checkpoints of zero's own form."""
    names = _names(os.fspath(folder))
    return MANIFEST in names or any(_OWN.match(name) for name in names)


def is_foreign(folder: str | os.PathLike) -> bool:
    """Whether `folder` looks like a checkpoint of another program, whole or damaged."""
    names = _names(os.fspath(folder))
    known = {METADATA, "zero", *_POINTERS}
    return any(
        name in known or MODEL.match(name) or OPTIMIZER.match(name) or is_part(name)
        for name in names
    )


def read_checkpoint(folder: str | os.PathLike, weights_only: bool = False) -> SavedRun:
    """Reads a checkpoint of DeepSpeed (stages 0 to 3 and universal), of PyTorch's DCP, also
    in the folders of accelerate, or of zero: its names and places; elements stay in the files until they are read.
    `folder` is that of one checkpoint, or one whose file `latest` names it.

    Raises CheckpointError, naming the file, where something is missing, damaged or of an
    unknown layout."""
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise CheckpointError(f"{folder}: is no folder")
    with reading(folder):
        return _read(folder, weights_only)


def _read(folder: str, weights_only: bool) -> SavedRun:
    if is_own(folder):
        own = newest(folder)
        if own is None:
            raise CheckpointError(f"{folder}: has no complete checkpoint")
        return read_own(own)
    found = _read_here(folder, weights_only)
    if found:
        return found
    for pointer in _POINTERS:
        path = os.path.join(folder, pointer)
        if not os.path.isfile(path):
            continue
        with reading(path), open_file(path, "r", encoding="utf-8") as file:
            tag = file.read().strip()
        inner = os.path.join(folder, tag)
        if not tag or not os.path.isdir(inner):
            raise CheckpointError(f"{path}: names '{tag}', which is not there")
        found = _read_here(inner, weights_only)
        if found:
            return found
    raise CheckpointError(
        f"{folder}: is no checkpoint that is known; wanted one of DeepSpeed (with "
        "*_model_states.pt, or a file 'latest' that names its folder), or of PyTorch's DCP "
        f"(with {METADATA}, or accelerate's folder pytorch_model_fsdp_0)"
    )


def _read_here(folder: str, weights_only: bool) -> SavedRun | None:
    names = _names(folder)
    if METADATA in names:
        return read_distributed(folder)
    if any(map(is_part, names)):
        return read_accelerate(folder, names, weights_only)
    if "zero" in names:
        return read_universal(folder)
    if any(MODEL.fullmatch(name) or OPTIMIZER.fullmatch(name) for name in names):
        return read_deepspeed(folder, weights_only)
    return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
