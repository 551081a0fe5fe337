"""Plans a model for 8 and for 16,384 ranks: planning does the same.

Usage: scale.py <model> <options>
"""

import sys

from counts import count

MOST = 1.5
# Gathers take longer between more ranks, and more counts of them in flight are tried:
# each a quarter above the last, so a logarithm of all.
GATHERS_MOST = 8
# Those in flight have buffers beside each other.
BUFFERS_MOST = 2

few, many = (count(sys.argv[1], sys.argv[2], ranks) for ranks in (8, 16384))
failed = False
for name in sorted(many):
    print(f"{name}: {few.get(name, 0)} for 8 ranks, {many[name]} for 16384")
    most = (GATHERS_MOST if name.startswith("zero-prefetch.") else
            BUFFERS_MOST if name.startswith("zero-allocate.") else MOST)
    if many[name] > most * max(few.get(name, 0), 1):
        print(f"wanted at most {most} times as many")
        failed = True
if failed:
    sys.exit("planning does more for more ranks")
