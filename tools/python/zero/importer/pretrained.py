"""Folders of transformers from what a run has saved: `from_pretrained` loads them.

A folder's names are not those of the module's parameters (GPT-NeoX, ViT, Mixtral), so
it is the module that writes it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Mapping

import torch
from torch import nn

from zero.checkpoints import CheckpointError
from zero.importer.errors import CannotImport
from zero.importer.weights import Saved, fill, saved_at

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

EXAMPLES = """\
examples:
  zero-export run train.py:make -o folder
      the newest checkpoint of --checkpoint run; make() returns (module, batch)
  zero-export trained.safetensors --hf config.json --task causal-lm --type bf16 -o folder
      weights of --save-weights, and a configuration in place of a module
"""


def save_pretrained(
    module: nn.Module, source: str | os.PathLike, folder: str | os.PathLike, type: str = "f32"
) -> None:
    """Copies the weights of `source`, a checkpoint or a safetensors file of a run, into
    the module that was trained, and has transformers write `folder`. `type` is f32, bf16
    or f16; in 16 bits the module stays so."""
    check(module, type)
    write_pretrained(module, f"'{os.fspath(source)}'", saved_at(source), folder, type)


def write_pretrained(
    module: nn.Module, source: str, values: Mapping[str, Saved], folder, type: str
) -> None:
    """Has transformers write the module with the values in `type`, whatever it is in."""
    check(module, type)
    fill(module, source, values, TYPES[type])
    module.save_pretrained(folder)


def check(module: nn.Module, type: str) -> None:
    """Throws where transformers could not write the module."""
    if not hasattr(module, "save_pretrained"):
        raise CannotImport(
            f"{module.__class__.__name__} is no model of transformers: take its weights with "
            "zero.load_weights"
        )
    if type not in TYPES:
        raise CannotImport(f"'{type}' is no type of weights, wanted {', '.join(TYPES)}")


def parser() -> argparse.ArgumentParser:
    from zero.importer.huggingface import TASKS

    result = argparse.ArgumentParser(
        prog="zero-export",
        description="Writes the weights of a run as a folder of transformers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("source", metavar="CHECKPOINT", help="a folder, or a safetensors file")
    result.add_argument(
        "function",
        nargs="?",
        metavar="FILE.py:FUNCTION",
        help="the function that zero-import was given",
    )
    result.add_argument("-o", "--output", required=True, metavar="FOLDER")
    result.add_argument("--type", choices=sorted(TYPES), default="f32")
    group = result.add_argument_group("Hugging Face models")
    group.add_argument(
        "--hf", metavar="FOLDER", help="a folder with a config.json of transformers, or the file"
    )
    group.add_argument("--task", choices=sorted(TASKS), default="causal-lm")
    return result


def main(words: list[str] | None = None) -> int:
    from zero.importer.cli import load
    from zero.importer.huggingface import from_config

    arguments = parser().parse_args(words)
    try:
        if bool(arguments.hf) == bool(arguments.function):
            raise CannotImport("wanted either FILE.py:FUNCTION or --hf FOLDER")
        if arguments.hf:
            module, _ = from_config(arguments.hf, arguments.task, sequence=1, micro_batch=1)
        else:
            module, _ = load(arguments.function)
        save_pretrained(module, arguments.source, arguments.output, arguments.type)
    except (CannotImport, CheckpointError, OSError) as error:
        print(f"zero-export: error: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.output}: {module.__class__.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
