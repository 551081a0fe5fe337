"""Moves the upload of zero.apply, and with --waited also its wait, up to before the
last line that matches.

Usage: move_upload.py [--waited] <pattern> <schedule>
"""

import re
import sys

waited = sys.argv[1] == "--waited"
pattern, path = sys.argv[1 + waited:]
lines = open(path).read().splitlines()
start = next(i for i, line in enumerate(lines) if "zero.apply" in line)
upload = next(i for i in range(start, len(lines)) if "zero.upload" in lines[i])
moved = lines[upload:upload + 1 + waited]
del lines[upload:upload + 1 + waited]
place = max(i for i in range(start, upload) if re.search(pattern, lines[i]))
lines[place:place] = moved
print("\n".join(lines))
