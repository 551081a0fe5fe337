"""Compares the arenas of zero-plan's JSON with an executable's --memory, and what that
says "by formula", which rounds each parameter up, with the closed forms."""

import json
import re
import sys

arenas = json.load(open(sys.argv[1]))["memory"]
plan = {name: arena["bytes"] for name, arena in arenas.items()}
text = open(sys.argv[2]).read()
rows = re.findall(r"^  ([a-z]+) +([0-9,]+)  ", text, re.M)
executable = {name: int(count.replace(",", "")) for name, count in rows}
total = executable.pop("total")
executable = {name: count for name, count in executable.items() if count}
if plan != executable or sum(plan.values()) != total:
    sys.exit(f"planned {plan}, but the executable has {executable}")
for name, count in re.findall(r"^  ([a-z]+) by formula +([0-9,]+)  ", text, re.M):
    formula, least, most = int(count.replace(",", "")), arenas[name]["closed_form"], plan[name]
    if not least <= formula <= most:
        sys.exit(f"{name} by formula: {formula}, wanted {least}, or rounded up at most {most}")
