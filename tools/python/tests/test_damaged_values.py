"""Whatever a foreign checkpoint says in the place of a value, and whichever bit of a file
is another one: it is read, or refused with one error that names the checkpoint."""

from __future__ import annotations

import copy
import random
import zipfile

import pytest
import torch
from test_damaged_state import SHAPES, TAG, write

from zero.checkpoints import CheckpointError, read_checkpoint, write_checkpoint, write_weights
from zero.checkpoints.cli import main

ODD = (None, -1, 2**70, 0.5, float("nan"), "text", b"x", [], [1], {}, {1: 2}, torch.zeros(2))


def outcome(folder, out) -> str:
    """The error, or "" where the checkpoint is read and written."""
    try:
        run = read_checkpoint(folder)
        write_weights(run, out / "weights.safetensors")
        run = read_checkpoint(folder)
        write_checkpoint(run, out / "run")
    except CheckpointError as error:
        return str(error)
    finally:
        for path in sorted(out.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    return ""


def check(folder, out, what: str) -> bool:
    """Whether it was refused."""
    message = outcome(folder, out)
    named = str(folder) in message or "has no states of an optimizer" in message
    assert named or not message, (what, message)
    assert "\n" not in message, (what, message)
    return bool(message)


def places(found, path=()):
    """Where values are in dictionaries and lists."""
    inner = found.items() if isinstance(found, dict) else enumerate(found)
    for key, value in list(inner):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def with_odd_value(saved, path, value):
    saved = copy.deepcopy(saved)
    holder = saved
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return saved


def write_stage_0(folder) -> None:
    generator = torch.Generator().manual_seed(0)
    module = {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    state = {
        number: {"step": torch.tensor(3.0), "exp_avg": value, "exp_avg_sq": value.abs()}
        for number, value in enumerate(module.values())
    }
    group = {"params": list(state), "lr": 0.1, "betas": (0.9, 0.99)}
    saved = {
        "module": module,
        "buffer_names": [],
        "optimizer": {
            "optimizer_state_dict": {"state": state, "param_groups": [group]},
            "dynamic_loss_scale": True,
            "cur_scale": 8.0,
            "cur_iter": 4,
            "last_overflow_iter": -1,
        },
        "global_steps": 3,
        "skipped_steps": 0,
        "global_samples": 12,
        "dp_world_size": 1,
    }
    (folder / TAG).mkdir(parents=True)
    torch.save(saved, folder / TAG / "mp_rank_00_model_states.pt")


@pytest.fixture(params=[0, 2, 3])
def saved(request, tmp_path):
    folder = tmp_path / "saved"
    write_stage_0(folder) if request.param == 0 else write(folder, request.param, ranks=2)
    (tmp_path / "out").mkdir()
    return folder / TAG, tmp_path / "out"


def test_odd_values(saved):
    folder, out = saved
    assert outcome(folder, out) == ""
    refused, draw = 0, random.Random(0)
    for file in sorted(folder.iterdir()):
        before, content = file.read_bytes(), torch.load(file, weights_only=True)
        for path in places(content):
            for value in draw.sample(ODD, 4):
                torch.save(with_odd_value(content, path, value), file)
                refused += check(folder, out, f"{file.name}: {path} is {value!r}")
        file.write_bytes(before)
    assert refused > 50


def test_odd_bytes(saved):
    """Beside those of elements, whose checksum is compared, these are the zip archive's."""
    folder, out = saved
    draw = random.Random(1)
    file = sorted(folder.iterdir())[0]
    before = file.read_bytes()
    for _ in range(150):
        # The directory is at the end.
        place = len(before) - 1 - int(draw.random() ** 2 * len(before))
        changed = bytearray(before)
        changed[place] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        check(folder, out, f"byte {place}")


def refusal(folder, saved, out) -> str:
    torch.save(saved, folder / "mp_rank_00_model_states.pt")
    return outcome(folder, out)


@pytest.fixture
def stage_0(tmp_path):
    """(its folder, its content, a folder to write to)"""
    write_stage_0(tmp_path / "saved")
    (tmp_path / "out").mkdir()
    folder = tmp_path / "saved" / TAG
    return folder, torch.load(folder / "mp_rank_00_model_states.pt"), tmp_path / "out"


def test_elements_for_several_places(stage_0, tmp_path, capsys):
    """A file of a few bytes would become one of 32 GiB."""
    folder, saved, out = stage_0
    module = saved["module"]
    module["b.weight"] = torch.zeros(1).expand(1 << 33)
    message = refusal(folder, saved, out)
    assert "mp_rank_00_model_states.pt: a tensor of shape [8589934592]" in message
    assert "save it again after .contiguous()" in message
    assert main([str(folder), "-o", str(tmp_path / "w.safetensors")]) == 1
    assert "contiguous" in capsys.readouterr().err
    assert not list(tmp_path.glob("w.safetensors*"))
    # Buffers are not read.
    saved["buffer_names"] = ["mask"]
    module.update({"b.weight": torch.zeros(3, 3), "mask": torch.zeros(1).expand(1 << 33)})
    assert refusal(folder, saved, out) == ""


def test_compressed(stage_0):
    """A small archive would become a large pickle."""
    folder, _, out = stage_0
    file = folder / "mp_rank_00_model_states.pt"
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    assert "is compressed, wanted entries as torch.save" in outcome(folder, out)


@pytest.mark.parametrize("name", ["__metadata__", "", 5, None, "\ud800"])
def test_names(stage_0, name):
    folder, saved, out = stage_0
    module = saved["module"]
    module[name] = module.pop("b.weight")
    message = refusal(folder, saved, out)
    assert f"mp_rank_00_model_states.pt: has a tensor of the name {name!r}" in message
