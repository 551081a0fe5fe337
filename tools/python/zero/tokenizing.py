"""The command zero-tokenize: text to the token files that executables read."""

from __future__ import annotations

import argparse
import os
import struct
import sys
from collections.abc import Iterator
from typing import Any

import numpy

from zero.files import describe_error

# llm.c's headers: magic number, version, and the type of the ids behind them.
NARROW = (20240520, 1, numpy.dtype("<u2"))
WIDE = (20240801, 7, numpy.dtype("<u4"))
HEADER_WORDS = 256
MOST_TOKENS = 2**31 - 1
# A document is tokenized in pieces of so many characters.
PIECE = 1 << 22
# Characters on both sides of a cut that must tokenize as if there were none.
MARGIN = 512
SEPARATOR = "<|endoftext|>"

EXAMPLES = """\
examples:
  zero-tokenize --tokenizer tokenizer.json -o train.bin book1.txt book2.txt
  zero-tokenize --tokenizer tokenizer.json --separator '<doc>' -o train.bin all.txt
  zero-tokenize --tokenizer tokenizer.json --encode 'Once upon a time'
  zero-tokenize --tokenizer tokenizer.json --decode '7454 2402 257 640'
"""


class CannotTokenize(Exception):
    """What was found and what to do, in one sentence."""


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="zero-tokenize",
        description="Writes text as a token file of llm.c's format, by a tokenizer of Hugging Face.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("files", nargs="*", metavar="FILE", help="text in UTF-8")
    result.add_argument("--tokenizer", required=True, metavar="TOKENIZER.json")
    result.add_argument("-o", "--output", metavar="FILE.bin")
    result.add_argument(
        "--separator", metavar="LINE", help="a line that begins a document; files always do"
    )
    group = result.add_mutually_exclusive_group()
    group.add_argument(
        "--separator-token",
        metavar="TOKEN",
        help=f"the token before each document (default: {SEPARATOR})",
    )
    group.add_argument("--no-separator-token", action="store_true", help="no such token")
    result.add_argument("--encode", metavar="TEXT", help="print the ids of TEXT, as for --prompt")
    result.add_argument("--decode", metavar="IDS", help="print the text of ids, as --sample writes")
    return result


def load(path: str) -> Any:
    """The tokenizer in the file."""
    try:
        import tokenizers
    except ImportError:
        raise CannotTokenize(
            "the package 'tokenizers' is missing: pip install 'zero-compiler[tokenize]'"
        ) from None
    if not os.path.isfile(path):
        raise CannotTokenize(f"'{path}' is no file: wanted the tokenizer.json of a model")
    try:
        result = tokenizers.Tokenizer.from_file(path)
    except Exception as error:  # what the library raises has no class of its own
        raise CannotTokenize(f"'{path}' is no tokenizer: {error}") from None
    # A file may ask for either; data wants all tokens and no others.
    result.no_truncation()
    result.no_padding()
    return result


