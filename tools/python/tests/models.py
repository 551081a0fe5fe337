"""Small models of many architectures, made from configurations: no network."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

MODELS: dict[str, Callable] = {}


def model(function: Callable) -> Callable:
    """Registers a function that returns (module, batch)."""
    MODELS[function.__name__] = function
    return function


VOCABULARY, BATCH, LENGTH = 128, 2, 16


def tokens(high: int = VOCABULARY, shape: tuple[int, ...] = (BATCH, LENGTH)) -> torch.Tensor:
    return torch.randint(1, high, shape)


def randomized(module: nn.Module) -> nn.Module:
    """Weights that no gradient vanishes at: biases are not 0, norms not 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return module


# Plain PyTorch


@model
def mlp():
    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.f = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 5))

        def forward(self, x, y):
            return F.cross_entropy(self.f(x), y)

    return randomized(Mlp()), {"x": torch.randn(4, 12), "y": torch.randint(0, 5, (4,))}


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.c_attn(x).split(width, dim=2)
        q, k, v = (
            y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for y in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """A GPT in the manner of nanoGPT: one tied table, fused projections."""

    def __init__(self, layers=2, width=32, heads=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(LENGTH, width)
        self.h = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, VOCABULARY, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        positions = torch.arange(idx.shape[1], device=idx.device)
        x = self.wte(idx) + self.wpe(positions)
        for layer in self.h:
            x = layer(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1), ignore_index=-1)


@model
def nanogpt():
    return randomized(Gpt()), {"idx": tokens(), "targets": tokens()}


# Hugging Face


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
    "experts_implementation": "batched_mm",
}


@model
def mixtral():
    return causal("mixtral", **MOE, intermediate_size=48, num_local_experts=4)


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


# Encoders


def made(kind: str, task: str, **settings) -> nn.Module:
    import transformers

    config = transformers.AutoConfig.for_model(kind, **settings)
    return randomized(getattr(transformers, task).from_config(config).float())


BERT = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
}


def masked(kind: str, **settings):
    module = made(kind, "AutoModelForMaskedLM", **{**BERT, **settings})
    labels = tokens()
    labels[:, ::3] = -100
    return module, {"input_ids": tokens(), "labels": labels}


@model
def bert_mlm():
    return masked("bert")


@model
def distilbert_mlm():
    module = made(
        "distilbert",
        "AutoModelForMaskedLM",
        n_layers=2,
        dim=64,
        hidden_dim=96,
        n_heads=4,
        vocab_size=VOCABULARY,
    )
    return module, {"input_ids": tokens(), "labels": tokens()}


@model
def albert_mlm():
    return masked("albert", embedding_size=32)


@model
def electra_mlm():
    return masked("electra", embedding_size=32)


@model
def modernbert_mlm():
    return masked(
        "modernbert",
        local_attention=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    )


@model
def mpnet_mlm():
    return masked("mpnet")


@model
def deberta_mlm():
    return masked(
        "deberta-v2", relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8
    )


@model
def roberta_classifier():
    module = made("roberta", "AutoModelForSequenceClassification", **BERT, num_labels=3)
    return module, {"input_ids": tokens(), "labels": torch.tensor([0, 2])}


@model
def bert_regression():
    module = made(
        "bert",
        "AutoModelForSequenceClassification",
        **BERT,
        num_labels=1,
        problem_type="regression",
    )
    return module, {"input_ids": tokens(), "labels": torch.randn(BATCH)}


@model
def bert_answers():
    module = made("bert", "AutoModelForQuestionAnswering", **BERT)
    return module, {
        "input_ids": tokens(),
        "start_positions": torch.tensor([1, 3]),
        "end_positions": torch.tensor([4, 9]),
    }


@model
def llama_classifier():
    module = made(
        "llama", "AutoModelForSequenceClassification", **{**LLAMA, "pad_token_id": 0}, num_labels=3
    )
    return module, {"input_ids": tokens(), "labels": torch.tensor([0, 2])}


# Sequences to sequences


