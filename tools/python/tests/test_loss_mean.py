"""A loss by tokens is PyTorch's of all samples together, however they are dealt."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zero

SAMPLES, LENGTH, VOCABULARY = 8, 6, 50


class Model(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.loss = loss
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.head = nn.Linear(16, VOCABULARY)

    def forward(self, x, y, m):
        return self.loss(self.head(self.embedding(x)).flatten(0, 1), y.flatten(), m.flatten())


def masked(logits, y, m):
    return (F.cross_entropy(logits, y.clamp(min=0), reduction="none") * m).sum() / m.sum()


def bounded(logits, y, m):
    """Of all samples together the sum is more; of some it is less, or nothing."""
    losses = F.cross_entropy(logits, y.clamp(min=0), reduction="none")
    return (losses * m).sum() / m.sum().clamp(min=0.5)


def chosen(logits, y, m):
    """Counted in integers, as PyTorch counts booleans."""
    m = (m > 0.3) & (y != 3)
    losses = F.cross_entropy(logits, y.clamp(min=0), reduction="none")
    return (losses * m).sum() / m.sum().clamp(min=1)


LOSSES = {
    "labels": lambda logits, y, m: F.cross_entropy(logits, y),
    "smoothed": lambda logits, y, m: F.cross_entropy(logits, y, label_smoothing=0.1) / 2,
    "classes": lambda logits, y, m: F.cross_entropy(
        logits, y, weight=torch.linspace(0.5, 2, VOCABULARY)
    ),
    "masked": masked,
    "bounded": bounded,
    "chosen": chosen,
    # The number that counts has a sign here.
    "negated": lambda logits, y, m: -masked(logits, y, -m),
    "twice": lambda logits, y, m: masked(logits, y, m) + 0.5 * masked(2 * logits, y, m),
}


def samples():
    """Two samples count nothing, which is all of a micro-batch of two; one counts little."""
    x = torch.randint(0, VOCABULARY, (SAMPLES, LENGTH))
    y, m = x.clone(), torch.rand(SAMPLES, LENGTH)
    y[2:4], m[2:4] = -100, 0
    y[5, 1:], m[5, 1:] = -100, 0
    return {"x": x, "y": y, "m": m}


def by_torch(module, batch):
    module, found = copy.deepcopy(module), []
    optimizer = torch.optim.SGD(module.parameters(), 0.5)
    for _ in range(3):
        optimizer.zero_grad()
        loss = module(**batch)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(module.parameters(), 0.3)
        optimizer.step()
        found.append((loss.item(), norm.item()))
    return found, module.head.weight.detach(), module(**batch).item()


@pytest.mark.parametrize("name", LOSSES)
def test_any_layout(name):
    torch.manual_seed(0)
    module, batch = Model(LOSSES[name]), samples()
    wanted, weight, evaluated = by_torch(module, batch)
    for ranks, micro_batches in ((1, 4), (2, 2), (4, 1)):
        config = {
            "optimizer": {"type": "SGD", "params": {"lr": 0.5}},
            "gradient_clipping": 0.3,
            "gradient_accumulation_steps": micro_batches,
            "zero": {"loss_mean": "tokens"},
        }
        part = {key: value[:2] for key, value in batch.items()}
        with zero.compile(module, part, config=config, ranks=ranks) as step:
            found = [(step(batch), step.last.gradient_norm) for _ in range(3)]
            assert torch.tensor(found).allclose(torch.tensor(wanted), rtol=1e-5)
            assert torch.as_tensor(step.parameter("head.weight")).allclose(weight, atol=1e-6)
            assert abs(step.evaluate([batch]) - evaluated) < 1e-5
