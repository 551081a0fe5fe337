"""Random modules: layers of PyTorch in random order, with weights that are shared, views,
values that are used again, and a loss of random kind.

    python random_modules.py FIRST COUNT

compares so many with PyTorch. Module n is a function of n. What the importer refuses is
counted by its message; any other error, and any difference, is printed with its number.
"""

from __future__ import annotations

import collections
import random
import re
import sys
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from zero.importer.errors import CannotImport
from zero.selfcheck import DIFFERS, check

IDS = 11  # below it are all token ids, and there are as many classes


class Reshaped(nn.Module):
    """(samples, tokens, width) as another shape, for `inner`, and back."""

    def __init__(self, inner: nn.Module, there: Callable, back: Callable):
        super().__init__()
        self.inner, self.there, self.back = inner, there, back

    def forward(self, x):
        return self.back(self.inner(self.there(x)))


class Function(nn.Module):
    """A function of the values before, without parameters."""

    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Residual(nn.Module):
    def __init__(self, inner: nn.Module, scale: float):
        super().__init__()
        self.inner, self.scale = inner, scale

    def forward(self, x):
        return x + self.scale * self.inner(x)


class Gated(nn.Module):
    def __init__(self, first: nn.Module, second: nn.Module, activation: Callable):
        super().__init__()
        self.first, self.second, self.activation = first, second, activation

    def forward(self, x):
        return self.activation(self.first(x)) * self.second(x)


class Scaled(nn.Module):
    """A parameter of its own, of a shape that is broadcast."""

    def __init__(self, shape: tuple[int, ...], adds: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape) * 0.3 + (0.0 if adds else 1.0))
        self.adds = adds

    def forward(self, x):
        return x + self.weight if self.adds else x * self.weight


class Buffered(nn.Module):
    """A buffer that the forward pass reads."""

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("table", torch.linspace(0.5, 1.5, width))

    def forward(self, x):
        return x * self.table


class Attention(nn.Module):
    """Causal or not, of grouped heads, written out or fused."""

    def __init__(self, r: random.Random, width: int):
        super().__init__()
        self.heads = r.choice([h for h in (1, 2, 3, 4) if width % h == 0])
        self.groups = r.choice([g for g in (1, 2, 4) if self.heads % g == 0])
        self.causal, self.fused, self.soft = r.random() < 0.5, r.random() < 0.5, r.random() < 0.3
        size = width // self.heads
        self.q = nn.Linear(width, width, bias=r.random() < 0.5)
        self.kv = nn.Linear(width, 2 * self.heads // self.groups * size)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        n, t, width = x.shape
        size = width // self.heads
        q = self.q(x).view(n, t, self.heads, size).transpose(1, 2)
        k, v = self.kv(x).view(n, t, 2, -1, size).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = (y.repeat_interleave(self.groups, 1) for y in (k, v))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) / size**0.5
            if self.soft:
                scores = 5 * torch.tanh(scores / 5)
            if self.causal:
                mask = torch.ones(t, t, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(mask, float("-inf"))
            y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, width))


class Recurrent(nn.Module):
    def __init__(self, r: random.Random, width: int):
        super().__init__()
        kind = r.choice((nn.LSTM, nn.GRU, nn.RNN))
        both = width % 2 == 0 and r.random() < 0.3
        hidden = width // 2 if both else width
        self.cells = kind(
            width, hidden, num_layers=r.choice((1, 2)), batch_first=True, bidirectional=both
        )

    def forward(self, x):
        return self.cells(x)[0]


def channels_first(x):
    return x.transpose(1, 2)


def linear(r, width, tokens):
    return nn.Linear(width, width, bias=r.random() < 0.7)


def perceptron(r, width, tokens):
    hidden = r.randrange(3, 20)
    activation = r.choice((nn.GELU, nn.ReLU, nn.SiLU, nn.Tanh, nn.Mish, nn.ELU, nn.Hardswish))
    return nn.Sequential(nn.Linear(width, hidden), activation(), nn.Linear(hidden, width))


