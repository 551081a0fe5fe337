"""Operations one by one: each gets a parameter of its own, so that the parameter
whose gradient is wrong names the operation."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from training import compare

import zero

ROWS, WIDTH = 4, 6


class Sum(nn.Module):
    """The sum over operations of their results times fixed numbers."""

    def __init__(self, operations: dict, low: float, high: float):
        super().__init__()
        self.operations = operations
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(low + (high - low) * torch.rand(ROWS, WIDTH))
                for name in operations
            }
        )

    def forward(self, x, ids):
        total = 0.0
        for index, (name, operation) in enumerate(self.operations.items()):
            y = operation(self.weights[name], x, ids)
            scale = torch.linspace(0.5, 1.5, y.numel()).reshape(y.shape) + 0.01 * index
            total = total + (y * scale).sum() / y.numel()
        return total


ELEMENTWISE = {
    "add": lambda w, x, i: x + 2 * w,
    "alpha": lambda w, x, i: torch.add(x, w, alpha=3),
    "rsub": lambda w, x, i: 1 - w,
    "mul": lambda w, x, i: w * x,
    "div": lambda w, x, i: x / w,
    "floor_div": lambda w, x, i: w * (i // 3),
    "remainder": lambda w, x, i: w * (i % 5) + w * torch.remainder(x, 0.7),
    "exp": lambda w, x, i: w.exp(),
    "expm1": lambda w, x, i: w.expm1(),
    "log": lambda w, x, i: w.log() + w.log1p() + w.log2(),
    "sqrt": lambda w, x, i: w.sqrt() + w.rsqrt(),
    "tanh": lambda w, x, i: w.tanh() + w.erf(),
    "sin": lambda w, x, i: w.sin() * w.cos(),
    "abs": lambda w, x, i: (w - 1).abs() + torch.sign(w - 1),
    "powers": lambda w, x, i: w**2 + w**3 + w**-1 + w**0.5 + w**1.7,
    "pow_tensor": lambda w, x, i: torch.pow(w, w) + 2.0**w,
    "maximum": lambda w, x, i: torch.maximum(w, x) + torch.minimum(w, 2 * x),
    "clamp": lambda w, x, i: w.clamp(0.7, 1.2) + w.clamp(min=1.0) + w.clamp(max=1.0),
    "rounded": lambda w, x, i: w.half().float() + (3 * x.bfloat16() * w.bfloat16()).float(),
    "where": lambda w, x, i: torch.where(x > 0, w, 2 * w) + w.masked_fill(i == 1, 0.5),
    "logic": lambda w, x, i: w * ((x > 0) & ~(i == 2) | (i >= 4)).float(),
    "int_to_float": lambda w, x, i: w * i + w * i.float() / 3,
    "bits": lambda w, x, i: w * (i & 3) + w * (i | 1) * (i ^ 5) + w * ~i,
    "truths": lambda w, x, i: w * torch.logical_and(i, x > 0) + w * torch.logical_not(i),
    "angles": lambda w, x, i: (0.5 * w).asin() + (0.5 * w).acos() + w.atan() + w.tan(),
    "hyperbolic": lambda w, x, i: w.sinh() + w.cosh() + w.asinh() + (w + 1).acosh(),
    "tails": lambda w, x, i: (0.5 * w).atanh() + w.erfc() + w.log10() + w.exp2(),
    "xlogy": lambda w, x, i: torch.xlogy(w, w + 1) + torch.xlogy(i, w),
    "clip_by": lambda w, x, i: w.clip(0.6, 1.4) + w.clamp(min=x) + w.clamp(max=x.abs()),
    "atan2": lambda w, x, i: torch.atan2(w, x) + torch.atan2(x, w),
    "lerp": lambda w, x, i: torch.lerp(x, w, 0.3) + torch.addcmul(x, w, x, value=0.5),
}

ACTIVATIONS = {
    "relu": lambda w, x, i: F.relu(w) + F.relu(w * (x > 0)),
    "relu6": lambda w, x, i: F.relu6(4 * w) + F.hardtanh(w),
    "gelu": lambda w, x, i: F.gelu(w) + F.gelu(w, approximate="tanh"),
    "silu": lambda w, x, i: F.silu(w) + F.silu(w) * x,
    "sigmoid": lambda w, x, i: w.sigmoid() + F.logsigmoid(w),
    "softplus": lambda w, x, i: F.softplus(w) + F.softplus(w * (x > 0)) + F.softplus(w, beta=2),
    "leaky": lambda w, x, i: F.leaky_relu(w) + F.elu(w) + F.selu(w) + F.celu(w),
    "hard": lambda w, x, i: F.hardswish(w) + F.hardsigmoid(w) + F.mish(w),
    "glu": lambda w, x, i: F.glu(w),
    "softmax": lambda w, x, i: w.softmax(-1) + w.softmax(0) + w.log_softmax(1),
    "logsumexp": lambda w, x, i: w.logsumexp(1),
    "gelu_by_hand": lambda w, x, i: (
        0.5 * w * (1 + torch.tanh(0.7978845608028654 * (w + 0.044715 * w**3)))
    ),
    "gelu_by_erf": lambda w, x, i: w * 0.5 * (1.0 + torch.erf(w / 2**0.5)),
    "swish_by_hand": lambda w, x, i: w * torch.sigmoid(w),
    "not_gelu": lambda w, x, i: 0.5 * w * (1 + torch.tanh(0.8 * (w + 0.044715 * w**3))),
}

SHAPES = {
    "reshape": lambda w, x, i: w.reshape(3, 2, 4).transpose(0, 2).reshape(8, 3),
    "views": lambda w, x, i: w.view(2, 2, 6).permute(2, 0, 1).flatten(1).unflatten(0, (2, 3)),
    "squeeze": lambda w, x, i: w[:, None].squeeze(1).unsqueeze(-1).squeeze(),
    "expand": lambda w, x, i: w[:, None].expand(-1, 3, -1) * x[:, None],
    "repeat": lambda w, x, i: w.repeat(2, 3) + w.repeat_interleave(2, 0).repeat(1, 3),
    "slices": lambda w, x, i: w[1:3, ::2] + w[-2:, :3],
    "select": lambda w, x, i: w[1] * w[:, 2, None],
    "split": lambda w, x, i: sum(part * (k + 1) for k, part in enumerate(w.split(2, 1))),
    "chunk": lambda w, x, i: w.chunk(2, 1)[0] + w.split([2, 1, 3], 1)[2] + w.unbind(0)[1][:3],
    "cat": lambda w, x, i: torch.cat([w, x[:2], w[1:]], 0),
    "stack": lambda w, x, i: torch.stack([w, x, 2 * w], 1),
    "roll": lambda w, x, i: w.roll(1, 0) + w.roll((1, -2), (0, 1)) + w.flip(1),
    "pad": lambda w, x, i: F.pad(w, (1, 2, 0, 1), value=0.5) + F.pad(w, (2, 1, 2, -1)),
    "borders": lambda w, x, i: (
        F.pad(w[None], (2, 1), mode="reflect")
        + F.pad(w[None, None], (1, 2, 0, 0), mode="replicate")
        + F.pad(w[None], (0, 3), mode="circular")
    ),
    "pixels": lambda w, x, i: (
        F.pixel_shuffle(w.view(1, 4, 2, 3), 2) * 2
        + F.pixel_unshuffle(w.view(1, 1, 4, 6), 2).view(1, 1, 4, 6)
    ),
    "diagonal": lambda w, x, i: w.diagonal(1) + w.view(2, 2, 6).diagonal(-1, 1, 2)[:, 0].sum(),
    "compositions": lambda w, x, i: (
        torch.hstack([w, x]).swapaxes(0, 1) + torch.tile(w, (3, 1))[:, :1]
    ),
    "cat_of_types": lambda w, x, i: torch.cat([w, i], 1) * 2,
    "triangles": lambda w, x, i: w.tril() + w.triu(1),
    "assign": lambda w, x, i: assigned(w, x),
    "gather": lambda w, x, i: w.gather(1, i[:, :3]),
    "index": lambda w, x, i: w[i[:, 0] % 4] + w[:, i[0] % 6] + w[i[0, :4] % 4, :],
    "index_pair": lambda w, x, i: w[torch.arange(4), i[:, 1]],
    "index_apart": lambda w, x, i: (
        w.view(2, 2, 6)[i[0] % 2, :, i[1]] + w.view(2, 3, 4)[1, :, :2].sum()
    ),
    "index_later": lambda w, x, i: w.view(2, 2, 6)[:, i[:2] % 2, i[2:]] * 2,
    "index_mixed": lambda w, x, i: w.view(1, 2, 2, 6)[:, [[0], [1]], :, i[:2] - 6],
    "index_select": lambda w, x, i: w.index_select(1, i[0]),
    "scatter": lambda w, x, i: torch.zeros(4, 6).scatter(1, i[:, :1], 2.0) * w,
    "windows": lambda w, x, i: w.unfold(1, 3, 2) * 2 + w.unfold(1, 2, 2).square().sum(),
    "zeroed": lambda w, x, i: zeroed(w * x),
    "steps": lambda w, x, i: stepped(w, x),
    "movedim": lambda w, x, i: w.T @ x + w.view(2, 2, 6).movedim(0, 2).reshape(6, 4)[:, :1],
}


def assigned(w, x):
    y = x.clone()
    y[1:3, 2:] = w[1:3, 2:]
    y[0] = w[3]
    return y


def zeroed(y):
    y[1:, ::2].zero_()
    return y


def stepped(w, x):
    y = x.clone()
    y[:, 1::2] = w[:, :3]
    return y


def duplicates(w):
    """Indices of rows, some of them twice."""
    return torch.tensor([1, 3, 1, 0, 1])


def bags(w, x, ids, **options):
    """Three kinds of bags, of which the last one has an index alone."""
    ids = torch.cat([ids % ROWS, torch.ones_like(ids[:1])])
    weights = torch.cat([x, x[:1]])
    kinds = [F.embedding_bag(ids, w, mode=kind, **options) for kind in ("mean", "max")]
    return sum(kinds) + F.embedding_bag(
        ids, w, mode="sum", per_sample_weights=weights, **options
    )


POSITIONS = {
    "bags": bags,
    "padded_bags": lambda w, x, i: sum(bags(w, x, i, padding_idx=p) for p in (1, -2, -1)),
    "gather_first": lambda w, x, i: w.gather(0, i % 4) + w.gather(0, i[:1].expand(4, 6) % 4),
    "gather_part": lambda w, x, i: w.gather(1, i[:2, :3]) * 2,
    "scatter_add": lambda w, x, i: (
        x.scatter_add(1, i, w) + torch.zeros(4, 6).scatter_add(0, i % 4, w)
    ),
    "scatter_into": lambda w, x, i: w.scatter_add(1, i[:, :2], x) * x,
    "scatter_rows": lambda w, x, i: torch.zeros(3, 6).scatter_add(
        0, (i[:, :1] % 3).expand(-1, 6), w
    ),
    "scatter_corner": lambda w, x, i: (
        w.scatter(1, i[:2, :3], x) * x + w.scatter(0, i[:3, :2] % 4, 2.0)
    ),
    "scatter_small": lambda w, x, i: (
        x.scatter_add(0, i[:3, :4] % 4, w[1:, 2:]) + w.scatter_add(1, i[:3, :2], x)
    ),
    "amax_corner": lambda w, x, i: w.scatter_reduce(1, i[:2], 2 * w[1:3], "amax"),
    "index_add": lambda w, x, i: x.index_add(1, i[0], w, alpha=2) + w.index_add(0, i[0, :4] % 4, w),
    "index_copy": lambda w, x, i: (
        w.index_copy(0, torch.tensor([3, 1]), 2 * x[:2] * w[:2])
        + x.index_copy(1, i[0, :2] % 3, w[:, 1:3])
        + w[0, 0].index_copy(0, torch.tensor(0), x[1, 1] * w[1, 1])
    ),
    "integer_copy": lambda w, x, i: w * i.index_copy(1, i[1, :1] % 6, i[:, 2:3]),
    "integer_add": lambda w, x, i: (
        w.sin() * torch.zeros(6, dtype=torch.long).index_add(0, i[0], i[1] % 100)
    ),
    "scatter_src": lambda w, x, i: w.scatter(0, torch.tensor([[2] * 6]), 2 * w[:1] * x[:1]),
    "amax": lambda w, x, i: w.scatter_reduce(1, i, 2 * w, "amax"),
    "amax_ties": lambda w, x, i: (w.round()).scatter_reduce(1, i, w * 0 + 0.0, "amax") * x,
    "amax_alone": lambda w, x, i: w.scatter_reduce(1, i, 2 * w, "amax", include_self=False),
    "amin": lambda w, x, i: w.scatter_reduce(1, i, 2 * w, "amin"),
    "scatter_mean": lambda w, x, i: w.scatter_reduce(1, i, x * w, "mean"),
    "mean_alone": lambda w, x, i: w.scatter_reduce(1, i, x * w, "mean", include_self=False),
    "put": lambda w, x, i: put(w, (torch.tensor([2, 0]),), 3 * x[:2] * w[:2]),
    "put_pairs": lambda w, x, i: put(
        w, (torch.tensor([2, 0]), torch.tensor([5, 1])), x[0, 0] * w[1, 1]
    ),
    "put_added": lambda w, x, i: torch.index_put(
        x * w, (duplicates(w),), 2 * w[:1], accumulate=True
    ),
    "put_mask": lambda w, x, i: torch.index_put(w, (x > 0,), torch.tensor(0.5)),
    "put_rows": lambda w, x, i: torch.index_put(w, (x[:, 0] > 0,), 2 * w[0] * x[1]),
    "added_mask": lambda w, x, i: torch.index_put(w, (x > 0,), w[0, 0], accumulate=True),
    "put_columns": lambda w, x, i: torch.ops.aten.index_put(
        x * w, [None, duplicates(w)], w[:, :1], True
    ),
    "put_apart": lambda w, x, i: apart(w, x),
    "masked_scatter": lambda w, x, i: w.masked_scatter(x > 0, (x * w).flatten()),
    "inverse": lambda w, x, i: w[inverse(w[:, 0].argsort())] * x,
}


def put(w, indices, values):
    y = 2 * w
    y[indices] = values
    return y


def apart(w, x):
    y = x.view(2, 2, 6).clone()
    y[[1, 0], :, [5, 2]] = w[:2, :2] * 3
    return y


def inverse(permutation):
    y = torch.empty_like(permutation)
    y[permutation] = torch.arange(permutation.shape[0])
    return y


ORDERS = {
    "sort": lambda w, x, i: w.sort(1).values + w.sort(0, descending=True).values * x,
    "argsort": lambda w, x, i: w[x[:, 1].argsort(descending=True)] * x,
    "topk": lambda w, x, i: w.topk(5, -1).values + w.topk(3, 0, largest=False).indices.sum(),
    "extrema": lambda w, x, i: w.min(1).values + w.argmin() + w.min(1).indices * w[:, 0],
    "argmax": lambda w, x, i: (
        w * (w.argmax(1, keepdim=True) == i) + w * w.argmax() + w * i.argmax(0)
    ),
    "argmax_of_all": lambda w, x, i: w * w.argmax(keepdim=True) + (i % 99).max(1).values.sum() * w,
    "cumsum": lambda w, x, i: (
        w.cumsum(1) * x + w.cumsum(0) + w * (i % 99).cumsum(1) + w * (i > 2).cumsum(0)
    ),
}


REDUCTIONS = {
    "sum": lambda w, x, i: w.sum(1) + w.sum() + w.sum((0, 1)),
    "mean": lambda w, x, i: w.mean(0, keepdim=True) + w.mean() * x,
    "max": lambda w, x, i: w.amax(1) + w.max(1).values + w.max() - w.amin(1),
    "argmax": lambda w, x, i: w * (w.argmax(1, keepdim=True) == i),
    "variance": lambda w, x, i: w.var(1) + w.std(1) + w.var(1, correction=0),
    "norm": lambda w, x, i: F.normalize(w, dim=-1) + w.norm(),
    "cumsum": lambda w, x, i: w.cumsum(1) + w.cumsum(0),
    "topk": lambda w, x, i: w.topk(2, -1).values + w.topk(2, -1).indices * w[:, :2],
    "any": lambda w, x, i: w[:, :1] * ((x > 1).any(1, keepdim=True) | (i > 1).all(1, keepdim=True)),
    "layer_norm": lambda w, x, i: F.layer_norm(w, (6,)) + F.layer_norm(w, (4, 6)),
    "rms_norm": lambda w, x, i: F.rms_norm(w, (6,)) + F.rms_norm(w, (6,), w[0], 1e-3),
    "rms_by_hand": lambda w, x, i: w * torch.rsqrt(w.pow(2).mean(-1, keepdim=True) + 1e-2) * x[0],
    "rms_by_root": lambda w, x, i: w / torch.sqrt((w * w).mean(-1, keepdim=True) + 1e-2),
    "group_norm": lambda w, x, i: F.group_norm(w, 2) + F.group_norm(w, 3, x[0], x[1]),
    "einsum_dots": lambda w, x, i: torch.einsum("...c,...c->...", w, x)[:, None] * w,
    "einsum_plain": lambda w, x, i: (
        torch.einsum("ac,bc", w, x) + torch.einsum("...c,c", w, x[0])[0]
    ),
    "einsum_three": lambda w, x, i: torch.einsum("ac,bc,bd->ad", w, x, x),
    "matmul": lambda w, x, i: w @ x.T + x @ w.T,
    "vectors": lambda w, x, i: w @ x[0] + (w[0] @ x[1]) + torch.outer(w[:, 0], x[:, 1]).sum(0),
    "bmm": lambda w, x, i: w.view(2, 2, 6) @ x.view(2, 6, 2) + x.view(2, 2, 6) @ w.view(2, 2, 6).mT,
    "broadcast_matmul": lambda w, x, i: w.view(2, 2, 6) @ x.view(2, 1, 6, 2),
    "addmm": lambda w, x, i: torch.addmm(x[0, :4], w, x.T),
    "einsum": lambda w, x, i: torch.einsum("ac,bc->ab", w, x) + torch.einsum("ac->a", w),
    "einsum_diagonals": lambda w, x, i: (
        torch.einsum("ii", w[:, :4]) * w
        + torch.einsum("ii->i", x[:, :4] * w[:, :4])[:, None]
        + torch.einsum("iji,jk->k", w.view(2, 6, 2), x.view(6, 4)).sum()
        + torch.einsum("iii,...i->...", w.view(6, 4)[:2, None, :2] * x[:2, :2, None], x[:, :2]).sum()
    ),
    "einsum_batch": lambda w, x, i: torch.einsum("abc,adc->bad", w.view(2, 2, 6), x.view(2, 2, 6)),
    "norms": lambda w, x, i: (
        w.norm(1, 1) + w.norm(math.inf, 1) + torch.linalg.norm(w, dim=1) * x[:, 0]
    ),
    "norm_of_zeros": lambda w, x, i: (w * (i > 3)).norm(dim=0) + (w * 0).norm(),
    "bilinear": lambda w, x, i: F.bilinear(x[:, :2], x[:, 2:5], w.view(4, 2, 3), x[0, :4]),
    "distances": lambda w, x, i: F.pairwise_distance(w, x) + F.cosine_similarity(w, x),
    "pool": lambda w, x, i: F.adaptive_avg_pool2d(w[None], (2, 3)) + F.avg_pool2d(w[None], 2),
    "upsample": lambda w, x, i: F.interpolate(w[None, None], scale_factor=2, mode="bilinear"),
    "conv1d": lambda w, x, i: F.conv1d(
        x, w.view(4, 2, 3)[:, :, :2].repeat(1, 2, 1), padding=1, stride=2
    ),
    "depthwise": lambda w, x, i: F.conv1d(x, w.view(4, 1, 6)[..., :3], groups=4, dilation=2),
    "grouped": lambda w, x, i: F.conv1d(x, w.view(4, 2, 3), x[:, 0], groups=2),
    "nearest": lambda w, x, i: (
        F.interpolate(w[None], scale_factor=2) + F.interpolate(w[None], 12, mode="nearest-exact")
    ),
    "nearest_uneven": lambda w, x, i: F.interpolate(w[None, None], (6, 7), mode="nearest"),
    "bicubic": lambda w, x, i: F.interpolate(w[None, None], (7, 8), mode="bicubic"),
    "linear_1d": lambda w, x, i: F.interpolate(w[None], 9, mode="linear", align_corners=True),
    "unfold": lambda w, x, i: F.unfold(w.view(2, 2, 2, 3), 2, padding=1, stride=(2, 1)),
    "unfold without a batch": lambda w, x, i: F.unfold(w.view(2, 4, 3), 2, padding=1),
    "fold without a batch": lambda w, x, i: F.fold(w.view(4, 6), (3, 4), 2),
    "fold": lambda w, x, i: (
        F.fold(w.view(1, 4, 6), (3, 4), 2)
        + F.fold(w.view(1, 4, 6), (3, 2), 2, padding=1, stride=(2, 1), dilation=1).sum()
    ),
    "far_pool": lambda w, x, i: F.avg_pool2d(w[None], 9, ceil_mode=True),
    "conv2d": lambda w, x, i: F.conv2d(x[None, None, :, :5], w.view(4, 1, 2, 3)[:2], stride=(2, 3)),
}

FAMILIES = {
    "elementwise": (ELEMENTWISE, 0.5, 1.5),
    "activations": (ACTIVATIONS, -2.0, 2.0),
    "shapes": (SHAPES, -1.0, 1.0),
    "reductions": (REDUCTIONS, -1.0, 1.0),
    "positions": (POSITIONS, -1.0, 1.0),
    "orders": (ORDERS, -1.0, 1.0),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family, tmp_path):
    torch.manual_seed(2)
    module = Sum(*FAMILIES[family])
    batch = {"x": torch.randn(ROWS, WIDTH), "ids": torch.randint(0, WIDTH, (ROWS, WIDTH))}
    compare(module, batch, tmp_path)


LOSSES = {
    "mean": lambda p, y, z: F.cross_entropy(p, y),
    "sum": lambda p, y, z: F.cross_entropy(p, y, reduction="sum"),
    "none": lambda p, y, z: F.cross_entropy(p, y, reduction="none").square().sum(),
    "smooth": lambda p, y, z: F.cross_entropy(p, y, label_smoothing=0.2),
    "smooth_sum": lambda p, y, z: F.cross_entropy(p, y, label_smoothing=0.2, reduction="sum"),
    "weighted": lambda p, y, z: F.cross_entropy(p, y, weight=torch.tensor([1.0, 2, 3, 4, 5, 6])),
    "weighted_smooth": lambda p, y, z: F.cross_entropy(
        p, y, weight=torch.tensor([1.0, 2, 3, 4, 5, 6]), label_smoothing=0.1
    ),
    "probabilities": lambda p, y, z: F.cross_entropy(p, z.softmax(-1), label_smoothing=0.1),
    "positions": lambda p, y, z: F.cross_entropy(p.view(2, 2, 6).mT, y.view(2, 2)),
    "nll": lambda p, y, z: F.nll_loss(p.log_softmax(-1), y),
    "nll_none": lambda p, y, z: F.nll_loss(p.log_softmax(-1), y, reduction="none").square().sum(),
    "mse": lambda p, y, z: F.mse_loss(p, z) + F.l1_loss(p, z, reduction="sum"),
    "huber": lambda p, y, z: F.huber_loss(p, z, delta=0.5) + F.smooth_l1_loss(p, z, beta=2.0),
    "binary": lambda p, y, z: F.binary_cross_entropy(p.sigmoid(), z.sigmoid()),
    "logits": lambda p, y, z: F.binary_cross_entropy_with_logits(
        p, z.sigmoid(), pos_weight=torch.full((6,), 2.0)
    ),
}


class Losses(nn.Module):
    """All logits are larger by `offset`; half-integers, beside which sums are exact."""

    def __init__(self, losses=LOSSES, offset=0.0):
        super().__init__()
        self.losses, self.offset = losses, offset
        self.weights = nn.ParameterDict(
            {name: torch.randn(ROWS, WIDTH).mul(2).round() / 2 for name in losses}
        )

    def forward(self, y, z):
        weights = {name: weight + self.offset for name, weight in self.weights.items()}
        return sum(loss(weights[name], y, z) for name, loss in self.losses.items())


def test_losses(tmp_path):
    torch.manual_seed(3)
    # One of the targets is ignored.
    compare(Losses(), {"y": torch.tensor([1, -100, 5, 0]), "z": torch.randn(4, 6)}, tmp_path)


OF_LOGITS = ["mean", "sum", "smooth", "weighted", "weighted_smooth", "probabilities", "nll"]


@pytest.mark.parametrize("offset", [-3e4, 3e5])
def test_losses_of_large_logits(offset, tmp_path):
    torch.manual_seed(4)
    losses = {name: LOSSES[name] for name in OF_LOGITS}
    batch = {"y": torch.tensor([1, -100, 5, 0]), "z": torch.randn(4, 6)}
    compare(Losses(losses, offset), batch, tmp_path)


class Classes(nn.Module):
    """Losses of labels of five classes."""

    def __init__(self, loss):
        super().__init__()
        self.z = nn.Parameter(torch.randn(4, 5))
        self.loss = loss

    def forward(self, y):
        return self.loss(self.z, y).mean()


LABELS = {
    "none": lambda z, y: F.cross_entropy(z, y, reduction="none"),
    "none, smooth": lambda z, y: F.cross_entropy(z, y, reduction="none", label_smoothing=0.1),
    "none, weighted": lambda z, y: F.cross_entropy(z, y, torch.ones(5) * 2, reduction="none"),
    "none, positions": lambda z, y: F.cross_entropy(
        z.view(2, 2, 5).mT, y.view(2, 2), reduction="none", ignore_index=-1
    ),
    "a class": lambda z, y: F.cross_entropy(z, y, reduction="none", ignore_index=2),
    "masked": lambda z, y: F.cross_entropy(z, y, reduction="none") * (y >= 0),
    "nll": lambda z, y: F.nll_loss(z.log_softmax(-1), y),
    "nll, none": lambda z, y: F.nll_loss(z.log_softmax(-1), y, reduction="none", ignore_index=3),
    "one hot": lambda z, y: F.one_hot(y, 5) * z,
    "one hot, computed": lambda z, y: F.one_hot((y * 2) // 2, 5) * z,
}


@pytest.mark.parametrize("form", LABELS)
def test_labels_outside_the_classes(form, tmp_path):
    batch = {"y": torch.tensor([0, 1, 2, 4])}
    compare_refusals(Classes(LABELS[form]), batch, "y", (-100, -5, -1, 2, 3, 5, 6), tmp_path)


class Indexed(nn.Module):
    """Indices into the columns of z, of which there are five, or of its four rows."""

    def __init__(self, function):
        super().__init__()
        self.z = nn.Parameter(torch.randn(4, 5))
        self.function = function

    def forward(self, y):
        return self.function(self.z, y).square().mean()


ROWS_OF_FOUR = torch.arange(4)
INDEXED = {
    "pairs": lambda z, y: z[ROWS_OF_FOUR, y],
    "pairs, swapped": lambda z, y: z.T[y, ROWS_OF_FOUR],
    "pairs of data": lambda z, y: z[y % 4, y],
    "pairs apart": lambda z, y: z[:, None].expand(4, 3, 5)[ROWS_OF_FOUR, :, y],
    "pairs, broadcast": lambda z, y: z[ROWS_OF_FOUR[:, None], y],
    "pairs after one": lambda z, y: z[None].expand(2, 4, 5)[:, ROWS_OF_FOUR, y],
    "three": lambda z, y: z.view(2, 2, 5)[ROWS_OF_FOUR // 2, ROWS_OF_FOUR % 2, y],
    "integers": lambda z, y: z * torch.arange(20).view(4, 5)[ROWS_OF_FOUR, y][:, None],
    "columns": lambda z, y: z[:, y],
    "put": lambda z, y: put(torch.zeros(4, 5), (ROWS_OF_FOUR, y), z[:, 0]),
    "put, added": lambda z, y: torch.index_put(z, (ROWS_OF_FOUR, y), z[:, 0], accumulate=True),
    "put a column": lambda z, y: put(torch.zeros(5, 4), (y,), z[:, :4]),
    "select": lambda z, y: z.index_select(1, y),
    "add": lambda z, y: torch.zeros(4, 5).index_add(1, y, z[:, :4]),
    "copy": lambda z, y: torch.zeros(4, 5).index_copy(1, y, z[:, :4]),
    "copy of rows": lambda z, y: torch.zeros(5, 5).index_copy(0, y, z),
    "gather": lambda z, y: z.gather(1, y[:, None]),
    "scatter": lambda z, y: torch.zeros(4, 5).scatter(1, y[:, None], z[:, :1]),
    "take": lambda z, y: z[0].take(y),
}


@pytest.mark.parametrize("form", INDEXED)
def test_indices_outside_their_dimension(form, tmp_path):
    batch = {"y": torch.tensor([0, 1, 2, 4])}
    module = Indexed(INDEXED[form])
    compare_refusals(module, batch, "y", (-6, -5, -1, 3, 5, 7), tmp_path)


@pytest.mark.parametrize(
    "function",
    [
        lambda z, y: z[ROWS_OF_FOUR, torch.tensor([0, 1, 5, 2])],
        lambda z, y: z[ROWS_OF_FOUR, torch.tensor([0, 1, -6, 2])],
        lambda z, y: z.index_select(1, torch.tensor([-1])),
    ],
)
def test_constant_indices_outside_their_dimension(function):
    with pytest.raises(zero.CannotImport, match="test_operations.py:[0-9]+: the index -?[0-9]"):
        zero.export(Indexed(function), {"y": torch.tensor([0, 1, 2, 4])})


def compare_refusals(module, batch, name, ids, folder):
    """Each id, in the last place of an input, is refused where PyTorch refuses it."""
    path = folder / "step.so"
    zero.compile(module, batch, output=path, check=False, ranks=1, stage=0).close()
    zero.export(module, batch).save_weights(folder / "weights.safetensors")
    refused = 0
    for number in ids:
        data = {key: value.clone() for key, value in batch.items()}
        data[name].view(-1)[-1] = number
        try:
            wanted = module(**data).item()
        except (IndexError, RuntimeError):
            wanted = None
        with zero.load(path, weights=folder / "weights.safetensors", threads=1) as step:
            if wanted is None:
                refused += 1
                with pytest.raises(zero.Error, match="check the data|has id .* for the input"):
                    step.evaluate(data)
            else:
                assert abs(step.evaluate(data) - wanted) <= 1e-6 * max(1, abs(wanted)), number
    assert 0 < refused < len(ids)


@pytest.mark.parametrize("row", range(6))
def test_rows_of_booleans(row):
    """A boolean takes a byte in memory, not a bit."""

    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.arange(1.0, 6.0))

        def forward(self, keep, x):
            return (self.w * keep[row]).sum() * x.mean() + torch.where(keep[row], self.w, 0).sum()

    module, keep = Kept(), torch.rand(6, 5) > 0.5
    batch = {"keep": keep, "x": torch.ones(6, 1)}
    with zero.compile(module, batch, check=False) as step:
        assert step.evaluate(batch) == module(**batch).item()
