#!/usr/bin/env python3
"""Does what a page of documentation says, and compares what it says is printed.

    tutorial.py [--with NEED]... [--only NEED] PAGE FOLDER
    tutorial.py --check ROOT

A listing after a line that ends in `NAME`: is saved in FOLDER as NAME. A listing
marked `console` has commands, which run in a shell in FOLDER, and after each what
it prints: line by line, `...` for any lines or, at the end of a line, for the rest
of it. A fraction may differ by a third, since threads and CPUs differ in
rounding and training carries that on; everything else is exact.

An indented listing is a script, all of which runs in a shell in FOLDER and has to
succeed. Comments, which readers do not see, say more, each on lines of its own:

    <!-- run: COMMANDS -->      runs COMMANDS, which make what a reader has already;
                                $ROOT is the folder of the checkout
    <!-- needs: NEED -->        the next listing, or `run`, or both, wants NEED and runs
                                only with `--with NEED`, or `--only NEED`, which leaves
                                out listings that do not want it
    <!-- python: LINES -->      the next listing is of Python, and runs in FOLDER behind LINES
    <!-- not run: REASON -->    the next listing does not run

`--check` compares all pages of the checkout ROOT with the tests: each listing of
commands runs or is marked, and each page with such a listing is one of a test.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

NUMBER = re.compile(r"\d[\d,]*\.\d+")
SAVED = ("mlir", "json", "python", "c", "text")
LANGUAGES = SAVED + ("c++", "cmake", "console")
COMMAND = re.compile(r"(\$ |\./|(zero-[a-z-]+|pip3?|python3?|mpirun|torchrun|export|tools/\w+) )")
# Not those of docs/reference, which are written from the sources.
PAGES = ("*.md", "docs/*.md", "docs/decisions/*.md")
# What says which pages run.
TESTS = ("test/Pages/*.test", "test/Integration/*.test", "tools/python/tests/test_tutorial.py")


class Listing:
    """A listing, or commands in a comment: the language "script"."""

    def __init__(self, line, before, language, lines, marks):
        self.line, self.before, self.language, self.lines = line, before, language, lines
        self.hidden, self.marks = False, marks
        self.needs = {text for kind, text in marks if kind == "needs"}
        self.prelude = [text for kind, text in marks if kind == "python"]
        self.not_run = [text for kind, text in marks if kind == "not run"]

    def runs(self):
        wanted = self.language in ("script", "console") or self.prelude
        return bool(wanted) and not self.not_run


def comment(lines, at):
    """(kind, text, the line behind it) of the comment that begins at `at`."""
    end = next((i for i in range(at, len(lines)) if lines[i].rstrip().endswith("-->")), None)
    if end is None:
        raise SystemExit(f"line {at + 1}: the comment has no end")
    text = "\n".join(lines[at : end + 1]).strip()[4:-3].strip()
    kind, _, rest = text.partition(":")
    return kind, rest.strip(), end + 1


def fenced(lines, at):
    """(lines, the line behind it) of the listing between fences that begins at `at`."""
    end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), len(lines))
    return lines[at + 1 : end], end + 1


def indented(lines, at):
    """(lines, the line behind it) of the indented listing that begins at `at`."""
    end = at
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return [line[4:] for line in lines[at:end]], end


def listings(text):
    """The listings of a page, and the commands in its comments."""
    lines = text.splitlines()
    before, marks, at, found = "", [], 0, []
    in_list = False  # where an indented line goes on with an item
    while at < len(lines):
        line, start = lines[at], at + 1
        if line.startswith("<!-- ") and re.match(r"<!-- (run|needs|python|not run)\b", line):
            kind, rest, at = comment(lines, at)
            if not rest:
                raise SystemExit(f"line {start}: '{kind}' says nothing")
            if kind == "run":
                found.append(Listing(start, before, "script", rest.splitlines(), marks))
                found[-1].hidden = True
            else:
                marks.append((kind, rest))
            continue
        if line.startswith("```"):
            block, at = fenced(lines, at)
            found.append(Listing(start, before, line[3:], block, marks))
            marks = []
        elif line.startswith("    ") and not in_list and not (at and lines[at - 1].strip()):
            block, at = indented(lines, at)
            found.append(Listing(start, before, "script", block, marks))
            marks = []
        else:
            if line.strip():
                if marks and not (found and found[-1].hidden and found[-1].marks is marks):
                    raise SystemExit(f"line {start}: a comment marks a listing, and there is none")
                before, marks = line, []
                item = re.match(r"([-*]|\d+\.) ", line)
                in_list = bool(item) or in_list and line.startswith(" ")
            at += 1
    return found


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


def shell(command, folder, *options):
    return subprocess.run(
        ["bash", *options, "-c", command],
        cwd=folder,
        env=dict(os.environ, ROOT=str(pathlib.Path(__file__).resolve().parents[2])),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1200,
    )


def run_script(page, listing, folder):
    script = "\n".join([*listing.prelude, *listing.lines])
    if listing.prelude:
        pathlib.Path(folder, "listing.py").write_text(script + "\n", encoding="utf-8")
        run = shell(f"'{sys.executable}' listing.py", folder)
    else:
        run = shell(script, folder, "-e", "-o", "pipefail")
    if run.returncode:
        sys.exit(
            f"{page}, line {listing.line}, has\n{script}\n"
            f"which ends with status {run.returncode} and prints\n{run.stdout}"
        )


def run_console(page, listing, folder):
    """The number of commands, all of which print what the listing says."""
    compared = 0
    for command, wanted in commands(listing.lines):
        run = shell(command, folder)
        if not matches(wanted, run.stdout.splitlines()):
            sys.exit(
                f"{page} says that\n{command}\nprints\n"
                + "\n".join(wanted)
                + "\nand it prints\n"
                + run.stdout
            )
        compared += 1
    return compared


def run_page(page, folder, given, only):
    compared = scripts = 0
    for listing in listings(pathlib.Path(page).read_text(encoding="utf-8")):
        name = re.search(r"`([\w.]+)`:$", listing.before)
        if listing.language in SAVED and name:
            text = "\n".join(listing.lines) + "\n"
            pathlib.Path(folder, name[1]).write_text(text, encoding="utf-8")
        if not listing.runs() or not listing.needs <= given:
            continue
        if only and only not in listing.needs:
            continue
        if listing.language == "console":
            compared += run_console(page, listing, folder)
        else:
            run_script(page, listing, folder)
            scripts += not listing.hidden
    if not compared + scripts:
        sys.exit(f"{page} has nothing that runs")
    if compared:
        print(f"{compared} commands print what {page} says")
    if scripts:
        print(f"{scripts} scripts of {page} run")


def faults(page, text, tests):
    """What is wrong with the listings of a page."""
    found = listings(text)
    for listing in found:
        if listing.language not in LANGUAGES + ("script",):
            yield f"line {listing.line}: the language '{listing.language}' is unknown; wanted " + (
                ", ".join(LANGUAGES) + " or an indented listing of commands"
            )
        if listing.language == "text" and any(COMMAND.match(line) for line in listing.lines):
            yield f"line {listing.line}: commands are in a listing of text, which does not run"
        if listing.prelude and listing.language != "python":
            yield f"line {listing.line}: a listing that is not Python is marked 'python'"
        if listing.not_run and listing.language not in ("script", "console"):
            yield f"line {listing.line}: a listing that would not run is marked 'not run'"
    runs = [listing.line for listing in found if listing.runs()]
    tested = rf'tutorial\.py [^\n]*/{re.escape(page)} |"{re.escape(page)}"'
    if runs and not any(re.search(tested, test) for test in tests):
        yield f"line {runs[0]}: commands that no test runs; mark them 'not run', or test the page"


def check(root):
    """Prints what is wrong with all pages."""
    pages = [page for pattern in PAGES for page in sorted(root.glob(pattern))]
    tests = [test.read_text() for pattern in TESTS for test in root.glob(pattern)]
    wrong = 0
    for page in pages:
        name = str(page.relative_to(root))
        for fault in faults(name, page.read_text(encoding="utf-8"), tests):
            print(f"{name}, {fault}")
            wrong += 1
    print(f"{len(pages)} pages, {wrong} faults")
    sys.exit(bool(wrong or not pages))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--with", dest="given", action="append", default=[])
    parser.add_argument("--only")
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("page", nargs="?")
    parser.add_argument("folder", nargs="?")
    args = parser.parse_args()
    if args.check:
        check(args.check)
    run_page(args.page, args.folder, {*args.given, *filter(None, [args.only])}, args.only)


main()
