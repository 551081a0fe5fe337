"""Moves the upload of zero.apply, with --read the read of parameters, and with --waited
also its wait, up to before the last line that matches.

Usage: move_upload.py [--read] [--waited] <pattern> <schedule>
"""

import re
import sys

*flags, pattern, path = sys.argv[1:]
waited = "--waited" in flags
moved = "zero.read_parameters" if "--read" in flags else "zero.upload"
lines = open(path).read().splitlines()
start = next(i for i, line in enumerate(lines) if "zero.apply" in line)
first = next(i for i in range(start, len(lines)) if moved in lines[i])
taken = lines[first:first + 1 + waited]
del lines[first:first + 1 + waited]
place = max(i for i in range(start, first) if re.search(pattern, lines[i]))
lines[place:place] = taken
print("\n".join(lines))
