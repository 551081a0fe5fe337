"""Loss functions."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.activations import log_softmax_of, softplus_of
from zero.importer.convert.limits import within
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value

NONE, MEAN, SUM = 0, 1, 2


def reduced(b: Builder, x: Value, reduction: int) -> Value:
    if reduction == NONE:
        return x
    return b.reduce("mean" if reduction == MEAN else "sum", x, range(x.rank))


@converts("aten.cross_entropy_loss.default", to="nn.cross_entropy")
def cross_entropy(
    b: Builder, self, target, weight=None, reduction=MEAN, ignore_index=-100, label_smoothing=0.0
):
    logits = classes_last(b, self)
    if target.is_float:
        return with_probabilities(
            b, logits, classes_last(b, target), weight, reduction, label_smoothing
        )
    if weight is None and reduction != NONE:
        loss, lse = mean_cross_entropy(b, logits, target, ignore_index)
        if label_smoothing:
            kept = b.compare("ne", target, ignore_index)
            rows = alone(b, kept, b.cast(spread(b, logits, target, lse), loss.dtype))
            mean = b.over(b.reduce("sum", rows, range(rows.rank)), count(b, kept, loss.dtype))
            loss = b.plus(loss, b.times(mean, label_smoothing))
        if reduction == MEAN:
            return loss
        return b.times(loss, count(b, b.compare("ne", target, ignore_index), loss.dtype))
    return by_rows(b, logits, target, weight, reduction, ignore_index, label_smoothing)


def classes_last(b: Builder, x: Value) -> Value:
    """PyTorch has the classes in dimension 1."""
    if x.rank <= 2:
        return x
    return b.transpose(x, [0, *range(2, x.rank), 1])


def mean_cross_entropy(b: Builder, logits: Value, target: Value, ignore_index: int) -> list[Value]:
    """The loss, and the logarithm of the sum of exponentials of each row."""
    form = f"{{}}, {{}} ignore_index {ignore_index}"
    results = [((), torch.float32), (target.shape, torch.float32)]
    return b.add("nn.cross_entropy", [logits, target], results, form)


def spread(b: Builder, logits: Value, target: Value, lse: Value) -> Value:
    """What smoothing adds to the loss of a row. The mean over classes of -log p is
    lse - mean(logits), and the loss is lse - logits[target]. The mean is of differences
    from lse, since that of large logits is rounded; lse, which is added and subtracted,
    has no gradient."""
    anchor = b.cast(b.stop(lse), logits.dtype)
    wide = b.reshape(anchor, target.shape + (1,))
    mean = b.reduce("mean", b.minus(wide, logits), [logits.rank - 1])
    return b.plus(mean, b.minus(pick(b, logits, target), anchor))


def alone(b: Builder, kept: Value, rows: Value) -> Value:
    """The rows that count, and 0 for those that do not, whatever is in them."""
    return b.select(kept, rows, b.like(rows, 0))


def count(b: Builder, kept: Value, dtype: torch.dtype) -> Value:
    """How many count, at least 1: without any the sum is 0, and so is the mean."""
    return b.binary("maximum", b.reduce("sum", b.cast(kept, dtype), range(kept.rank)), 1)


def classes_of(b: Builder, target: Value, classes: int, ignore_index: int) -> Value:
    """The target, of which a run refuses what is neither a class nor ignored."""
    return within(b, target, classes, b.compare("ne", target, ignore_index))


def pick(b: Builder, x: Value, target: Value) -> Value:
    """x[.., target[..]], 0 where the target is no class."""
    hot = b.one_hot(target, x.shape[-1])
    return b.reduce("sum", b.select(hot, x, b.like(x, 0)), [x.rank - 1])


def weights_of(b: Builder, weight: Value, target: Value, ignore_index: int) -> Value:
    """weight[target[..]], any of them where the target is ignored."""
    ids = b.select(b.compare("ne", target, ignore_index), target, b.like(target, 0))
    return b.reshape(b.gather(weight, b.reshape(ids, (target.size,)), 0), target.shape)


def by_rows(b, logits, target, weight, reduction, ignore_index, smoothing) -> Value:
    last = logits.rank - 1
    log_p = log_softmax_of(b, logits, last)
    kept = b.compare("ne", target, ignore_index)
    scale = b.cast(kept, logits.dtype)
    if weight is None:
        target = classes_of(b, target, logits.shape[last], ignore_index)
        rows = b.negative(pick(b, log_p, target))
    else:  # whose lookup checks the targets
        scale = alone(b, kept, weights_of(b, weight, target, ignore_index))
        rows = b.times(b.negative(pick(b, log_p, target)), scale)
    rows = alone(b, kept, rows)
    if smoothing:
        spread = log_p if weight is None else b.times(log_p, weight)
        spread = alone(b, kept, b.negative(b.reduce("mean", spread, [last])))
        rows = b.plus(b.times(rows, 1 - smoothing), b.times(spread, smoothing))
    if reduction == NONE:
        return rows
    total = b.reduce("sum", rows, range(rows.rank))
    return total if reduction == SUM else b.over(total, b.reduce("sum", scale, range(scale.rank)))


def with_probabilities(b, logits, target, weight, reduction, smoothing) -> Value:
    last = logits.rank - 1
    log_p = log_softmax_of(b, logits, last)
    if smoothing:
        target = b.plus(b.times(target, 1 - smoothing), smoothing / logits.shape[-1])
    terms = b.times(log_p, target)
    terms = terms if weight is None else b.times(terms, weight)
    rows = b.negative(b.reduce("sum", terms, [last]))
    return reduced(b, rows, reduction)


@converts("aten.nll_loss_nd.default", to="a one-hot mask and nn.reduce sum")
def nll_loss(b: Builder, self, target, weight=None, reduction=MEAN, ignore_index=-100):
    if weight is not None:
        raise CannotImport("nll_loss with class weights: use cross_entropy")
    log_p = classes_last(b, self)
    kept = b.compare("ne", target, ignore_index)
    target = classes_of(b, target, log_p.shape[-1], ignore_index)
    rows = alone(b, kept, b.negative(pick(b, log_p, target)))
    if reduction == NONE:
        return rows
    total = b.reduce("sum", rows, range(rows.rank))
    return total if reduction == SUM else b.over(total, count(b, kept, log_p.dtype))


@converts("aten.mse_loss.default", to="arithmetic and nn.reduce")
def mse_loss(b: Builder, self, target, reduction=MEAN):
    error = b.minus(self, target)
    return reduced(b, b.times(error, error), reduction)


@converts("aten.l1_loss.default", to="arithmetic and nn.reduce")
def l1_loss(b: Builder, self, target, reduction=MEAN):
    return reduced(b, b.unary("math.absf", b.minus(self, target)), reduction)


def bent(b: Builder, error: Value, width: float, slope: float) -> Value:
    """slope * (|e| - width / 2), and the parabola that meets it below `width`."""
    size = b.unary("math.absf", error)
    parabola = b.times(b.times(error, error), slope / 2 / width)
    line = b.times(b.minus(size, width / 2), slope)
    return b.select(b.compare("lt", size, width), parabola, line)


@converts("aten.huber_loss.default", to="arithmetic and nn.reduce")
def huber_loss(b: Builder, self, target, reduction=MEAN, delta=1.0):
    return reduced(b, bent(b, b.minus(self, target), delta, delta), reduction)


@converts("aten.smooth_l1_loss.default", to="arithmetic and nn.reduce")
def smooth_l1_loss(b: Builder, self, target, reduction=MEAN, beta=1.0):
    if beta == 0:
        return l1_loss(b, self, target, reduction)
    return reduced(b, bent(b, b.minus(self, target), beta, 1.0), reduction)


@converts("aten.binary_cross_entropy.default", to="arithmetic and nn.reduce")
def binary_cross_entropy(b: Builder, self, target, weight=None, reduction=MEAN):
    def clipped(log: str, x: Value) -> Value:
        # PyTorch keeps logarithms at -100 or more.
        return b.binary("maximum", b.unary(log, x), -100.0)

    p, one = b.stop(self), b.like(self, 1)
    rest = b.minus(one, p)
    yes = b.times(target, clipped("math.log", p))
    no = b.times(b.minus(one, target), clipped("math.log1p", b.negative(p)))
    # The gradient is PyTorch's, which no logarithm that was clipped has.
    spread = b.binary("maximum", b.times(p, rest), 1e-12)
    slope = b.stop(b.over(b.minus(p, target), spread))
    rows = b.plus(b.negative(b.plus(yes, no)), b.times(b.minus(self, p), slope))
    return reduced(b, rows if weight is None else b.times(rows, weight), reduction)


@converts("aten.binary_cross_entropy_with_logits.default", to="softplus and nn.reduce")
def binary_cross_entropy_with_logits(
    b: Builder, self, target, weight=None, pos_weight=None, reduction=MEAN
):
    # (1 - y) x + softplus(-x) (1 + (w - 1) y)
    tail = softplus_of(b, b.negative(self))
    if pos_weight is not None:
        tail = b.times(tail, b.plus(b.times(b.minus(pos_weight, 1), target), 1))
    rows = b.plus(b.times(b.minus(b.like(target, 1), target), self), tail)
    return reduced(b, rows if weight is None else b.times(rows, weight), reduction)
