"""Encoders of transformers, and their heads."""

from __future__ import annotations

import torch
from torch import nn

from .decoders import LLAMA
from .registry import BATCH, VOCABULARY, model, randomized, tokens


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
