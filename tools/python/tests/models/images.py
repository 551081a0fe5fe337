"""Models that see images: of transformers, and small forms of well-known networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .encoders import BERT, made
from .registry import BATCH, VOCABULARY, model, randomized, tokens

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


class Classifier(nn.Module):
    """A network with the loss of its logits."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, images, labels):
        return F.cross_entropy(self.network(images), labels)


def classified(network: nn.Module, size: int):
    batch = {"images": torch.randn(BATCH, 3, size, size), "labels": torch.tensor([1, 4])}
    return Classifier(randomized(network)), batch


class Residual(nn.Module):
    """The block of ResNet-18."""

    def __init__(self, channels, features, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(features)
        self.skip = None
        if stride != 1 or channels != features:
            self.skip = nn.Sequential(
                nn.Conv2d(channels, features, 1, stride, bias=False), nn.BatchNorm2d(features)
            )

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.skip is None else self.skip(x)))


@model
def resnet():
    network = nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        Residual(8, 8, 1),
        Residual(8, 16, 2),
        Residual(16, 16, 1),
        nn.AdaptiveAvgPool2d((1, 1)),
        nn.Flatten(),
        nn.Linear(16, 5),
    )
    return classified(network, 32)


class Upsampled(nn.Module):
    """A U-Net with one skip connection."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(2)
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Sequential(nn.Conv2d(16, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))

    def forward(self, images, labels):
        x = self.down(images)
        y = self.last(torch.cat([x, self.up(self.middle(self.pool(x)))], 1))
        return F.cross_entropy(y, labels)


@model
def unet():
    labels = torch.randint(0, 4, (BATCH, 10, 12))
    return randomized(Upsampled()), {"images": torch.randn(BATCH, 3, 10, 12), "labels": labels}


class Denoiser(nn.Module):
    """A diffusion model's U-Net: group norms, the time in each block, attention in the
    middle, a transposed convolution up."""

    class Block(nn.Module):
        def __init__(self, channels, features):
            super().__init__()
            self.norm1, self.conv1 = (
                nn.GroupNorm(4, channels),
                nn.Conv2d(channels, features, 3, 1, 1),
            )
            self.norm2, self.conv2 = (
                nn.GroupNorm(4, features),
                nn.Conv2d(features, features, 3, 1, 1),
            )
            self.time = nn.Linear(16, features)
            self.skip = nn.Conv2d(channels, features, 1)

        def forward(self, x, time):
            h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
            return self.skip(x) + self.conv2(F.silu(self.norm2(h)))

    def __init__(self, width=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = self.Block(width, width)
        self.shrink = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.middle = self.Block(2 * width, 2 * width)
        self.norm = nn.GroupNorm(4, 2 * width)
        self.attention = nn.MultiheadAttention(2 * width, 2, batch_first=True)
        self.grow = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.up = self.Block(2 * width, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, images, steps, noise):
        angles = steps[:, None] * torch.exp(-torch.arange(4) / 4 * 5.0)
        time = self.time(torch.cat([angles.cos(), angles.sin()], -1))
        x = self.down(self.stem(images), time)
        y = self.middle(self.shrink(x), time)
        h = self.norm(y).flatten(2).transpose(1, 2)
        y = y + self.attention(h, h, h)[0].transpose(1, 2).reshape(y.shape)
        return F.mse_loss(self.last(self.up(torch.cat([x, self.grow(y)], 1), time)), noise)


@model
def unet_diffusion():
    shape = (BATCH, 3, 16, 16)
    batch = {"images": torch.randn(shape), "steps": torch.rand(BATCH), "noise": torch.randn(shape)}
    return randomized(Denoiser()), batch


class Generator(nn.Module):
    """DCGAN's, with a loss in place of the discriminator."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.ConvTranspose2d(6, 16, 4, 1, 0, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(True),
            nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, noise, images):
        return F.mse_loss(self.network(noise), images)


@model
def dcgan_generator():
    batch = {"noise": torch.randn(BATCH, 6, 1, 1), "images": torch.randn(BATCH, 3, 16, 16)}
    return randomized(Generator()), batch


@model
def convnext():
    module = made(
        "convnext",
        "AutoModelForImageClassification",
        image_size=32,
        hidden_sizes=[8, 16],
        depths=[1, 2],
        num_stages=2,
        num_labels=5,
    )
    return module, {"pixel_values": torch.randn(BATCH, 3, 32, 32), "labels": torch.tensor([1, 4])}


@model
def segformer():
    module = made(
        "segformer",
        "AutoModelForSemanticSegmentation",
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[2, 1],
        hidden_sizes=[8, 16],
        num_attention_heads=[1, 2],
        patch_sizes=[7, 3],
        strides=[4, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=16,
        num_labels=5,
    )
    labels = torch.randint(0, 5, (BATCH, 32, 32))
    return module, {"pixel_values": torch.randn(BATCH, 3, 32, 32), "labels": labels}
