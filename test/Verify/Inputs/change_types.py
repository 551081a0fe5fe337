"""Changes each element type that a schedule states of ZeRO's operations, one at a time.

usage: change_types.py <zero-opt> <schedule.mlir>

No change may be verified, but those of a parameter's own type, from which loads convert.
"""

import re
import subprocess
import sys

TYPES = ("f32", "bf16", "f16")
ELEMENT = re.compile(r"(?<![a-wyz0-9])(?:f32|bf16|f16)(?![a-z0-9])")
SPLIT = "\n// -----\n"


def is_changed(line):
    return "zero." in line and not re.match(r" *zero\.(parameter|step) ", line)


def make_changes(lines):
    """(the changed line, the module)"""
    for number, line in enumerate(lines):
        for found in ELEMENT.finditer(line) if is_changed(line) else ():
            for other in TYPES:
                if other == found.group():
                    continue
                changed = line[: found.start()] + other + line[found.end() :]
                yield changed, "\n".join(lines[:number] + [changed] + lines[number + 1 :])


def verify(opt, text):
    """The modules that are verified, as they are printed."""
    command = [opt, "--split-input-file", "--zero-verify-schedule"]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit("crashes:\n" + result.stderr)
    return [each for each in result.stdout.split("// -----") if each.strip()]


def main():
    opt, path = sys.argv[1:]
    changes = list(make_changes(open(path).read().splitlines()))
    if not changes:
        sys.exit("found no type to change")
    if verify(opt, SPLIT.join(module for _, module in changes)):
        for changed, module in changes:
            if verify(opt, module):
                print("accepted: " + changed.strip())
    else:
        print("refused every change")
    print("%d changes" % len(changes), file=sys.stderr)


main()
