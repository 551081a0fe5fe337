"""More models of transformers that see images."""

from __future__ import annotations

import torch

from .encoders import made
from .images import VIT
from .registry import BATCH, model, randomized


def classified(kind: str, size: int = 32, **settings):
    module = made(kind, "AutoModelForImageClassification", num_labels=5, **settings)
    batch = {"pixel_values": torch.randn(BATCH, 3, size, size), "labels": torch.tensor([1, 4])}
    return module, batch


@model
def deit():
    import transformers

    config = transformers.DeiTConfig(**VIT, num_labels=5)
    batch = {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}
    return randomized(transformers.DeiTForImageClassification(config)), batch


@model
def beit():
    return classified("beit", 16, **VIT, use_relative_position_bias=True)


@model
def mobilevit():
    """Patches unfolded between convolutions."""
    return classified(
        "mobilevit",
        image_size=32,
        hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 32],
        num_attention_heads=2,
        patch_size=2,
    )


@model
def poolformer():
    """Pooling in place of attention."""
    return classified("poolformer", hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1])


@model
def focalnet():
    return classified(
        "focalnet",
        image_size=32,
        embed_dim=8,
        depths=[1, 1],
        hidden_sizes=[8, 16],
        focal_levels=[2, 2],
        focal_windows=[3, 3],
    )


@model
def convnextv2():
    """Norms over the image."""
    return classified("convnextv2", hidden_sizes=[8, 16], depths=[1, 2], num_stages=2)


@model
def masked_autoencoder():
    """Patches that are left out in an order that the data gives: sorts and gathers."""
    import transformers

    config = transformers.ViTMAEConfig(
        **VIT,
        decoder_num_attention_heads=4,
        decoder_hidden_size=32,
        decoder_num_hidden_layers=1,
        decoder_intermediate_size=48,
    )
    batch = {"pixel_values": torch.randn(BATCH, 3, 16, 16), "noise": torch.rand(BATCH, 16)}
    return randomized(transformers.ViTMAEForPreTraining(config)), batch


@model
def depth_transformer():
    """Features of several layers joined into maps."""
    import transformers

    config = transformers.DPTConfig(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=16,
        num_labels=5,
    )
    labels = torch.randint(0, 5, (BATCH, 32, 32))
    batch = {"pixel_values": torch.randn(BATCH, 3, 32, 32), "labels": labels}
    return randomized(transformers.DPTForSemanticSegmentation(config)), batch
