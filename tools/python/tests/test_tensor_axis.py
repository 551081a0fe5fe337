"""Ranks of the axis `tensor` train, evaluate and answer as one rank does."""

import numpy
import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from training import train
from transformers.modeling_outputs import SequenceClassifierOutput

import zero

SAMPLES, WIDTH, CLASSES = 8, 16, 5


class Perceptron(nn.Module):
    """One weight is cut along its rows, and one along its columns."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 64)
        self.down = nn.Linear(64, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, y):
        logits = self.head(x + self.down(F.gelu(self.up(x))))
        return SequenceClassifierOutput(loss=F.cross_entropy(logits, y), logits=logits)


def compiled(module, batch, stage, **mesh):
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 0.3}},
        "gradient_clipping": 0.5,
        "zero_optimization": {"stage": stage},
        "gradient_accumulation_steps": 4 if mesh.get("ranks") == 1 else 2,
    }
    part = {key: value[:2] for key, value in batch.items()}
    return zero.compile(module, part, config=config, outputs=["logits"], **mesh)


@pytest.mark.parametrize("stage", range(4))
def test_is_one_rank(stage):
    torch.manual_seed(0)
    module = Perceptron()
    batch = {"x": torch.randn(SAMPLES, WIDTH), "y": torch.randint(0, CLASSES, (SAMPLES,))}
    with (
        compiled(module, batch, 0, ranks=1) as one,
        compiled(module, batch, stage, mesh="data=2,tensor=2") as cut,
    ):
        for _ in range(3):
            assert abs(one(batch) - cut(batch)) < 1e-5
            assert abs(one.last.gradient_norm - cut.last.gradient_norm) < 1e-5
        assert abs(one.evaluate(batch) - cut.evaluate(batch)) < 1e-5
        assert numpy.allclose(one.predict(batch)["logits"], cut.predict(batch)["logits"], atol=1e-5)
        one.backward(batch)
        cut.backward(batch)
        for name in ("up.weight", "up.bias", "down.weight", "down.bias", "head.weight"):
            assert numpy.allclose(one.gradient(name), cut.gradient(name), atol=1e-6), name
        one.update()
        cut.update()
        for name, value in one.state_dict().items():
            assert numpy.allclose(value, cut.state_dict()[name], atol=1e-5), name


class Tied(nn.Module):
    """Tokens are looked up in, and projected on, one table; targets below 0 are ignored."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(64, WIDTH)
        self.up = nn.Linear(WIDTH, 64)
        self.down = nn.Linear(64, WIDTH)

    def forward(self, ids, y):
        x = self.table(ids)
        x = x + self.down(F.gelu(self.up(x)))
        logits = F.linear(x, self.table.weight).flatten(0, 1)
        loss = F.cross_entropy(logits, y.flatten(), label_smoothing=0.1)
        return loss + 1e-3 * logits.logsumexp(-1).square().mean()


@pytest.mark.parametrize("axis", ("tensor", "sequence"))
def test_loss_is_torchs(axis):
    """Label smoothing, and the square of the log-sum-exp."""
    torch.manual_seed(0)
    module = Tied()
    batch = {"ids": torch.randint(0, 64, (2, WIDTH)), "y": torch.randint(0, 64, (2, WIDTH))}
    batch["y"][0, :5] = -100
    config = {"optimizer": {"type": "SGD", "params": {"lr": 0.3}}, "gradient_clipping": 0.5}
    with zero.compile(module, batch, config=config, mesh=f"data=1,{axis}=2") as cut:
        optimizer = torch.optim.SGD(module.parameters(), 0.3)
        for _ in range(4):
            loss = module(**batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 0.5)
            optimizer.step()
            assert abs(cut(batch) - loss.item()) < 1e-5 * loss.item()
        for name, value in module.state_dict().items():
            assert numpy.allclose(value, cut.state_dict()[name], atol=1e-5), name


def assert_trains_as_torch(module, batch, axes, **settings):
    """Three losses by plain SGD; the module is trained as well."""
    config = {"optimizer": {"type": "SGD", "params": {"lr": 0.3}}, "gradient_clipping": 0.0}
    with zero.compile(module, batch, config=config, mesh=f"data=1,{axes}", **settings) as cut:
        optimizer = torch.optim.SGD(module.parameters(), 0.3)
        for _ in range(3):
            loss = module(**batch)
            loss = getattr(loss, "loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            assert abs(cut(batch) - loss.item()) < 1e-5 * loss.item()


class Repeated(nn.Module):
    """Attention whose key heads are repeated by hand, as in llama2.c."""

    def __init__(self, heads, key_heads):
        super().__init__()
        self.heads, self.key_heads = heads, key_heads
        self.table = nn.Embedding(20, WIDTH)
        self.q = nn.Linear(WIDTH, 4 * heads, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, 4 * key_heads, bias=False) for _ in range(2))
        self.o = nn.Linear(4 * heads, 20, bias=False)

    def repeated(self, x):
        batch, positions, _ = x.shape
        each = self.heads // self.key_heads
        x = x.view(batch, positions, self.key_heads, 1, 4)
        x = x.expand(batch, positions, self.key_heads, each, 4)
        return x.reshape(batch, positions, self.heads, 4).transpose(1, 2)

    def forward(self, ids, labels):
        x = self.table(ids)
        q = self.q(x).unflatten(-1, (self.heads, 4)).transpose(1, 2)
        k, v = (self.repeated(layer(x)) for layer in (self.k, self.v))
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return F.cross_entropy(self.o(x).flatten(0, 1), labels.flatten())


