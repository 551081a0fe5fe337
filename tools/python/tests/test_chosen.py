"""Elements that a mask takes and puts back, which have static shapes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import zero


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.layer, self.weight = nn.Linear(4, 4), nn.Parameter(torch.randn(4))
        self.function = function

    def forward(self, x):
        return self.function(self.layer(x), self.weight).square().mean()


def doubled(h, w):
    h = h * w
    h[h > 0] *= 2
    return h


def multiplied(h, w):
    y, m = torch.zeros_like(h), h > 0
    y[m] = h[m] * (h * w)[m] * w.mean() - 1
    return y


def of_rows(h, w):
    h, m = h * w, h.sum(1) > 0
    h[m] = 3 - (h[m] - w.exp().expand_as(h)[m] * 0.5) + -h[m]
    return h


def read_before_it_is_overwritten(h, w):
    y, m = h * w, h > 0
    before = y[m]
    y[m] = 0
    y[m] = 2 * before
    return y + h


def changed_under_another_name(h, w):
    y, m = h * w, h > 0
    chosen = y[m]
    other = chosen
    other += 1
    y[m] = chosen * 2
    return y


def without_finite_gradients(h, w):
    """Where the mask leaves out what is infinite."""
    m = h > 0
    y, z = h.masked_fill(~m, torch.inf), torch.zeros_like(h)
    z[m] = y[m] * w.expand_as(y)[m]
    return z


def checked_only(h, w):
    assert (h[h > 0] > 0).all()
    return h * w


def of_boxes(h, w):
    from torchvision.ops import complete_box_iou_loss

    boxes = torch.cat([h[:, :2].sigmoid(), h[:, :2].sigmoid() + (h * w)[:, 2:].sigmoid()], 1)
    return complete_box_iou_loss(boxes, boxes.roll(1, 0).detach() + 0.1)


FUNCTIONS = (
    doubled,
    multiplied,
    of_rows,
    read_before_it_is_overwritten,
    changed_under_another_name,
    without_finite_gradients,
    checked_only,
    of_boxes,
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_in_pytorch(function):
    torch.manual_seed(0)
    assert "2 updates" in zero.check(Module(function), {"x": torch.randn(3, 4)})


def rooted(h, w):
    h = h * w
    h[h > 0] = torch.sqrt(h[h > 0])
    return h


def by_another_mask(h, w):
    y, m = h * w, h > 0
    y[m] = h[h > 1] * 2
    return y


def by_a_mask_that_changed(h, w):
    y, m = h * w, h > 0
    before = y[m]
    m.logical_not_()
    y[m] = before
    return y


@pytest.mark.parametrize(
    "function",
    [
        rooted,
        by_another_mask,
        by_a_mask_that_changed,
        lambda h, w: (h * w)[h > 0].sum(),
        lambda h, w: F.mse_loss((h * w)[h > 0], h[h > 0]),
        lambda h, w: torch.cat([(h * w)[h > 0], w]),
    ],
)
def test_other_uses_are_refused(function):
    with pytest.raises(zero.CannotImport, match="depends on (the )?values.*torch.where"):
        zero.export(Module(function), {"x": torch.randn(3, 4)})
