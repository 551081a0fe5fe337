"""Models of plain PyTorch: layers, and a GPT as nanoGPT writes it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .normals import normals
from .registry import LENGTH, VOCABULARY, model, randomized, tokens


@model
def mlp():
    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 5))

        def forward(self, x, y):
            return F.cross_entropy(self.f(x), y)

    return randomized(Mlp()), {"x": torch.randn(4, 12), "y": torch.randint(0, 5, (4,))}


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.c_attn(x).split(width, dim=2)
        q, k, v = (
            y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for y in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """A GPT in the manner of nanoGPT: one tied table, fused projections."""

    def __init__(self, layers=2, width=32, heads=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(LENGTH, width)
        self.h = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        positions = torch.arange(idx.shape[1], device=idx.device)
        x = self.wte(idx) + self.wpe(positions)
        for layer in self.h:
            x = layer(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1), ignore_index=-1)


@model
def nanogpt():
    return randomized(Gpt()), {"idx": tokens(), "targets": tokens()}


class Convolution(nn.Module):
    """A graph convolution: the mean over a node's edges, and itself."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.edges, self.self = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)

    def forward(self, x, source, target):
        nodes = x.shape[0]
        messages = self.edges(x)[source]
        ones = torch.ones(source.shape[0])
        degree = torch.zeros(nodes).index_add(0, target, ones).clamp(min=1)
        index = target[:, None].expand(-1, messages.shape[1])
        total = torch.zeros(nodes, messages.shape[1]).scatter_add(0, index, messages)
        largest = torch.zeros_like(total).scatter_reduce(0, index, messages, "amax")
        return self.self(x) + total / degree[:, None] + largest


@model
def gcn():
    class Gcn(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Convolution(6, 16), Convolution(16, 4)

        def forward(self, x, edges, labels):
            source, target = edges[0], edges[1]
            y = F.relu(self.first(x, source, target))
            return F.cross_entropy(self.second(y, source, target), labels)

    nodes, edges = 10, 32
    batch = {
        "x": torch.randn(nodes, 6),
        "edges": torch.randint(0, nodes, (2, edges)),
        "labels": torch.randint(0, 4, (nodes,)),
    }
    return randomized(Gcn()), batch


@model
def vae():
    """In PyTorch it draws the numbers that zero draws, so that both can be compared."""

    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Linear(12, 20), nn.Tanh(), nn.Linear(20, 10))
            self.decode = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 12))

        def forward(self, x):
            mean, log_variance = self.encode(x).chunk(2, -1)
            noise = torch.randn_like(mean)
            if not torch.compiler.is_exporting():
                noise = normals(mean.shape)
            y = self.decode(mean + noise * torch.exp(0.5 * log_variance))
            divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1).mean()
            return F.mse_loss(y, x) + 0.01 * divergence

    return randomized(Vae()), {"x": torch.randn(6, 12)}
