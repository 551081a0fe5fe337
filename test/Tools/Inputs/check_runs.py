"""Compares predictions for published runs with bounds: figures that were reached.

Usage: check_runs.py <machine> <file of runs> <most for the mean> <most for the worst>
       <most for speeds over GPU counts> [<model>,...]

With models, only their runs.
"""

import csv
import json
import subprocess
import sys
import tempfile

machine, path, mean, worst, scaling = sys.argv[1:6]
with open(path, newline="") as file:
    table = csv.DictReader(file)
    columns, rows = table.fieldnames, list(table)
if len(sys.argv) > 6:
    models = sys.argv[6].split(",")
    rows = [row for row in rows if row["model"] in models]
with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as runs, \
        tempfile.NamedTemporaryFile("r", suffix=".json") as report:
    chosen = csv.DictWriter(runs, columns)
    chosen.writeheader()
    chosen.writerows(rows)
    runs.flush()
    process = subprocess.run(["zero-plan", "compare-runs", runs.name, "--machine", machine,
                              "--json", report.name], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    if process.returncode:
        sys.exit(process.stderr)
    found = json.load(report)
print(process.stdout)
failed = False
for name, figure, most in (("mean", found["all"]["mean"], mean),
                           ("worst", found["all"]["worst"], worst),
                           ("scaling", found["scaling"]["worst"], scaling)):
    if figure > float(most):
        print(f"{name}: {figure:.4f}, wanted at most {most}")
        failed = True
sys.exit(failed)
