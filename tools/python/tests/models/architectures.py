"""Other architectures in plain PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .plain import Attention, Gpt, Layer
from .registry import BATCH, LENGTH, VOCABULARY, model, randomized, tokens


@model
def nn_transformer():
    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(VOCABULARY, 32)
            self.t = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
            self.out = nn.Linear(32, VOCABULARY)

        def forward(self, source, target, labels):
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
            x = self.t(self.e(source), self.e(target), tgt_mask=mask, tgt_is_causal=True)
            return F.cross_entropy(self.out(x).flatten(0, 1), labels.flatten())

    batch = {"source": tokens(), "target": tokens(), "labels": tokens()}
    return randomized(Translator()), batch


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.e = nn.Embedding(VOCABULARY, 16)
        self.cell = kind(16, 24, num_layers=2, batch_first=True)
        self.out = nn.Linear(24, VOCABULARY)

    def forward(self, x, y):
        states, _ = self.cell(self.e(x))
        return F.cross_entropy(self.out(states).flatten(0, 1), y.flatten())


@model
def lstm():
    return randomized(Recurrent(nn.LSTM)), {"x": tokens(shape=(2, 5)), "y": tokens(shape=(2, 5))}


@model
def gru():
    return randomized(Recurrent(nn.GRU)), {"x": tokens(shape=(2, 5)), "y": tokens(shape=(2, 5))}


@model
def mixer():
    class Block(nn.Module):
        def __init__(self, patches, width):
            super().__init__()
            self.n, self.m = nn.LayerNorm(width), nn.LayerNorm(width)
            self.t = nn.Sequential(nn.Linear(patches, 24), nn.GELU(), nn.Linear(24, patches))
            self.c = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))

        def forward(self, x):
            x = x + self.t(self.n(x).transpose(1, 2)).transpose(1, 2)
            return x + self.c(self.m(x))

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 32, 4, 4)
            self.b = nn.Sequential(Block(16, 32), Block(16, 32))
            self.head = nn.Linear(32, 5)

        def forward(self, x, y):
            x = self.b(self.stem(x).flatten(2).transpose(1, 2)).mean(1)
            return F.cross_entropy(self.head(x), y, label_smoothing=0.1)

    return randomized(Mixer()), {"x": torch.randn(2, 3, 16, 16), "y": torch.tensor([1, 4])}


@model
def dlrm():
    class Dlrm(nn.Module):
        def __init__(self):
            super().__init__()
            self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
            self.tables = nn.ModuleList(nn.EmbeddingBag(10, 8, mode="sum") for _ in range(3))
            self.top = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, dense, sparse, clicks):
            x = self.bottom(dense)
            parts = [x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)]
            z = torch.stack(parts, 1)
            pairs = torch.bmm(z, z.transpose(1, 2))
            rows, columns = torch.tril_indices(4, 4, offset=-1)
            top = torch.cat([x, pairs[:, rows, columns]], 1)
            return F.binary_cross_entropy(torch.sigmoid(self.top(top)).squeeze(1), clicks)

    return randomized(Dlrm()), {
        "dense": torch.randn(4, 6),
        "sparse": torch.randint(0, 10, (4, 3, 2)),
        "clicks": torch.tensor([0.0, 1.0, 1.0, 0.0]),
    }


def rotate_complex(x, turns):
    """Rotary positions by complex numbers."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turns = turns.view(1, x.shape[1], 1, pairs.shape[-1])
    return torch.view_as_real(pairs * turns).flatten(3).type_as(x)


def rotate_real(x, cos, sin):
    """The same by pairs of real numbers."""
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = (y.view(1, x.shape[1], 1, -1) for y in (cos, sin))
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(3).type_as(x)


