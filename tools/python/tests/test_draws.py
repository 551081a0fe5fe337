"""What a module draws itself: uniform numbers, integers, and ones by their probability."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zero
from tests.models.normals import words_of

STILL = {"optimizer": {"type": "SGD", "params": {"lr": 0.0}}, "gradient_clipping": 0.0}
ROWS, COLUMNS = 8, 1000


class Drawn(nn.Module):
    """Has what `draw` gives as an output."""

    def __init__(self, draw):
        super().__init__()
        self.draw, self.scale = draw, nn.Parameter(torch.ones(()))

    def forward(self, x):
        y = self.draw(x)
        return {"loss": (y.float() * self.scale).square().mean() + x.mean(), "y": y}


def drawn(draw, losses: int = 3, **settings) -> torch.Tensor:
    """`losses` of three steps are different: numbers in another order have the same."""
    batch = {"x": torch.full((ROWS, COLUMNS), 0.3)}
    with zero.compile(
        Drawn(draw), batch, config=STILL, check=True, outputs=["y"], **settings
    ) as step:
        first = torch.from_numpy(step.predict(batch)["y"])
        assert len({step(batch) for _ in range(3)}) == losses
        return first.double()


UNIFORM = {
    "rand": lambda x: torch.rand(x.shape),
    "rand_like": torch.rand_like,
    "uniform_": lambda x: torch.empty_like(x).uniform_(),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_uniform_numbers_are_those_of_the_generator(name):
    wanted = [[word >> 8 for word in words_of(row, COLUMNS)] for row in range(2)]
    found = drawn(UNIFORM[name])
    assert torch.equal(found[:2] * 2**24, torch.tensor(wanted, dtype=torch.float64))
    assert found.mean().item() == pytest.approx(0.5, abs=0.02)


def test_integers_are_those_of_the_generator():
    wanted = [[word * 1000 >> 32 for word in words_of(row, COLUMNS)] for row in range(2)]
    found = drawn(lambda x: torch.randint(0, 1000, x.shape))
    assert torch.equal(found[:2], torch.tensor(wanted, dtype=torch.float64))


@pytest.mark.parametrize(
    "draw, low, high, mean",
    (
        (lambda x: torch.randint(5, 8, x.shape), 5, 7, 6),
        (lambda x: torch.randint_like(x, 4), 0, 3, 1.5),
        (lambda x: torch.randint_like(x, -2, 3), -2, 2, 0),
        (lambda x: torch.empty_like(x).uniform_(-2, 4), -2, 4, 1),
        (lambda x: torch.bernoulli(x), 0, 1, 0.3),
        (lambda x: torch.empty_like(x).bernoulli_(x), 0, 1, 0.3),
        (lambda x: (torch.rand_like(x) < 0.15).float(), 0, 1, 0.15),
        (lambda x: torch.empty_like(x, dtype=torch.bool).bernoulli_(0.4), 0, 1, 0.4),
        (lambda x: torch.empty_like(x).normal_(3, 0.1), 2.3, 3.7, 3),
        (lambda x: torch.normal(3.0, 0.1, x.shape), 2.3, 3.7, 3),
        (lambda x: torch.normal(10 * x, 0.1), 2.3, 3.7, 3),
        (lambda x: torch.normal(3.0, x / 3), 2.3, 3.7, 3),
        (lambda x: torch.normal(10 * x[:1], x[:, :1] / 3), 2.3, 3.7, 3),
    ),
)
def test_ranges_and_means(draw, low, high, mean):
    found = drawn(draw)
    assert low <= found.min() and found.max() <= high
    assert found.mean().item() == pytest.approx(mean, abs=0.05)


def test_numbers_around_what_is_trained():
    """Neither a mean nor a deviation has a gradient."""

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.width = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))

        def forward(self, x):
            drawn = torch.normal(self.mean * 2, self.width) + torch.normal(self.mean * 3)
            return (drawn * self.mean * x).mean() + self.width.sum()

    with zero.compile(Around(), {"x": torch.ones(2, 4)}, config=STILL, check=True) as step:
        assert "2 updates are PyTorch's" in step.check
    kinds = {torch.int32: "i32", torch.float32: "f32"}
    for kind, name in kinds.items():
        model = zero.export(Drawn(lambda x: torch.randperm(8, dtype=kind)), {"x": torch.ones(2)})
        assert f"tensor<8x{name}>" in model.text


def test_a_permutation_has_each_once():
    found = drawn(lambda x: torch.randperm(1000).expand(x.shape), losses=1)
    assert torch.equal(found[0].sort()[0], torch.arange(1000.0, dtype=torch.float64))
    assert found[0].diff().ne(1).sum() > 900


RATES = torch.tensor([0.0, 3.0, 1.0, 0.0, 4.0])


@pytest.mark.parametrize("count, replacement", ((1, False), (1, True), (3, False), (3, True)))
def test_choices_by_their_probabilities(count, replacement):
    """The shares of the first choice, and whether later ones may be the same."""

    def draw(x):
        rates = RATES.expand(4000, 5)
        return torch.multinomial(rates, count, replacement).flatten()

    found = drawn(draw, losses=1 if (count, replacement) == (3, False) else 3).view(4000, count)
    shares = torch.bincount(found[:, 0].long(), minlength=5) / 4000
    torch.testing.assert_close(shares, RATES / RATES.sum(), rtol=0, atol=0.03)
    twice = sum((row.unique().numel() < count) for row in found)
    assert (twice > 0) == (replacement and count > 1)


class Slopes(nn.Module):
    """Draws slopes in training alone."""

    def __init__(self, inplace: bool):
        super().__init__()
        self.layer, self.slopes = nn.Linear(4, 16), nn.RReLU(0.2, 0.6, inplace)

    def forward(self, x):
        return self.slopes(self.layer(x)).sum()


@pytest.mark.parametrize("inplace", (False, True))
def test_slopes_are_drawn_in_training(inplace):
    module, batch = Slopes(inplace), {"x": torch.rand(500, 4) - 0.5}
    with zero.compile(module, batch, config=STILL, check=True) as step:
        assert "an evaluation is PyTorch's" in step.check
        losses = [step(batch) for _ in range(3)]
        assert len(set(losses)) == 3
        wanted = module.eval()(**batch).item()
        assert step.evaluate(batch) == pytest.approx(wanted, rel=1e-5)
        assert sum(losses) / 3 == pytest.approx(wanted, abs=10)


@pytest.mark.parametrize("precision", ("bf16", "fp16"))
def test_sixteen_bits(precision):
    """No uniform number is rounded to 1, and no integer or probability to a neighbour."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1000))

        def forward(self, x):
            u, t = torch.rand_like(x), torch.randint(0, 1000, x.shape)
            rare = torch.bernoulli(torch.full_like(x, 0.001))
            loss = (u * self.scale[t]).square().mean()
            return {"loss": loss, "u": u, "t": t, "rare": rare}

    batch = {"x": torch.zeros(ROWS, COLUMNS)}
    config = STILL | {precision: {"enabled": True}}
    with zero.compile(Model(), batch, config=config, outputs=["u", "t", "rare"]) as step:
        found = step.predict(batch)
    assert found["u"].max() < 1 and found["t"].max() == 999
    assert len(set(found["t"].flatten().tolist())) > 990
    assert 0 < found["rare"].sum() < 3 * 0.001 * ROWS * COLUMNS


