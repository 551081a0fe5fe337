"""Models of plain PyTorch: layers, and a GPT as nanoGPT writes it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

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
