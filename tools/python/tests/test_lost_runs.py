"""What must not end a run: checkpoints that are refused, and copies of it."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import shutil

import numpy
import pytest

import zero
from zero.checkpoints import read_checkpoint
from zero.files import open_file, parse_json

MODELS = pathlib.Path(__file__).parents[3] / "test/Models"


def batch(features: int = 3) -> dict:
    random = numpy.random.default_rng(3)
    return {
        "x": random.standard_normal((4, features), dtype=numpy.float32),
        "y": random.standard_normal((4, 1), dtype=numpy.float32),
    }


def mlp(**settings) -> zero.Step:
    settings = {"ranks": 2, "stage": 3, "threads": 1, "deterministic": True, **settings}
    return zero.compile(MODELS / "tiny-mlp.mlir", **settings)


def newest(folder: pathlib.Path) -> pathlib.Path:
    return max(folder.glob("update-*"))


def change_last_byte(path: pathlib.Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 4
    path.write_bytes(data)


def make_pipe(path: pathlib.Path) -> None:
    path.unlink()
    os.mkfifo(path)


def damage(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Copies of the checkpoints in `folder`, each with one thing wrong."""
    copies = {}
    for name, change in (
        ("payload", lambda last: change_last_byte(last / "rank-00001-of-00002.safetensors")),
        ("missing file", lambda last: (last / "rank-00000-of-00002.safetensors").unlink()),
        ("manifest", lambda last: change_last_byte(last / "manifest.json")),
        ("no manifest", lambda last: (last / "manifest.json").unlink()),
        ("pipe", lambda last: make_pipe(last / "manifest.json")),
    ):
        copies[name] = folder.with_name(name)
        shutil.copytree(folder, copies[name])
        change(newest(copies[name]))
    return copies


def test_a_run_outlives_checkpoints_that_are_refused(tmp_path):
    """Its state is bit by bit what it was, and it trains on."""
    with mlp() as other, mlp() as step:
        other(batch())
        step(batch())
        step.save_checkpoint(tmp_path / "saved")
        step(batch())
        step.save_checkpoint(tmp_path / "saved")
        other(batch())
        copies = damage(tmp_path / "saved")
        copies["nothing"] = tmp_path / "none"
        copies["one of them"] = newest(tmp_path / "saved")
        with pytest.raises(zero.ArgumentError, match="would replace a part of the checkpoint"):
            step.save_weights(newest(tmp_path / "saved") / "rank-00000-of-00002.safetensors")
        for name, folder in copies.items():
            before = step.state_dict()
            with pytest.raises(zero.CheckpointError):
                step.load_checkpoint(folder)
            after = step.state_dict()
            assert all(numpy.array_equal(before[key], after[key]) for key in before), name
            assert step.position() == (2, 8)
        assert step(batch()) == other(batch())
        step.load_checkpoint(tmp_path / "saved")
        assert step.position() == (2, 8)


def test_a_run_outlives_checkpoints_of_others(tmp_path):
    with mlp(config={"optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}}}) as sgd:
        sgd(batch())
        sgd.save_checkpoint(tmp_path / "sgd")
    with mlp(seed=5) as other:
        other.save_checkpoint(tmp_path / "seed")
    with mlp() as step:
        step(batch())
        with pytest.raises(zero.CheckpointError, match="does not match this program"):
            step.load_checkpoint(tmp_path / "sgd")
        with pytest.raises(zero.CheckpointError, match="make the run with that seed"):
            step.load_checkpoint(tmp_path / "seed")
        step(batch())
        step.save_weights(tmp_path / "w.safetensors")


def test_runs_are_not_copied():
    with mlp() as step:
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="a run cannot be copied or pickled"):
                make(step)
        step(batch())


def test_a_newer_checkpoint_is_not_passed_over(tmp_path):
    with mlp() as step:
        for _ in range(2):
            step(batch())
            step.save_checkpoint(tmp_path / "saved")
        (newest(tmp_path / "saved") / "manifest.json").unlink()
        with pytest.raises(zero.CheckpointError, match="would pass over a newer checkpoint"):
            step.load_checkpoint(tmp_path / "saved")
    words = "and is not complete, and is newer than .*update-0000000001"
    with pytest.raises(zero.CheckpointError, match=words):
        read_checkpoint(tmp_path / "saved")


def test_json_is_not_nested_deep():
    deepest = "[" * 100 + "]" * 100
    assert parse_json(f'{deepest[:-1]}, "[ {{ \\" ["]') is not None
    for text in ("[" * 101 + "]" * 101, '{"a":' * 300_000):
        with pytest.raises(ValueError, match="line 2: objects and lists are nested more than 100"):
            parse_json("\n" + text)


def test_only_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="found a pipe, wanted a regular file"):
        open_file(tmp_path / "pipe")
    with pytest.raises(OSError, match="found a device, wanted a regular file"):
        open_file("/dev/null")
    with mlp() as step:
        step.save_checkpoint(tmp_path / "saved")
    make_pipe(newest(tmp_path / "saved") / "manifest.json")
    with pytest.raises(zero.CheckpointError, match="found a pipe, wanted a regular file"):
        read_checkpoint(tmp_path / "saved")
