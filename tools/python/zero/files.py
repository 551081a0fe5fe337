"""Files that are read: regular ones, and JSON that is not nested deep."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from typing import IO, Any

# As the runtime has it for its own files (runtime/program/Nesting.h).
MOST_NESTING = 100
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_ADVICE = {
    errno.EFBIG: ": raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: ": close some, or raise the limit on open files (ulimit -n)",
}
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def check_regular(path: str, status: os.stat_result) -> None:
    """Raises OSError where `status` is that of something else than a file."""
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise OSError(errno.EINVAL, f"found {kind}, wanted a regular file", path)


def _opener(path: str, flags: int) -> int:
    # Opening a pipe would wait for its other end, maybe for ever.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    try:
        check_regular(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_file(path: str | os.PathLike, mode: str = "rb", **settings) -> IO[Any]:
    """`open` of what is read. Raises OSError where it is no regular file."""
    return open(path, mode, opener=_opener, **settings)


def describe_error(error: OSError) -> str:
    """Why it failed, with advice where a limit was met."""
    return f"{error.strerror or error}{_ADVICE.get(error.errno, '')}"


def parse_json(text: str | bytes) -> Any:
    """`json.loads`. Raises ValueError where objects and lists are nested deeper than any
    file needs."""
    if isinstance(text, bytes):
        text = text.decode()
    depth = 0
    for found in _BRACKET.finditer(text):
        bracket = found[0]
        depth += bracket in "[{"
        depth -= bracket in "]}" and depth > 0
        if depth > MOST_NESTING:
            line = 1 + text.count("\n", 0, found.start())
            raise ValueError(
                f"line {line}: objects and lists are nested more than {MOST_NESTING} deep; "
                "remove the inner ones"
            )
    return json.loads(text)
