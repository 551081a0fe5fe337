"""State of models that are cut over an axis: one whole tensor for each parameter, in
whatever way it is read or given. With ZERO_ALL_TESTS of all axes."""

from __future__ import annotations

import os

import numpy
import pytest
import torch
import torch.distributed.checkpoint as dcp
from models import MODELS
from safetensors import safe_open
from safetensors.torch import load_file
from torch.distributed.checkpoint.state_dict import get_state_dict

import zero
from zero.checkpoints import read_checkpoint, write_weights

SAMPLES, UPDATES = 4, 2
ADAM = {"lr": 1e-3, "eps": 1e-6, "weight_decay": 0.0}
# By name: the model, the mesh, and ranks with samples of their own.
CASES = {
    "tensor": ("gpt2", "data=2,tensor=2", 2),
    "sequence": ("llama", "data=2,sequence=2", 2),
    "expert": ("mixtral", "data=2,expert=2", 4),
    "tensor and expert": ("mixtral", "data=1,tensor=2,expert=2", 2),
}
DEFAULT = ("tensor", "expert")
# A bias of all keys has no gradient but what rounding leaves, of which Adam makes steps.
KEYS = {f"transformer.h.{layer}.attn.c_attn.bias": slice(64, 128) for layer in range(2)}


def compiled(module, batch, mesh: str | None, ranks: int, stage: int, **settings):
    config = {
        "optimizer": {"type": "AdamW", "params": ADAM},
        "gradient_clipping": 0.0,
        "gradient_accumulation_steps": SAMPLES // ranks,
        "zero_optimization": {"stage": stage},
    }
    part = {name: value[:1] for name, value in batch.items()}
    where = {"mesh": mesh} if mesh else {"ranks": ranks, "stage": stage}
    return zero.compile(module, part, config=config, threads=1, **where, **settings)


@pytest.fixture(scope="module", params=CASES if os.environ.get("ZERO_ALL_TESTS") else DEFAULT)
def runs(request):
    """(module, batch, a run on one rank, a run of the cut model), each as far."""
    name, mesh, ranks = CASES[request.param]
    torch.manual_seed(4)
    module, _ = MODELS[name]()
    ids = torch.randint(1, 100, (SAMPLES, 16))
    batch = {"input_ids": ids, "labels": ids}
    with (
        compiled(module.eval(), batch, None, 1, 0) as one,
        compiled(module, batch, mesh, ranks, 3) as cut,
    ):
        for _ in range(UPDATES):
            assert cut(batch) == pytest.approx(one(batch), rel=1e-5)
        yield module, batch, one, cut


def near(found, wanted, name: str, tolerance: float = 1e-5) -> None:
    assert found.shape == wanted.shape, name
    found, wanted = found.copy(), wanted.copy()
    for array in (found, wanted):
        array[KEYS.get(name, slice(0, 0))] = 0
    numpy.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance, err_msg=name)


def test_arrays(runs):
    """NumPy's and, through DLPack, PyTorch's: read, and set."""
    module, _, one, cut = runs
    shapes = {name: tuple(value.shape) for name, value in module.named_parameters()}
    assert {name: tensor.shape for name, tensor in cut.parameters.items()} == shapes
    for name in shapes:
        value = torch.from_dlpack(cut.parameter(name))
        near(value.numpy(), one.parameter(name), name)
        for state in ("exp_avg", "exp_avg_sq"):
            near(cut.optimizer_state(name, state), one.optimizer_state(name, state), name, 1e-6)
        counted = torch.arange(value.numel(), dtype=torch.float32).reshape(value.shape)
        cut.set_parameter(name, counted)
        assert torch.from_dlpack(cut.parameter(name)).equal(counted), name
        cut.set_optimizer_state(name, "exp_avg", -counted)
        assert torch.from_dlpack(cut.optimizer_state(name, "exp_avg")).equal(-counted), name
        cut.set_parameter(name, value)
        cut.set_optimizer_state(name, "exp_avg", one.optimizer_state(name, "exp_avg"))


