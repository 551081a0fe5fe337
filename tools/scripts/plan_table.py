#!/usr/bin/env python3
"""Prints a table of plans: plan_table.py COMMANDS <SPECIFICATION

The last of COMMANDS is `zero-plan MODEL OPTION...`, to which each row of the table adds
options; those before it make the model, and run in bash. The specification has a line for
each column, an empty line, and a line for each row:

    exposed communication: prediction/exposed_seconds
    host: memory/* on host/bytes

    as they are
    8 bits: quantized-weights=8
    and overlapped: overlap=true

A column is its title and the place of a figure in what `zero-plan --json` writes; `*`
stands for any letters of a name, figures of several places are added, and "most" before
the place takes the largest. Bytes, seconds and fractions get their units. Where no row
has a figure the column is an error; where some have none, their cells are empty.

A row is its title and what is added to the command: options of zero-plan, which begin
with `--`, and others, which are of its pipeline. A title that begins with "and" adds to
the row above it.
"""

import fnmatch
import json
import re
import shlex
import subprocess
import sys

PIPELINE = "--pipeline="


def plan(command, options):
    """The figures of a plan."""
    pipelines = [word.removeprefix(PIPELINE) for word in command if word.startswith(PIPELINE)]
    pipelines += [option for option in options if not option.startswith("--")]
    done = subprocess.run(
        [*(word for word in command if not word.startswith(PIPELINE)),
         *(option for option in options if option.startswith("--")),
         PIPELINE + " ".join(pipelines), "--json", "-"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"plan_table.py: {shlex.join(done.args)} ends with status "
                 f"{done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def find(figures, names):
    """All figures whose places the names match."""
    if not names:
        return [figures]
    if isinstance(figures, list):
        figures = {str(i): item for i, item in enumerate(figures)}
    if not isinstance(figures, dict):
        return []
    return [figure for name, inner in figures.items() if fnmatch.fnmatchcase(name, names[0])
            for figure in find(inner, names[1:])]


def scaled(value, units, step):
    """In the largest unit of which there is one or more."""
    power = 0
    while power + 1 < len(units) and value >= step:
        value, power = value / step, power + 1
    return value, units[power]


def text_of(figure, place):
    """With its unit, which the place's last word tells."""
    if place.endswith(("bytes", "memory")):
        value, unit = scaled(figure, ("B", "KiB", "MiB", "GiB", "TiB"), 1024)
        return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"
    if place.endswith("seconds"):
        value, unit = scaled(figure * 1e6, ("us", "ms", "s"), 1000)
        return f"{value:.2f} {unit}"
    if isinstance(figure, float) and figure < 1:
        return f"{100 * figure:.1f} %"
    return f"{figure:,.0f}"


def cell(figures, place):
    """The text of a figure of a plan, empty where it has none."""
    combine = max if place.startswith("most ") else sum
    found = find(figures, place.removeprefix("most ").split("/"))
    return text_of(combine(found), place) if found else ""


def read_lines(text):
    """(title, the rest) of each line."""
    return [tuple(part.strip() for part in line.partition(": ")[::2])
            for line in text.splitlines()]


def read_rows(text):
    """(what stands in the row's first column, all options that it adds) of each row."""
    rows = []
    for title, added in read_lines(text):
        options = shlex.split(added)
        above = rows[-1][1] if title.startswith("and ") else []
        rows.append((f"{title}: `{added}`" if added else title, above + options))
    return rows


def make_table(command, specification):
    """Lines of the table."""
    columns, rows = specification.strip("\n").split("\n\n")
    columns, rows = read_lines(columns), read_rows(rows)
    cells = [[cell(figures, place) for _, place in columns]
             for figures in (plan(command, options) for _, options in rows)]
    for i, (title, place) in enumerate(columns):
        if not any(row[i] for row in cells):
            sys.exit(f"plan_table.py: no plan has a figure '{place}', of the column '{title}'; "
                     "wanted a place in what `zero-plan --json -` writes")
    yield "| | " + " | ".join(title for title, _ in columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for (title, _), row in zip(rows, cells):
        yield re.sub(" +", " ", f"| {title} | " + " | ".join(row) + " |")


def main():
    *before, command = sys.argv[1].replace("\\\n", " ").strip().splitlines()
    subprocess.run(["bash", "-e", "-c", "\n".join(before)], check=True)
    print("\n".join(make_table(shlex.split(command), sys.stdin.read())))


if __name__ == "__main__":
    main()
