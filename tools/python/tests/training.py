"""Compiles an imported model, makes one update, and compares with PyTorch."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file

import zero

# A power of two so large that what an update adds dwarfs the weights: the weights
# after it are the gradients, with all of their bits.
LEARNING_RATE = 2.0**24


def tool(name: str) -> str:
    """A tool of the build, from ZERO_BIN or the path."""
    folder = os.environ.get("ZERO_BIN")
    path = str(pathlib.Path(folder, name)) if folder else shutil.which(name)
    if not path or not os.path.exists(path):
        pytest.fail(f"{name} not found: set ZERO_BIN to the build's folder bin")
    return path


def golden():
    """The script that knows the order of samples."""
    path = pathlib.Path(__file__).parents[3] / "test/Goldens/make_training_golden.py"
    specification = importlib.util.spec_from_file_location("make_training_golden", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def shuffled(batch: dict) -> dict:
    """Data whose first batch, in the order of training with seed 0, is `batch`."""
    order = golden()
    count = next(iter(batch.values())).shape[0]
    rows = [order.permute(i, count, order.mix_bits(0, 0)) for i in range(count)]
    data = {}
    for name, value in batch.items():
        data[name] = value.clone()
        # What has another first dimension is the same for all samples.
        if value.shape[:1] == (count,):
            data[name][rows] = value
    return data


def run(command: list[str], folder: pathlib.Path) -> str:
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False
    )
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stderr[-4000:]}"
    return result.stdout


def train(
    model: zero.Model,
    batch: dict,
    folder: pathlib.Path,
    config: dict,
    *options: str,
    steps: int = 1,
    micro_batch: int | None = None,
) -> list[float]:
    """The losses of `steps` updates on `batch`, whose samples are the data. The
    weights after them are in after.safetensors."""
    model.save(folder / "model.mlir", folder / "weights.safetensors")
    samples = next(iter(batch.values())).shape[0]
    config = {"train_micro_batch_size_per_gpu": micro_batch or samples, **config}
    (folder / "config.json").write_text(json.dumps(config))
    save_file(shuffled(batch), folder / "data.safetensors")
    run(
        [
            tool("zero-compile"),
            "model.mlir",
            "--config",
            "config.json",
            "--target",
            "host",
            "-o",
            "train",
            *options,
        ],
        folder,
    )
    run(
        [
            "./train",
            "--data",
            "data.safetensors",
            "--steps",
            str(steps),
            "--weights",
            "weights.safetensors",
            "--save-weights",
            "after.safetensors",
            "--metrics",
            "metrics.jsonl",
            "--threads",
            "1",
            "--validation-fraction",
            "0",
        ],
        folder,
    )
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def train_once(model: zero.Model, batch: dict, folder: pathlib.Path):
    """(loss, gradients by name) of one update on one micro-batch."""
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": LEARNING_RATE}},
        "gradient_clipping": 0.0,
    }
    (loss,) = train(model, batch, folder, config, "--stage", "0")
    before = load_file(folder / "weights.safetensors")
    after = load_file(folder / "after.safetensors")
    gradients = {
        name: (before[name].double() - after[name].double()) / LEARNING_RATE for name in before
    }
    return loss, gradients


def reference(module: torch.nn.Module, batch: dict):
    """(loss, gradients by every name) of PyTorch."""
    module.zero_grad()
    result = module(**batch)
    loss = result if isinstance(result, torch.Tensor) else result.loss
    loss.backward()
    gradients = {
        name: (torch.zeros_like(p) if p.grad is None else p.grad).double()
        for name, p in module.named_parameters(remove_duplicate=False)
    }
    return loss.item(), gradients


def compare(module: torch.nn.Module, batch: dict, folder: pathlib.Path, **settings) -> zero.Model:
    """Imports, trains one step, and asserts the loss, the gradients and the running
    statistics."""
    torch.manual_seed(0)
    model = zero.export(module, batch, **settings)
    loss, gradients = train_once(model, batch, folder)
    wanted_loss, wanted = reference(module, batch)
    after = load_file(folder / "after.safetensors")
    for name in gradients.keys() - wanted.keys():
        del gradients[name]
        torch.testing.assert_close(after[name], module.get_buffer(name), rtol=1e-5, atol=1e-6)
    assert abs(loss - wanted_loss) <= 1e-6 * max(1, abs(wanted_loss)), (loss, wanted_loss)
    if distance(gradients, wanted) > 2e-6:
        assert_rounded(gradients, wanted, module, batch)
    return model


def assert_rounded(gradients: dict, wanted: dict, module: torch.nn.Module, batch: dict) -> None:
    """Where PyTorch's own f32 is further from f64 than the tolerance, as with many
    batch norms, zero may be as far. What is off by more is no measure of either."""
    floats = {n: v.double() if v.is_floating_point() else v for n, v in batch.items()}
    _, exact = reference(copy.deepcopy(module).double(), floats)
    own, found = distance(wanted, exact), distance(gradients, exact)
    message = f"{found:.1e} from f64, PyTorch {own:.1e}; {worst(gradients, wanted)}"
    assert found <= min(max(2e-6, 1.5 * own), 1e-5), message


def distance(gradients: dict, wanted: dict) -> float:
    """Of all gradients together, relative."""
    return norm(gradients[name] - wanted[name] for name in gradients) / norm(
        wanted[name] for name in gradients
    )


def norm(tensors) -> float:
    return float(sum(tensor.square().sum() for tensor in tensors)) ** 0.5


def worst(gradients: dict, wanted: dict) -> str:
    """The parameters that differ most, for a message."""
    errors = {
        name: norm([gradients[name] - wanted[name]]) / (norm([wanted[name]]) + 1e-30)
        for name in gradients
    }
    listed = sorted(errors.items(), key=lambda item: -item[1])[:5]
    return ", ".join(f"{name}: {error:.2e}" for name, error in listed)
