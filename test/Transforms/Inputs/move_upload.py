"""Moves the upload of zero.apply up to before the last line that matches.

Usage: move_upload.py <pattern> <schedule>
"""

import re
import sys

pattern, path = sys.argv[1:]
lines = open(path).read().splitlines()
start = next(i for i, line in enumerate(lines) if "zero.apply" in line)
upload = next(i for i in range(start, len(lines)) if "zero.upload" in lines[i])
moved = lines.pop(upload)
place = max(i for i in range(start, upload) if re.search(pattern, lines[i]))
lines.insert(place, moved)
print("\n".join(lines))
