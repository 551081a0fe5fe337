#!/usr/bin/env python3
"""Does what docs/Tutorial.md says, and compares what it says is printed.

    tutorial.py PAGE FOLDER

A listing after a line that ends in `NAME`: is saved in FOLDER as NAME. A listing
marked `console` has commands, which run in a shell in FOLDER, and after each what
it prints: line by line, `...` for any lines or, at the end of a line, for the rest
of it. A fraction may differ by a third, since threads and CPUs differ in
rounding and training carries that on; everything else is exact.
"""
import re
import subprocess
import sys

NUMBER = re.compile(r"\d[\d,]*\.\d+")


def listings(text):
    """Yields (the line before, the language, the lines) of each listing."""
    before, block, language = "", None, ""
    for line in text.splitlines():
        if line.startswith("```"):
            if block is None:
                block, language = [], line[3:]
            else:
                yield before, language, block
                block = None
        elif block is not None:
            block.append(line)
        elif line.strip():
            before = line


def commands(block):
    """Yields (command, the lines that it prints) of a listing."""
    command, printed = None, []
    for line in block:
        if line.startswith("$ "):
            if command is not None:
                yield command, printed
            command, printed = line[2:], []
        elif line.startswith("> "):
            command += "\n" + line[2:]
        else:
            printed.append(line)
    if command is not None:
        yield command, printed


def is_line(wanted, found):
    if wanted.endswith("..."):
        wanted = wanted[:-3].rstrip()
        found = found[: len_of_prefix(wanted, found)].rstrip()
    if NUMBER.sub("#", wanted) != NUMBER.sub("#", found):
        return False
    pairs = zip(NUMBER.findall(wanted), NUMBER.findall(found))
    return all(
        abs(float(a.replace(",", "")) - float(b.replace(",", "")))
        <= float(a.replace(",", "")) / 3
        for a, b in pairs
    )


def len_of_prefix(wanted, found):
    """Where in `found` ends what `wanted` has, numbers of any length."""
    pattern = "".join(
        r"\d[\d,]*\.\d+" if NUMBER.fullmatch(part) else re.escape(part)
        for part in re.split(r"(\d[\d,]*\.\d+)", wanted)
    )
    match = re.match(pattern, found)
    return match.end() if match else len(found)


def matches(wanted, found):
    """Whether the lines `found` are what the listing shows."""
    if not wanted:
        return not found
    if wanted[0] == "...":
        return any(matches(wanted[1:], found[i:]) for i in range(len(found) + 1))
    return bool(found) and is_line(wanted[0], found[0]) and matches(wanted[1:], found[1:])


def main():
    page, folder = sys.argv[1:]
    compared = 0
    for before, language, block in listings(open(page, encoding="utf-8").read()):
        name = re.search(r"`([\w.]+)`:$", before)
        if language in ("mlir", "json", "python") and name:
            with open(f"{folder}/{name[1]}", "w", encoding="utf-8") as file:
                file.write("\n".join(block) + "\n")
        if language != "console":
            continue
        for command, wanted in commands(block):
            run = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=1200,
            )
            found = run.stdout.splitlines()
            if not matches(wanted, found):
                sys.exit(
                    f"{page} says that\n{command}\nprints\n"
                    + "\n".join(wanted)
                    + "\nand it prints\n"
                    + run.stdout
                )
            compared += 1
    print(f"{compared} commands print what {page} says")


main()
