"""Prints the modules of a file of cases, for -split-input-file.

A part of the file begins with a line `=== base NAME: what it is` or
`=== NAME: what is changed`. A base is a module. Under the other lines stand
changes of it, as `diff` writes them: lines of the base begin with a space, those
that go with `-`, those that come with `+`, and `@@` ends a run of neighbours.
"""

import sys


def parts(path):
    """(heading, lines) of each part; what comes before the first is for lit."""
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("=== "):
                found.append((line[4:], []))
            elif found:
                found[-1][1].append(line)
    return found


def runs(lines):
    """The changes as (lines of the base, lines instead)."""
    before, after = [], []
    for line in [*lines, "@@"]:
        if line == "@@":
            yield before, after
            before, after = [], []
        elif line and line[0] in " -+":
            if line[0] != "+":
                before.append(line[1:])
            if line[0] != "-":
                after.append(line[1:])
        elif line:
            sys.exit(f"neither a space, - nor + begins '{line}'")


def changed(base, lines, heading):
    result, at = [], 0
    for before, after in runs(lines):
        places = [i for i in range(at, len(base) - len(before) + 1)
                  if base[i : i + len(before)] == before]
        if not before or len(places) != 1:
            sys.exit(f"{heading}: {len(places)} places for the lines {before}")
        result += base[at : places[0]] + after
        at = places[0] + len(before)
    return result + base[at:]


def main():
    bases, modules = {}, []
    for heading, lines in parts(sys.argv[1]):
        name = heading.partition(":")[0]
        if name.startswith("base "):
            bases[name[5:]] = module = [line for line in lines if line]
        else:
            module = changed(bases[name], lines, heading)
        modules.append("\n".join([f"// {heading}", *module, ""]))
    print("\n// -----\n".join(modules))


main()