@pytest.mark.parametrize("heads, key_heads", ((4, 2), (8, 2), (8, 4), (4, 1)))
def test_key_heads_that_are_repeated_by_hand(heads, key_heads):
    """Also where a rank has one of them."""
    torch.manual_seed(0)
    batch = {name: torch.randint(0, 20, (3, 8)) for name in ("ids", "labels")}
    assert_trains_as_torch(Repeated(heads, key_heads), batch, "tensor=2")


class Grouped(Repeated):
    """Attention whose query heads share key heads."""

    def forward(self, ids, labels):
        x = self.table(ids)
        q, k, v = (
            layer(x).unflatten(-1, (-1, 4)).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return F.cross_entropy(self.o(x.transpose(1, 2).flatten(2)).flatten(0, 1), labels.flatten())


@pytest.mark.parametrize(
    "heads, key_heads, axis",
    ((8, 2, "tensor=4"), (8, 4, "tensor=8"), (4, 2, "sequence=4"), (4, 1, "sequence=2")),
)
def test_more_ranks_than_key_heads(heads, key_heads, axis):
    """Each rank reads a copy of one of them."""
    torch.manual_seed(0)
    batch = {name: torch.randint(0, 20, (3, 8)) for name in ("ids", "labels")}
    module = Grouped(heads, key_heads)
    assert_trains_as_torch(module, batch, axis)


SMALL = {
    "vocab_size": 32,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


@pytest.mark.parametrize("samples", (1, 2))
@pytest.mark.parametrize(
    "family, settings, axes",
    (
        ("StableLm", {"num_key_value_heads": 2, "max_position_embeddings": 16}, "sequence=2"),
        ("GPTNeoX", {"max_position_embeddings": 16}, "tensor=2,sequence=2"),
        ("Bloom", {}, "tensor=2,sequence=2"),
        ("Bloom", {}, "tensor=4"),
        ("GptOss", {"num_key_value_heads": 2, "head_dim": 8}, "tensor=2,sequence=2"),
    ),
)
def test_families_with_one_head_each(family, settings, axes, samples):
    """Ranks with one head, and with one sample: which dimension has one index is no matter."""
    torch.manual_seed(0)
    if family == "GptOss":
        settings = settings | {"num_local_experts": 4, "num_experts_per_tok": 2}
    config = getattr(transformers, family + "Config")(**SMALL | settings)
    module = getattr(transformers, family + "ForCausalLM")(config).eval()
    batch = {name: torch.randint(3, 32, (samples, 8)) for name in ("input_ids", "labels")}
    assert_trains_as_torch(module, batch, axes)


class Pooled(nn.Module):
    """One answer of all positions, behind what is added at each of them."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.table, self.up = nn.Embedding(32, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.offset, self.head = nn.Parameter(torch.ones(WIDTH)), nn.Linear(WIDTH, CLASSES)

    def forward(self, ids, labels):
        x = self.up(self.table(ids))
        if self.kind == "added":
            x = x + self.offset
        elif self.kind == "rows":
            x = (x.flatten(0, 1) + self.offset).unflatten(0, ids.shape)
        elif self.kind == "excited":
            x = x * torch.sigmoid(self.up(x.mean(1, keepdim=True)))
        elif self.kind == "repeated":
            x = self.up(x.sum(1, keepdim=True).expand(x.shape)).flatten(0, 1) @ self.up.weight
            x = x.unflatten(0, ids.shape) + self.offset
        return F.cross_entropy(self.head(x.mean(1)), labels)


@pytest.mark.parametrize("axis", ("sequence=2", "tensor=2"))
@pytest.mark.parametrize("kind", ("plain", "added", "rows", "excited", "repeated"))
def test_pooled_positions(kind, axis):
    """All positions have one gradient, of which each rank adds up its own."""
    torch.manual_seed(0)
    batch = {"ids": torch.randint(0, 32, (2, 8)), "labels": torch.randint(0, CLASSES, (2,))}
    assert_trains_as_torch(Pooled(kind), batch, axis)


class Sinks(nn.Module):
    """Attention whose heads each have a score of no position, as in GPT-OSS."""

    def __init__(self, heads=4):
        super().__init__()
        self.heads, self.table = heads, nn.Embedding(20, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.sinks = nn.Parameter(torch.randn(heads))
        self.o = nn.Linear(WIDTH, 20)

    def forward(self, input_ids, labels):
        x = self.table(input_ids)
        batch, positions, _ = x.shape
        parts = self.qkv(x).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        scores = q @ k.transpose(-1, -2)
        sinks = self.sinks.view(1, -1, 1, 1).expand(batch, -1, positions, 1)
        p = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        x = (p @ v).transpose(1, 2).flatten(2)
        return F.cross_entropy(self.o(x).flatten(0, 1), labels.flatten())


@pytest.mark.parametrize("axis", ("tensor=2", "sequence=2", "sequence=4"))
def test_scores_of_no_position(axis):
    torch.manual_seed(0)
    batch = {name: torch.randint(0, 20, (2, 8)) for name in ("input_ids", "labels")}
    assert_trains_as_torch(Sinks(), batch, axis)


class Attends(nn.Module):
    """PyTorch's own attention, which puts positions first, and samples beside heads."""

    def __init__(self, layer):
        super().__init__()
        self.table, self.layer = nn.Embedding(32, WIDTH), layer
        self.head = nn.Linear(WIDTH, 32)

    def forward(self, input_ids, labels):
        x, mask = self.table(input_ids), nn.Transformer.generate_square_subsequent_mask(8)
        if isinstance(self.layer, nn.MultiheadAttention):
            x = x + self.layer(x, x, x, attn_mask=mask, need_weights=False)[0]
        else:
            x = self.layer(x, src_mask=mask, is_causal=True)
        return F.cross_entropy(self.head(x).flatten(0, 1), labels.flatten())


@pytest.mark.parametrize(
    "mesh", ("sequence=2", "sequence=4", "tensor=2", "tensor=4", "tensor=2,sequence=2")
)
@pytest.mark.parametrize("kind", (nn.MultiheadAttention, nn.TransformerEncoderLayer))
def test_attention_of_pytorch(kind, mesh):
    """Ranks have several heads, or one."""
    torch.manual_seed(0)
    settings = {} if kind is nn.MultiheadAttention else {"dim_feedforward": 32, "dropout": 0.0}
    module = Attends(kind(WIDTH, 4, batch_first=True, **settings))
    batch = {name: torch.randint(0, 32, (2, 8)) for name in ("input_ids", "labels")}
    assert_trains_as_torch(module, batch, mesh, stage=2)


def heads(h):
    """Queries, keys and values of one projection, for heads of 8."""
    q, k, v = h.unflatten(-1, (3, -1, 8)).permute(2, 0, 3, 1, 4).unbind(0)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


# By name: a function of a hidden layer, how wide that and its result are, and the ranks.
APART = {
    "pairs": (lambda h: h[..., ::2].clamp(max=7) * torch.sigmoid(h[..., 1::2]), 48, 24, 2),
    "halves": (lambda h: torch.cat([h[..., ::2], h[..., 1::2]], -1).tanh(), 48, 48, 2),
    "rotated": (lambda h: torch.stack([-h[..., 1::2], h[..., ::2]], -1).flatten(-2), 48, 48, 2),
    "heads": (heads, 48, 16, 2),
    "six_heads": (heads, 144, 48, 3),
    "repeated": (lambda h: h[..., :8].repeat(1, 1, 6), 48, 48, 2),
    "repeated_each": (lambda h: h[..., :8].repeat_interleave(6, -1), 48, 48, 2),
}


@pytest.mark.parametrize("function, hidden, width, ranks", APART.values(), ids=APART)
def test_what_is_taken_apart(function, hidden, width, ranks):
    """No rank has one of two halves, or the queries alone."""

    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(WIDTH, hidden), nn.Linear(width, CLASSES)

        def forward(self, x, y):
            return F.cross_entropy(self.down(function(self.up(x))).mean(1), y)

    torch.manual_seed(0)
    module = Hidden()
    batch = {"x": torch.randn(SAMPLES, 6, WIDTH), "y": torch.randint(0, CLASSES, (SAMPLES,))}
    assert_trains_as_torch(module, batch, f"tensor={ranks}")


class OneHeadEach(nn.Module):
    """Attention with a mask for each head, of which each rank may have one, and perhaps a
    penalty of the largest logits."""

    def __init__(self, heads, penalty):
        super().__init__()
        self.heads, self.penalty = heads, penalty
        self.table = nn.Embedding(64, WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 64)

    def forward(self, ids, y):
        x = self.table(ids)
        parts = [v.unflatten(-1, (self.heads, -1)).transpose(1, 2) for v in self.qkv(x).chunk(3, 2)]
        places = torch.arange(ids.shape[1])
        steepness = 0.5 ** torch.arange(1, self.heads + 1)
        far = (places[:, None] - places).abs() * steepness[:, None, None]
        found = F.scaled_dot_product_attention(*parts, attn_mask=-far)
        logits = self.head(x + self.out(found.transpose(1, 2).flatten(2)))
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        if self.penalty:
            loss = loss + self.penalty * logits.amax(-1).mean()
        return SequenceClassifierOutput(loss=loss, logits=logits)


@pytest.mark.parametrize(
    "heads, mesh, penalty",
    [
        (2, "data=2,tensor=2", 0.1),
        (4, "data=2,tensor=4", 0.1),
        (2, "data=2,sequence=2", 0.1),
        (4, "data=1,tensor=2,sequence=2", 0),
    ],
)
def test_ranks_with_one_head(heads, mesh, penalty):
    torch.manual_seed(0)
    module = OneHeadEach(heads, penalty)
    batch = {key: torch.randint(0, 64, (SAMPLES, 8)) for key in ("ids", "y")}
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 0.3}},
        "gradient_clipping": 0.0,
        "train_batch_size": SAMPLES,
        "train_micro_batch_size_per_gpu": 2,
    }
    part = {key: value[:2] for key, value in batch.items()}
    optimizer = torch.optim.SGD(module.parameters(), lr=0.3)
    with zero.compile(module, part, config=config, mesh=mesh) as step:
        for _ in range(3):
            optimizer.zero_grad()
            loss = module(**batch).loss
            loss.backward()
            optimizer.step()
            assert abs(step(batch) - loss.item()) < 1e-5
        for name, value in module.state_dict().items():
            assert numpy.allclose(step.state_dict()[name], value, atol=1e-5), name


