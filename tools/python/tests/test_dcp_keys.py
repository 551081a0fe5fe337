"""Which key of a checkpoint of torch.distributed.checkpoint is what."""

from __future__ import annotations

import numpy
import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
)

from zero.checkpoints import CheckpointError, read_checkpoint
from zero.checkpoints.keys import sort_keys


class Stateful:
    """A part of a run as torchtitan saves it."""

    def __init__(self, state: dict):
        self.state = state

    def state_dict(self) -> dict:
        return self.state

    def load_state_dict(self, state: dict) -> None:
        raise NotImplementedError


def parts():
    """(module, its state, the optimizer's as a tree and flat, other things of a run)"""
    torch.manual_seed(5)
    module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    module[1].bias.requires_grad = False
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=torch.tensor(0.1))
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    options = StateDictOptions(flatten_optimizer_state_dict=True)
    tree = get_optimizer_state_dict(module, optimizer)
    flat = get_optimizer_state_dict(module, optimizer, options=options)
    run = {"step": torch.tensor(1), "mean": torch.tensor(0.5), "scale": 2.0}
    return module, get_model_state_dict(module), tree, flat, run


def forms():
    """By name, how programs save these."""
    _, model, tree, flat, run = parts()
    return {
        "PyTorch's tutorial": {"app": Stateful({"model": model, "optim": tree})},
        "a tree": {"model": model, "optim": tree, "train_state": run},
        "one flat dictionary": {**model, **flat, "train_state": run},
        "flat beside a model": {"model": model, "optimizer": flat, "train_state": run},
        "torchtitan": {**model, "optimizer": Stateful(flat), "train_state": Stateful(run)},
        "torchtitan, nested": {"model": Stateful(model), "optimizer": Stateful(flat)},
        "in a state": {"state": {"model": model, "optimizer": tree}},
    }


@pytest.mark.parametrize("name", list(forms()))
def test_forms(name, tmp_path):
    """The same run, whichever way it is saved."""
    module, _, tree, _, _ = parts()
    dcp.save(forms()[name], checkpoint_id=tmp_path)
    run = read_checkpoint(tmp_path)
    assert [p.name for p in run.parameters] == [name for name, _ in module.named_parameters()]
    assert run.steps == 1
    for parameter, value in zip(run.parameters, module.parameters(), strict=True):
        assert parameter.trainable == value.requires_grad
        found = parameter.value.read(0, parameter.value.elements)
        assert numpy.array_equal(found, value.detach().numpy().reshape(-1))
        wanted = {"exp_avg", "exp_avg_sq"} if parameter.trainable else set()
        assert set(parameter.states) == wanted
        for state, kept in parameter.states.items():
            wanted = tree["state"][parameter.name][state].numpy().reshape(-1)
            assert numpy.array_equal(kept.read(0, kept.elements), wanted)


def test_weights_beside_other_things(tmp_path):
    """What is no parameter is named, and does not become one."""
    module, model, _, _, run = parts()
    dcp.save({"net": model, "train_state": run, "epoch": torch.tensor(3.0)}, checkpoint_id=tmp_path)
    found = read_checkpoint(tmp_path)
    assert [p.name for p in found.parameters] == list(module.state_dict())
    remarks = " ".join(found.remarks)
    assert "'train_state' is not of the model: 2 tensors are not read" in remarks
    assert "'epoch' is not of the model" in remarks


def sorted_keys(*keys: str, **paths: tuple):
    every = {**{key: () for key in keys}, **paths}
    return sort_keys(every, every, lambda key: not key.endswith("count"), "saved")


def test_keys_without_paths():
    """Checkpoints of older versions say no nested dictionaries."""
    found = sorted_keys("w", "b", "optim.state.w.exp_avg", "optim.state.w.step", "count")
    assert found.states == {"w": {"exp_avg": "optim.state.w.exp_avg", "step": "optim.state.w.step"}}
    assert found.weights == {"w": "w", "b": "b", "count": "count"}


def test_a_module_called_state():
    keys = ("state.layer.weight", "state.layer.bias", "head.weight")
    assert list(sorted_keys(*keys).weights.values()) == list(keys)


def test_refusals(tmp_path):
    _, model, tree, flat, _ = parts()

    def refusal(saved) -> str:
        dcp.save(saved, checkpoint_id=tmp_path / "saved")
        with pytest.raises(CheckpointError) as caught:
            read_checkpoint(tmp_path / "saved")
        return str(caught.value)

    assert "has the states of an optimizer and no model" in refusal({"optimizer": tree})
    assert "has the states of an optimizer and no model" in refusal(flat)
    message = refusal({"encoder": model, "decoder": model})
    assert "has several models, in the dictionaries 'encoder', 'decoder'" in message
    message = refusal({"model": model, "one": tree, "two": tree})
    assert "has several optimizers: '" in message and "are both the state 'step' of" in message
    halves = list(model.items())
    message = refusal({"a": dict(halves[:2]), "b": dict(halves[2:]), "optimizer": tree})
    assert "has its parameters in several dictionaries" in message
    numbered = {"state": {0: tree["state"]["0.weight"]}, "param_groups": []}
    assert "has states of '0', and no such parameter" in refusal({"model": model, "o": numbered})
    integers = {"state": {"0.weight": {"exp_avg": torch.ones(4, 3, dtype=torch.int8)}}}
    assert "has no floating-point elements" in refusal({"model": model, "optimizer": integers})
