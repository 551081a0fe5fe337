"""Where gradients end, and rows of attention that see nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from training import compare

import zero


class Stops(nn.Module):
    """Detached factors, regions without gradients, a straight-through estimator."""

    def __init__(self):
        super().__init__()
        names = ("detached", "region", "rounded", "free", "kept")
        self.w = nn.ParameterDict({name: torch.randn(4, 6) for name in names})

    def forward(self, x):
        w = self.w
        with torch.no_grad():
            scale = (w["region"] * x).sigmoid()
            count = x.abs().sum()
        rounded = w["rounded"] + (w["rounded"].round() - w["rounded"]).detach()
        y = w["detached"].detach() * w["free"] + scale * w["kept"] + rounded * x
        y = y * w["detached"]
        return (y * y).mean() + count * 0.01 * w["kept"].mean()


def test_stops(tmp_path):
    torch.manual_seed(4)
    compare(Stops(), {"x": torch.randn(4, 6)}, tmp_path)


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(7, 8, padding_idx=2)
        self.o = nn.Linear(8, 7)
        nn.init.normal_(self.e.weight)

    def forward(self, ids, labels):
        return F.cross_entropy(self.o(self.e(ids)).flatten(0, 1), labels.flatten())


def test_padding_row_has_no_gradient(tmp_path):
    torch.manual_seed(5)
    ids = torch.tensor([[2, 1, 3], [4, 2, 2]])
    model = compare(Padded(), {"ids": ids, "labels": torch.randint(0, 7, (2, 3))}, tmp_path)
    assert "nn.stop_gradient" in model.text


class Targets(nn.Module):
    """Codes of one half of a batch for the other, as SwAV's, of what is detached in regions
    without gradients."""

    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(6, 5)

    def forward(self, x):
        scores = self.scores(x)
        with torch.no_grad():
            codes = torch.exp(scores[:2].detach()).t()
            before = codes.detach()
            codes /= codes.sum()
            before.mul_(2)
            with torch.enable_grad():
                weights = scores.detach().sigmoid() * self.scores.weight.detach().mean()
            codes = codes.t() * weights[:2] + x.detach()[:2, :5]
        return -(codes * scores[2:].log_softmax(1)).sum() + (weights * scores).sum()


def test_detached_without_gradients(tmp_path):
    torch.manual_seed(4)
    model = compare(Targets(), {"x": torch.randn(4, 6)}, tmp_path)
    assert "nn.stop_gradient" in model.text


class Attended(nn.Module):
    """Attention whose mask is data or a constant, in all its forms."""

    def __init__(self, form):
        super().__init__()
        self.form = form
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.bias = nn.Parameter(torch.randn(1, 2, 5, 5))

    def forward(self, x, keep):
        q, k, v = (layer(x).view(2, 5, 2, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return F.scaled_dot_product_attention(q, k, v, **self.options(x, keep)).square().mean()

    def options(self, x, keep):
        window = torch.ones(5, 5, dtype=torch.bool).tril().triu(-1)
        seen = keep[:, None, None, :] & torch.ones(5, 5, dtype=torch.bool).tril()
        added = torch.zeros(2, 1, 5, 5).masked_fill(~seen, float("-inf"))
        blind = window.clone()
        blind[3] = False
        return {
            "none": {},
            "causal": {"is_causal": True, "scale": 0.3},
            "window": {"attn_mask": window},
            "blind": {"attn_mask": blind},
            "data": {"attn_mask": seen},
            "added": {"attn_mask": added},
            "learned": {"attn_mask": self.bias},
        }[self.form]


FORMS = ("none", "causal", "window", "blind", "data", "added", "learned")


@pytest.mark.parametrize("form", FORMS)
def test_masks(form, tmp_path):
    torch.manual_seed(6)
    # The first tokens of the second sample are padding: their rows see nothing.
    keep = torch.tensor([[True] * 5, [False, False, True, True, True]])
    model = compare(Attended(form), {"x": torch.randn(2, 5, 8), "keep": keep}, tmp_path)
    assert ("nn.attention" in model.text) == (form != "learned")
    assert (" causal scale" in model.text) == (form == "causal")


# Of three projections of x [6, 5, 8] and keep [6, 5]: fewer dimensions than four, and more.
SHAPES = {
    "2d": lambda q, k, v, m: (q[0], k[0], v[0], m[0]),
    "3d": lambda q, k, v, m: (q, k, v, m),
    "3d, one mask": lambda q, k, v, m: (q, k, v, m[0]),
    "3d, one mask of keys": lambda q, k, v, m: (q, k, v, m[:, :1]),
    "3d, one key": lambda q, k, v, m: (q, k[:1], v[:1], m),
    "3d beside 4d": lambda q, k, v, m: (q.view(2, 3, 5, 8), k[:3], v[3:], m.view(2, 3, 5, 5)),
    "3d, learned": lambda q, k, v, m: (q, k, v, q @ k.mT),
    "4d, one batch": lambda q, k, v, m: (q.view(2, 3, 5, 8), k[None, :3], v[None, 3:], m[:3]),
    "5d": lambda q, k, v, m: (*(y.view(1, 2, 3, 5, 8) for y in (q, k, v)), m.view(1, 2, 3, 5, 5)),
    "5d, of heads": lambda q, k, v, m: (*(y.view(2, 1, 3, 5, 8) for y in (q, k, v)), m[:3]),
    "5d, of the first": lambda q, k, v, m: (
        *(y.view(2, 3, 1, 5, 8) for y in (q, k, v)),
        m[:2, None, None],
    ),
    "5d, of the second": lambda q, k, v, m: (
        *(y.view(2, 3, 1, 5, 8) for y in (q, k, v)),
        m[:3, None, :1],
    ),
    "5d, a window": lambda q, k, v, m: (
        *(y.view(2, 3, 1, 5, 8) for y in (q, k, v)),
        torch.ones(3, 1, 5, 5, dtype=torch.bool).tril().triu(-1),
    ),
    "5d, one batch": lambda q, k, v, m: (
        q.view(2, 3, 1, 5, 8),
        k[:3].view(1, 3, 1, 5, 8),
        v[::3].view(2, 1, 1, 5, 8),
        m.view(2, 3, 1, 5, 5),
    ),
}


class Shaped(nn.Module):
    def __init__(self, shaped):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.shaped = shaped

    def forward(self, x, keep):
        mask = keep[:, None, :] & torch.ones(5, 5, dtype=torch.bool).triu(-3)
        return F.scaled_dot_product_attention(
            *self.shaped(self.q(x), self.k(x), self.v(x), mask)
        ).square().mean()


def shaped_batch():
    keep = torch.rand(6, 5) > 0.4
    keep[1, 1:] = False  # Of the second, the last row sees nothing.
    keep[1, 0] = True
    return {"x": torch.randn(6, 5, 8), "keep": keep}


@pytest.mark.parametrize("form", SHAPES)
def test_masks_of_other_dimensions(form, tmp_path):
    torch.manual_seed(16)
    compare(Shaped(SHAPES[form]), shaped_batch(), tmp_path)


@pytest.mark.parametrize(
    "shaped, words",
    [
        (lambda q, k, v, m: (q, k, v, m[None]), "mask of 4 dimensions beside queries, .* of 3"),
        (lambda q, k, v, m: (q[:1], k[:1], v[:1], m), r"shape \[6, 5, 5\] beside queries of"),
    ],
)
def test_masks_that_queries_do_not_have(shaped, words):
    with pytest.raises(zero.CannotImport, match=f"test_gradients.py:[0-9]+: attention.*{words}"):
        zero.export(Shaped(shaped), shaped_batch())


class Narrow(nn.Module):
    """Values of another width than keys."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2 * width)
        self.width = width

    def forward(self, x):
        q, k = (f(x).view(2, 5, 2, 4).transpose(1, 2) for f in (self.q, self.k))
        v = self.v(x).view(2, 5, 2, self.width).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).square().mean()


