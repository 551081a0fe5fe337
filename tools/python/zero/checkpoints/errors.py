"""What reading and writing checkpoints raises."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from typing import Any, Callable, Iterator

from zero.errors import ArgumentError
from zero.files import check_regular


class CheckpointError(ArgumentError):
    """A checkpoint is damaged, incomplete, of no known form or of another model; nothing has
    changed."""


class Damage(Exception):
    """What is wrong with a checkpoint, where the file is not known; `reading` adds it."""


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """What fails inside is one error that names the file: a damaged file may say
    anything, and fails wherever what it says is used."""
    try:
        yield
    except (CheckpointError, MemoryError):
        raise
    except Damage as error:
        raise CheckpointError(f"{path}: {error}") from None
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"{error.filename or path}: cannot be read: {reason}") from None
    except Exception as error:
        raise CheckpointError(
            f"{path}: is damaged, or of an unknown layout: {type(error).__name__}: {error}"
        ) from error


def naming_file(method: Callable) -> Callable:
    """A method of something that a file says: what fails in it names `self.path`."""

    @functools.wraps(method)
    def wrapped(self, *arguments):
        with reading(self.path):
            return method(self, *arguments)

    return wrapped


def size_of(path: str) -> int:
    """Bytes of a regular file; opening a pipe would wait for a writer."""
    with reading(path):
        status = os.stat(path)
        check_regular(path, status)
    return status.st_size


def checked_name(name: Any, path: str) -> str:
    """The name of a tensor that safetensors files can have."""
    if isinstance(name, str) and name not in ("", "__metadata__"):
        with contextlib.suppress(UnicodeEncodeError):
            name.encode()
            return name
    raise CheckpointError(
        f"{path}: has a tensor of the name {name!r}, wanted a text that is not empty, is valid "
        "Unicode and is not '__metadata__', which no tensor of a safetensors file can be called"
    )


def count_of(value: Any, what: str, path: str) -> int:
    """A whole number that is not negative."""
    if isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value < 2**63:
        if value == int(value):
            return int(value)
    raise CheckpointError(f"{path}: {what} is {value!r:.80}, wanted a whole number, 0 or more")
