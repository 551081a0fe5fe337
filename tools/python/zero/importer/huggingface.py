"""Models of transformers from a configuration."""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
import re
from typing import Any, Callable, Iterable, Iterator

import torch
from torch import nn

from zero.files import open_file, parse_json
from zero.importer.errors import CannotImport

CONFIG = "config.json"
# Files of weights, also those that transformers reads only with another framework.
_WEIGHTS = re.compile(
    r".*\.safetensors(\.index\.json)?|.*\.(h5|msgpack|gguf)"
    r"|(pytorch_)?model.*\.(bin|pt|pth)(\.index\.json)?|consolidated.*\.(pt|pth)"
)
# The class of transformers for a task, and whether each token has a label.
TASKS = {
    "causal-lm": ("AutoModelForCausalLM", True),
    "masked-lm": ("AutoModelForMaskedLM", True),
    "seq2seq-lm": ("AutoModelForSeq2SeqLM", True),
    "sequence-classification": ("AutoModelForSequenceClassification", False),
    "token-classification": ("AutoModelForTokenClassification", True),
}


def from_config(
    path: str,
    task: str,
    sequence: int,
    micro_batch: int,
    *,
    with_values: bool = True,
    weights: str | None = None,
    remark: Callable[[str], None] = lambda _: None,
) -> tuple[nn.Module, dict[str, Any]]:
    """A model in train mode, and a batch of `input_ids` and `labels`. `path` is a
    configuration, or a folder with one.

    Its weights are those of the folder `weights`, else new ones. Without values the
    parameters are on the meta device, so that a model of any size takes no memory.
    """
    try:
        import transformers
    except ImportError:
        raise CannotImport(
            "--hf needs transformers: pip install 'zero-compiler[huggingface]'"
        ) from None
    config = read_config(path)
    name, of_tokens = TASKS[task]
    kind = getattr(transformers, name)
    if weights is not None:
        model = pretrained(kind, config, weights, remark)
    else:
        with contextlib.nullcontext() if with_values else parameters_on_meta():
            model = build(kind.from_config, config)
    model.train()
    ids = torch.zeros(micro_batch, sequence, dtype=torch.int64)
    labels = ids.clone() if of_tokens else torch.zeros(micro_batch, dtype=torch.int64)
    return model, {"input_ids": ids, "labels": labels}


def config_file(path: str) -> str:
    """`path`, or the configuration in the folder that it is."""
    return os.path.join(path, CONFIG) if os.path.isdir(path) else path


def weights_beside(path: str) -> str | None:
    """The folder of a configuration where it has weights, too, of whatever form; None
    where it has none."""
    folder, name = os.path.split(config_file(path))
    if name != CONFIG:
        return None
    folder = folder or os.curdir
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    return folder if any(_WEIGHTS.fullmatch(name) for name in names) else None


def pretrained(kind, config, folder: str, remark: Callable[[str], None]) -> nn.Module:
    """The model with the weights of the folder; what the folder does not have is new
    only where the task is another one than the folder's."""
    load = functools.partial(
        kind.from_pretrained,
        folder,
        dtype=torch.float32,
        local_files_only=True,
        output_loading_info=True,
    )
    try:
        model, found = build(lambda config, **options: load(config=config, **options), config)
    except CannotImport:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise CannotImport(f"the weights of '{folder}' cannot be loaded: {reason}") from None
    missing, unused = sorted(found["missing_keys"]), sorted(found["unexpected_keys"])
    lost = [name for name in missing if name in saved_names(config, model)]
    if lost:
        raise CannotImport(
            f"the weights of '{folder}' do not have {_listed(lost)}, which "
            f"{type(model).__name__} has: the folder is incomplete, or of another model"
        )
    if missing:
        remark(f"{_listed(missing)} are new: '{folder}' was saved for another task")
    if unused:
        remark(f"{_listed(unused)} of '{folder}' are not taken: {type(model).__name__} has none")
    return model


def saved_names(config, model: nn.Module) -> set[str]:
    """Names that a folder must have which was saved by the class that its configuration
    names; of an unknown class, all of the model."""
    import transformers

    kind = getattr(transformers, (config.architectures or [""])[0], None)
    if kind is None or isinstance(model, kind):
        return set(model.state_dict())
    with parameters_on_meta():
        return set(kind(config).state_dict())


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(f"'{name}'" for name in names[:5]) + more


def with_random_ids(module: nn.Module, batch: dict[str, Any]) -> dict[str, Any]:
    """The batch with other tokens and labels, the same in each call."""
    generator = torch.Generator().manual_seed(0)
    tokens = module.get_input_embeddings().num_embeddings
    ids, labels = batch["input_ids"], batch["labels"]
    of_tokens = module.config.num_labels if is_classifier(module) else tokens
    return {
        "input_ids": torch.randint(tokens, ids.shape, generator=generator),
        "labels": torch.randint(of_tokens, labels.shape, generator=generator),
    }


def is_classifier(module: nn.Module) -> bool:
    return type(module).__name__.endswith("Classification")


def read_config(path: str):
    """The configuration in the file, for training in f32."""
    import transformers

    path = config_file(path)
    try:
        with open_file(path, "r", encoding="utf-8") as file:
            settings = parse_json(file.read())
        check_kind(settings, transformers.CONFIG_MAPPING)
        config = transformers.AutoConfig.for_model(**settings)
    except (OSError, TypeError, ValueError) as error:
        raise CannotImport(f"'{path}' is no configuration of transformers: {error}") from None
    config.use_cache = False
    config.dtype = torch.float32
    return config


def check_kind(settings: dict[str, Any], kinds: Iterable[str]) -> None:
    """Transformers' own message lists all kinds of models."""
    kind = settings.get("model_type")
    if isinstance(kind, str) and kind in kinds:
        return
    near = difflib.get_close_matches(str(kind), kinds, 1)
    raise ValueError(
        f"model_type is {kind!r}, wanted a kind of model that transformers knows"
        + (f", such as '{near[0]}'" if near else ", such as 'llama'")
    )


def build(make: Callable, config):
    """What `make` gives for the configuration, with PyTorch's attention where the class
    has it."""
    try:
        return make(config, attn_implementation="sdpa")
    except ValueError:
        pass
    try:
        return make(config, attn_implementation="eager")
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
