"""Operations that the importer composes of others: the loss and the gradients are PyTorch's,
also where a composition might differ from PyTorch's own formula."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from test_operations import ROWS, WIDTH, Sum
from training import compare

INFINITY = float("inf")
NAN = float("nan")


def several(function, *words, **settings):
    """The sum of what an operation with several results gives."""
    return sum(part.sum() for part in function(*words, **settings))


TURNS = torch.polar(torch.ones(4), torch.arange(4.0))

ELEMENTS = {
    "nan": lambda w, x, i: torch.where(torch.isnan(x.log()), w, x.abs() * w),
    "infinite": lambda w, x, i: torch.where(torch.isinf(w / (i // 3)) | (x > 1), w, 2 * w),
    "finite": lambda w, x, i: torch.isfinite(x / (i % 2)) * w + torch.isposinf(x / (i % 2)) * w,
    "nan_to_num": lambda w, x, i: (
        torch.nan_to_num(edges(w), 0.5, 2.0, -3.0)
        + torch.nan_to_num(w)
        + (torch.nan_to_num(edges(w)) > 1e38) * w
    ),
    "copysign": lambda w, x, i: torch.copysign(w, x) + torch.copysign(x * w, -(i % 2) * 1.0),
    "copied_number": lambda w, x, i: torch.copysign(w - 1, -2.0),
    "threshold": lambda w, x, i: F.threshold(w, 1.0, -2.0) + F.threshold(w * i, 0.0, 1.0),
    "fmod": lambda w, x, i: torch.fmod(3 * w, 0.7) + torch.fmod(w, x) + w * torch.fmod(i, -3),
    "remainders": lambda w, x, i: (
        torch.remainder(1e5 * x, 0.7)
        + torch.remainder(w.detach() * 0 + 5.9999995, 6.0) * w
        + torch.remainder(-3 * w, x)
        + torch.fmod(-1e5 * w, x + 3)
    ),
    "remainder_of_a_number": lambda w, x, i: w * (7.5 % (x + 3)) + w * (7 % (i + 1)),
    "present": lambda w, x, i: (
        torch.fmax(w, x)
        + torch.fmin(w, torch.where(i == 1, NAN, x))
        + torch.fmax(w.detach() + NAN, w)
        + torch.fmin(w, w.detach())
        + torch.fmax(w * 2, torch.full_like(w, INFINITY)).clamp(max=1)
    ),
    "rounded": lambda w, x, i: (
        w * torch.round(x, decimals=2)
        + torch.round(100 * w, decimals=-1)
        + w * torch.round(x, decimals=0)
    ),
    "polar": lambda w, x, i: torch.view_as_real(torch.polar((w - 1) * i, x)).sum(-1),
    "hypot": lambda w, x, i: torch.hypot(w, x) + torch.hypot(w * 1e25, x) / 1e25,
    "logaddexp": lambda w, x, i: torch.logaddexp(w, x) + torch.logaddexp2(90 * w, x),
    "frac": lambda w, x, i: (3 * w).frac() + torch.deg2rad(w) + torch.rad2deg(w),
    "heaviside": lambda w, x, i: torch.heaviside(x, torch.tensor(0.5).to(x)) * w,
    "sinc": lambda w, x, i: torch.sinc(w) + torch.sinc(w * (i % 2)),
    "logit": lambda w, x, i: torch.logit(w * 0.3) + torch.logit(w, eps=1e-1),
    "normal": lambda w, x, i: torch.special.ndtr(w) + torch.special.entr(w),
    "xlog1py": lambda w, x, i: torch.special.xlog1py(w, x.abs()) + torch.special.xlog1py(x, w),
    "bucketize": lambda w, x, i: (
        w
        * (
            torch.bucketize(x.log(), torch.tensor([-1.0, 0.0, 1.0]))
            + torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True)
            + torch.searchsorted(torch.tensor([0, 2, 4]), i, right=True)
        )
    ),
    "searched_rows": lambda w, x, i: (
        w[:, :3] * torch.searchsorted(x.softmax(-1).cumsum(-1), x[:, :3].sigmoid(), right=True)
    ),
    "turned": lambda w, x, i: torch.view_as_real(
        torch.view_as_complex(w.view(4, 3, 2)) * TURNS[(i % 4)[:, 0]].unsqueeze(-1)
    ),
    "isin": lambda w, x, i: w * torch.isin(i, torch.tensor([1, 4])),
    "soft_margin": lambda w, x, i: F.soft_margin_loss(w, x.sign(), reduction="none"),
    "multi_margin": lambda w, x, i: F.multi_margin_loss(w, i[:, 0]) * x,
    "ldexp": lambda w, x, i: torch.ldexp(w, i) + torch.ldexp(x * w, torch.tensor(-3)),
    "random_slope": lambda w, x, i: F.rrelu(w, training=False) + F.rrelu(w, 0.2, 0.4),
}


def edges(w):
    """With infinities, NaN, and numbers."""
    y = w.clone()
    y[0, 0], y[1, 1], y[2, 2] = INFINITY, -INFINITY, NAN
    return y


SHAPES = {
    "unsafe_split": lambda w, x, i: (
        torch.unsafe_split(w, 4, 1)[1] * torch.unsafe_split_with_sizes(w, [4, 2], 1)[1]
    ),
    "unsafe_chunk": lambda w, x, i: torch.unsafe_chunk(w, 3, 1)[2] * 2,
    "index_fill": lambda w, x, i: w.index_fill(1, torch.tensor([3, 1]), 2.0) * x,
    "diag": lambda w, x, i: w[0].diag() + w[:, :4].diag().sum() + w[1].diag(-1)[1:, 1:],
    "diag_embed": lambda w, x, i: torch.diag_embed(w, 1)[:, :6, 1:] * x[..., None],
    "block_diag": lambda w, x, i: torch.block_diag(w, x * w),
    "take": lambda w, x, i: w.take(i * 3) * x + torch.take_along_dim(w, i, 1),
    "rotated": lambda w, x, i: torch.rot90(w, 3) * 2,
    "channel_shuffle": lambda w, x, i: F.channel_shuffle(w.view(1, 6, 2, 2), 3),
    "strided": lambda w, x, i: w.as_strided((3, 4), (6, 1), 1) + 2 * w.as_strided((3, 4), (1, 5)),
    "strided_windows": lambda w, x, i: (2 * w).as_strided((8, 4), (2, 1), 3),
    "cross": lambda w, x, i: torch.linalg.cross(w[:, :3], x[:, 3:]),
    "trace": lambda w, x, i: w[:, :4].trace() * x,
    "grid": lambda w, x, i: F.grid_sample(
        w.view(1, 2, 3, 4),
        F.affine_grid(w[:1].view(1, 2, 3), (1, 2, 4, 4), False),
        align_corners=False,
    ),
}

SAMPLED = {
    f"{mode}_{padding}_{corners}": lambda w, x, i, how=(mode, padding, corners): (
        F.grid_sample(w.view(1, 2, 3, 4), 1.5 * x.view(1, 4, 3, 2), *how)
        + F.grid_sample(x.view(1, 2, 3, 4), 1.5 * w.view(1, 4, 3, 2) - 1, *how)
    )
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for corners in (True, False)
}


def volume(w):
    """Two images of two channels, with three dimensions."""
    return torch.cat([w, w.sin(), w * w, w.cos(), w + 1, -w, w, 2 * w]).view(2, 2, 3, 4, 4)


SAMPLED_3D = {
    f"{mode}_{padding}_{corners}": lambda w, x, i, how=(mode, padding, corners): (
        F.grid_sample(volume(w), volume(1.5 * x)[:1].reshape(2, 4, 2, 2, 3), *how)
        + F.grid_sample(volume(x), volume(1.5 * w - 1)[:1].reshape(2, 4, 2, 2, 3), *how)
    )
    for mode in ("bilinear", "nearest")
    for padding in ("zeros", "border", "reflection")
    for corners in (True, False)
}


def unpooled(pool, unpool, x, *how, **settings):
    """What is pooled and put back, and what is pooled."""
    found, places = pool(x, *how, return_indices=True, **settings)
    return unpool(found * found, places, *how, output_size=x.shape).sum(0) + found.sum()


POOLED = {
    "unpool1d": lambda w, x, i: unpooled(F.max_pool1d, F.max_unpool1d, w[None] * x, 2),
    "unpool1d_rest": lambda w, x, i: unpooled(F.max_pool1d, F.max_unpool1d, w[None], 4),
    "unpool2d": lambda w, x, i: unpooled(
        F.max_pool2d, F.max_unpool2d, torch.stack([w, w * x])[None], (2, 3)
    ),
    "unpool3d": lambda w, x, i: unpooled(
        F.max_pool3d, F.max_unpool3d, torch.stack([w, w * x])[None, None], 2
    ),
    "places": lambda w, x, i: (
        w[None].contiguous()
        * F.max_pool2d(x[None], 3, 1, 1, return_indices=True)[1]
        * F.max_pool2d(w[None], 3, 1, 1, return_indices=True)[0]
    ),
    "dilated_places": lambda w, x, i: (
        F.max_pool2d(w[None, None], 2, 2, 1, 2, ceil_mode=True, return_indices=True)[0].sum()
        * F.max_pool2d(x[None, None], 2, 2, 1, 2, ceil_mode=True, return_indices=True)[1]
    ),
}

REDUCTIONS = {
    "distances": lambda w, x, i: torch.cdist(w, x) + torch.cdist(w, w * 2, p=1.0),
    "distances_of_themselves": lambda w, x, i: torch.cdist(w[None], w[None]) + F.pdist(w).sum(),
    "distances_3": lambda w, x, i: torch.cdist(w, x, p=3.0) + F.pdist(w, 1.0).sum(),
    "prod": lambda w, x, i: (
        w.prod(1) + w.prod(0, keepdim=True).sum() + w.prod() + (w * i).prod(0).sum()
    ),
    "prod_of_zeros": lambda w, x, i: (w * (i != 2)).prod(1) + (w * (i > 1)).prod(1),
    "integer_prod": lambda w, x, i: w * (i % 3 + 1).prod(1, keepdim=True),
    "cumprod": lambda w, x, i: w.cumprod(1) + w.cumprod(0) + (w * (i != 2)).cumprod(1),
    "cummax": lambda w, x, i: (
        w.cummax(1).values * x + (w * x).cummin(0).values + w * w.cummax(1)[1]
    ),
    "cummax_ties": lambda w, x, i: torch.cummax(i * w.detach().round() + w - w.detach(), 1).values,
    "logcumsumexp": lambda w, x, i: (w * 30 * x).logcumsumexp(1) + w.logcumsumexp(0),
    "std_mean": lambda w, x, i: several(torch.std_mean, w, 1) + several(torch.std_mean, w) * x,
    "logsumexp": lambda w, x, i: w.logsumexp((0, 1)) + w.logsumexp((1,), keepdim=True) * x,
    "logsumexp_of_nothing": lambda w, x, i: (
        torch.where(i > 9, w, -INFINITY).logsumexp(1).exp()[:, None] + w
    ),
    "median": lambda w, x, i: w.median(1).values + w.median() + w.kthvalue(2, 1).values,
    "quantile": lambda w, x, i: w.quantile(0.3, 1) + w.nanquantile(0.6, 1),
    "nanmean": lambda w, x, i: edges(w)[1:].nanmean(0)[3:] + edges(w)[2:].nansum(1, keepdim=True),
    "extrema": lambda w, x, i: (
        several(torch.aminmax, w, dim=1) + torch.count_nonzero(i, 1) * w[:, 0]
    ),
    "orders": lambda w, x, i: w.norm(3, 1) + w.norm(0, 1) * x[:, 0] + (w * (i > 1)).norm(2.5, 1),
    "renorm": lambda w, x, i: torch.renorm(w, 2, 0, 1.0),
    "addr": lambda w, x, i: (
        torch.addr(x, w[:, 0], w[0], beta=0.5, alpha=2) + torch.addr(x, x[:, 0], w[1])
    ),
    "added": lambda w, x, i: (
        torch.addmv(x[:, 0], w, x[0], beta=2, alpha=3)
        + torch.addbmm(x[:, :4], w.view(1, 4, 6), x.view(1, 6, 4), beta=0.5)
        + torch.addmm(x[:, :4], w, x.view(6, 4), alpha=2)
    ),
    "histogram": lambda w, x, i: (
        w * torch.histc(i.float(), 6, 0, 6)
        + w * torch.histc(i.float(), 6, 0, 5)
        + w * torch.histc(x, 6, -1, 1.5)
    ),
    "maxima": lambda w, x, i: (
        F.adaptive_max_pool1d(w[None], 4) + F.adaptive_max_pool2d(w[None], (3, 4)).sum() * 2
    ),
    "maxima_of_ties": lambda w, x, i: F.adaptive_max_pool2d(
        (i // 3 + w - w.detach())[None], (3, 4)
    ),
    "means_by_a_divisor": lambda w, x, i: (
        F.avg_pool2d(w[None], 2, 1, 1, divisor_override=3)
        + F.avg_pool2d(w[None], 2, count_include_pad=False, divisor_override=1).sum()
        + F.avg_pool3d(w.view(1, 1, 2, 3, 4), 2, 1, divisor_override=5).sum()
    ),
    "maxima_3d": lambda w, x, i: F.adaptive_max_pool3d(w.view(1, 2, 3, 4), (1, 2, 3)),
    "smoothed": lambda w, x, i: (
        F.interpolate(w[None, None], (3, 4), mode="bilinear", antialias=True)
        + F.interpolate(w[None, None], (3, 4), mode="bicubic", antialias=True, align_corners=True)
    ),
}

FAMILIES = {
    "elements": (ELEMENTS, 0.5, 1.5),
    "shapes": (SHAPES, -1.0, 1.0),
    "sampled": (SAMPLED, -1.0, 1.0),
    "sampled_3d": (SAMPLED_3D, -1.0, 1.0),
    "pooled": (POOLED, -1.0, 1.0),
    "reductions": (REDUCTIONS, -1.0, 1.0),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family, tmp_path):
    torch.manual_seed(5)
    module = Sum(*FAMILIES[family])
    batch = {"x": torch.randn(ROWS, WIDTH), "ids": torch.randint(0, WIDTH, (ROWS, WIDTH))}
    compare(module, batch, tmp_path)
