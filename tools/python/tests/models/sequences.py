"""Models of transformers from sequences to sequences."""

from __future__ import annotations

import torch

from .encoders import made
from .registry import BATCH, VOCABULARY, model, tokens


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
