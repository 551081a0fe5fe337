"""What planning does, counted: the same on every machine, however busy it is."""

import json
import subprocess
import sys
import tempfile


def count(model, options, ranks):
    """The steps of one run of zero-plan by kind, its operations among them."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as work:
        process = subprocess.run(
            ["zero-plan", model, "--pipeline", options, "--ranks", str(ranks),
             "--work-json", work.name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)
        if process.returncode:
            sys.exit(f"zero-plan fails for {ranks} ranks, {options}: {process.stderr}")
        with open(work.name) as file:
            counts = json.load(file)
    counts = {name: value for name, value in counts.items() if name.startswith("zero-")}
    if not counts:
        sys.exit("zero-plan counts nothing")
    return counts