def test_local_pieces(runs):
    """Each element of the whole tensor is one rank's."""
    *_, cut = runs
    for name in cut.parameters:
        whole = cut.parameter(name).reshape(-1)
        found = numpy.full_like(whole, numpy.nan)
        for rank in range(cut.ranks):
            pieces, values = cut.local_pieces(rank, name), cut.local(rank, name)
            assert sum(length for _, length in pieces) == values.size
            for first, length in pieces:
                found[first : first + length] = values[:length]
                values = values[length:]
        assert numpy.array_equal(found, whole), name


def test_gradients(runs):
    """PyTorch's, of the mean loss."""
    module, batch, one, cut = runs
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(torch.from_dlpack(cut.parameter(name)))
    module.zero_grad()
    module(**batch).loss.backward()
    cut.backward(batch)
    for name, value in module.named_parameters():
        near(cut.gradient(name), value.grad.numpy(), name, 1e-6)
    assert cut.update() == pytest.approx(one(batch), rel=1e-5)


def test_weights(runs, tmp_path):
    """safetensors' own reader, and PyTorch's module, which then has the same loss."""
    module, batch, _, cut = runs
    cut.save_weights(tmp_path / "weights.safetensors")
    with safe_open(tmp_path / "weights.safetensors", "np") as file:
        names = list(file.keys())
        assert set(names) == set(cut.parameters)
        for name in names:
            assert numpy.array_equal(file.get_tensor(name), cut.parameter(name)), name
    found = module.load_state_dict(load_file(tmp_path / "weights.safetensors"), strict=False)
    assert not found.unexpected_keys and not set(found.missing_keys) & set(cut.parameters)
    with torch.no_grad():
        assert module(**batch).loss.item() == pytest.approx(cut.evaluate(batch), rel=1e-5)


def test_checkpoint(runs, tmp_path):
    """One of the cut model, read by Python and by a run on one rank."""
    _, batch, one, cut = runs
    cut.save_checkpoint(tmp_path / "saved")
    saved = read_checkpoint(tmp_path / "saved")
    assert {found.name: found.shape for found in saved.parameters} == {
        name: tensor.shape for name, tensor in cut.parameters.items()
    }
    for found in saved.parameters:
        assert set(found.states) == {"exp_avg", "exp_avg_sq"}, found.name
        for state, values in found.states.items():
            whole = cut.optimizer_state(found.name, state).reshape(-1)
            assert numpy.array_equal(values.read(0, values.elements), whole), state
    write_weights(saved, tmp_path / "weights.safetensors")
    for name, value in load_file(tmp_path / "weights.safetensors").items():
        assert numpy.array_equal(value, cut.parameter(name)), name
    one.load_checkpoint(tmp_path / "saved")
    for name in cut.parameters:
        assert numpy.array_equal(one.parameter(name), cut.parameter(name)), name
    assert one(batch) == pytest.approx(cut(batch), rel=1e-5)


def test_foreign_checkpoint(runs, tmp_path):
    """PyTorch's goes on in the cut model."""
    module, batch, _, cut = runs
    optimizer = torch.optim.AdamW(module.parameters(), **ADAM)
    losses = []
    for update in range(UPDATES + 3):
        if update == UPDATES:
            model, states = get_state_dict(module, optimizer)
            dcp.save({"model": model, "optimizer": states}, checkpoint_id=tmp_path / "saved")
        optimizer.zero_grad()
        loss = module(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with pytest.warns(UserWarning, match="does not say which data were read"):
        cut.load_checkpoint(tmp_path / "saved")
    for name, value in model.items():
        if name in cut.parameters:
            assert cut.parameter(name).shape == tuple(value.shape)
    assert [cut(batch) for _ in range(3)] == pytest.approx(losses[UPDATES:], rel=1e-4)
