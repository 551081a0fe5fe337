"""Convolutions, pooling and batch norm one by one, and models in train mode, beside
PyTorch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from models import MODELS
from torch import nn
from training import compare, train

import zero


class Layers(nn.Module):
    """The sum over layers of their results times fixed numbers."""

    def __init__(self, **layers: nn.Module):
        super().__init__()
        self.layers = nn.ModuleDict(layers)

    def forward(self, x):
        total = 0.0
        for index, layer in enumerate(self.layers.values()):
            y = layer(x.flatten(2)) if "1d" in type(layer).__name__ else layer(x)
            scale = torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape) + 0.01 * index
            total = total + (y * scale).sum() / y.numel()
        return total


def pooled(function):
    """A convolution, whose weights have a gradient, and a pooling of its result."""

    class Pooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 6, 3, padding=1)

        def forward(self, x):
            return function(self.conv(x))

    return Pooled()


CONVOLUTIONS = {
    "plain": nn.Conv2d(4, 6, 3),
    "strided": nn.Conv2d(4, 6, (3, 2), stride=(2, 3), padding=(1, 0), bias=False),
    "dilated": nn.Conv2d(4, 6, 3, dilation=2, padding=2),
    "grouped": nn.Conv2d(4, 6, 3, groups=2),
    "depthwise": nn.Conv2d(4, 8, 3, groups=4, padding=1),
    "pointwise": nn.Conv2d(4, 6, 1),
    "skipping": nn.Conv2d(4, 6, 1, stride=2),
    "patches": nn.Conv2d(4, 6, (3, 2), stride=(3, 2)),
    "same": nn.Conv2d(4, 6, (3, 4), padding="same", dilation=(2, 1)),
    "line": nn.Conv1d(4, 6, 5, stride=2, padding=3),
    "transposed": nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
    "transposed_grouped": nn.ConvTranspose2d(4, 6, (2, 3), groups=2, dilation=(1, 2)),
    "transposed_line": nn.ConvTranspose1d(4, 6, 4, stride=2),
}

POOLS = {
    "max": lambda y: F.max_pool2d(y, 2),
    "max_overlapping": lambda y: F.max_pool2d(y, 3, 2, 1),
    "max_up": lambda y: F.max_pool2d(y, 3, 2, ceil_mode=True),
    "max_dilated": lambda y: F.max_pool2d(y, 2, 1, dilation=2),
    "avg_up": lambda y: F.avg_pool2d(y, 3, 2, 1, ceil_mode=True),
    "avg_own": lambda y: F.avg_pool2d(y, 3, 2, 1, count_include_pad=False),
    "uneven": lambda y: F.adaptive_avg_pool2d(y, (4, 7)),
    "even": lambda y: F.adaptive_avg_pool2d(y, (3, 5)),
}

NORMS = {
    "batch": lambda: nn.BatchNorm2d(6),
    "batch_plain": lambda: nn.BatchNorm2d(6, affine=False, track_running_stats=False),
    "group": lambda: nn.GroupNorm(3, 6),
    "instance": lambda: nn.InstanceNorm2d(6, affine=True),
}


def test_convolutions(tmp_path):
    torch.manual_seed(4)
    compare(Layers(**CONVOLUTIONS), {"x": torch.randn(3, 4, 9, 10)}, tmp_path)


def test_pools(tmp_path):
    torch.manual_seed(5)
    layers = {name: pooled(function) for name, function in POOLS.items()}
    compare(Layers(**layers), {"x": torch.randn(2, 4, 9, 10)}, tmp_path)


def test_norms(tmp_path):
    torch.manual_seed(6)
    layers = {name: nn.Sequential(nn.Conv2d(4, 6, 3), norm()) for name, norm in NORMS.items()}
    compare(Layers(**layers), {"x": torch.randn(3, 4, 8, 7)}, tmp_path)


@pytest.mark.parametrize("name", ["resnet", "unet", "dcgan_generator"])
def test_one_update_in_train_mode(name, tmp_path):
    torch.manual_seed(1)
    module, batch = MODELS[name]()
    compare(module.train(), batch, tmp_path)


def test_other_buffers_are_refused():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x):
            self.seen += x.mean(0)
            return (self.w * x).mean()

    with pytest.raises(zero.CannotImport, match="the buffer 'seen' changes in each step"):
        zero.export(Counter(), {"x": torch.randn(2, 4)})


@pytest.mark.parametrize("name", ["mobilenet_v2", "efficientnet"])
def test_is_cut_into_stages(name, tmp_path):
    """Though few bytes are between layers only where images are small, and no stage may begin
    between the uses of running statistics."""
    module, batch = MODELS[name]()
    module.train()
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 1e-3}},
        "gradient_clipping": 0.0,
    }
    model = zero.export(module, batch)
    losses = train(model, batch, tmp_path, config, "--mesh", "data=1,pipe=4", steps=2)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    for found in losses:
        optimizer.zero_grad()
        loss = module(**batch)
        loss.backward()
        optimizer.step()
        assert abs(found - loss.item()) < 1e-4