def gated(r, width, tokens):
    if r.random() < 0.4:
        return nn.Sequential(nn.Linear(width, 2 * width), nn.GLU())
    return Gated(
        linear(r, width, tokens),
        linear(r, width, tokens),
        r.choice((torch.sigmoid, F.silu, F.gelu, torch.tanh)),
    )


def norm(r, width, tokens):
    grouped = r.choice([g for g in (1, 2, 3) if width % g == 0])
    return r.choice(
        (
            lambda: nn.LayerNorm(width, eps=r.choice((1e-5, 1e-3))),
            lambda: nn.LayerNorm(width, elementwise_affine=False),
            lambda: nn.LayerNorm((tokens, width)),
            lambda: nn.RMSNorm(width, eps=1e-5),
            lambda: Reshaped(nn.GroupNorm(grouped, width), channels_first, channels_first),
            lambda: Reshaped(
                nn.BatchNorm1d(width, affine=r.random() < 0.7), channels_first, channels_first
            ),
            lambda: Reshaped(nn.InstanceNorm1d(width), channels_first, channels_first),
        )
    )()


def convolution(r, width, tokens):
    kernel = r.choice((1, 3, 5))
    groups = r.choice([g for g in (1, 2, width) if width % g == 0])
    dilation = r.choice((1, 2))
    mode = (
        "zeros"
        if kernel // 2 * dilation >= tokens
        else r.choice(("zeros", "reflect", "replicate", "circular"))
    )
    layer = nn.Conv1d(
        width,
        width,
        kernel,
        padding=kernel // 2 * dilation,
        groups=groups,
        dilation=dilation,
        padding_mode=mode,
        bias=r.random() < 0.7,
    )
    return Reshaped(layer, channels_first, channels_first)


def image(r, width, tokens):
    """The tokens and the width as an image of one channel."""
    middle = r.randrange(1, 4)
    pooled = r.choice((nn.Identity(), nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(3, 1, 1)))
    norm_ = r.choice((nn.Identity(), nn.BatchNorm2d(middle)))
    layers = nn.Sequential(
        nn.Conv2d(1, middle, 3, padding=1),
        norm_,
        nn.ReLU(),
        pooled,
        nn.ConvTranspose2d(middle, 1, 3, padding=1),
    )
    return Reshaped(layers, lambda x: x.unsqueeze(1), lambda x: x.squeeze(1))


def resized(r, width, tokens):
    mode = r.choice(("nearest", "bilinear", "bicubic"))
    scale = r.choice((2, 3))

    def function(x):
        sides = {} if mode == "nearest" else {"align_corners": False}
        y = F.interpolate(x.unsqueeze(1), scale_factor=scale, mode=mode, **sides)
        return F.adaptive_avg_pool2d(y, x.shape[1:]).squeeze(1)

    return Function(function)


def mixed_tokens(r, width, tokens):
    return Reshaped(nn.Linear(tokens, tokens), channels_first, channels_first)


def bilinear(r, width, tokens):
    layer = nn.Bilinear(width, width, width)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x, x.flip(1))

    return Both()


def transformer(r, width, tokens):
    heads = r.choice([h for h in (1, 2, 3) if width % h == 0])
    return nn.TransformerEncoderLayer(
        width,
        heads,
        2 * width,
        dropout=0.0,
        batch_first=True,
        norm_first=r.random() < 0.5,
        activation=r.choice(("relu", "gelu")),
    )


def multihead(r, width, tokens):
    heads = r.choice([h for h in (1, 2, 3) if width % h == 0])
    layer = nn.MultiheadAttention(width, heads, dropout=0.0, batch_first=True)

    class Self(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x, x, x, need_weights=False)[0]

    return Self()


