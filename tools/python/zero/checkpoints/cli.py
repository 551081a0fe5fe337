"""The command zero-convert-checkpoint."""

from __future__ import annotations

import argparse
import sys

from zero.checkpoints.errors import CheckpointError
from zero.checkpoints.opening import is_own, read_checkpoint
from zero.checkpoints.writer import write_checkpoint, write_weights

EXAMPLES = """\
examples:
  zero-convert-checkpoint output/ -o run
      the newest checkpoint of a run of DeepSpeed as one that --resume reads:
      ./train --data corpus.bin --steps 10000 --checkpoint run --resume
  zero-convert-checkpoint output/global_step500 -o model.safetensors
      its weights alone, whole and f32
"""


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="zero-convert-checkpoint",
        description="Reads a checkpoint of DeepSpeed (ZeRO stages 0 to 3, universal) or of "
        "torch.distributed.checkpoint, also in the folders of accelerate's FSDP.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("source", metavar="FOLDER", help="a checkpoint, or a folder with 'latest'")
    result.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUTPUT",
        help="a folder for a checkpoint, or FILE.safetensors for the weights alone",
    )
    result.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="the seed of the run that goes on, as its --seed (default 0)",
    )
    result.add_argument(
        "--running-statistics",
        action="store_true",
        help="those of batch norms, too, for a model that was imported in train mode",
    )
    return result


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    weights_only = arguments.output.endswith(".safetensors")
    try:
        if is_own(arguments.source):
            raise CheckpointError(
                f"{arguments.source}: is a checkpoint of zero already; zero-checkpoint export "
                "writes its weights"
            )
        run = read_checkpoint(arguments.source, weights_only)
        if arguments.running_statistics:
            run.parameters += run.statistics
        if weights_only:
            write_weights(run, arguments.output)
            written = arguments.output
        else:
            written = write_checkpoint(run, arguments.output, arguments.seed)
    except (CheckpointError, OSError) as error:
        print(f"zero-convert-checkpoint: error: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print(
            f"zero-convert-checkpoint: error: {arguments.source}: there is not enough memory",
            file=sys.stderr,
        )
        return 1
    for remark in run.remarks:
        print(f"zero-convert-checkpoint: remark: {remark}", file=sys.stderr)
    elements = sum(parameter.value.elements for parameter in run.parameters)
    print(
        f"{written}: {run.origin}: {len(run.parameters)} parameters of {elements} elements, "
        f"after update {run.steps + run.skipped}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
