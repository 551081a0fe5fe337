"""Models of transformers that hear."""

from __future__ import annotations

import torch

from .encoders import made
from .registry import BATCH, VOCABULARY, model, tokens

WAVES = {
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
}


def waves(kind: str, task: str = "AudioClassification", **settings):
    return made(kind, f"AutoModelFor{task}", **WAVES, **settings)


def classified(kind: str, **settings):
    batch = {"input_values": torch.randn(BATCH, 400), "labels": torch.tensor([1, 4])}
    return waves(kind, num_labels=5, **settings), batch


@model
def wav2vec2_classifier():
    return classified("wav2vec2")


@model
def hubert_classifier():
    return classified("hubert")


@model
def sew_classifier():
    return classified("sew")


@model
def spectrogram_transformer():
    module = made(
        "audio-spectrogram-transformer",
        "AutoModelForAudioClassification",
        num_hidden_layers=2,
        hidden_size=32,
        intermediate_size=48,
        num_attention_heads=4,
        patch_size=4,
        max_length=32,
        num_mel_bins=16,
        frequency_stride=4,
        time_stride=4,
        num_labels=5,
    )
    return module, {"input_values": torch.randn(BATCH, 32, 16), "labels": torch.tensor([1, 4])}


@model
def speech_to_text():
    module = made(
        "speech_to_text",
        "AutoModelForSpeechSeq2Seq",
        encoder_layers=2,
        decoder_layers=2,
        d_model=32,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        vocab_size=VOCABULARY,
        input_feat_per_channel=8,
        conv_channels=16,
        max_source_positions=64,
        max_target_positions=32,
    )
    return module, {"input_features": torch.randn(BATCH, 32, 8), "labels": tokens()}
