"""The command zero-import."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

import torch

from zero.errors import Error
from zero.importer.errors import CannotImport
from zero.importer.huggingface import TASKS, from_config, weights_beside, with_random_ids
from zero.importer.model import export

EXAMPLES = """\
examples:
  zero-import train.py:make -o model.mlir --weights model.safetensors
      make() returns (module, batch): module(**batch) is the loss, or has `.loss`
  zero-import --hf folder --task causal-lm --sequence 1024 --micro-batch 4 \\
      -o model.mlir --weights model.safetensors
      a folder of save_pretrained with its weights; --hf config.json for new ones
"""


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="zero-import",
        description="Imports a PyTorch model for zero-compile.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument(
        "function",
        nargs="?",
        metavar="FILE.py:FUNCTION",
        help="a function that returns (module, batch)",
    )
    result.add_argument("-o", "--output", required=True, metavar="MODEL.mlir")
    result.add_argument("--weights", metavar="MODEL.safetensors", help="write the weights, too")
    result.add_argument(
        "--output-tensor",
        action="append",
        default=[],
        metavar="NAME",
        help="a further output of the step, such as logits",
    )
    result.add_argument(
        "--eval", action="store_true", help="import the module in eval mode: without dropout"
    )
    result.add_argument(
        "--check",
        action="store_true",
        help="compare two updates with PyTorch's, by zero-compile, and refuse what differs",
    )
    group = result.add_argument_group("Hugging Face models")
    group.add_argument(
        "--hf",
        metavar="FOLDER",
        help="a folder of save_pretrained, whose weights --weights takes over, or a config.json",
    )
    group.add_argument(
        "--from-scratch", action="store_true", help="new weights, although the folder has some"
    )
    group.add_argument("--task", choices=sorted(TASKS), default="causal-lm")
    group.add_argument("--sequence", type=positive, metavar="N", help="tokens of a sample")
    group.add_argument(
        "--micro-batch", type=positive, metavar="M", help="samples of a micro-batch of one rank"
    )
    return result


def positive(word: str) -> int:
    value = int(word)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{word}: wanted 1 or more")
    return value


def load(word: str) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Calls FILE.py:FUNCTION."""
    path, colon, name = word.rpartition(":")
    if not colon or not path:
        raise CannotImport(f"'{word}': wanted FILE.py:FUNCTION")
    specification = importlib.util.spec_from_file_location("zero_import_model", path)
    if specification is None or specification.loader is None:
        raise CannotImport(f"'{path}' is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    try:
        specification.loader.exec_module(module)
    except FileNotFoundError:
        raise CannotImport(f"'{path}' does not exist") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise CannotImport(f"'{path}' has no function '{name}'")
    result = function()
    if (
        not isinstance(result, tuple)
        or len(result) != 2
        or not isinstance(result[0], torch.nn.Module)
        or not isinstance(result[1], Mapping)
    ):
        raise CannotImport(f"{word} must return (module, batch), a Module and a dictionary")
    return result[0], dict(result[1])


def of_hugging_face(arguments: argparse.Namespace) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The model of --hf, with the folder's weights where it has some and --weights wants
    them: a run never starts from other ones without a word."""
    folder = None if arguments.from_scratch else weights_beside(arguments.hf)
    if arguments.weights is None and folder:
        remark(f"the weights of '{folder}' are not taken: --weights FILE writes them")
    if arguments.weights is not None and not folder and not arguments.from_scratch:
        remark(f"'{arguments.hf}' has no weights: those of '{arguments.weights}' are new")
    return from_config(
        arguments.hf,
        arguments.task,
        arguments.sequence,
        arguments.micro_batch,
        with_values=arguments.weights is not None or arguments.check,
        weights=folder if arguments.weights is not None else None,
        remark=remark,
    )


def import_for_planning(arguments: argparse.Namespace, path: str) -> None:
    """Writes the model of a configuration without values, of which plans need none."""
    if arguments.task not in TASKS:
        raise CannotImport(f"--task {arguments.task}: wanted one of {', '.join(sorted(TASKS))}")
    module, batch = from_config(
        arguments.hf, arguments.task, arguments.sequence, arguments.micro_batch, with_values=False
    )
    export(module, batch, traces_all_layers=False).save(path)


def remark(text: str) -> None:
    print(f"zero-import: remark: {text}", file=sys.stderr)


def run(arguments: argparse.Namespace) -> None:
    if bool(arguments.hf) == bool(arguments.function):
        raise CannotImport("wanted either FILE.py:FUNCTION or --hf FOLDER")
    if arguments.from_scratch and not arguments.hf:
        raise CannotImport("--from-scratch is for --hf: a function makes its weights itself")
    if arguments.hf:
        for flag in ("sequence", "micro_batch"):
            if getattr(arguments, flag) is None:
                raise CannotImport(f"--hf wants --{flag.replace('_', '-')}")
        module, batch = of_hugging_face(arguments)
    else:
        module, batch = load(arguments.function)
    if arguments.eval:
        module.eval()
    # Models of transformers run the layers of a list one after the other.
    model = export(
        module, batch, outputs=arguments.output_tensor, traces_all_layers=not arguments.hf
    )
    if model.remark:
        remark(model.remark)
    if arguments.check:
        # What is refused is not written.
        from zero.selfcheck import check_model

        if arguments.hf:
            batch = with_random_ids(module, batch)
        print(check_model(module, batch, model, arguments.output_tensor))
    model.save(arguments.output, arguments.weights)


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    try:
        run(arguments)
    except (CannotImport, Error) as error:
        print(f"zero-import: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
