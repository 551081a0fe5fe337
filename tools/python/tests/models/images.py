"""Models of transformers that see images."""

from __future__ import annotations

import torch
from torch import nn

from .encoders import BERT, made
from .registry import BATCH, VOCABULARY, model, tokens

VIT = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 4,
}


@model
def vit():
    module = made("vit", "AutoModelForImageClassification", **VIT, num_labels=5)
    return module, {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}


@model
def dinov2():
    module = made("dinov2", "AutoModelForImageClassification", **VIT, num_labels=5)
    return module, {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}


@model
def swin():
    module = made(
        "swin",
        "AutoModelForImageClassification",
        image_size=16,
        patch_size=2,
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=4,
        num_labels=5,
    )
    return module, {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}


class WithContrast(nn.Module):
    """CLIP gives its loss on request only."""

    def __init__(self, clip):
        super().__init__()
        self.clip = clip

    def forward(self, input_ids, pixel_values):
        return self.clip(input_ids=input_ids, pixel_values=pixel_values, return_loss=True).loss


@model
def clip():
    text = {**BERT, "bos_token_id": 1, "eos_token_id": 127, "pad_token_id": 0}
    module = made("clip", "AutoModel", text_config=text, vision_config=VIT, projection_dim=32)
    ids = tokens(VOCABULARY - 1)
    ids[:, -1] = 127
    return WithContrast(module), {
        "input_ids": ids,
        "pixel_values": torch.randn(BATCH, 3, 16, 16),
    }
