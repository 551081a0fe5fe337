"""What models write out becomes one operation, and what is near to it does not."""

from __future__ import annotations

import re

import pytest
import torch
from models import LLAMA, MODELS, causal
from torch import nn

import zero


def counts(text: str) -> dict[str, int]:
    """How often each operation stands in a step."""
    found: dict[str, int] = {}
    for name in re.findall(r"= ([a-z_]+\.[a-z_]+)", text):
        found[name] = found.get(name, 0) + 1
    return found


def imported(name: str, train: bool = False) -> str:
    module, batch = MODELS[name]()
    return zero.export(module.train(train), batch).text


def test_llama_is_what_one_would_write():
    found = counts(imported("llama"))
    assert found["nn.rms_norm"] == 5
    assert found["nn.rotary"] == 4
    assert found["nn.attention"] == 2
    assert found["nn.silu_mul"] == 2
    assert found["nn.linear"] == 15
    assert found["arith.addf"] == 4
    assert "nn.transpose" not in found and "arith.mulf" not in found


def test_llama_reads_grouped_heads():
    text = imported("llama")
    assert re.search(
        r"nn.attention .* causal scale 0.25 : \(tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>", text
    )


def test_gpt2_is_what_one_would_write():
    found = counts(imported("gpt2"))
    assert found["nn.gelu"] == 2 and found["nn.attention"] == 2 and found["nn.layer_norm"] == 5
    assert "math.tanh" not in found and "nn.transpose" not in found


def test_complex_rotary():
    found = counts(imported("titan_llama"))
    assert found["nn.rotary"] == 4 and "math.cos" not in found
    assert " interleaved" in imported("titan_llama")


def test_scaled_rotary_stays_a_product_with_tables():
    """Angles that are not nn.rotary's are not taken for it."""
    scaling = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
    module, batch = causal("llama", **LLAMA, rope_parameters=scaling)
    assert "nn.rotary" not in zero.export(module.eval(), batch).text


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 6))
        self.function = function

    def forward(self, x):
        return self.function(self.w * x).mean()


@pytest.mark.parametrize(
    "function, operation",
    [
        (
            lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
            "nn.gelu tanh",
        ),
        (
            lambda x: x * 0.5 * (1 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))),
            "nn.gelu tanh",
        ),
        (lambda x: x * (1 + torch.erf(x / 2**0.5)) / 2, "nn.gelu exact"),
        (lambda x: x * torch.sigmoid(x), "nn.silu"),
        (lambda x: x * torch.sigmoid(1.702 * x), None),
        (lambda x: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.044715 * x**3))), None),
    ],
)
def test_activations(function, operation):
    text = zero.export(Function(function), {"x": torch.randn(4, 6)}).text
    found = re.search(r"nn\.(gelu exact|gelu tanh|silu)", text)
    assert (found.group(0) if found else None) == operation


@pytest.mark.parametrize(
    "name, causal_layers", [("handwritten_attention", 2), ("gpt_neo", 1), ("gptj", 2), ("mpt", 0)]
)
def test_attention_by_hand(name, causal_layers):
    text = imported(name)
    assert counts(text).get("nn.attention") == 2 and "nn.softmax" not in text
    assert text.count(" causal scale") == causal_layers


def test_dropout_has_ids_and_samples():
    text = imported("gpt2", train=True)
    ids = re.findall(r"(?:p|dropout) 0.1 id (\d+) : \(?tensor<(\d+)", text)
    assert [number for number, _ in ids] == [str(i) for i in range(len(ids))]
    assert len(ids) == 7 and {size for _, size in ids} == {"2"}
    assert len(re.findall(r"nn.attention .* dropout", text)) == 2 and "nn.softmax" not in text


def test_dropout_of_attention_over_what_is_no_sample():
    """Windows of a sample would have one mask for all."""

    def windows(x):
        rows = x.reshape(8, 1, 3, 1)
        return nn.functional.scaled_dot_product_attention(rows, rows, rows, dropout_p=0.1)

    text = zero.export(Function(windows), {"x": torch.randn(4, 6)}).text
    assert "nn.attention" not in text
    assert re.search(r"nn.dropout %\S+ p 0.1 id 0 : tensor<4x18xf32>", text)


def drop_by_rounding(x):
    return x / 0.75 * (0.75 + torch.rand(x.shape[0], 1)).floor()


def drop_by_bernoulli(x):
    return x * torch.empty(x.shape[0], 1).bernoulli_(0.75).div_(0.75)


@pytest.mark.parametrize("drop", [drop_by_rounding, drop_by_bernoulli])
def test_stochastic_depth(drop):
    text = zero.export(Function(drop), {"x": torch.randn(4, 6)}).text
    assert re.search(r"nn.dropout %\S+ p 0.25 id 0 : tensor<4x1xf32>", text)


def test_ties_and_frozen_parameters():
    module, batch = MODELS["gpt2"]()
    module.transformer.wpe.weight.requires_grad_(False)
    model = zero.export(module.eval(), batch)
    assert model.aliases == {"lm_head.weight": "transformer.wte.weight"}
    assert "@lm_head.weight" not in model.text
    assert re.search(
        r"@transformer.wpe.weight : \S+ = \S+ frozen|@transformer.wpe.weight .* frozen", model.text
    )


def test_places():
    text = imported("llama")
    assert re.search(
        r'loc\("model.layers.1.self_attn.q_proj, transformers/models/llama/modeling_llama.py":\d+:1\)',
        text,
    )


def test_one_tensor_for_two_inputs():
    ids = torch.randint(0, 128, (2, 16))
    module, _ = MODELS["gpt2"]()
    text = zero.export(module, {"input_ids": ids, "labels": ids}).text
    assert re.search(r"nn.embedding %input_ids, ", text)


def test_outputs():
    module, batch = MODELS["gpt2"]()
    text = zero.export(module, batch, outputs=["logits"]).text
    assert re.search(
        r'zero.yield %\S+, %\S+ outputs \["logits"\] : tensor<f32>, tensor<2x16x128xf32>', text
    )


def test_nothing_is_left_of_masks():
    for name in ("bert_mlm", "gpt_neox", "opt", "t5"):
        assert "tensor<2x16x16xi1>" not in imported(name)


@pytest.mark.parametrize(
    "name, products, transposed", [("mixtral", 4, 4), ("qwen3_moe", 4, 4), ("gpt_oss", 8, 0)]
)
def test_experts(name, products, transposed):
    """Rows go to experts and come back; matrices as stored, and biases as products of
    one term."""
    text = imported(name)
    found = counts(text)
    assert found["nn.dispatch"] == found["nn.combine"] == 2
    assert found["nn.grouped_matmul"] == products
    assert not {"nn.scatter", "nn.cumsum", "nn.scatter_add"} & set(found)
    assert len(re.findall(r"nn.grouped_matmul .* transpose_b :", text)) == transposed


@pytest.mark.parametrize("implementation", ["eager", "batched_mm"])
def test_experts_of_every_implementation(implementation):
    """What computes them in PyTorch is of no account, though it may not be traced."""
    module, batch = MODELS["mixtral"]()
    module.config._experts_implementation = implementation
    found = counts(zero.export(module, batch).text)
    assert found["nn.dispatch"] == found["nn.combine"] == 2
