#!/usr/bin/env python3
"""Compares files of outputs: same_outputs.py WANTED FOUND...

Each has the tensors of the first one, with values that differ by rounding alone.
"""

import sys

from check_outputs import close
from training import read_tensors

wanted = read_tensors(sys.argv[1])
for path in sys.argv[2:]:
    found = read_tensors(path)
    if found.keys() != wanted.keys():
        sys.exit(f"{path}: tensors {sorted(found)}, wanted {sorted(wanted)}")
    for name, values in wanted.items():
        close(f"{path}: '{name}'", found[name], values)
