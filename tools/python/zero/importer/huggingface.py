"""Models of transformers from a configuration."""

from __future__ import annotations

import contextlib
import json
from typing import Any, Iterator

import torch
from torch import nn

from zero.importer.errors import CannotImport

# The class of transformers for a task, and whether each token has a label.
TASKS = {
    "causal-lm": ("AutoModelForCausalLM", True),
    "masked-lm": ("AutoModelForMaskedLM", True),
    "seq2seq-lm": ("AutoModelForSeq2SeqLM", True),
    "sequence-classification": ("AutoModelForSequenceClassification", False),
    "token-classification": ("AutoModelForTokenClassification", True),
}


def from_config(
    path: str, task: str, sequence: int, micro_batch: int, *, with_values: bool = True
) -> tuple[nn.Module, dict[str, Any]]:
    """A model with new weights in train mode, and a batch of `input_ids` and `labels`.

    Without values the parameters are on the meta device, so that a model of any
    size takes no memory.
    """
    try:
        import transformers
    except ImportError:
        raise CannotImport(
            "--hf needs transformers: pip install 'zero-compiler[huggingface]'"
        ) from None
    config = read_config(path)
    with contextlib.nullcontext() if with_values else parameters_on_meta():
        kind, of_tokens = TASKS[task]
        model = build(getattr(transformers, kind), config)
    model.train()
    ids = torch.zeros(micro_batch, sequence, dtype=torch.int64)
    labels = ids.clone() if of_tokens else torch.zeros(micro_batch, dtype=torch.int64)
    return model, {"input_ids": ids, "labels": labels}


def read_config(path: str):
    """The configuration in the file, for training in f32."""
    import transformers

    try:
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
        config = transformers.AutoConfig.for_model(**settings)
    except (OSError, TypeError, ValueError) as error:
        raise CannotImport(f"'{path}' is no configuration of transformers: {error}") from None
    config.use_cache = False
    config.dtype = torch.float32
    return config


def build(kind, config) -> nn.Module:
    """With PyTorch's attention where the class has it."""
    try:
        return kind.from_config(config, attn_implementation="sdpa")
    except ValueError:
        pass
    try:
        return kind.from_config(config, attn_implementation="eager")
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        raise CannotImport(f"no model of this configuration and task: {reason}") from None


@contextlib.contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Parameters that are made inside are on the meta device; buffers, whose values
    the importer reads, are where they were made."""
    register = nn.Module.register_parameter

    def on_meta(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        register(module, name, parameter)
        if parameter is not None and not parameter.is_meta:
            module._parameters[name] = nn.Parameter(
                parameter.detach().to("meta"), requires_grad=parameter.requires_grad
            )

    nn.Module.register_parameter = on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register
