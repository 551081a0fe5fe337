"""Branches on values that depend on neither the batch nor a parameter are taken, and what
long rotary embeddings do by the length of a sequence."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
import transformers
from test_refusals import Module, refusal
from training import compare

import zero


def by_length(w, x):
    return (w * x).sum() if torch.arange(x.shape[1]).max() + 1 > 3 else w.mean()


def through_views(w, x):
    p = torch.zeros(5, dtype=torch.int64)
    q = p[1:]
    p += 10
    return (w * x).sum() * q.sum().item() if bool(q.max() > 9) else w.mean()


def of_a_mask(w, x):
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    mask = mask if mask.all() else mask.logical_not()
    return (w * x).masked_fill(mask, 0.0).sum() * [1, 2, 3][int(mask.sum() // 3)]


def of_a_list(w, x):
    p = [torch.zeros(3), torch.ones(3)]
    torch._foreach_add_(p, 1)
    return (w * x).sum() if sum(p).max() > 2 else w.mean()


def beside_a_large_one(w, x):
    """What is too large to be known leaves what it is made of."""
    p = torch.arange(1100)
    (p[:, None] >= p).any()
    return (w * x).sum() if p.max() > 1000 else w.mean()


@pytest.mark.parametrize(
    "function",
    [by_length, through_views, of_a_mask, of_a_list, beside_a_large_one],
)
def test_a_branch_on_what_is_known(function, tmp_path):
    torch.manual_seed(0)
    compare(Module(function), {"x": torch.randn(4, 4)}, tmp_path)


class Taken(torch.nn.Module):
    """What known masks take of the products, and write to them."""

    def __init__(self, take):
        super().__init__()
        self.w, self.take = torch.nn.Parameter(torch.randn(6, 6)), take
        self.register_buffer("same", torch.eye(6, dtype=torch.bool))
        self.register_buffer("near", torch.eye(6, dtype=torch.bool), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        return self.take(self, self.w * x).exp().mean()


def written(x, index, value):
    x = x.clone()
    x[index] = value
    return x


TAKEN = {
    "others": lambda m, x: x[~torch.eye(6, dtype=torch.bool)].view(6, -1),
    "a buffer": lambda m, x: x[~m.same].view(6, -1) + x[m.same][:, None],
    "columns": lambda m, x: x[:, torch.tensor([True, False, True, True, False, True])],
    "beside others": lambda m, x: x[torch.tensor([1, 2]), :][:, None, torch.arange(6) % 2 == 0],
    "places": lambda m, x: x[(~torch.eye(6, dtype=torch.bool)).nonzero(as_tuple=True)],
    "where": lambda m, x: x[torch.where(torch.arange(6) > 2)],
    "argwhere": lambda m, x: x[torch.argwhere(torch.arange(6) > 2)[:, 0]],
    "selected": lambda m, x: torch.masked_select(x, torch.ones(6, 6).triu(1).bool()),
    "selected by rows": lambda m, x: x.masked_select(torch.arange(6) > 2),
    "counts": lambda m, x: x * torch.bincount(torch.arange(6) % 3, minlength=6),
    "written": lambda m, x: written(x, m.same, 2 * x[0]),
    "columns written": lambda m, x: written(x, (..., torch.arange(6) > 3), 2 * x[:, :2]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_known_masks_take(name, tmp_path):
    torch.manual_seed(0)
    compare(Taken(TAKEN[name]), {"x": torch.randn(6, 6)}, tmp_path)


def added_to_zeros(module, x):
    count = torch.zeros((), dtype=torch.int64)
    count += module.count
    return x if count.item() == 0 else 2 * x


def test_a_buffer_that_is_an_index_is_a_constant():
    module = Taken(TAKEN["a buffer"])
    with zero.compile(module, {"x": torch.randn(6, 6)}) as step:
        step.load_state_dict(module.state_dict())
        other = module.state_dict() | {"same": torch.ones(6, 6, dtype=torch.bool)}
        with pytest.raises(zero.ArgumentError, match="the buffer 'same' has other values"):
            step.load_state_dict(other)


def test_what_is_not_known_of_masks_and_buffers():
    for take, words in (
        (lambda m, x: x[x > 0], "has a shape or a number that depends on values"),
        (lambda m, x: x if m.count.item() == 0 else 2 * x, "depends on the values of a tensor"),
        (lambda m, x: x if m.same.any() else 2 * x, "depends on the values of a tensor"),
        (lambda m, x: x[m.same.logical_not_()], "buffer 'same' changes in each step"),
        (lambda m, x: x[m.same] + m.same.copy_(x > 0).sum(), "buffer 'same' changes in each step"),
        (lambda m, x: x[m.near] + m.near.copy_(x > 0).sum(), "buffer 'near' changes in each step"),
        (added_to_zeros, "depends on the values of a tensor"),
        (
            lambda m, x: x * torch.arange(6)[m.same[0]].sum().item(),
            "depends on the values of a tensor|has a shape or a number",
        ),
        (lambda m, x: x[torch.tensor([True, False])], "values|index"),
    ):
        with pytest.raises(zero.CannotImport, match=words):
            zero.export(Taken(take), {"x": torch.randn(6, 6)})


def written_by_the_batch(w, x):
    p = torch.zeros(5)
    q = p[1:]
    p[2] = x[0, 0]
    return w.sum() if q.max() > 0 else w.mean()


def added_to_by_the_batch(w, x):
    p = torch.zeros(4)
    p.add_(x[0])
    return w.sum() if p.max() > 0 else w.mean()


def drawn(w, x):
    return w.sum() if torch.randn(3).max() > 0 else w.mean()


def unwritten(w, x):
    return w.sum() if torch.empty(3).max() > 0 else w.mean()


def permuted(w, x):
    return w.sum() if torch.empty_permuted((3, 2), (1, 0)).max() > 0 else w.mean()


def resized(w, x):
    return w.sum() if torch.zeros(3).resize_(100).max() > 0 else w.mean()


def after(write):
    """A branch on zeros, and on a view of them, that `write` has changed."""

    def function(w, x):
        p = torch.zeros(4)
        q = p[1:]
        write(p, x)
        return w.sum() if q.max() > 0 else w.mean()

    return function


def normalised(p, x):
    F.batch_norm(x, p, torch.ones(4), training=True)


def normalised_by_name(p, x):
    torch.ops.aten.batch_norm.default(x, None, None, p, torch.ones(4), True, 0.1, 1e-5, False)


def through_an_unknown_view(p, x):
    """Whose making cannot be followed."""
    p.expand(x[:, 0].shape).view(4).add_(x[0])
    p.index_select(0, x[0].long() * 0)  # reads
    p.view_as(x[0]).add_(x[0])


def in_inference_mode(p, x):
    with torch.inference_mode():
        p.add_(x[0])


WRITES = {
    "batch norm": normalised,
    "batch norm by its operator": normalised_by_name,
    "an operator": lambda p, x: torch.ops.aten.add_.Tensor(p, x[0]),
    "a copy": lambda p, x: torch.ops.aten.copy_.default(p, x[0]),
    "a list": lambda p, x: torch._foreach_add_([p], [x[0]]),
    "a list of known ones": lambda p, x: torch._foreach_add_([p, torch.ones(4)], [x[0], p]),
    "dropout": lambda p, x: F.dropout(p.add_(1), 0.5, inplace=True),
    "an initialisation": lambda p, x: torch.nn.init.uniform_(p),
    "a result": lambda p, x: torch.add(x[0], 1, out=p),
    "results": lambda p, x: torch.split_copy(x[0, :2], 1, out=[p[1:2], p[2:3]]),
    "data": lambda p, x: setattr(p[1:].data, "data", x[0, 1:]) or p.data.add_(x[0]),
    "a view": through_an_unknown_view,
    "inference": in_inference_mode,
}


@pytest.mark.parametrize("write", WRITES)
def test_a_branch_on_what_was_written(write):
    assert "depends on the values of a tensor" in refusal(Module(after(WRITES[write])))


@pytest.mark.parametrize(
    "function",
    [written_by_the_batch, added_to_by_the_batch, drawn, unwritten, permuted, resized],
)
def test_a_branch_on_what_is_not_known(function):
    assert "depends on the values of a tensor" in refusal(Module(function))


SMALL = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "pad_token_id": 0,
    "use_cache": False,
}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 8,
    "long_factor": [2.0] * 8,
    "original_max_position_embeddings": 8,
    "factor": 4.0,
}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}


def language_model(kind: str, positions: int, rope: dict, length: int):
    config = transformers.AutoConfig.for_model(
        kind, max_position_embeddings=positions, rope_parameters=rope, **SMALL
    )
    if rope is LONG:
        config.original_max_position_embeddings = 8
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    ids = torch.randint(1, 97, (2, length))
    return model, {"input_ids": ids, "labels": ids}


@pytest.mark.parametrize("kind, positions, rope", [("phi3", 32, LONG), ("llama", 8, DYNAMIC)])
@pytest.mark.parametrize("length", [6, 12])
def test_rotary_frequencies_by_length(kind, positions, rope, length, tmp_path):
    """Shorter and longer than what the frequencies were made for."""
    torch.manual_seed(0)
    model, batch = language_model(kind, positions, rope, length)
    compare(model, batch, tmp_path)


def test_frequencies_by_positions_of_the_batch():
    model, batch = language_model("llama", 8, DYNAMIC, 6)
    batch["position_ids"] = torch.arange(6)[None]
    with pytest.raises(zero.CannotImport, match="depends on the values of a tensor"):
        zero.export(model, batch)
