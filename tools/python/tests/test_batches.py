"""Batches of which not all is a tensor: what a step takes is what the example was."""

from __future__ import annotations

import collections
import dataclasses

import pytest
import torch
from torch import nn

import zero


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, y, power=1, pair=None, reduction="mean"):
        h = self.layer(x)
        if pair is not None:
            h = h + pair[0] * pair[1]["k"]
        loss = (h - y) ** power
        return loss.mean() if reduction == "mean" else loss.sum()


def batch_of(samples: int, **others):
    return {"x": torch.randn(samples, 4), "y": torch.randn(samples, 4), **others}


def nested(samples: int):
    return batch_of(samples, power=2, pair=(torch.randn(samples, 4), {"k": torch.rand(samples, 4)}))


def compiled(module, batch, **others):
    sgd = {"optimizer": {"type": "SGD", "params": {"lr": 0.1}}, "gradient_clipping": 0}
    return zero.compile(module, batch, config=sgd, **others)


def test_steps_take_what_the_example_is():
    torch.manual_seed(0)
    module = Mixed()
    step = compiled(module, nested(2), ranks=2)
    assert list(step.inputs) == ["x", "y", "pair_0", "pair_1_k"]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        batch = nested(4)
        optimizer.zero_grad()
        loss = module(**batch)
        loss.backward()
        optimizer.step()
        assert step(batch) == pytest.approx(loss.item(), rel=1e-5)
    assert step.evaluate([batch, batch]) == pytest.approx(module(**batch).item(), rel=1e-5)
    data = nested(12)
    assert len(step.train(data, 2, progress=False)) == 2
    assert len(step.train([batch], 2, progress=False)) == 2
    step(batch | {"pair": list(batch["pair"])})
    step.close()


def test_further_outputs_need_no_labels():
    class Predicting(Mixed):
        def forward(self, x, y, pair, scale=1.0):
            h = self.layer(x) + pair[0] * scale
            return {"loss": ((h - y) ** 2).mean(), "h": h}

    module = Predicting()
    example = batch_of(2, pair=[torch.randn(2, 4)], scale=0.5)
    step = compiled(module, example, outputs=["h"])
    del example["y"]
    found = step.predict(example)["h"]
    wanted = module.layer(example["x"]) + example["pair"][0] * 0.5
    torch.testing.assert_close(torch.from_numpy(found), wanted.detach())
    step.close()


def test_a_fixed_value_is_left_out_only_where_it_is_the_default():
    class Scaled(Mixed):
        def forward(self, x, y, scale=1.0, kind=None):
            return ((self.layer(x) * scale - y) ** 2).mean()

    module, batch = Scaled(), batch_of(2)
    with compiled(module, batch | {"scale": 2.0, "kind": None}) as step:
        assert step(batch | {"scale": 2.0}) > 0
        for call in (step, step.evaluate, lambda part: step.train([part], 1, progress=False)):
            with pytest.raises(zero.ArgumentError, match="leaves out 'scale', and .* with 2.0, wh"):
                call(batch)


def test_fixed_values_inside_of_another():
    class Sized(Mixed):
        def forward(self, x, y, size=(8, 8)):
            return ((self.layer(x) - y) ** 2).mean() * size[0]

    batch = batch_of(2)
    with compiled(Sized(), batch | {"size": (4, 4)}) as step:
        with pytest.raises(zero.ArgumentError, match=r"leaves out 'size', and .* with \(4, 4\), w"):
            step(batch)
    with compiled(Sized(), batch | {"size": (8, 8)}) as step:
        assert step.evaluate(batch) == step.evaluate(batch | {"size": [8, 8]})


def test_orders_and_kinds_of_mappings():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x, parts, factor):
            found = self.layer(x) * parts["a"] - parts["b"]
            return found.mean() if factor != factor else found.sum()

    a, b, x = torch.randn(3, 4, 4)
    module = Named()
    with compiled(module, {"x": x, "parts": {"a": a, "b": b}, "factor": float("nan")}) as step:
        wanted = module(x, {"a": a, "b": b}, float("nan")).item()
        parts = collections.OrderedDict(b=b, a=a)
        batch = {"x": x, "parts": parts, "factor": float("nan")}
        assert step.evaluate(batch) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"power": 3}, "has 3 for 'power', and the model was imported with 2, which is part"),
        ({"power": 2.0}, "has 2.0 for 'power', and the model was imported with 2"),
        ({"power": torch.ones(4)}, "has a Tensor for 'power'"),
        ({"pair": None}, r"'pair' of the batch is not made as in the example: found None, wanted"),
        ({"pair": [torch.ones(4, 4)]}, r"found \[\*\], wanted \(\*, {'k': \*}\)"),
        ({"pair": (torch.ones(4, 4), {"j": 1})}, r"found \(\*, {'j': 1}\), wanted"),
        ({"pair_0": torch.ones(4, 4)}, "has 'pair_0' twice, beside 'pair'"),
        ({"reduction": "sum"}, "the array 'reduction' is the text 'sum', wanted"),
    ],
)
def test_other_batches_are_refused(change, words):
    with compiled(Mixed(), nested(4)) as step:
        with pytest.raises(zero.ArgumentError, match=words):
            step(nested(4) | change)


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor


torch.export.register_dataclass(Pair)


def test_classes_whose_parts_pytorch_knows():
    class Paired(Mixed):
        def forward(self, x, y, pair):
            return ((self.layer(x) * pair.first + pair.second - y) ** 2).mean()

    module = Paired()
    batch = batch_of(2, pair=Pair(torch.randn(2, 4), torch.randn(2, 4)))
    with compiled(module, batch) as step:
        batch = batch_of(4, pair=Pair(torch.randn(4, 4), torch.randn(4, 4)))
        assert step.evaluate(batch) == pytest.approx(module(**batch).item(), rel=1e-5)
        with pytest.raises(zero.ArgumentError, match="'pair' of the batch is not made as in"):
            step(batch | {"pair": batch["pair"].first})