@model
def t5():
    module = made(
        "t5",
        "AutoModelForSeq2SeqLM",
        num_layers=2,
        d_model=64,
        d_kv=16,
        d_ff=96,
        num_heads=4,
        vocab_size=VOCABULARY,
        decoder_start_token_id=0,
    )
    return module, {"input_ids": tokens(), "labels": tokens()}


@model
def bart():
    module = made(
        "bart",
        "AutoModelForSeq2SeqLM",
        encoder_layers=2,
        decoder_layers=2,
        d_model=64,
        encoder_ffn_dim=96,
        decoder_ffn_dim=96,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
    )
    return module, {"input_ids": tokens(), "labels": tokens()}


@model
def whisper():
    module = made(
        "whisper",
        "AutoModelForSpeechSeq2Seq",
        encoder_layers=2,
        decoder_layers=2,
        d_model=64,
        encoder_ffn_dim=96,
        decoder_ffn_dim=96,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        vocab_size=VOCABULARY,
        max_source_positions=16,
        max_target_positions=32,
        num_mel_bins=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return module, {"input_features": torch.randn(BATCH, 8, 32), "labels": tokens()}


# Images


VIT = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 4,
}


@model
def vit():
    module = made("vit", "AutoModelForImageClassification", **VIT, num_labels=5)
    return module, {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}


@model
def dinov2():
    module = made("dinov2", "AutoModelForImageClassification", **VIT, num_labels=5)
    return module, {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}


@model
def swin():
    module = made(
        "swin",
        "AutoModelForImageClassification",
        image_size=16,
        patch_size=2,
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=4,
        num_labels=5,
    )
    return module, {"pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": torch.tensor([1, 4])}


class WithContrast(nn.Module):
    """CLIP gives its loss on request only."""

    def __init__(self, clip):
        super().__init__()
        self.clip = clip

    def forward(self, input_ids, pixel_values):
        return self.clip(input_ids=input_ids, pixel_values=pixel_values, return_loss=True).loss


@model
def clip():
    text = {**BERT, "bos_token_id": 1, "eos_token_id": 127, "pad_token_id": 0}
    module = made("clip", "AutoModel", text_config=text, vision_config=VIT, projection_dim=32)
    ids = tokens(VOCABULARY - 1)
    ids[:, -1] = 127
    return WithContrast(module), {
        "input_ids": ids,
        "pixel_values": torch.randn(BATCH, 3, 16, 16),
    }


# Plain PyTorch, continued


@model
def nn_transformer():
    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(VOCABULARY, 32)
            self.t = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
            self.out = nn.Linear(32, VOCABULARY)

        def forward(self, source, target, labels):
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
            x = self.t(self.e(source), self.e(target), tgt_mask=mask, tgt_is_causal=True)
            return F.cross_entropy(self.out(x).flatten(0, 1), labels.flatten())

    batch = {"source": tokens(), "target": tokens(), "labels": tokens()}
    return randomized(Translator()), batch


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.e = nn.Embedding(VOCABULARY, 16)
        self.cell = kind(16, 24, num_layers=2, batch_first=True)
        self.out = nn.Linear(24, VOCABULARY)

    def forward(self, x, y):
        states, _ = self.cell(self.e(x))
        return F.cross_entropy(self.out(states).flatten(0, 1), y.flatten())


@model
def lstm():
    return randomized(Recurrent(nn.LSTM)), {"x": tokens(shape=(2, 5)), "y": tokens(shape=(2, 5))}


@model
def gru():
    return randomized(Recurrent(nn.GRU)), {"x": tokens(shape=(2, 5)), "y": tokens(shape=(2, 5))}


