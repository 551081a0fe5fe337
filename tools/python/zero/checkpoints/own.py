"""Checkpoints of zero's own form, as the runtime writes them (docs/Checkpoints.md)."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy

from zero.checkpoints.digest import Digest, digest_of
from zero.checkpoints.errors import CheckpointError, size_of
from zero.checkpoints.run import SavedParameter, SavedRun
from zero.checkpoints.values import Joined
from zero.files import open_file, parse_json

MANIFEST = "manifest.json"
VERSION = 2
VALUE = "parameter"
_NAME = re.compile(r"update-\d{10}")
_TYPES = {"F32": numpy.dtype("<f4"), "F16": numpy.dtype("<f2"), "BF16": numpy.dtype("<u2")}
# Strings, and the white space between other things.
_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_CHECKSUM = re.compile(r',"checksum":"([0-9a-f]{16})"\}$')
_BLOCK = 64 << 20


def newest(folder: str) -> str | None:
    """The newest complete checkpoint: `folder` itself, or one in it; None without any.
    Raises CheckpointError where it would pass over a newer one."""
    if os.path.lexists(os.path.join(folder, MANIFEST)):
        return folder
    names = sorted(filter(_NAME.fullmatch, os.listdir(folder)), reverse=True)
    paths = [os.path.join(folder, name) for name in names]
    found = next((path for path in paths if os.path.lexists(os.path.join(path, MANIFEST))), None)
    if found and found != paths[0]:
        raise CheckpointError(
            f"{paths[0]}: has no {MANIFEST} and is not complete, and is newer than {found}; "
            "restore it, or remove it to take the older one"
        )
    return found


def read_own(folder: str) -> SavedRun:
    """Parameters and states of the checkpoint at `folder`; its files are verified."""
    path = os.path.join(folder, MANIFEST)
    manifest = _manifest(path)
    try:
        runs: dict[tuple[str, str], list[tuple[int, _Run]]] = {}
        for file in manifest["files"]:
            _verify(folder, file)
            _add_runs(os.path.join(folder, file["name"]), runs)
        parameters = [_parameter(path, tensor, runs) for tensor in manifest["tensors"]]
        return SavedRun(
            manifest["program"],
            parameters,
            steps=manifest["steps"],
            skipped=manifest["skipped"],
            samples=manifest["data"]["consumed"],
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path}: is of an unknown layout: {error!r}") from None


def _manifest(path: str) -> dict[str, Any]:
    size_of(path)
    try:
        with open_file(path, "r", encoding="utf-8") as file:
            text = file.read()
        manifest = parse_json(text)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "zero-checkpoint":
        raise CheckpointError(f"{path}: is no manifest of a checkpoint")
    if manifest.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: has version {manifest.get('version')}, wanted {VERSION}: go on with the "
            "executable that wrote it, or take weights that zero-checkpoint of its version exports"
        )
    # The checksum is that of the text without it and without spaces.
    dense = _SPACE.sub(lambda found: found[1] or "", text)
    found = _CHECKSUM.search(dense)
    if not found or digest_of((dense[: found.start()] + "}").encode()) != found[1]:
        raise CheckpointError(f"{path}: its checksum is wrong: the file is damaged")
    return manifest


def _verify(folder: str, file: dict[str, Any]) -> None:
    path = os.path.join(folder, os.path.basename(file["name"]))
    digest = Digest()
    size_of(path)
    try:
        with open_file(path) as stream:
            while part := stream.read(_BLOCK):
                digest.update(part)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    if digest.bytes != file["bytes"] or digest.hexadecimal() != file["digest"]:
        raise CheckpointError(
            f"{path}: found {digest.bytes} bytes with another checksum than the {file['bytes']} "
            "that were written: the file is damaged"
        )


class _Run:
    """Elements in a safetensors file."""

    def __init__(self, path: str, place: int, kind: str, elements: int):
        self.path, self.place, self.kind, self.elements = path, place, kind, elements

    def read(self, first: int, count: int) -> numpy.ndarray:
        kind = _TYPES[self.kind]
        with open_file(self.path) as file:
            file.seek(self.place + first * kind.itemsize)
            found = numpy.frombuffer(file.read(count * kind.itemsize), kind)
        if self.kind == "BF16":
            return (found.astype(numpy.uint32) << 16).view(numpy.float32)
        return found.astype(numpy.float32)


def _add_runs(path: str, runs) -> None:
    with open_file(path) as file:
        length = int.from_bytes(file.read(8), "little")
        header = parse_json(file.read(length))
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        tensor, state, element = name.rsplit("/", 2)
        begin, end = entry["data_offsets"]
        # Of a parameter that was cut, runs that are equally far apart.
        element, _, stride = element.partition("+")
        *rows, elements = entry["shape"]
        size = elements * _TYPES[entry["dtype"]].itemsize
        parts = runs.setdefault((tensor, state), [])
        for row in range(rows[0] if rows else 1):
            run = _Run(path, 8 + length + begin + row * size, entry["dtype"], elements)
            parts.append((int(element) + row * int(stride or 0), run))
        assert end - begin == size * (rows[0] if rows else 1), name


def _parameter(path: str, tensor: dict[str, Any], runs) -> SavedParameter:
    def values(state: str) -> Joined:
        parts = sorted(runs.get((tensor["name"], state), ()), key=lambda part: part[0])
        end = 0
        for element, run in parts:
            if element != end:
                raise CheckpointError(
                    f"{path}: {state} of '{tensor['name']}' has element {element}, wanted {end}"
                )
            end += run.elements
        return Joined([run for _, run in parts])

    return SavedParameter(
        tensor["name"],
        tuple(tensor["shape"]),
        values(VALUE),
        tensor["trainable"],
        {state: values(state) for state in tensor["states"] if state != VALUE},
    )