@pytest.mark.parametrize("width", [3, 6])
def test_width_of_values(width, tmp_path):
    torch.manual_seed(10)
    assert "nn.attention" in compare(Narrow(width), {"x": torch.randn(2, 5, 8)}, tmp_path).text


def test_left_padding_of_a_language_model(tmp_path):
    from models import LLAMA, causal

    torch.manual_seed(7)
    module, batch = causal("llama", **LLAMA)
    mask = torch.ones_like(batch["input_ids"])
    mask[1, :5] = 0
    labels = batch["labels"].masked_fill(mask == 0, -100)
    compare(module.eval(), {**batch, "labels": labels, "attention_mask": mask}, tmp_path)


class Product(torch.autograd.Function):
    """A backward that is the derivative."""

    @staticmethod
    def forward(ctx, x, y, power):
        ctx.save_for_backward(x, y)
        ctx.power = power
        return x**power * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        slope = ctx.power * x ** (ctx.power - 1) * y if ctx.needs_input_grad[0] else None
        return gradient * slope, gradient * x**ctx.power, None


class Written(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 6))
        self.v = nn.Parameter(torch.randn(4, 6))

    def forward(self, x):
        return (Product.apply(self.w, self.v, 3) * x).mean()


def test_a_backward_of_its_own(tmp_path):
    torch.manual_seed(12)
    compare(Written(), {"x": torch.randn(4, 6)}, tmp_path)


@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpoints(reentrant, tmp_path):
    """They leave no trace, or everything is in a region without gradients."""
    from models import LLAMA, causal

    torch.manual_seed(11)
    module, batch = causal("llama", **LLAMA)
    module.train().gradient_checkpointing_enable({"use_reentrant": reentrant})
    if reentrant:
        with pytest.raises(zero.CannotImport, match="use_reentrant=True"):
            zero.export(module, batch)
    else:
        compare(module, batch, tmp_path)
