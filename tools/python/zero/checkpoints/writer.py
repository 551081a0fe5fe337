"""Writes what was read: as a checkpoint of zero, or its weights as safetensors."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from typing import Any, Iterable, Iterator

import numpy

from zero.checkpoints.digest import Digest, digest_of
from zero.checkpoints.errors import CheckpointError, checked_name
from zero.checkpoints.opening import is_foreign, is_own
from zero.checkpoints.own import MANIFEST, VALUE, VERSION
from zero.checkpoints.run import SavedRun
from zero.checkpoints.values import Values
from zero.files import describe_error

_SHARD = "rank-00000-of-00001.safetensors"
_ELEMENTS = 1 << 22


def write_checkpoint(run: SavedRun, folder: str | os.PathLike, seed: int = 0) -> str:
    """Writes the run as a checkpoint in `folder`, for runs with that seed; its path. The
    order of steps is the runtime's: it is there complete, or not at all."""
    folder = os.fspath(folder)
    if os.path.exists(folder) and is_own(folder):
        raise CheckpointError(f"{folder}: has checkpoints already; name another folder")
    if os.path.exists(folder) and is_foreign(folder):
        raise CheckpointError(
            f"{folder}: has a checkpoint of another program, whose files would be replaced; name "
            "another folder"
        )
    stateless = [p.name for p in run.parameters if p.trainable and not p.states]
    if run.parameters and len(stateless) == len(run.parameters):
        raise CheckpointError(
            f"{run.origin}: has no states of an optimizer; take its weights: give -o "
            "FILE.safetensors, from which --weights starts a run"
        )
    update = run.steps + run.skipped
    name = f"update-{update:010d}"
    partial = os.path.join(folder, name + ".partial")
    with _removing(partial):
        os.makedirs(partial, exist_ok=True)
        _write_files(run, partial, update, seed)
        os.rename(partial, os.path.join(folder, name))
    _synchronise(folder)
    _write_text(folder, "latest", name + "\n")
    return os.path.join(folder, name)


def _write_files(run: SavedRun, folder: str, update: int, seed: int) -> None:
    tensors = [
        (f"{parameter.name}/{state}/0", (values.elements,), values)
        for parameter in run.parameters
        for state, values in ((VALUE, parameter.value), *parameter.states.items())
    ]
    digest = _write_tensors(os.path.join(folder, _SHARD), tensors)
    shard = {"name": _SHARD, "bytes": digest.bytes, "digest": digest.hexadecimal()}
    _synchronise(folder)
    _write_text(folder, MANIFEST, _with_checksum(_manifest(run, update, seed, shard)))


@contextlib.contextmanager
def _removing(partial: str) -> Iterator[None]:
    """Removes what is not finished. What cannot be written is a CheckpointError."""
    try:
        yield
    except BaseException as error:
        if os.path.isdir(partial):
            shutil.rmtree(partial, ignore_errors=True)
        elif os.path.lexists(partial):
            os.unlink(partial)
        if isinstance(error, OSError):
            path = partial.removesuffix(".partial")
            text = f"{path}: cannot be written: {describe_error(error)}"
            raise CheckpointError(text) from None
        raise


def write_weights(run: SavedRun, path: str | os.PathLike) -> None:
    """Writes all parameters, whole and f32, as safetensors; where that fails, `path` is as
    it was."""
    path = os.fspath(path)
    tensors = [(p.name, p.shape, p.value) for p in run.parameters]
    with _removing(path + ".partial"):
        _write_tensors(path + ".partial", tensors)
        os.replace(path + ".partial", path)


def _write_tensors(path: str, tensors: list[tuple[str, tuple[int, ...], Values]]) -> Digest:
    header = _header(path, tensors)
    digest = Digest()
    with open(path, "wb") as file:
        for part in _parts(header, tensors):
            digest.update(part)
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    return digest


def _header(path: str, tensors) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape, values in tensors:
        if checked_name(name, path) in header:
            raise CheckpointError(f"{path}: would have the tensor '{name}' twice")
        begin, end = end, end + 4 * values.elements
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    return len(text).to_bytes(8, "little") + text


def _parts(header: bytes, tensors) -> Iterable[bytes]:
    """The bytes of a file of tensors, a bounded part at a time."""
    yield header
    for _, _, values in tensors:
        for first in range(0, values.elements, _ELEMENTS):
            part = values.read(first, min(_ELEMENTS, values.elements - first))
            yield part.astype("<f4", copy=False).tobytes()


def _manifest(run: SavedRun, update: int, seed: int, shard: dict) -> dict[str, Any]:
    parameters = run.parameters
    scaler = run.scaler
    return {
        "format": "zero-checkpoint",
        "version": VERSION,
        "program": run.origin,
        "update": update,
        "steps": run.steps,
        "skipped": run.skipped,
        "stage": 0,
        "ranks": 1,
        "mesh": "",
        "loss_scale": {
            "kind": "dynamic" if scaler else "none",
            "scale": _exact(scaler.scale if scaler else 1.0),
            "iteration": scaler.iteration if scaler else 0,
            "last_overflow": scaler.last_overflow if scaler else -1,
            "hysteresis": scaler.hysteresis if scaler else 0,
        },
        "data": {
            "seed": seed,
            "global_batch": run.samples // update if update else 0,
            "consumed": run.samples,
            "samples": 0,
            "digest": f"{0:016x}",
        },
        "signature": _signature(run),
        "tensors": [
            {
                "name": p.name,
                "shape": list(p.shape),
                "dtype": "F32",
                "trainable": p.trainable,
                "states": dict.fromkeys((VALUE, *p.states), "F32"),
            }
            for p in parameters
        ],
        "files": [shard],
    }


def _signature(run: SavedRun) -> str:
    text = ""
    for p in run.parameters:
        text += p.name + "\0" + "".join(f"{size}," for size in p.shape)
        text += "".join("\0" + state for state in (VALUE, *p.states)) + "\n"
    return digest_of(text.encode())


def _exact(scale: float) -> float | int:
    """Whole numbers as such: the checksum is of the text, and programs write large
    fractions in different ways."""
    scale = float(numpy.float32(scale))
    if not math.isfinite(scale) or scale <= 0:
        raise CheckpointError(f"the loss scale is {scale}, wanted a positive number")
    return int(scale) if scale.is_integer() and scale < 2**53 else scale


def _with_checksum(manifest: dict) -> str:
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"))
    manifest = {**manifest, "checksum": digest_of(text.encode())}
    return json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"


def _write_text(folder: str, name: str, text: str) -> None:
    final = os.path.join(folder, name)
    with open(final + ".partial", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(final + ".partial", final)
    _synchronise(folder)


def _synchronise(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
