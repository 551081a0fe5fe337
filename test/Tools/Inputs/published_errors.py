"""Compares the errors that a verdict names with those of predictions for published runs.

Usage: published_errors.py <model> <file of runs> <machine>...
"""

import json
import subprocess
import sys


def figures(*words):
    command = ["zero-plan", *words, "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


model, runs, *machines = sys.argv[1:]
for machine in machines:
    said = figures(model, "--machine", machine)["verdict"]["published_runs"]
    found = figures("compare-runs", runs, "--machine", machine)["all"]
    for name, figure in (("mean_error", found["mean"]), ("worst_error", found["worst"])):
        assert abs(said[name] - figure) < 1e-3, (machine, name, said[name], figure)
    assert said["count"] == found["count"], (machine, said, found)
