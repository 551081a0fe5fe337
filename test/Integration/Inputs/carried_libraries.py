"""Checks that a program takes every library from a folder but those of the machine.

Usage: carried_libraries.py <program> <folder>
"""

import os
import subprocess
import sys

program, folder = sys.argv[1:]
listing = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
machine = ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "libstdc++.", "libgcc_s.")
found = dict(line.split()[::2][:2] for line in listing.splitlines() if " => " in line)
carried = {name: path for name, path in found.items() if not name.startswith(machine)}
assert carried, listing
for name, path in carried.items():
    assert os.path.samefile(os.path.dirname(path), folder), (name, path)
assert set(carried) == set(os.listdir(folder)), (carried, os.listdir(folder))
