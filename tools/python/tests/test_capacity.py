"""Experts with places: what PyTorch computes with DeepSpeed's gates, random choices off."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from deepspeed_runs import needs_deepspeed
from models import MODELS
from torch import nn

import zero

TOKENS, WIDTH, HIDDEN, EXPERTS, VOCABULARY = 24, 16, 24, 4, 64
FACTOR, LEAST, UPDATES = 0.7, 2, 10


def capacity_of(tokens: int, choices: int) -> int:
    return max(LEAST, math.ceil(tokens / EXPERTS * (FACTOR * choices)))


def deepspeed_gate(logits: torch.Tensor, choices: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(weights [tokens, experts, places], how many have chosen each expert), as DeepSpeed's
    `top1gating` and `top2gating` give them: of equal tokens the first ones stay."""
    gates = logits.softmax(1)
    capacity = capacity_of(logits.shape[0], choices)
    masks, taken = [], 0
    left = logits
    locations = []
    for _ in range(choices):
        mask = F.one_hot(left.argmax(1), EXPERTS)
        left = left.masked_fill(mask.bool(), -math.inf)
        locations.append(mask.cumsum(0) - 1 + taken)
        taken = taken + mask.sum(0, keepdim=True)
        masks.append(mask)
    counts = sum(masks).sum(0)
    masks = [mask * (place < capacity) for mask, place in zip(masks, locations, strict=True)]
    shares = [(gates * mask).sum(1) for mask in masks]
    if choices > 1:  # the weights of what is left
        whole = sum(shares).clamp(min=torch.finfo(torch.float32).eps)
        shares = [share / whole for share in shares]
    weights = 0
    for mask, place, share in zip(masks, locations, shares, strict=True):
        at = F.one_hot((place * mask).sum(1), capacity) * mask.sum(1, keepdim=True)
        weights = weights + torch.einsum("s,se,sc->sec", share, mask.float(), at.float())
    return weights, counts


@needs_deepspeed
@pytest.mark.parametrize("choices", [1, 2])
def test_the_gates_are_those_of_deepspeed(choices):
    """Which of too many first choices stay DeepSpeed leaves to `torch.topk`, whose order of
    equal ones is nobody's; how many do it does not."""
    from deepspeed.moe.sharded_moe import top1gating, top2gating

    torch.manual_seed(choices)
    dropped = 0
    for _ in range(20):
        logits = torch.randn(TOKENS, EXPERTS) * 2
        if choices == 1:
            found = top1gating(logits, FACTOR, LEAST, use_rts=False)
        else:
            found = top2gating(logits, FACTOR, LEAST, top2_2nd_expert_sampling=False)
        weights, counts = deepspeed_gate(logits, choices)
        assert torch.equal(found[3], counts)
        assert torch.equal(found[2].sum((0, 2)), (weights != 0).sum((0, 2)))
        same = counts <= weights.shape[2] if choices == 1 else slice(None)
        torch.testing.assert_close(found[1][:, same], weights[:, same], rtol=0, atol=1e-6)
        dropped += int(counts.sum() - found[2].sum())
    assert dropped > 0