@model
def mixer():
    class Block(nn.Module):
        def __init__(self, patches, width):
            super().__init__()
            self.n, self.m = nn.LayerNorm(width), nn.LayerNorm(width)
            self.t = nn.Sequential(nn.Linear(patches, 24), nn.GELU(), nn.Linear(24, patches))
            self.c = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))

        def forward(self, x):
            x = x + self.t(self.n(x).transpose(1, 2)).transpose(1, 2)
            return x + self.c(self.m(x))

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 32, 4, 4)
            self.b = nn.Sequential(Block(16, 32), Block(16, 32))
            self.head = nn.Linear(32, 5)

        def forward(self, x, y):
            x = self.b(self.stem(x).flatten(2).transpose(1, 2)).mean(1)
            return F.cross_entropy(self.head(x), y, label_smoothing=0.1)

    return randomized(Mixer()), {"x": torch.randn(2, 3, 16, 16), "y": torch.tensor([1, 4])}


@model
def dlrm():
    class Dlrm(nn.Module):
        def __init__(self):
            super().__init__()
            self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
            self.tables = nn.ModuleList(nn.EmbeddingBag(10, 8, mode="sum") for _ in range(3))
            self.top = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, dense, sparse, clicks):
            x = self.bottom(dense)
            parts = [x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)]
            z = torch.stack(parts, 1)
            pairs = torch.bmm(z, z.transpose(1, 2))
            rows, columns = torch.tril_indices(4, 4, offset=-1)
            top = torch.cat([x, pairs[:, rows, columns]], 1)
            return F.binary_cross_entropy(torch.sigmoid(self.top(top)).squeeze(1), clicks)

    return randomized(Dlrm()), {
        "dense": torch.randn(4, 6),
        "sparse": torch.randint(0, 10, (4, 3, 2)),
        "clicks": torch.tensor([0.0, 1.0, 1.0, 0.0]),
    }


