"""Whatever the metadata of a checkpoint of PyTorch say: it is read, or refused with one
error that names the checkpoint."""

from __future__ import annotations

import copy
import pickle

import torch
import torch.distributed.checkpoint as dcp
from test_damaged_values import ODD, check, outcome, pickled


def test_distributed(tmp_path):
    (tmp_path / "out").mkdir()
    folder, out = tmp_path / "saved", tmp_path / "out"
    weight = torch.arange(6.0).reshape(2, 3)
    states = {"state": {"w": {"exp_avg": weight, "step": torch.tensor(3.0)}}, "param_groups": []}
    dcp.save({"model": {"w": weight}, "optim": states}, checkpoint_id=folder)
    assert outcome(folder, out) == ""
    before = pickle.loads((folder / ".metadata").read_bytes())
    for name in ("state_dict_metadata", "storage_data", "planner_data"):
        for key in list(getattr(before, name)):
            for value in ODD:
                metadata = copy.deepcopy(before)
                getattr(metadata, name)[key] = value
                (folder / ".metadata").write_bytes(pickle.dumps(metadata))
                check(folder, out, f"{name}: {key} is {value!r}")
    # Two chunks of one place would multiply what is read.
    metadata = copy.deepcopy(before)
    places_of = metadata.storage_data
    keys = {index.fqn: index for index in places_of}
    places_of[keys["optim.state.w.exp_avg"]] = places_of[keys["model.w"]]
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))
    assert "is a chunk of 'model.w' and one of 'optim.state.w.exp_avg'" in outcome(folder, out)
    metadata = copy.deepcopy(before)
    metadata.storage_data[keys["model.w"]].transform_descriptors = ["zstd"]
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))
    assert "'model.w' is compressed (['zstd']): save it without extensions" in outcome(folder, out)
    (folder / ".metadata").write_bytes(pickled({"w": 5.5}, "storage"))
    assert "has tensors in it, wanted names and places only" in outcome(folder, out)
