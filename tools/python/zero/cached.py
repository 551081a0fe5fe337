"""The command zero-import-cached: a model of --hf, imported once and then taken from a folder.

It prints the path of the model, which zero-plan --hf plans. An import is found again by
the configuration, the shape of a micro-batch and all versions that it was made with.
Only making it needs PyTorch and transformers.
"""

from __future__ import annotations

import argparse
import functools
import glob
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import signal
import sys
import tempfile
from typing import Iterator

from zero.errors import Error
from zero.files import open_file, parse_json

NEEDED = ("torch", "transformers", "safetensors")
_KEEP = 16  # hexadecimal digits of a digest


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="zero-import-cached",
        description="Imports a Hugging Face model for planning, once, and prints where it is.",
    )
    result.add_argument("--hf", required=True, metavar="FOLDER", help="or a config.json")
    result.add_argument("--task", default="causal-lm")
    result.add_argument("--sequence", type=int, required=True, metavar="N")
    result.add_argument(
        "--micro-batch",
        type=int,
        metavar="M",
        help="of standard input where it is left out: several, a number a line",
    )
    return result


def folder() -> str:
    """Where imports are kept: $ZERO_CACHE, or where the user's caches are."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("ZERO_CACHE") or os.path.join(caches, "zero", "models")


def configuration(path: str) -> dict:
    """What the file says, or that of the folder. Raises Error."""
    path = os.path.join(path, "config.json") if os.path.isdir(path) else path
    try:
        with open_file(path) as file:
            settings = parse_json(file.read())
    except (OSError, ValueError) as error:
        raise Error(f"'{path}' is no configuration of transformers: {error}") from None
    if not isinstance(settings, dict):
        raise Error(f"'{path}' is no configuration of transformers: wanted an object")
    return settings


def digest(*parts: str) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.encode() + b"\0")
    return whole.hexdigest()[:_KEEP]


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def versions() -> list[str]:
    """Of what decides how a model is imported, the importer's own files included."""
    files = glob.glob(
        os.path.join(os.path.dirname(__file__), "importer", "**", "*.py"), recursive=True
    )
    sources = hashlib.sha256()
    for path in sorted(files):
        with open(path, "rb") as file:
            sources.update(file.read())
    return [*(f"{name} {version(name)}" for name in NEEDED), sources.hexdigest()]


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def place(arguments: argparse.Namespace) -> tuple[str, str]:
    """Where the import is, and how all imports of the same model begin."""
    settings = json.dumps(configuration(arguments.hf), sort_keys=True)
    shape = (arguments.task, str(arguments.sequence), str(arguments.micro_batch))
    start = os.path.join(folder(), digest(settings, *shape))
    return f"{start}-{digest(*versions())}.mlir", start


def import_to(path: str, arguments: argparse.Namespace) -> None:
    """Writes the model, all of it or nothing."""
    # These import PyTorch.
    from zero.importer.cli import import_for_planning
    from zero.importer.errors import CannotImport

    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, part = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".part")
    os.close(handle)
    try:
        import_for_planning(arguments, part)
        os.replace(part, path)
    except CannotImport as error:
        raise Error(str(error)) from None
    finally:
        if os.path.exists(part):
            os.unlink(part)


def find(arguments: argparse.Namespace) -> str:
    """The path of the model; imports it where it is not there. Raises Error."""
    path, start = place(arguments)
    if os.path.exists(path):
        return path
    lacking = missing()
    if not lacking:
        note(f"imports '{arguments.hf}' once, into {folder()}")
        import_to(path, arguments)
        return path
    # Other versions imported it, which is better than nothing.
    known = sorted(glob.glob(f"{glob.escape(start)}-*.mlir"), key=os.path.getmtime)
    if known:
        note(f"{' and '.join(lacking)} are not installed: takes the import of other versions")
        return known[-1]
    raise Error(
        f"'{arguments.hf}' has to be imported once, which needs {', '.join(lacking)}: "
        "pip install 'zero-compiler[huggingface]'; from then on it is in "
        f"'{folder()}', and planning needs none of them"
    )


@functools.cache
def note(text: str) -> None:
    """Once, of several models."""
    print(f"zero-import-cached: remark: {text}", file=sys.stderr)


def asked(arguments: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """The arguments with each micro-batch."""
    if arguments.micro_batch is not None:
        yield arguments
        return
    # Who asks ends this process with what it no longer wants; a part of a file goes as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for line in sys.stdin:
        try:
            arguments.micro_batch = int(line)
        except ValueError:
            raise Error(f"found the micro-batch '{line.strip()}', wanted a number") from None
        yield arguments


def main(words: list[str] | None = None) -> int:
    arguments = parser().parse_args(words)
    try:
        for one in asked(arguments):
            print(find(one), flush=True)
    except (Error, OSError) as error:
        print(f"zero-import-cached: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
