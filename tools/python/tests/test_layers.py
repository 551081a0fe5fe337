"""Layers that are traced a few times and repeated, beside all of them traced."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from models.decoders import LLAMA
from models.registry import VOCABULARY, tokens
from zero.importer import export
from zero.importer.layers import TRACED, find_repeated

LAYERS = 6
MIXTRAL = {"num_local_experts": 4, "num_experts_per_tok": 2}
GPT2 = {"n_layer": LAYERS, "n_embd": 64, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 32}
NEOX = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4}
KINDS = {
    "llama": LLAMA,
    "qwen3": LLAMA | {"head_dim": 16},
    "mixtral": LLAMA | MIXTRAL,
    "gpt2": GPT2,
    "gpt_neox": NEOX | {"vocab_size": VOCABULARY, "max_position_embeddings": 32},
}


def causal(kind: str, **settings):
    import transformers

    config = transformers.AutoConfig.for_model(kind, **settings)
    config.use_cache = False
    module = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    ids = tokens()
    return module.float(), {"input_ids": ids, "labels": ids}


def numbered(text: str) -> str:
    """The text with values numbered as they come, and places where they are used."""
    text, _, places = text.partition("\n#loc0 =")
    known = dict(re.findall(r"(#loc\d+) = loc\((.*)\)", "#loc0 =" + places))
    names: dict[str, str] = {}
    text = re.sub(r"#loc\d+", lambda found: known[found[0]], text)
    return re.sub(
        r"%[\w.$-]+", lambda found: names.setdefault(found[0], f"%{len(names)}"), text
    )


def traced_layers(monkeypatch) -> list[int]:
    """How many layers each capture sees."""
    from zero.importer import model

    seen, capture = [], model.capture

    def counted(module, *others):
        lists = [child for child in module.modules() if isinstance(child, nn.ModuleList)]
        seen.append(len(list(lists[0])) if lists else 0)
        return capture(module, *others)

    monkeypatch.setattr(model, "capture", counted)
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_layers_are_those_that_tracing_gives(kind, monkeypatch):
    sizes = dict(KINDS[kind])
    if "n_layer" not in sizes:
        sizes["num_hidden_layers"] = LAYERS
    torch.manual_seed(0)
    module, batch = causal(kind, **sizes)
    module.train()
    whole = export(module, batch, outputs=["logits"])
    seen = traced_layers(monkeypatch)
    short = export(module, batch, outputs=["logits"], traces_all_layers=False)
    assert seen == [TRACED]
    assert numbered(short.text) == numbered(whole.text)
    assert list(short.parameters) == list(whole.parameters)
    assert short.uses == whole.uses and short.aliases == whole.aliases


def test_layers_that_a_list_of_the_configuration_tells_apart():
    kinds = ["sliding_attention", "full_attention"] * (LAYERS // 2)
    module, _ = causal("qwen3", **(LLAMA | {"num_hidden_layers": LAYERS}), layer_types=kinds)
    assert find_repeated(module) is None


class Stack(nn.Module):
    """Layers in a row; `uses` is what forward does with their number."""

    def __init__(self, uses=lambda x, number: x):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(LAYERS))
        self.uses = uses

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = self.uses(torch.relu(layer(x)), number)
        return x.square().mean()


@pytest.mark.parametrize("number", [1, 2])
def test_layers_that_come_out_different_are_all_traced(number, monkeypatch):
    module = Stack(lambda x, other: x * 2 if other == number else x)
    batch = {"x": torch.ones(2, 4)}
    seen = traced_layers(monkeypatch)
    short = export(module, batch, traces_all_layers=False)
    assert seen == [TRACED, LAYERS]
    assert short.text == export(module, batch).text


def test_the_length_of_the_list_is_that_of_all_layers(monkeypatch):
    class Mean(Stack):
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x.square().mean() / len(self.layers)

    module, batch = Mean(), {"x": torch.ones(2, 4)}
    seen = traced_layers(monkeypatch)
    short = export(module, batch, traces_all_layers=False)
    assert seen == [TRACED]
    assert numbered(short.text) == numbered(export(module, batch).text)


def test_a_layer_that_is_asked_for_by_number_is_all_traced(monkeypatch):
    class Last(Stack):
        def forward(self, x):
            return super().forward(self.layers[-1](x))

    seen = traced_layers(monkeypatch)
    export(Last(), {"x": torch.ones(2, 4)}, traces_all_layers=False)
    assert seen == [TRACED, LAYERS]


def test_a_result_of_an_earlier_layer_is_all_traced(monkeypatch):
    class Skips(Stack):
        def forward(self, x):
            kept = []
            for layer in self.layers:
                x = torch.relu(layer(x))
                kept.append(x)
            return (x + kept[-2]).square().mean()

    seen = traced_layers(monkeypatch)
    export(Skips(), {"x": torch.ones(2, 4)}, traces_all_layers=False)
    assert seen == [TRACED, LAYERS]


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: setattr(layer, "scale", 2.0),
        lambda layer: setattr(layer, "in_features", 5),
        lambda layer: layer.weight.requires_grad_(False),
        lambda layer: layer.register_buffer("mask", torch.ones(2)),
        lambda layer: layer.register_forward_hook(lambda *_: None),
        lambda layer: layer.eval(),
    ],
)
def test_a_layer_of_its_own_is_seen(change):
    module = Stack()
    assert find_repeated(module).count == LAYERS
    change(module.layers[4])
    assert find_repeated(module) is None


def test_one_layer_in_two_places_is_seen():
    module = Stack()
    module.layers[4] = module.layers[0]
    assert find_repeated(module) is None