MOVES = {
    "roll": lambda x: x.roll((1, 2), (1, 2)),
    "flip": lambda x: x.flip(-1),
    "halves": lambda x: torch.cat(x.chunk(2, 1)[::-1], 1),
    "interleaved": lambda x: torch.stack((x, x.flip(1)), 2).mean(2),
    "unfolded": lambda x: F.pad(x, (0, 0, 2, 0)).unfold(1, 3, 1).mean(-1),
    "shifted": lambda x: F.pad(x, (0, 0, 1, -1)),
    "first": lambda x: x[:, :1] + x,
    "strided": lambda x: torch.cat((x[:, ::2], x[:, 1::2]), 1),
    "sorted": lambda x: x.sort(-1).values,
    "largest": lambda x: x * (x >= x.topk(2, -1).values[..., -1:]),
    "summed": lambda x: x.cumsum(1) / torch.arange(1, x.shape[1] + 1).view(1, -1, 1),
    "chosen": lambda x: torch.where(x > 0, x, 0.1 * x),
    "outer": lambda x: torch.einsum("btw,bsw->bts", x, x) @ x / x.shape[1],
    "squared": lambda x: (x * x - x.mean(-1, keepdim=True)).tanh(),
    "normalized": lambda x: F.normalize(x, dim=-1),
    "softmax": lambda x: x * x.softmax(1),
    "written": lambda x: torch.zeros_like(x).index_copy(1, torch.arange(x.shape[1] - 1, -1, -1), x),
    "gathered": lambda x: x.gather(2, x.argsort(2)),
    "scattered": lambda x: (
        torch.zeros_like(x).scatter_add(1, torch.zeros_like(x, dtype=torch.long), x) + x
    ),
    "in_place": lambda x: x.clone().mul_(0.5).add_(x),
    "sliced_write": lambda x: written(x),
    "detached": lambda x: x / (1 + x.detach().abs().amax(-1, keepdim=True)),
    "clamped": lambda x: x.clamp(-1.5, 1.5),
    "masked": lambda x: x.masked_fill(
        torch.ones(x.shape[1], x.shape[1]).tril().sum(1).view(1, -1, 1) < 2, 0.0
    ),
    "distances": lambda x: x * torch.cdist(x, x).mean(-1, keepdim=True),
    "spread": lambda x: x - x.std(-1, keepdim=True),
    "logs": lambda x: torch.logaddexp(x, -x),
    # Of booleans, where they lie in another tensor.
    "chosen": lambda x: torch.where((x.detach() > 0)[-1], x, 0.5 * x),
    "chosen_late": lambda x: x * (x.detach() < 0.1)[:, -1:],
}


def written(x):
    y = x * 1
    y[:, 1:] = y[:, 1:] + x[:, :-1]
    y[..., 0] *= 2
    return y


def move(r, width, tokens):
    return Function(MOVES[r.choice(list(MOVES))])


LAYERS = [
    linear,
    perceptron,
    gated,
    norm,
    norm,
    convolution,
    image,
    resized,
    mixed_tokens,
    bilinear,
    transformer,
    multihead,
    move,
    move,
    move,
    lambda r, width, tokens: Attention(r, width),
    lambda r, width, tokens: Attention(r, width),
    lambda r, width, tokens: Recurrent(r, width),
    lambda r, width, tokens: Buffered(width),
    lambda r, width, tokens: Scaled(
        r.choice(((width,), (tokens, 1), (1, 1, width), ())), r.random() < 0.5
    ),
]

