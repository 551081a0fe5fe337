"""Whatever a foreign checkpoint says in the place of a value, and whichever bit of a file
is another one: it is read, or refused with one error that names the checkpoint."""

from __future__ import annotations

import copy
import io
import pickle
import random
import struct
import zipfile
from collections import OrderedDict

import pytest
import torch
from test_damaged_state import SHAPES, TAG, write

from zero.checkpoints import CheckpointError, read_checkpoint, write_checkpoint, write_weights
from zero.checkpoints.cli import main
from zero.checkpoints.run import tensor_of
from zero.checkpoints.universal import read_universal

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


def changed(file, offset_of, replacement: bytes, archive_entry: str) -> None:
    """Writes other bytes at a place that follows from where an entry is, and its record in
    the directory."""
    with zipfile.ZipFile(file) as archive:
        (entry,) = [e for e in archive.infolist() if e.filename.endswith(archive_entry)]
        directory = archive.start_dir
    data = bytearray(file.read_bytes())
    record = data.index(entry.filename.encode(), directory) - 46
    assert data[record : record + 4] == b"PK\1\2"
    at = offset_of(entry.header_offset, record)
    data[at : at + len(replacement)] = replacement
    file.write_bytes(data)


def test_archives(stage_0):
    """What the directory of an archive says, and what is there."""
    folder, _, out = stage_0
    file = folder / "mp_rank_00_model_states.pt"
    before = file.read_bytes()
    changed(file, lambda header, record: header, b"PK\5\6", "/data/0")
    assert "data/0' is not where its directory says: the file is damaged" in outcome(folder, out)
    file.write_bytes(before)
    # Both of its sizes.
    sizes = struct.pack("<II", 1 << 30, 1 << 30)
    changed(file, lambda header, record: record + 20, sizes, "/data/0")
    message = outcome(folder, out)
    assert "its entries have 10737" in message and "bytes together, and the archive has" in message
    file.write_bytes(before)
    # Behind the header and the name, which are followed by padding.
    changed(file, lambda header, record: header + 200, b"????", "/data.pkl")
    assert "mp_rank_00_model_states.pt: is damaged: Bad CRC-32 for file" in outcome(folder, out)


class Rebuilt:
    """A tensor of this shape in a storage of three elements."""

    def __init__(self, *shape: int):
        self.shape = shape

    def __reduce__(self):
        storage = torch.zeros(3)._typed_storage()
        strides = torch.empty(self.shape, device="meta").stride()
        arguments = (storage, 0, self.shape, strides, False, OrderedDict())
        return torch._utils._rebuild_tensor_v2, arguments


def test_tensors(stage_0):
    folder, saved, out = stage_0
    message = refusal(folder, {**saved, "more": Rebuilt(2, 2)}, out)
    assert "a tensor of shape [2, 2] reaches element 3 of 3: the file is damaged" in message
    message = refusal(folder, {**saved, "more": torch.zeros(2, dtype=torch.complex64)}, out)
    assert "model_states.pt: has elements of type ComplexFloat, wanted one of" in message


class Elsewhere(pickle.Pickler):
    """Says of a number that it is kept elsewhere, as torch.save does of elements."""

    def __init__(self, file, kind: str):
        super().__init__(file, protocol=2)
        self.kind = kind

    def persistent_id(self, found):
        return (self.kind, "FloatStorage", "0", "cpu", 1) if found == 5.5 else None


def pickled(value, kind: str) -> bytes:
    text = io.BytesIO()
    Elsewhere(text, kind).dump(value)
    return text.getvalue()


def test_objects(stage_0):
    folder, _, out = stage_0
    with zipfile.ZipFile(folder / "mp_rank_00_model_states.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickled({"module": 5.5}, "module"))
    assert "has an object of the unknown kind 'module'" in outcome(folder, out)


def test_universal(stage_0, tmp_path):
    """A file of a parameter, which has something else in it."""
    write(tmp_path / "other", 2)
    folder = tmp_path / "other" / TAG
    place = folder / "zero" / "a.weight"
    place.mkdir(parents=True)
    torch.save({"rank": 3}, place / "fp32.pt")
    with pytest.raises(CheckpointError, match="fp32.pt: has no tensor: it is of an unknown layout"):
        read_universal(str(folder))
    (place / "fp32.pt").unlink()
    with pytest.raises(CheckpointError, match="a.weight: has no fp32.pt of the parameter"):
        read_universal(str(folder))


@pytest.mark.parametrize("name", ["__metadata__", "", 5, None, "\ud800"])
def test_names(stage_0, name):
    folder, saved, out = stage_0
    module = saved["module"]
    module[name] = module.pop("b.weight")
    message = refusal(folder, saved, out)
    assert f"mp_rank_00_model_states.pt: has a tensor of the name {name!r}" in message


def test_what_is_no_tensor():
    with pytest.raises(CheckpointError, match="file.pt: the master is int, wanted a tensor"):
        tensor_of(3, "the master", "file.pt")
