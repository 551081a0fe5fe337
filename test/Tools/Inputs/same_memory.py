"""Compares the arenas of zero-plan's JSON with an executable's --memory."""

import json
import re
import sys

plan = {name: arena["bytes"] for name, arena in
        json.load(open(sys.argv[1]))["memory"].items()}
rows = re.findall(r"^  ([a-z]+) +([0-9,]+)  ", open(sys.argv[2]).read(), re.M)
executable = {name: int(count.replace(",", "")) for name, count in rows}
total = executable.pop("total")
executable = {name: count for name, count in executable.items() if count}
if plan != executable or sum(plan.values()) != total:
    sys.exit(f"planned {plan}, but the executable has {executable}")
