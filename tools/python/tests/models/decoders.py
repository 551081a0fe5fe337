"""Causal language models of transformers."""

from __future__ import annotations

from .registry import VOCABULARY, model, randomized, tokens


def causal(kind: str, **settings):
    """A causal language model of transformers."""
    import transformers

    config = transformers.AutoConfig.for_model(kind, **settings)
    config.use_cache = False
    kinds = transformers.AutoModelForCausalLM
    try:
        module = kinds.from_config(config, attn_implementation="sdpa")
    except ValueError:
        module = kinds.from_config(config, attn_implementation="eager")
    ids = tokens()
    return randomized(module.float()), {"input_ids": ids, "labels": ids}


@model
def gpt2():
    return causal("gpt2", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=32)


LLAMA = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
    "pad_token_id": None,
}


@model
def llama():
    return causal("llama", **LLAMA)


@model
def qwen3():
    return causal("qwen3", **LLAMA, head_dim=16)


@model
def gemma3_text():
    return causal(
        "gemma3_text",
        **LLAMA,
        head_dim=16,
        sliding_window=8,
        query_pre_attn_scalar=16,
        layer_types=["sliding_attention", "full_attention"],
    )


@model
def mistral():
    return causal("mistral", **LLAMA, sliding_window=8)


@model
def phi3():
    return causal("phi3", **LLAMA, eos_token_id=1, bos_token_id=1)


@model
def opt():
    return causal(
        "opt",
        num_hidden_layers=2,
        hidden_size=64,
        ffn_dim=96,
        num_attention_heads=4,
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
        word_embed_proj_dim=64,
        pad_token_id=None,
    )


NEOX = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
}


@model
def gpt_neox():
    return causal("gpt_neox", **NEOX)


@model
def qwen2():
    return causal("qwen2", **LLAMA)


@model
def olmo2():
    return causal("olmo2", **LLAMA)


@model
def starcoder2():
    return causal("starcoder2", **LLAMA)


@model
def smollm3():
    return causal("smollm3", **LLAMA)


@model
def cohere():
    return causal("cohere", **LLAMA)


@model
def phi():
    return causal("phi", **NEOX, pad_token_id=None)


@model
def gptj():
    return causal(
        "gptj", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=64, rotary_dim=8
    )


@model
def gpt_neo():
    return causal(
        "gpt_neo",
        num_layers=2,
        hidden_size=64,
        num_heads=4,
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
        attention_types=[[["global", "local"], 1]],
        window_size=8,
    )


@model
def bloom():
    return causal("bloom", n_layer=2, hidden_size=64, n_head=4, vocab_size=VOCABULARY)


@model
def falcon():
    return causal(
        "falcon", num_hidden_layers=2, hidden_size=64, num_attention_heads=4, vocab_size=VOCABULARY
    )


@model
def mpt():
    return causal("mpt", n_layers=2, d_model=64, n_heads=4, vocab_size=VOCABULARY, max_seq_len=64)


@model
def gemma2():
    return causal(
        "gemma2",
        **LLAMA,
        head_dim=16,
        sliding_window=8,
        query_pre_attn_scalar=16,
    )


MOE = {
    **{key: value for key, value in LLAMA.items() if key != "intermediate_size"},
    "num_experts_per_tok": 2,
}


@model
def mixtral():
    return causal("mixtral", **MOE, intermediate_size=48, num_local_experts=4)


@model
def mixtral_balanced():
    """With the loss of its router, whose counts of tokens are a histogram."""
    settings = {"intermediate_size": 48, "num_local_experts": 4}
    return causal("mixtral", **MOE, **settings, output_router_logits=True, router_aux_loss_coef=0.5)


@model
def mixtral_batched():
    """The form that multiplies each token by a copy of its expert's weights."""
    settings = {"intermediate_size": 48, "num_local_experts": 4}
    return causal("mixtral", **MOE, **settings, experts_implementation="batched_mm")


@model
def qwen3_moe():
    return causal(
        "qwen3_moe",
        **MOE,
        moe_intermediate_size=48,
        num_experts=4,
        head_dim=16,
        intermediate_size=96,
    )


@model
def gpt_oss():
    return causal(
        "gpt_oss",
        **MOE,
        intermediate_size=48,
        num_local_experts=4,
        head_dim=16,
        layer_types=["sliding_attention", "full_attention"],
        sliding_window=8,
    )


@model
def mamba():
    return causal(
        "mamba",
        num_hidden_layers=2,
        hidden_size=32,
        state_size=4,
        vocab_size=VOCABULARY,
        pad_token_id=None,
    )


@model
def deepseek_v3():
    return causal(
        "deepseek_v3",
        **{**MOE, "num_key_value_heads": 4},
        intermediate_size=96,
        moe_intermediate_size=32,
        n_routed_experts=4,
        n_group=1,
        topk_group=1,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_rope_head_dim=8,
        qk_nope_head_dim=8,
        v_head_dim=16,
        first_k_dense_replace=1,
    )