class TitanLayer(nn.Module):
    def __init__(self, width, heads, rotate):
        super().__init__()
        self.heads, self.rotate = heads, rotate
        self.wq, self.wk = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.w1, self.w3 = (nn.Linear(width, 48, bias=False) for _ in range(2))
        self.w2 = nn.Linear(48, width, bias=False)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(width), nn.RMSNorm(width, eps=1e-5)

    def forward(self, x, turns):
        h = self.attention_norm(x)
        q, k, v = (w(h).view(*x.shape[:2], self.heads, -1) for w in (self.wq, self.wk, self.wv))
        q, k = self.rotate(q, *turns), self.rotate(k, *turns)
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(x.shape))
        h = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Titan(nn.Module):
    """A Llama as torchtitan writes it: `turn` makes buffers of the angles."""

    def __init__(self, rotate, turn, width=32, heads=4):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(TitanLayer(width, heads, rotate) for _ in range(2))
        self.norm, self.output = nn.RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        angles = torch.outer(
            torch.arange(LENGTH).float(),
            1 / 500000 ** (torch.arange(0, width // heads, 2).float() / (width // heads)),
        )
        self.turns = nn.Module()
        for name, value in turn(angles).items():
            self.turns.register_buffer(name, value)

    def forward(self, tokens, labels):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, list(self.turns.buffers()))
        return F.cross_entropy(self.output(self.norm(x)).flatten(0, 1), labels.flatten())


@model
def titan_llama():
    module = Titan(rotate_complex, lambda a: {"turns": torch.polar(torch.ones_like(a), a)})
    return randomized(module), {"tokens": tokens(), "labels": tokens()}


@model
def titan_llama_real():
    module = Titan(rotate_real, lambda a: {"cos": a.cos(), "sin": a.sin()})
    return randomized(module), {"tokens": tokens(), "labels": tokens()}


@model
def temporal_convolutions():
    class Tcn(nn.Module):
        def __init__(self):
            super().__init__()
            norm = torch.nn.utils.parametrizations.weight_norm
            self.e = nn.Embedding(VOCABULARY, 16)
            self.a, self.b = norm(nn.Conv1d(16, 16, 3)), norm(nn.Conv1d(16, 16, 3, dilation=2))
            self.o = nn.Linear(16, VOCABULARY)

        def forward(self, x, y):
            h = self.e(x).transpose(1, 2)
            h = h + F.relu(self.a(F.pad(h, (2, 0))))
            h = h + F.relu(self.b(F.pad(h, (4, 0))))
            return F.cross_entropy(self.o(h.transpose(1, 2)).flatten(0, 1), y.flatten())

    return randomized(Tcn()), {"x": tokens(), "y": tokens()}


@model
def diffusion_transformer():
    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.n = nn.LayerNorm(width, elementwise_affine=False)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.f = nn.Sequential(nn.Linear(width, 48), nn.GELU("tanh"), nn.Linear(48, width))
            self.ada = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

        def forward(self, x, c):
            a, b, g, d, e, f = self.ada(c)[:, None].chunk(6, -1)
            h = self.n(x) * (1 + b) + a
            q, k, v = (
                self.qkv(h).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            )
            h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = x + g * self.o(h)
            return x + f * self.f(self.n(x) * (1 + e) + d)

    class Dit(nn.Module):
        def __init__(self, width=32):
            super().__init__()
            self.patch = nn.Conv2d(3, width, 4, 4)
            self.place = nn.Parameter(torch.randn(1, 16, width))
            self.time = nn.Linear(8, width)
            self.b = nn.ModuleList(Block(width, 4) for _ in range(2))
            self.o = nn.Linear(width, 48)

        def forward(self, x, t, noise):
            angles = t[:, None] * torch.exp(-torch.arange(4) / 4 * 5.0)
            c = self.time(torch.cat([angles.cos(), angles.sin()], -1))
            h = self.patch(x).flatten(2).transpose(1, 2) + self.place
            for block in self.b:
                h = block(h, c)
            h = self.o(h).unflatten(1, (4, 4)).unflatten(-1, (4, 4, 3))
            return F.mse_loss(h.permute(0, 5, 1, 3, 2, 4).reshape(x.shape), noise)

    return randomized(Dit()), {
        "x": torch.randn(2, 3, 16, 16),
        "t": torch.rand(2),
        "noise": torch.randn(2, 3, 16, 16),
    }


@model
def mixture_of_experts():
    class Moe(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(16, 4)
            self.w = nn.Parameter(torch.randn(4, 16, 24) / 4)
            self.v = nn.Parameter(torch.randn(4, 24, 16) / 5)
            self.h = nn.Linear(16, 5)

        def forward(self, x, y):
            g = self.gate(x).softmax(-1)
            h = torch.einsum("btc,ecf->btef", x, self.w).relu()
            h = torch.einsum("btef,efc->btec", h, self.v)
            x = torch.einsum("btec,bte->btc", h, g)
            return F.cross_entropy(self.h(x.mean(1)), y)

    return randomized(Moe()), {"x": torch.randn(2, 6, 16), "y": torch.tensor([0, 3])}


@model
def averaged_words():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(VOCABULARY, 16)
            self.o = nn.Linear(16, 1)

        def forward(self, x, keep, y):
            weights = keep.float()
            h = (self.e(x) * weights[..., None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1)
            return F.binary_cross_entropy_with_logits(self.o(h).squeeze(-1), y)

    return randomized(Words()), {
        "x": tokens(),
        "keep": torch.rand(BATCH, LENGTH) > 0.3,
        "y": torch.tensor([0.0, 1.0]),
    }


@model
def handwritten_attention():
    class Slow(Attention):
        """Attention by products and a triangle, as nanoGPT without flash has it."""

        def __init__(self, width, heads):
            super().__init__(width, heads)
            triangle = torch.ones(LENGTH, LENGTH).tril()
            self.register_buffer("bias", triangle.view(1, 1, LENGTH, LENGTH))

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.c_attn(x).split(width, dim=2)
            q, k, v = (
                y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                for y in (q, k, v)
            )
            scores = (q @ k.transpose(-2, -1)) * (q.shape[-1] ** -0.5)
            scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
            y = scores.softmax(-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))

    module = Gpt()
    for layer in module.h:
        layer.attn = Slow(32, 4)
    return randomized(module), {"idx": tokens(), "targets": tokens()}
