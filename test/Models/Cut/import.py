#!/usr/bin/env python3
"""Imports small models of the families whose shapes are cut in different ways.

  import.py            writes the files of this folder again

Needs PyTorch and `transformers`: build/python, which `tools/setup --python` makes.
Tests evaluate the models in f64 on all ranks of a mesh (LockstepTest).
"""

import pathlib

import torch
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


def batch(name):
    ids = torch.zeros(2, 16, dtype=torch.int64)
    labels = torch.zeros(2, dtype=torch.int64) if name == "bert" else ids
    return {"input_ids": ids, "labels": labels}


def main():
    folder = pathlib.Path(__file__).parent
    for name, make in MODELS.items():
        torch.manual_seed(0)
        model = zero.export(make(), batch(name))
        (folder / f"{name}.mlir").write_text(
            f"// Made by import.py.\n\n{model.text}")


if __name__ == "__main__":
    main()