def rotate(x, turns):
    """Rotary positions by complex numbers, as torchtitan has them."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turns = turns.view(1, x.shape[1], 1, pairs.shape[-1])
    return torch.view_as_real(pairs * turns).flatten(3).type_as(x)


@model
def titan_llama():
    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.wq, self.wk = (nn.Linear(width, width, bias=False) for _ in range(2))
            self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(2))
            self.w1, self.w3 = (nn.Linear(width, 48, bias=False) for _ in range(2))
            self.w2 = nn.Linear(48, width, bias=False)
            self.attention_norm, self.ffn_norm = nn.RMSNorm(width), nn.RMSNorm(width, eps=1e-5)

        def forward(self, x, turns):
            h = self.attention_norm(x)
            q, k, v = (w(h).view(*x.shape[:2], self.heads, -1) for w in (self.wq, self.wk, self.wv))
            q, k = rotate(q, turns), rotate(k, turns)
            q, k, v = (y.transpose(1, 2) for y in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.wo(y.transpose(1, 2).reshape(x.shape))
            h = self.ffn_norm(x)
            return x + self.w2(F.silu(self.w1(h)) * self.w3(h))

    class Titan(nn.Module):
        def __init__(self, width=32, heads=4):
            super().__init__()
            self.tok_embeddings = nn.Embedding(VOCABULARY, width)
            self.layers = nn.ModuleList(Layer(width, heads) for _ in range(2))
            self.norm, self.output = nn.RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)
            angles = torch.outer(
                torch.arange(LENGTH).float(),
                1 / 500000 ** (torch.arange(0, width // heads, 2).float() / (width // heads)),
            )
            self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

        def forward(self, tokens, labels):
            x = self.tok_embeddings(tokens)
            for layer in self.layers:
                x = layer(x, self.turns)
            return F.cross_entropy(self.output(self.norm(x)).flatten(0, 1), labels.flatten())

    return randomized(Titan()), {"tokens": tokens(), "labels": tokens()}


@model
def temporal_convolutions():
    class Tcn(nn.Module):
        def __init__(self):
            super().__init__()
            norm = torch.nn.utils.parametrizations.weight_norm
            self.e = nn.Embedding(VOCABULARY, 16)
            self.a, self.b = norm(nn.Conv1d(16, 16, 3)), norm(nn.Conv1d(16, 16, 3, dilation=2))
            self.o = nn.Linear(16, VOCABULARY)

        def forward(self, x, y):
            h = self.e(x).transpose(1, 2)
            h = h + F.relu(self.a(F.pad(h, (2, 0))))
            h = h + F.relu(self.b(F.pad(h, (4, 0))))
            return F.cross_entropy(self.o(h.transpose(1, 2)).flatten(0, 1), y.flatten())

    return randomized(Tcn()), {"x": tokens(), "y": tokens()}


@model
def diffusion_transformer():
    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.n = nn.LayerNorm(width, elementwise_affine=False)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.f = nn.Sequential(nn.Linear(width, 48), nn.GELU("tanh"), nn.Linear(48, width))
            self.ada = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

        def forward(self, x, c):
            a, b, g, d, e, f = self.ada(c)[:, None].chunk(6, -1)
            h = self.n(x) * (1 + b) + a
            q, k, v = (
                self.qkv(h).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            )
            h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = x + g * self.o(h)
            return x + f * self.f(self.n(x) * (1 + e) + d)

    class Dit(nn.Module):
        def __init__(self, width=32):
            super().__init__()
            self.patch = nn.Conv2d(3, width, 4, 4)
            self.place = nn.Parameter(torch.randn(1, 16, width))
            self.time = nn.Linear(8, width)
            self.b = nn.ModuleList(Block(width, 4) for _ in range(2))
            self.o = nn.Linear(width, 48)

        def forward(self, x, t, noise):
            angles = t[:, None] * torch.exp(-torch.arange(4) / 4 * 5.0)
            c = self.time(torch.cat([angles.cos(), angles.sin()], -1))
            h = self.patch(x).flatten(2).transpose(1, 2) + self.place
            for block in self.b:
                h = block(h, c)
            h = self.o(h).unflatten(1, (4, 4)).unflatten(-1, (4, 4, 3))
            return F.mse_loss(h.permute(0, 5, 1, 3, 2, 4).reshape(x.shape), noise)

    return randomized(Dit()), {
        "x": torch.randn(2, 3, 16, 16),
        "t": torch.rand(2),
        "noise": torch.randn(2, 3, 16, 16),
    }


@model
def mixture_of_experts():
    class Moe(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(16, 4)
            self.w = nn.Parameter(torch.randn(4, 16, 24) / 4)
            self.v = nn.Parameter(torch.randn(4, 24, 16) / 5)
            self.h = nn.Linear(16, 5)

        def forward(self, x, y):
            g = self.gate(x).softmax(-1)
            h = torch.einsum("btc,ecf->btef", x, self.w).relu()
            h = torch.einsum("btef,efc->btec", h, self.v)
            x = torch.einsum("btec,bte->btc", h, g)
            return F.cross_entropy(self.h(x.mean(1)), y)

    return randomized(Moe()), {"x": torch.randn(2, 6, 16), "y": torch.tensor([0, 3])}


@model
def averaged_words():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(VOCABULARY, 16)
            self.o = nn.Linear(16, 1)

        def forward(self, x, keep, y):
            weights = keep.float()
            h = (self.e(x) * weights[..., None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1)
            return F.binary_cross_entropy_with_logits(self.o(h).squeeze(-1), y)

    return randomized(Words()), {
        "x": tokens(),
        "keep": torch.rand(BATCH, LENGTH) > 0.3,
        "y": torch.tensor([0.0, 1.0]),
    }


@model
def handwritten_attention():
    class Slow(Attention):
        """Attention by products and a triangle, as nanoGPT without flash has it."""

        def __init__(self, width, heads):
            super().__init__(width, heads)
            triangle = torch.ones(LENGTH, LENGTH).tril()
            self.register_buffer("bias", triangle.view(1, 1, LENGTH, LENGTH))

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = self.c_attn(x).split(width, dim=2)
            q, k, v = (
                y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                for y in (q, k, v)
            )
            scores = (q @ k.transpose(-2, -1)) * (q.shape[-1] ** -0.5)
            scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
            y = scores.softmax(-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))

    module = Gpt()
    for layer in module.h:
        layer.attn = Slow(32, 4)
    return randomized(module), {"idx": tokens(), "targets": tokens()}
