#!/usr/bin/env python3
"""Imports small models of the families whose shapes are cut in different ways.

  import.py            writes the files of this folder, and of Dropout, again

The models of Dropout drop what their configurations let them drop, give their logits, and
have heads, experts and positions for four ranks.

Needs PyTorch and `transformers`: build/python, which `tools/setup --python` makes.
Tests evaluate the models in f64 on all ranks of a mesh (LockstepTest).
"""

import pathlib

import torch
import torch.nn.functional as F
import transformers
import zero

TOKENS = dict(vocab_size=100, use_cache=False)
LLAMA = dict(
    hidden_size=32, intermediate_size=96, num_hidden_layers=1,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
    pad_token_id=None, bos_token_id=0, eos_token_id=0)
GPT2 = dict(n_embd=32, n_layer=1, n_head=4, n_positions=32)

# Where heads are: apart, in one projection side by side, or interleaved; two
# sums that meet; norms of all heads; experts; a class for a sequence.
MODELS = {
    "bert": lambda: transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1,
            num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=32, num_labels=3)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**TOKENS, **GPT2, attn_pdrop=0)),
    "gpt2-dropout": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**TOKENS, **GPT2)),
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**{**TOKENS, "vocab_size": 101}, **{
            **LLAMA, "num_hidden_layers": 2})),
    "mixtral": lambda: transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**TOKENS, **{
            **LLAMA, "intermediate_size": 48}, num_local_experts=4)),
    "neox": lambda: transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(
            **TOKENS, hidden_size=32, num_hidden_layers=1,
            num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=32)),
    "olmo2": lambda: transformers.Olmo2ForCausalLM(
        transformers.Olmo2Config(**TOKENS, **LLAMA)),
    "phi3": lambda: transformers.Phi3ForCausalLM(
        transformers.Phi3Config(**TOKENS, **LLAMA)),
}

CLASS_WEIGHTS = torch.arange(100) / 100 + 0.5

# Of logits [tokens, classes] and labels, of which some are ignored.
LOSSES = {
    "smoothed": lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
    "weighted": lambda x, y: F.cross_entropy(
        x, y, weight=CLASS_WEIGHTS, label_smoothing=0.1),
    "probabilities": F.cross_entropy,
    "z-loss": lambda x, y: (
        F.cross_entropy(x, y) + 0.01 * x.logsumexp(-1).square().mean()),
}


class WithLoss(torch.nn.Module):
    """A projection that is the embedding, and one of `LOSSES`."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            **TOKENS, **GPT2, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0))

    def forward(self, input_ids, labels):
        logits = self.model(input_ids).logits.flatten(0, 1)
        labels = labels.flatten(0, 1)
        if not labels.is_floating_point():
            labels = labels.masked_fill(labels < 32, -100)
        return LOSSES[self.name](logits, labels)


class Packed(torch.nn.Module):
    """Samples of several documents, each of which a token below 8 begins: no token
    sees another document, and places are those in a document."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.tokens = torch.nn.Embedding(100, width)
        self.places = torch.nn.Embedding(16, width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.head = torch.nn.Linear(width, 100, bias=False)

    def forward(self, input_ids, labels):
        document = (input_ids < 8).cumsum(-1)
        seen = document[:, :, None] == document[:, None, :]
        before = (document[:, :, None] > document[:, None, :]).sum(-1)
        place = torch.arange(input_ids.shape[1]) - before
        x = self.tokens(input_ids) + self.places(place)
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for y in self.qkv(x).chunk(3, -1))
        mask = seen.tril()[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        logits = self.head(x + self.out(y.transpose(1, 2).flatten(2)))
        labels = labels.masked_fill(labels < 8, -100)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


MODELS |= {name: lambda name=name: WithLoss(name) for name in LOSSES}
MODELS["packed"] = Packed

DROPPING = dict(**TOKENS, **{**LLAMA, "num_attention_heads": 8, "num_key_value_heads": 4},
                attention_dropout=0.1)

DROPOUT = {
    "bert": MODELS["bert"],
    "gpt2": MODELS["gpt2-dropout"],
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**{**DROPPING, "vocab_size": 101})),
    "mixtral": lambda: transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**{**DROPPING, "intermediate_size": 48},
                                   num_local_experts=4)),
    "neox": lambda: transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(
            **TOKENS, hidden_size=32, num_hidden_layers=1,
            num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=32, attention_dropout=0.1, hidden_dropout=0.1)),
    "olmo2": lambda: transformers.Olmo2ForCausalLM(transformers.Olmo2Config(**DROPPING)),
    "phi3": lambda: transformers.Phi3ForCausalLM(
        transformers.Phi3Config(**DROPPING, resid_pdrop=0.1, embd_pdrop=0.1)),
}


def batch(name):
    ids = torch.zeros(2, 16, dtype=torch.int64)
    labels = {"bert": torch.zeros(2, dtype=torch.int64),
              "probabilities": torch.zeros(2, 16, 100)}.get(name, ids)
    return {"input_ids": ids, "labels": labels}


def write(path, make, **options):
    torch.manual_seed(0)
    model = zero.export(make(), batch(path.stem), **options)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"// Made by import.py.\n\n{model.text}")


def main():
    folder = pathlib.Path(__file__).parent
    for name, make in MODELS.items():
        write(folder / f"{name}.mlir", make)
    for name, make in DROPOUT.items():
        write(folder / "Dropout" / f"{name}.mlir", make, outputs=("logits",))


if __name__ == "__main__":
    main()
