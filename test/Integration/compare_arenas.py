"""Compares arenas of a plan, as JSON, with those that a program has."""

import json
import re
import sys

plan = {a["arena"]: a["bytes"] for a in json.load(open(sys.argv[1]))["arenas"]}
text = open(sys.argv[2]).read()
found = {n: int(b) for n, b in re.findall(r"^arena (\w+): (\d+) bytes", text, re.M)}
# The runtime's own block of scale, step and norm is not a part of the schedule.
found.pop("control", None)
plan.pop("control", None)
if not found or found != plan:
    sys.exit(f"planned {plan}, found {found}")