class Layer(nn.Module):
    """Experts as DeepSpeed's layer computes them, or in places; `kept` says which choices
    found one."""

    def __init__(self, choices: int, in_places: bool):
        super().__init__()
        self.choices, self.in_places = choices, in_places
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) / 4)
        self.bias = nn.Parameter(torch.randn(EXPERTS, 1, HIDDEN) / 4)
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) / 5)

    def experts(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.bmm((torch.bmm(rows, self.up) + self.bias).relu(), self.down)

    def with_masks(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, self.counts = deepspeed_gate(self.gate(x), self.choices)
        rows = torch.einsum("sec,sm->ecm", (weights > 0).float(), x)
        y = torch.einsum("sec,ecm->sm", weights, self.experts(rows))
        return y, (weights > 0).float().sum((1, 2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.in_places:
            return self.with_masks(x)
        gates = self.gate(x).softmax(1)
        weights, ids = gates.topk(self.choices)
        capacity = capacity_of(x.shape[0], self.choices)
        rows, places, self.counts = zero.moe.dispatch(x, ids, EXPERTS, capacity)
        kept = (places >= 0).float()
        if self.choices > 1:
            weights = weights * kept
            weights = weights / weights.sum(1, keepdim=True).clamp(min=2**-23)
        y = zero.moe.combine(self.experts(rows).flatten(0, 1), places, weights)
        return y, kept.sum(1)


class Model(nn.Module):
    def __init__(self, choices: int, in_places: bool):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.layer = Layer(choices, in_places)
        self.out = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.table(ids).flatten(0, 1)
        y, kept = self.layer(x)
        loss = F.cross_entropy(self.out(x + y), labels.flatten())
        return {"loss": loss, "kept": kept.view(ids.shape)}


def make(choices: int) -> tuple[Model, Model, dict[str, torch.Tensor]]:
    """Both forms with the same parameters, and samples of whose tokens some are dropped."""
    torch.manual_seed(3)
    in_places, with_masks = Model(choices, True), Model(choices, False)
    with_masks.load_state_dict(in_places.state_dict())
    ids = torch.randint(VOCABULARY, (4, TOKENS // 2))
    return in_places, with_masks, {"ids": ids, "labels": ids.roll(1, 1)}


def half(batch: dict, rank: int) -> dict:
    return {name: value[2 * rank : 2 * rank + 2] for name, value in batch.items()}


@pytest.mark.parametrize("choices", [1, 2])
def test_pytorch_computes_what_deepspeed_does(choices):
    in_places, with_masks, batch = make(choices)
    results = [model(**half(batch, 0)) for model in (in_places, with_masks)]
    assert torch.equal(results[0]["kept"], results[1]["kept"])
    assert 0 < results[0]["kept"].sum() < choices * TOKENS
    assert in_places.layer.counts.tolist() == with_masks.layer.counts.tolist()
    torch.testing.assert_close(results[0]["loss"], results[1]["loss"], rtol=1e-6, atol=0)
    for result in results:
        result["loss"].backward()
    wanted = dict(with_masks.named_parameters())
    for name, parameter in in_places.named_parameters():
        torch.testing.assert_close(parameter.grad, wanted[name].grad, rtol=1e-5, atol=1e-7)


def losses_of_pytorch(model: Model, batch: dict) -> list[float]:
    """Of two ranks, whose gates each see their own tokens."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss = sum(model(**half(batch, rank))["loss"] / 2 for rank in range(2))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("mesh", [{"data": 2}, {"data": 1, "expert": 2}])
@pytest.mark.parametrize("choices", [1, 2])
def test_updates_are_those_of_deepspeeds_layer(choices, mesh):
    """Dropped tokens are equal, and losses within 1e-5, on ranks that have all experts or
    half of them."""
    in_places, with_masks, batch = make(choices)
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "optimizer": {"type": "SGD", "params": {"lr": 0.5, "momentum": 0}},
        "gradient_clipping": 0,
        "zero_optimization": {"stage": 2},
        "zero": {"mesh": mesh},
    }
    with zero.compile(
        in_places, half(batch, 0), config=config, outputs=["kept"], ranks=2, threads=1
    ) as step:
        kept = torch.from_numpy(step.predict(batch)["kept"].copy())
        wanted = torch.cat([with_masks(**half(batch, rank))["kept"] for rank in range(2)])
        assert torch.equal(kept, wanted)
        losses = [float(step(batch)) for _ in range(UPDATES)]
    assert losses == pytest.approx(losses_of_pytorch(with_masks, batch), rel=1e-5)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("policy", ["position", "probs"])
def test_capacity_of_transformers_experts(policy):
    """What is said of experts in the configuration gives those of any mixture places."""
    module, batch = MODELS["mixtral"]()
    losses = {}
    for factor in (0, 0.5, 100):
        experts = {"capacity_factor": factor, "drop_policy": policy, "renormalize": True}
        config = {"train_micro_batch_size_per_gpu": 2, "zero": {"experts": experts}}
        with zero.compile(module.eval(), batch, config=config, ranks=1, threads=1) as step:
            losses[factor] = float(step.evaluate(batch))
    assert losses[100] == pytest.approx(losses[0], rel=1e-6)
    assert losses[0.5] != pytest.approx(losses[0], rel=1e-4)