class Diffusion(nn.Module):
    """Draws its times and its noise in forward."""

    def __init__(self, steps: int = 50):
        super().__init__()
        kept = torch.linspace(1.0, 0.01, steps)
        self.register_buffer("kept", kept)
        self.steps, self.time = steps, nn.Embedding(steps, 16)
        self.net = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))

    def forward(self, x):
        t = torch.randint(0, self.steps, (x.shape[0],))
        noise, kept = torch.randn_like(x), self.kept[t].unsqueeze(1)
        noisy = kept.sqrt() * x + (1 - kept).sqrt() * noise
        return F.mse_loss(self.net(noisy + self.time(t)), noise)


class Masked(nn.Module):
    """A masked autoencoder: the rows to keep are those of the smallest random numbers."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 16), nn.Linear(16, 8)
        self.token = nn.Parameter(torch.zeros(16))

    def forward(self, x):
        order = torch.rand(x.shape[:2]).argsort(1)
        back, keep = order.argsort(1), order[:, :4]
        seen = self.encode(x.gather(1, keep.unsqueeze(-1).expand(-1, -1, 8)))
        rest = self.token.expand(x.shape[0], x.shape[1] - 4, 16)
        full = torch.cat((seen, rest), 1).gather(1, back.unsqueeze(-1).expand(-1, -1, 16))
        return (self.decode(full) - x).square().mean()


@pytest.mark.parametrize(
    "module, shape", ((Diffusion, (4, 16)), (Masked, (4, 12, 8))), ids=("diffusion", "masked")
)
def test_models(module, shape):
    torch.manual_seed(0)
    batch = {"x": torch.randn(shape)}
    twice = {"x": torch.cat((batch["x"], batch["x"].flip(0)))}
    losses = []
    config = {"optimizer": {"type": "Adam", "params": {"lr": 1e-2}}}
    model = module()
    for ranks, stage, batches in ((1, 0, 2), (2, 3, 1)):
        run = config | {"gradient_accumulation_steps": batches}
        with zero.compile(model, batch, config=run, ranks=ranks, stage=stage, check=True) as step:
            losses.append([step(twice) for _ in range(30)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert sum(losses[0][-5:]) < sum(losses[0][:5])


def test_refused():
    def train(draw, text):
        with pytest.raises(zero.CannotImport, match=text):
            zero.export(Drawn(draw), {"x": torch.ones(4, 4)})

    train(lambda x: torch.poisson(x), "poisson")
    train(lambda x: torch.randint(0, 2**33, x.shape), "beyond 32 bits|wanted 1 to")
    train(lambda x: torch.empty_like(x).bernoulli_(1.5), "1.5, which is no probability")