class EqualGradients(nn.Module):
    """The gradient of what ranks have parts of is one number everywhere, or one row."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.table = nn.Embedding(32, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.out, self.back = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.head = nn.Linear(WIDTH, 32, bias=False)

    def forward(self, ids, y):
        weight = self.head.weight
        x = self.table(ids)
        if self.kind == "row":
            x = x + weight.sum(0)
        hidden = self.up(x)
        x = x + self.down(F.gelu(hidden))
        wide = self.out(x)
        loss = F.cross_entropy(self.head(x + self.back(F.gelu(wide))).flatten(0, 1), y.flatten())
        if self.kind == "weight":
            loss = loss + weight.mean()
        if self.kind == "features":
            loss = loss + 0.1 * (hidden.mean() + wide.mean())
        return loss


@pytest.mark.parametrize("mesh", ["data=1,tensor=2", "data=1,pipe=2,tensor=2"])
@pytest.mark.parametrize("kind", ["row", "weight", "features"])
def test_gradients_that_are_equal_everywhere(kind, mesh, tmp_path):
    torch.manual_seed(0)
    module = EqualGradients(kind)
    batch = {key: torch.randint(0, 32, (4, 8)) for key in ("ids", "y")}
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 0.3}},
        "gradient_clipping": 0.0,
        "gradient_accumulation_steps": 2,
    }
    part = {key: value[:2] for key, value in batch.items()}
    model = zero.export(module, part)
    losses = train(model, batch, tmp_path, config, "--mesh", mesh, steps=3, micro_batch=2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.3)
    for found in losses:
        optimizer.zero_grad()
        loss = module(**batch)
        loss.backward()
        optimizer.step()
        assert abs(found - loss.item()) < 1e-5
    after = load_file(tmp_path / "after.safetensors")
    for name, value in module.state_dict().items():
        assert torch.allclose(after[name], value, atol=1e-5), name


class GroupsEach(nn.Module):
    """Convolutions, which have one group, around a norm of which each rank has one."""

    def __init__(self, groups):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.GroupNorm(groups, 16),
            nn.SiLU(),
            nn.ConvTranspose2d(16, 8, 2, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, CLASSES, 1),
        )

    def forward(self, images, y):
        return F.cross_entropy(self.layers(images).mean((2, 3)), y)


@pytest.mark.parametrize("groups, mesh", [(2, "tensor=2"), (4, "tensor=4"), (4, "tensor=2")])
def test_norms_of_groups(groups, mesh):
    torch.manual_seed(0)
    batch = {"images": torch.randn(2, 3, 4, 6), "y": torch.randint(0, CLASSES, (2,))}
    assert_trains_as_torch(GroupsEach(groups), batch, mesh)
