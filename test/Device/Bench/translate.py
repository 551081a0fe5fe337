"""Writes a .cu file as C++ for the host's compiler: translate.py FILE.cu OUTPUT.

Only what is no C++ changes: launches, kernels' heads and shared memory of the
launch's size. Lines keep their numbers.
"""

import re
import sys


class Untranslatable(Exception):
    pass


def closing(text, at):
    """Where the bracket that opens at `at` closes."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth = []
    for i in range(at, len(text)):
        if text[i] in pairs:
            depth.append(pairs[text[i]])
        elif depth and text[i] == depth[-1]:
            depth.pop()
            if not depth:
                return i
    raise Untranslatable(f"a bracket does not close: {text[at:at + 40]!r}")


def callee(text, end):
    """Where the name begins that ends at `end`: an identifier, perhaps with
    template arguments."""
    i = end
    while text[i - 1].isspace():
        i -= 1
    if text[i - 1] == ">":
        depth = 0
        while True:
            i -= 1
            depth += {">": 1, "<": -1}.get(text[i], 0)
            if depth == 0:
                break
        while text[i - 1].isspace():
            i -= 1
    match = re.search(r"[A-Za-z_]\w*$", text[:i])
    if not match:
        raise Untranslatable(f"no kernel before a launch: {text[end - 40:end]!r}")
    return match.start()


def launches(text):
    while "<<<" in text:
        at = text.index("<<<")
        end = text.index(">>>", at)
        begin = callee(text, at)
        kernel, configuration = text[begin:at], text[at + 3:end]
        text = (text[:begin] + f"::zrt::bench::Launch({configuration})([=](auto... each) "
                f"{{ return {kernel}(each...); }})" + text[end + 3:])
    return text


def first_argument(text):
    """Up to the comma that is in no bracket."""
    depth = 0
    for i, letter in enumerate(text):
        depth += {"(": 1, "[": 1, "<": 1, ")": -1, "]": -1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            return text[:i]
    return text


KERNEL = re.compile(r"__global__\s+void\s+")
BOUNDS = re.compile(r"__launch_bounds__\s*\(")
NAME = re.compile(r"\s*(\w+)\s*\(")


def heads(text):
    """A kernel begins by telling its name and bounds."""
    out, at = [], 0
    for match in KERNEL.finditer(text):
        out.append(text[at:match.end()])
        at = match.end()
        bounds = "0"
        if BOUNDS.match(text, at):
            opening = text.index("(", at)
            close = closing(text, opening)
            bounds = " ".join(first_argument(text[opening + 1:close]).split())
            out.append("\n" * text.count("\n", at, close))
            at = close + 1
        name = NAME.match(text, at)
        if not name:
            raise Untranslatable(f"no kernel after {match.group()!r}")
        close = closing(text, name.end() - 1)
        brace = re.compile(r"\s*\{").match(text, close + 1)
        if not brace:
            continue  # declared only
        out.append(text[at:brace.end()] + f' ::zrt::bench::enter("{name.group(1)}", {bounds});')
        at = brace.end()
    return "".join(out) + text[at:]


def shared(text):
    return re.sub(r"extern\s+__shared__\s+(\w+)\s+(\w+)\[\];",
                  r"\1 *const \2 = static_cast<\1 *>(::zrt::bench::dynamicShared());", text)


def main():
    source, output = sys.argv[1:]
    with open(source) as file:
        text = file.read()
    try:
        text = launches(heads(shared(text)))
    except Untranslatable as error:
        sys.exit(f"{source}: {error}")
    with open(output, "w") as file:
        file.write(f'#line 1 "{source}"\n{text}')


if __name__ == "__main__":
    main()
