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


@model
def vgg():
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2, 2),
        nn.AdaptiveAvgPool2d((7, 7)),
        nn.Flatten(),
        nn.Linear(16 * 49, 24),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Linear(24, 5),
    )
    return classified(network, 18)


class Fire(nn.Module):
    """SqueezeNet's."""

    def __init__(self, channels, squeezed, expanded):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.expand1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)


@model
def squeezenet():
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(8, 4, 8),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(16, 4, 8),
        nn.Conv2d(16, 5, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    return classified(network, 26)


class Dense(nn.Module):
    """A layer of DenseNet."""

    def __init__(self, channels, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(channels), nn.Conv2d(channels, 8, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(8), nn.Conv2d(8, growth, 3, 1, 1, bias=False)

    def forward(self, x):
        y = self.conv1(F.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(F.relu(self.norm2(y)))], 1)


@model
def densenet():
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        Dense(8, 4),
        Dense(12, 4),
        nn.BatchNorm2d(16),
        nn.Conv2d(16, 8, 1),
        nn.AvgPool2d(2, 2),
        Dense(8, 4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, 5),
    )
    return classified(network, 12)


class Inverted(nn.Module):
    """The block of MobileNet-v2."""

    def __init__(self, channels, features, stride):
        super().__init__()
        hidden = 3 * channels
        self.conv = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, features, 1, bias=False),
            nn.BatchNorm2d(features),
        )
        self.keeps = stride == 1 and channels == features

    def forward(self, x):
        return x + self.conv(x) if self.keeps else self.conv(x)


@model
def mobilenet_v2():
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        Inverted(8, 8, 1),
        Inverted(8, 12, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, 5),
    )
    return classified(network, 16)


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
