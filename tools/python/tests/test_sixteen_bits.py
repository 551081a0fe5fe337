"""Runs in 16 bits compute in f32 what 16 bits do not hold: inputs that become rows or angles,
addends of a norm, constants. What comes of it is PyTorch's in f32, rounded once or twice."""

import numpy
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zero

WIDTH = 32
# Half the distance of two numbers of the type, a few times.
ROUNDING = {"fp16": 2e-3, "bf16": 1.6e-2}


class Of(nn.Module):
    """`function` of activations that are as large as 2,000."""

    def __init__(self, function, width, largest):
        super().__init__()
        self.function, self.scale = function, 1 / largest**2
        self.same = nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.eye_(self.same.weight)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        y = self.function(self.same(x))
        return {"loss": self.head(y).square().mean() * self.scale, "y": y}


def mirrored(h):
    return h.flip(-1)


FUNCTIONS = {
    "norm": lambda h: h.norm(dim=-1, keepdim=True),
    "normalize": lambda h: F.normalize(h, dim=-1),
    "cosine": lambda h: F.cosine_similarity(h, mirrored(h), dim=-1)[:, None],
    "distance": lambda h: F.pairwise_distance(h, mirrored(h))[:, None],
    "deviation": lambda h: h.std(-1, keepdim=True),
    "rms": lambda h: h * torch.rsqrt(h.float().pow(2).mean(-1, keepdim=True) + 1e-6),
    "root": lambda h: h.square().mean(-1, keepdim=True).sqrt(),
    "running": lambda h: h / h.square().cumsum(-1).sqrt(),
    "small": lambda h: h / 70000.0,
    "smaller": lambda h: h * 1e-8 * 1e6,
}


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_f32_rounded(name, precision):
    torch.manual_seed(0)
    x = torch.randn(4, WIDTH) * 500
    kind = torch.float16 if precision == "fp16" else torch.bfloat16
    wanted = FUNCTIONS[name](x.to(kind).float())
    largest = wanted.abs().max().item()
    module = Of(FUNCTIONS[name], wanted.shape[-1], largest)
    module(x)["loss"].backward()
    gradient = module.same.weight.grad.numpy()
    # Without a scale of the loss, what overflows does so by itself.
    config = {precision: {"enabled": True, **({"loss_scale": 1} if precision == "fp16" else {})}}
    with zero.compile(module, {"x": x}, config=config, outputs=["y"], check=False) as step:
        found = torch.from_numpy(step.predict({"x": x})["y"])
        step.backward({"x": x})
        away = numpy.abs(step.gradient("same.weight") - gradient).max()
    assert (found - wanted).abs().max() < ROUNDING[precision] * largest
    assert away < 4 * ROUNDING[precision] * numpy.abs(gradient).max()


class Timed(nn.Module):
    """Rows of a table, and angles, by numbers that 16 bits do not tell apart."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, WIDTH)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, times):
        angles = times[:, None] * torch.arange(1, WIDTH + 1) / WIDTH
        x = self.table(times.long()) + angles.sin()
        return {"loss": self.head(x).square().mean(), "x": x}


@pytest.mark.parametrize("precision", ROUNDING)
def test_inputs_are_exact(precision):
    torch.manual_seed(0)
    module, times = Timed(), torch.tensor([3.0, 501.0, 757.0, 999.0])
    config = {precision: {"enabled": True}}
    wanted = module(times)["x"].detach()
    with zero.compile(module, {"times": times}, config=config, outputs=["x"], check=False) as step:
        found = step.predict({"times": times})["x"]
    assert numpy.abs(found - wanted.numpy()).max() < ROUNDING[precision] * wanted.abs().max()


class Preferring(nn.Module):
    """The loss of a preference: probabilities of sequences are added up, and differ in digits
    that 16 bits do not hold."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 64, bias=False)

    def add_up(self, tokens, labels):
        h = self.embed(tokens)
        h = h + self.down(F.gelu(self.up(h)))
        return F.log_softmax(self.head(h), -1).gather(-1, labels[..., None])[..., 0].sum(-1)

    def forward(self, tokens, labels, reference):
        chosen, rejected = (self.add_up(tokens, labels) - reference).chunk(2)
        return -F.logsigmoid(torch.cat([chosen, -rejected])).mean()


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("mesh", [None, "data=1,sequence=2", "data=1,tensor=2"])
def test_the_loss_is_f32(mesh, precision):
    torch.manual_seed(0)
    module = Preferring()
    batch = {name: torch.randint(0, 64, (4, 128)) for name in ("tokens", "labels")}
    batch["reference"] = module.add_up(**batch).detach() + torch.tensor([-0.5, 1, 0.5, -1])
    module(**batch).backward()
    wanted = module.head.weight.grad.numpy()
    config = {precision: {"enabled": True, **({"loss_scale": 1} if precision == "fp16" else {})}}
    with zero.compile(module, batch, config=config, mesh=mesh, check=False) as step:
        step.backward(batch)
        found = step.gradient("head.weight")
    assert numpy.linalg.norm(found - wanted) < 4 * ROUNDING[precision] * numpy.linalg.norm(wanted)
