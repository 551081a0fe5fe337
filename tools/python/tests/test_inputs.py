"""Inputs that are no samples: graphs, and what all samples share."""

from __future__ import annotations

import importlib.util

import numpy
import pytest
import torch
import training
from safetensors.torch import load_file, save_file
from torch import nn

import zero
from zero.importer.text import quoted


class Graph(nn.Module):
    """One layer of message passing: the edges are as many as they are."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 2)

    def forward(self, x, edges, scale, labels):
        messages = self.f(x)[edges[0]] * scale
        nodes = self.f(x) + messages.mean(0)
        return nn.functional.cross_entropy(nodes, labels)


def batch():
    return {
        "x": torch.randn(4, 3),
        "edges": torch.tensor([[0, 1, 2, 3, 0, 2], [1, 2, 3, 0, 2, 1]]),
        "scale": torch.tensor(0.5),
        "labels": torch.tensor([0, 1, 1, 0]),
    }


def test_whole_micro_batches(tmp_path, monkeypatch):
    # One micro-batch, of all tensors.
    whole = {name: value.unsqueeze(0) for name, value in batch().items()}
    whole["x"][:] = torch.randn(1, 4, 3)
    example = {name: value[0] for name, value in whole.items()}
    monkeypatch.setattr(training, "shuffled", lambda _: whole)
    torch.manual_seed(0)
    training.compare(Graph(), example, tmp_path)


def test_a_scalar_first_is_refused():
    tensors = batch()
    first = {"scale": tensors.pop("scale"), **tensors}
    with pytest.raises(zero.CannotImport, match="the first tensor of the batch, 'scale'"):
        zero.export(Graph(), first)


class Chosen(nn.Module):
    """Rows of a table, some of which are left out."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(9, 4))

    def forward(self, ids, kept, x):
        return ((self.table[ids] * x).sum(-1) * kept).square().mean()


def test_integers_of_any_type_are_read():
    ids, kept, x = torch.tensor([3, 1, 0, 1]), torch.tensor([1, 0, 1, 1]), torch.randn(4, 4)
    batch = {"ids": ids, "kept": kept.bool(), "x": x}
    with zero.compile(Chosen(), batch) as step:
        wanted = step.evaluate(batch)
        signed = ("int8", "int16", "int32", "int64")
        for kind in (*signed, "uint8", "uint16", "uint32", "uint64"):
            for form in (lambda tensor: tensor, lambda tensor: tensor.numpy()):
                own = {name: form(batch[name].to(getattr(torch, kind))) for name in ("ids", "kept")}
                assert step.evaluate(batch | own) == wanted, kind
        truths = ids.clamp(max=1).bool()
        assert step.evaluate(batch | {"ids": truths}) == step.evaluate(batch | {"ids": truths.int()})
        for change, words in (
            ({"ids": numpy.full(4, 2**63, "u8")}, "has the value 9223372036854775808, wanted an i"),
            ({"ids": numpy.full(4, 2**40)}, "has the value 1099511627776, which"),
            ({"kept": torch.full((4,), 2)}, "'kept' has the value 2, wanted 0 or 1"),
            ({"kept": x[0]}, "'kept' has elements of type f32, wanted i1"),
        ):
            with pytest.raises(zero.ArgumentError, match=words):
                step.evaluate(batch | change)


def test_what_is_negated_by_a_mark_only_is_read_as_it_is():
    ids, kept = torch.tensor([3, 1, 0, 1]), torch.ones(4, dtype=torch.bool)
    x = torch.complex(torch.randn(4, 4), torch.randn(4, 4)).conj().imag
    assert x.is_neg()
    module = Chosen()
    module.table.data = torch.complex(torch.zeros(9, 4), torch.randn(9, 4)).conj().imag
    batch = {"ids": ids, "kept": kept, "x": x}
    with zero.compile(module, batch) as step:
        wanted = module.table.detach().resolve_neg()
        numpy.testing.assert_array_equal(step.state_dict()["table"], wanted)
        assert step.evaluate(batch) == pytest.approx(module(**batch).item(), rel=1e-5)
        batch["x"] = x + 1
        with torch.no_grad():
            loss = module(ids, kept, x + 1).item()
        assert step.evaluate(batch) == pytest.approx(loss, rel=1e-5)
        step.set_parameter("table", -module.table.detach())
        numpy.testing.assert_array_equal(step.state_dict()["table"], -wanted)


NAMES = """
import torch
from torch import nn

class Names(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"größe": nn.Linear(4, 3), "klein-é": nn.Linear(3, 1)})
        self.tied = nn.ModuleDict({"目": self.heads["größe"]})
        self.register_buffer("maß", torch.tensor(2.0))

    def forward(self, größe, gr__e, 目):
        y = self.heads["größe"](größe) * self.maß + gr__e + 目[0]
        return {"loss": self.heads["klein-é"](y).square().mean(), "höhe": y * 1}
"""


def test_names_of_other_letters(tmp_path):
    """Of files, modules, inputs and outputs: they come out as they went in."""
    folder = tmp_path / "ünï 目"
    folder.mkdir()
    (folder / "modül.py").write_text(NAMES, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("modül", folder / "modül.py")
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    module = source.Names()
    batch = {"größe": torch.randn(2, 4), "gr__e": torch.randn(2, 3), "目": [torch.randn(2, 3)]}
    model = zero.export(module, batch)
    assert model.inputs[:2] == ["größe", "gr__e"]
    arrays = dict(zip(model.inputs, [batch["größe"], batch["gr__e"], batch["目"][0]]))
    with zero.compile(
        module, batch, outputs=["höhe"], check=True, output=folder / "step.so", threads=1
    ) as step:
        assert list(step.inputs) == model.inputs
        wanted = module(**batch)
        found = step.predict(arrays)["höhe"]
        numpy.testing.assert_allclose(found, wanted["höhe"].detach(), rtol=1e-5, atol=1e-6)
        assert abs(step(arrays) - wanted["loss"].item()) <= 1e-6
        state = step.state_dict()
        step.load_into(module)
        torch.testing.assert_close(
            module.state_dict()["heads.größe.weight"].numpy(), state["heads.größe.weight"]
        )
        step.save_checkpoint(folder / "ckpt")
        step.save_weights(folder / "w.safetensors")
        step(arrays)
        step.load_checkpoint(folder / "ckpt")
        assert all((step.state_dict()[name] == state[name]).all() for name in state)
    saved = load_file(folder / "w.safetensors")
    assert {"heads.größe.weight", "heads.klein-é.bias"} <= set(saved)
    tensors = {name: value.clone() for name, value in module.state_dict().items()}
    save_file(tensors, folder / "again.safetensors")
    with zero.load(folder / "step.so", weights=folder / "again.safetensors", threads=1) as step:
        assert all((step.state_dict()[name] == saved[name].numpy()).all() for name in saved)


def test_quoting():
    assert quoted('a"b\\c\nü') == '"a\\22b\\5Cc\\0Aü"'


@pytest.mark.parametrize("name", ["z w", "class", 'a"b'])
def test_other_names_are_refused(name):
    class Any(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))

        def forward(self, **batch):
            return (self.w * batch[name]).sum()

    with pytest.raises(zero.CannotImport, match=f"named .{name}., wanted a name"):
        zero.export(Any(), {name: torch.randn(2, 4)})