def encode(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


def separator_of(tokenizer: Any, arguments: argparse.Namespace) -> list[int]:
    """What comes before each document."""
    if arguments.no_separator_token:
        return []
    token = arguments.separator_token or SEPARATOR
    found = tokenizer.token_to_id(token)
    if found is None:
        raise CannotTokenize(
            f"the tokenizer has no token '{token}' to separate documents: name one with "
            "--separator-token, or give --no-separator-token"
        )
    return [found]


def pieces(path: str, separator: str | None) -> Iterator[tuple[bool, str]]:
    """Text of the file in order, with True where a document begins."""
    begins = True
    try:
        # Newlines stay what they are.
        with open(path, encoding="utf-8", newline="") as file:
            if separator is None:
                while text := file.read(PIECE):
                    yield begins, text
                    begins = False
                return
            lines: list[str] = []
            size = 0
            for line in file:
                starts = line.rstrip("\r\n") == separator
                if lines and (starts or size >= PIECE):
                    yield begins, "".join(lines)
                    begins, lines, size = False, [], 0
                if starts:
                    begins = True
                    continue
                lines.append(line)
                size += len(line)
            if lines:
                yield begins, "".join(lines)
    except UnicodeDecodeError as error:
        raise CannotTokenize(f"'{path}' is no text in UTF-8: {error.reason}") from None
    except OSError as error:
        raise CannotTokenize(f"cannot read '{path}': {error.strerror}") from None


def documents(path: str, separator: str | None) -> Iterator[Iterator[str]]:
    """The documents of the file, each as its pieces."""
    stream = pieces(path, separator)
    ahead = next(stream, None)

    def document(first: str) -> Iterator[str]:
        nonlocal ahead
        yield first
        while (ahead := next(stream, None)) is not None and not ahead[0]:
            yield ahead[1]

    while ahead is not None:
        yield document(ahead[1])


def find_cut(tokenizer: Any, text: str) -> int:
    """The last place before which `text` can be tokenized by itself: a space behind a
    letter or a digit where that changes no token nearby."""
    at = len(text) - MARGIN
    for _ in range(100):
        at = text.rfind(" ", 1, max(at, 0))
        if at < 0:
            break
        if not text[at - 1].isalnum():
            continue
        # From a cut on, so that both begin in the same state.
        left, right = text[max(0, at - MARGIN) : at], text[at : at + MARGIN]
        both = encode(tokenizer, left + right)
        if both == encode(tokenizer, left) + encode(tokenizer, right):
            return at
    raise CannotTokenize(
        "this tokenizer makes other tokens of a document in pieces: give documents of at "
        f"most {PIECE} characters, by --separator or as files"
    )


def tokens_of(tokenizer: Any, document: Iterator[str]) -> Iterator[list[int]]:
    rest = ""
    for piece in document:
        rest += piece
        if len(rest) > PIECE:
            cut = find_cut(tokenizer, rest)
            yield encode(tokenizer, rest[:cut])
            rest = rest[cut:]
    yield encode(tokenizer, rest)


def write(tokenizer: Any, arguments: argparse.Namespace) -> str:
    """Writes the output. Returns what it holds, in words."""
    vocabulary = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
    magic, version, dtype = NARROW if vocabulary <= 1 << 16 else WIDE
    separator = separator_of(tokenizer, arguments)
    count = number = 0
    partial = f"{arguments.output}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as out:
            out.write(bytes(4 * HEADER_WORDS))
            for path in arguments.files:
                for document in documents(path, arguments.separator):
                    number += 1
                    out.write(numpy.array(separator, dtype).tobytes())
                    count += len(separator)
                    for ids in tokens_of(tokenizer, document):
                        out.write(numpy.array(ids, dtype).tobytes())
                        count += len(ids)
                    if count > MOST_TOKENS:
                        raise CannotTokenize(
                            f"more than {MOST_TOKENS} tokens, which the format counts: write "
                            "several files"
                        )
            if count == 0:
                raise CannotTokenize("the files hold no text")
            out.seek(0)
            out.write(struct.pack("<3I", magic, version, count))
        os.replace(partial, arguments.output)
    except OSError as error:
        why = describe_error(error)
        raise CannotTokenize(f"cannot write '{arguments.output}': {why}") from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return (
        f"{arguments.output}: {count} tokens of {number} documents, {8 * dtype.itemsize} bits "
        f"each, of a vocabulary of {vocabulary}"
    )


def run(arguments: argparse.Namespace) -> None:
    tasks = [arguments.encode is not None, arguments.decode is not None, bool(arguments.files)]
    if sum(tasks) != 1 or tasks[2] != bool(arguments.output):
        raise CannotTokenize("wanted files and -o FILE.bin, or --encode TEXT, or --decode IDS")
    if arguments.output and any(
        os.path.exists(arguments.output) and os.path.samefile(arguments.output, path)
        for path in [arguments.tokenizer, *arguments.files]
        if os.path.exists(path)
    ):
        raise CannotTokenize(f"'{arguments.output}' is read: name another output")
    tokenizer = load(arguments.tokenizer)
    if arguments.encode is not None:
        print(*encode(tokenizer, arguments.encode))
    elif arguments.decode is not None:
        words = arguments.decode.split()
        if not all(word.isdecimal() for word in words):
            raise CannotTokenize("--decode wants token ids: whole numbers with spaces between")
        print(tokenizer.decode([int(word) for word in words], skip_special_tokens=False))
    else:
        print(write(tokenizer, arguments))


def main(words: list[str] | None = None) -> int:
    try:
        run(parser().parse_args(words))
    except CannotTokenize as error:
        print(f"zero-tokenize: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