LOSSES = {
    "cross_entropy": lambda y, labels, targets: F.cross_entropy(y.flatten(0, 1), labels.flatten()),
    "smoothed": lambda y, labels, targets: F.cross_entropy(
        y.transpose(1, 2), labels, label_smoothing=0.1
    ),
    "ignored": lambda y, labels, targets: F.cross_entropy(
        y.flatten(0, 1), labels.flatten(), ignore_index=3
    ),
    "nll": lambda y, labels, targets: F.nll_loss(y.log_softmax(-1).flatten(0, 1), labels.flatten()),
    "mse": lambda y, labels, targets: F.mse_loss(y, targets),
    "l1": lambda y, labels, targets: F.smooth_l1_loss(y, targets),
    "huber": lambda y, labels, targets: F.huber_loss(y, targets, delta=0.5),
    "binary": lambda y, labels, targets: F.binary_cross_entropy_with_logits(y, targets.sigmoid()),
    "divergence": lambda y, labels, targets: F.kl_div(
        y.log_softmax(-1), targets.softmax(-1), reduction="batchmean"
    ),
    "cosine": lambda y, labels, targets: (1 - F.cosine_similarity(y, targets, dim=-1)).mean(),
    "chosen": lambda y, labels, targets: (
        F.cross_entropy(y.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
        * (labels[-1] > 2)
    ).sum()
    / (labels > 2).sum().clamp(min=1),
    "rows": lambda y, labels, targets: torch.where((targets > 0)[-1], y, 0).square().mean(),
    "written_out": lambda y, labels, targets: (
        -y.log_softmax(-1).gather(2, labels.unsqueeze(-1)).mean() + 1e-3 * y.square().mean()
    ),
}


class Drawn(nn.Module):
    def __init__(self, r: random.Random, tokens: int):
        super().__init__()
        width = r.choice((4, 6, 8, 12))
        self.embed = nn.Embedding(IDS, width, padding_idx=r.choice((None, 0)))
        self.inward = nn.Linear(3, width)
        layers, self.names = [], []
        for _ in range(r.randrange(1, 6)):
            maker = r.choice(LAYERS)
            if layers and r.random() < 0.1:
                layers.append(r.choice(layers))  # the same weights again
            else:
                layer = maker(r, width, tokens)
                layers.append(Residual(layer, r.choice((1.0, 0.5))) if r.random() < 0.4 else layer)
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(width, IDS, bias=r.random() < 0.5)
        if r.random() < 0.3:
            self.head.weight = self.embed.weight
        for layer in self.layers:
            if r.random() < 0.1:
                layer.requires_grad_(False)
        self.loss_name = r.choice(list(LOSSES))
        self.loss = LOSSES[self.loss_name]
        self.keeps = r.random() < 0.3

    def forward(self, ids, x, labels, targets):
        y = self.embed(ids) + self.inward(x)
        kept = y
        for layer in self.layers:
            y = layer(y)
        if self.keeps:
            y = y + kept
        return self.loss(self.head(y), labels, targets)


def drawn(number: int) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    r = random.Random(number)
    torch.manual_seed(number)
    samples, tokens = r.choice((1, 2, 3)), r.choice((4, 5, 8))
    module = Drawn(r, tokens)
    return module, {
        "ids": torch.randint(0, IDS, (samples, tokens)),
        "x": torch.randn(samples, tokens, 3),
        "labels": torch.randint(0, IDS, (samples, tokens)),
        "targets": torch.randn(samples, tokens, IDS),
    }


def run(first: int, count: int) -> tuple[int, collections.Counter, dict[int, str]]:
    """How many are equal, the refusals, and what was found by number."""
    equal, refused, found = 0, collections.Counter(), {}
    for number in range(first, first + count):
        module, batch = drawn(number)
        try:
            check(module, batch)
            equal += 1
        except CannotImport as error:
            text = str(error)
            if DIFFERS in text:
                found[number] = text
            else:
                refused[re.sub(r"\d+", "N", text.splitlines()[0])[:150]] += 1
        except Exception as error:  # noqa: BLE001 - whatever comes is a finding
            found[number] = f"{type(error).__name__}: {error}"
    return equal, refused, found


def main() -> int:
    equal, refused, found = run(int(sys.argv[1]), int(sys.argv[2]))
    for number, text in found.items():
        print(f"module {number}: {text[:1000]}\n{drawn(number)[0]}")
    for text, count in refused.most_common():
        print(f"refused {count}: {text}")
    print(f"{equal} equal, {sum(refused.values())} refused, {len(found)} findings")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
