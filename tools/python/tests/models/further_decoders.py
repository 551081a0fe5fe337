"""More causal language models of transformers, each for what others do not have."""

from __future__ import annotations

from .decoders import LLAMA, MOE, causal
from .registry import VOCABULARY, model, trained


@model
def olmo():
    """Norms without parameters."""
    return causal("olmo", **LLAMA)


@model
def granite():
    """Factors on embeddings, residuals and logits."""
    return causal("granite", **LLAMA)


@model
def stablelm():
    """Rotary positions on a part of each head."""
    return causal("stablelm", **LLAMA)


@model
def gpt_bigcode():
    """One head of keys and values for all heads of queries."""
    return causal(
        "gpt_bigcode", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=32
    )


@model
def phimoe():
    """Two experts chosen one after the other, by a mask between."""
    return causal("phimoe", **MOE, intermediate_size=48, num_local_experts=4)


@model
def qwen2_moe():
    """An expert for all tokens beside the chosen ones."""
    return causal(
        "qwen2_moe",
        **MOE,
        intermediate_size=96,
        moe_intermediate_size=48,
        shared_expert_intermediate_size=48,
        num_experts=4,
    )


@model
def mamba2():
    """A state space in chunks: sums over segments, stacks of products."""
    return causal(
        "mamba2",
        num_hidden_layers=2,
        hidden_size=32,
        state_size=8,
        num_heads=4,
        head_dim=16,
        n_groups=1,
        chunk_size=8,
        expand=2,
        vocab_size=VOCABULARY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )


@trained
def rwkv():
    """A recurrence written out by time. In eval mode it rescales its weights in place."""
    return causal(
        "rwkv",
        num_hidden_layers=2,
        hidden_size=32,
        attention_hidden_size=32,
        vocab_size=VOCABULARY,
        context_length=16,
    )


@model
def recurrent_gemma():
    """A gated recurrence, and a function with a backward of its own."""
    return causal(
        "recurrent_gemma",
        num_hidden_layers=3,
        hidden_size=64,
        intermediate_size=96,
        num_attention_heads=4,
        lru_width=64,
        attention_window_size=8,
        head_dim=16,
        vocab_size=VOCABULARY,
    )


@trained
def bloom_trained():
    """In train mode its GELU has a backward of its own."""
    settings = {"hidden_dropout": 0.0, "attention_dropout": 0.0}
    return causal("bloom", n_layer=2, hidden_size=64, n_head=4, vocab_size=VOCABULARY, **settings)


@model
def jamba():
    """Layers of attention, of state spaces and of experts in turn."""
    return causal(
        "jamba",
        num_hidden_layers=4,
        hidden_size=32,
        intermediate_size=48,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_experts=2,
        num_experts_per_tok=1,
        vocab_size=VOCABULARY,
        mamba_d_state=4,
        mamba_dt_rank=4,
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=2,
        expert_layer_offset=1,
        use_mamba_kernels=False,
        max_position_embeddings=64,
        pad_token_id=0,
    )


@model
def xlnet():
    """Relative positions by shifted scores."""
    return causal("xlnet", n_layer=2, d_model=64, n_head=4, d_inner=96, vocab_size=VOCABULARY)
