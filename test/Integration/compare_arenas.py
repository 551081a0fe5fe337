"""Compares arenas of a plan, as JSON, with those that a program has."""

import json
import re
import sys

memory = json.load(open(sys.argv[1]))["memory"]
plan = {name: arena["bytes"] for name, arena in memory.items()}
text = open(sys.argv[2]).read()
found = {n: int(b) for n, b in re.findall(r"^arena (\w+): (\d+) bytes", text, re.M)}
found = {name: size for name, size in found.items() if size}
if not found or found != plan:
    sys.exit(f"planned {plan}, found {found}")
