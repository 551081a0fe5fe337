"""More encoders and sequence-to-sequence models of transformers."""

from __future__ import annotations

import torch

from .encoders import BERT, made, masked
from .images import VIT
from .registry import BATCH, VOCABULARY, model, tokens

MARKS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@model
def xlm_roberta_mlm():
    return masked("xlm-roberta")


@model
def xlm_mlm():
    """It checks its lengths, which are values, and uses them for nothing else."""
    return masked("xlm", emb_dim=64, n_layers=2, n_heads=4)


@model
def funnel_mlm():
    """Pooling between blocks, and relative positions."""
    module = made(
        "funnel",
        "AutoModelForMaskedLM",
        block_sizes=[1, 1],
        num_decoder_layers=1,
        d_model=64,
        n_head=4,
        d_head=16,
        d_inner=96,
        vocab_size=VOCABULARY,
    )
    return module, {"input_ids": tokens(), "labels": tokens()}


@model
def convbert_mlm():
    """Convolutions whose weights depend on the input."""
    return masked("convbert", embedding_size=32)


@model
def big_bird_mlm():
    """Attention between blocks that are chosen at random, at import."""
    settings = {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 1}
    return masked("big_bird", **settings, **MARKS)


@model
def esm_mlm():
    """Proteins: rotary positions in an encoder."""
    return masked("esm", position_embedding_type="rotary", mask_token_id=3, **MARKS)


@model
def pegasus():
    settings = {
        f"{part}_{name}": size
        for part in ("encoder", "decoder")
        for name, size in (("layers", 2), ("ffn_dim", 96), ("attention_heads", 4))
    }
    module = made(
        "pegasus",
        "AutoModelForSeq2SeqLM",
        d_model=64,
        vocab_size=VOCABULARY,
        max_position_embeddings=64,
        **settings,
    )
    return module, {"input_ids": tokens(), "labels": tokens()}


@model
def blip():
    """Text from images: cross attention to another encoder."""
    import transformers

    text = {**BERT, **MARKS, "projection_dim": 32, "encoder_hidden_size": 64, "sep_token_id": 2}
    config = transformers.BlipConfig(
        text_config=text, vision_config=VIT, projection_dim=32, image_text_hidden_size=32
    )
    batch = {
        "pixel_values": torch.randn(BATCH, 3, 16, 16),
        "input_ids": tokens(),
        "labels": tokens(),
    }
    return transformers.BlipForConditionalGeneration(config), batch


@model
def llava():
    """Features of an image scattered into a text by a mask."""
    import transformers

    from .decoders import LLAMA

    config = transformers.LlavaConfig(
        text_config={**LLAMA, "model_type": "llama", "use_cache": False},
        vision_config={**VIT, "model_type": "clip_vision_model", "projection_dim": 32},
        image_token_index=3,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
    )
    config.use_cache = False
    image = torch.full((BATCH, 16), 3)
    ids = torch.cat([image, torch.randint(5, VOCABULARY, (BATCH, 8))], 1)
    batch = {"input_ids": ids, "pixel_values": torch.randn(BATCH, 3, 16, 16), "labels": ids}
    return transformers.LlavaForConditionalGeneration(config), batch


@model
def patchtst():
    """Series in patches."""
    import transformers

    config = transformers.PatchTSTConfig(
        num_input_channels=2,
        context_length=16,
        prediction_length=4,
        patch_length=4,
        patch_stride=2,
        d_model=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=32,
    )
    batch = {"past_values": torch.randn(BATCH, 16, 2), "future_values": torch.randn(BATCH, 4, 2)}
    return transformers.PatchTSTForPrediction(config), batch
