"""Where a step's time goes: commands by kind, from a trace, beside a prediction."""

import collections
import json
import os
import sys
import tempfile

from models import Run, kind_of

UPDATES = 6  # of a run; the second to the fourth are traced
SHOWN = 5    # kinds in a row's text
EMPTY = {"launches": 0, "ms": 0, "bytes": 0}


def kind(event):
    """Of a kernel its name, which is one for all generated ones; else what moves."""
    if event["cat"] != "kernel":
        return event["cat"]
    return "generated" if event["name"].startswith("launch") else event["name"]


def by_kind(events, rank=0):
    """Launches, ms and bytes of an update by kind, the longest first; and ms of the update."""
    mine = [each for each in events if each["ph"] == "X" and each["pid"] == rank]
    updates = [each for each in mine if each["cat"] == "region"
               and each["name"].startswith("update ")]
    kinds = collections.defaultdict(lambda: dict(EMPTY))
    for each in mine:
        if each["cat"] != "region" and not each["cat"].endswith("submit"):
            row = kinds[kind(each)]
            row["launches"] += 1 / len(updates)
            row["ms"] += each["dur"] * 1e-3 / len(updates)
            row["bytes"] += each["args"].get("bytes", 0) / len(updates)
    total = sum(each["dur"] for each in updates) * 1e-3 / len(updates)
    return dict(sorted(kinds.items(), key=lambda pair: -pair[1]["ms"])), total


def table(kinds, total, predicted):
    """Lines of Markdown; `predicted` has the same rows, or is empty."""
    lines = ["| kind | launches | ms | bytes | GB/s | share | predicted ms | measured / predicted |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in kinds.items():
        foreseen = predicted.get(name, {}).get("ms", 0)
        rate = row["bytes"] / row["ms"] * 1e-6 if row["ms"] else 0
        lines.append(f"| {name} | {row['launches']:.0f} | {row['ms']:.3f} | {row['bytes']:.0f} "
                     f"| {rate:.1f} | {row['ms'] / total:.1%} | "
                     + (f"{foreseen:.3f} | {row['ms'] / foreseen:.2f} |" if foreseen
                        else "| |"))
    missing = [name for name in predicted if name not in kinds]
    return lines + [f"| {name} | 0 | | | | | {predicted[name]['ms']:.3f} | |" for name in missing]


def kinds_body(model, machine, folder):
    def body(limit):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "trace.json")
            Run(model, UPDATES, ["--trace", path], limit)
            with open(path) as file:
                kinds, total = by_kind(json.load(file)["traceEvents"])
        if not any(row["bytes"] for row in kinds.values()):
            return "failed", "the trace has no command that moves a byte", {}
        predicted = kind_of(machine, model.get("predicted", {})) or {}
        name = f"{model['name']}-kinds.md"
        with open(os.path.join(folder, name), "w") as file:
            file.write("\n".join(table(kinds, total, predicted)) + "\n")
        longest = ", ".join(f"{kind} {row['ms'] / total:.0%}"
                            for kind, row in list(kinds.items())[:SHOWN])
        return "passed", f"{total:.3f} ms, of which {longest}; see {name}", \
            {"update_ms": total, "kinds": kinds, "predicted": predicted}
    return body


if __name__ == "__main__":
    # What zero-plan predicts, for models.json: kinds.py TRACE.json
    with open(sys.argv[1]) as file:
        print(json.dumps(by_kind(json.load(file)["traceEvents"])[0]))
