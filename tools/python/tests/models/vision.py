"""torchvision's networks at small sizes, as they are trained: with the statistics of
the micro-batch, and without dropout, whose masks are zero's own."""

from __future__ import annotations

import torch
from torch import nn

from .images import Classifier
from .registry import randomized, trained

CLASSES = 5


def torchvision():
    """The package, whose tests are skipped where it is not installed."""
    import pytest

    return pytest.importorskip("torchvision")


def classified(network: nn.Module, size: int, samples: int = 2):
    """Batch norm of few values is ill-conditioned, in PyTorch as well: networks that
    have it get images enough."""
    labels = torch.randint(0, CLASSES, (samples,))
    images = torch.randn(samples, 3, size, size)
    return Classifier(randomized(network)), {"images": images, "labels": labels}


@trained
def resnet18():
    return classified(torchvision().models.resnet18(num_classes=CLASSES), 64, samples=8)


@trained
def tv_convnext():
    models = torchvision().models.convnext
    blocks = [models.CNBlockConfig(8, 16, 2), models.CNBlockConfig(16, None, 2)]
    return classified(models.ConvNeXt(blocks, num_classes=CLASSES), 32)


@trained
def vgg11():
    """Its shape with fewer channels, and a head of fewer features."""
    models = torchvision().models.vgg
    widths = [8, "M", 16, "M", 24, 24, "M", 32, 32, "M"]
    network = models.VGG(models.make_layers(widths), num_classes=CLASSES, dropout=0.0)
    head = network.classifier
    head[0], head[3], head[6] = nn.Linear(32 * 49, 32), nn.Linear(32, 24), nn.Linear(24, CLASSES)
    return classified(network, 48)


@trained
def mobilenet_v2():
    network = torchvision().models.MobileNetV2(
        num_classes=CLASSES,
        width_mult=0.5,
        dropout=0.0,
        inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]],
    )
    return classified(network, 64, samples=4)


@trained
def squeezenet():
    network = torchvision().models.SqueezeNet("1_1", num_classes=CLASSES, dropout=0.0)
    return classified(network, 64)


@trained
def densenet():
    network = torchvision().models.DenseNet(
        growth_rate=4, block_config=(2, 2), num_init_features=8, bn_size=2, num_classes=CLASSES
    )
    return classified(network, 32)


@trained
def tv_vit():
    network = torchvision().models.VisionTransformer(16, 4, 2, 4, 64, 96, num_classes=CLASSES)
    return classified(network, 16)


def swin_of(**kinds):
    return torchvision().models.SwinTransformer(
        [2, 2],
        16,
        [2, 2],
        [2, 4],
        [4, 4],
        num_classes=CLASSES,
        stochastic_depth_prob=0.0,
        **kinds,
    )


@trained
def tv_swin():
    return classified(swin_of(), 32)


@trained
def tv_swin_v2():
    models = torchvision().models.swin_transformer
    network = swin_of(block=models.SwinTransformerBlockV2, downsample_layer=models.PatchMergingV2)
    return classified(network, 32)


@trained
def efficientnet():
    models = torchvision().models.efficientnet
    blocks = [
        models.MBConvConfig(1, 3, 1, 32, 16, 1, 0.25, 1.0),
        models.MBConvConfig(6, 3, 2, 16, 24, 1, 0.25, 1.0),
        models.FusedMBConvConfig(4, 3, 2, 8, 16, 1),
    ]
    network = models.EfficientNet(blocks, 0.0, stochastic_depth_prob=0.0, num_classes=CLASSES)
    return classified(network, 32, samples=4)


@trained
def regnet():
    models = torchvision().models.regnet
    blocks = models.BlockParams.from_init_params(
        depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25
    )
    return classified(models.RegNet(blocks, num_classes=CLASSES), 64)


@trained
def shufflenet():
    network = torchvision().models.ShuffleNetV2([1, 2, 1], [8, 16, 32, 32, 32], CLASSES)
    return classified(network, 96, samples=8)


@trained
def maxvit():
    network = torchvision().models.MaxVit(
        (32, 32), 8, 2, [8, 16], [1, 1], 8, num_classes=CLASSES, stochastic_depth_prob=0.0
    )
    return classified(network, 32)
