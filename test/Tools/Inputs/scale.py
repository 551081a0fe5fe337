"""Plans a model for 8 and for 16,384 ranks: planning does the same.

Usage: scale.py <model> <options>
"""

import sys

from counts import count

MOST = 1.5

few, many = (count(sys.argv[1], sys.argv[2], ranks) for ranks in (8, 16384))
failed = False
for name in sorted(many):
    print(f"{name}: {few.get(name, 0)} for 8 ranks, {many[name]} for 16384")
    failed |= many[name] > MOST * max(few.get(name, 0), 1)
if failed:
    sys.exit(f"wanted at most {MOST} times as many of each")
