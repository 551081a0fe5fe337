"""Has zero-plan-bench fit a machine to runs on another one, whose figures are known, and
expects that it then predicts them.

Usage: fit_runs.py <folder>
"""

import csv
import json
import pathlib
import subprocess
import sys

MOST = 0.01
COLUMNS = ("gpu,model,d,layers,heads,vocab,seq,gpus,micro,accum,ac,"
           "published_tok_s_gpu").split(",")
REAL = {"product_efficiency": 0.5, "product_padding": 200, "attention_efficiency": 0.2,
        "bandwidth_efficiency": 0.5, "link_efficiency": 0.6, "overlap_slowdown": 1.6,
        "kernel_overhead": 1e-5}
RUNS = [(width, sequence, gpus, micro, accumulation, ac)
        for width in (256, 1024) for sequence, micro in ((256, 16), (2048, 4))
        for gpus, accumulation, ac in ((8, 1, 0), (16, 5, 1))]

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)


def run(*arguments):
    process = subprocess.run([*map(str, arguments)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.returncode:
        sys.exit(f"{arguments} fails: {process.stderr}")


def write(path, speeds):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for (width, sequence, gpus, micro, accumulation, ac), speed in zip(RUNS, speeds):
            table.writerow(["h100", f"w{width}", width, 2, width // 64, 512, sequence, gpus,
                            micro, accumulation, ac, repr(speed)])


runs, fitted, report = folder / "runs.csv", folder / "fitted.json", folder / "report.json"
write(runs, [1.0] * len(RUNS))
run("zero-plan-bench", "fit", runs, "--machine", "h100", "-o", fitted)
machine = json.loads(fitted.read_text())
machine.update(REAL)
real = folder / "h100-real.json"
real.write_text(json.dumps(machine))
run("zero-plan", "compare-runs", runs, "--machine", real, "--json", report)
write(runs, [run["predicted_tokens_per_second"] for run in json.loads(report.read_text())["runs"]])
run("zero-plan-bench", "fit", runs, "--machine", "h100", "-o", fitted, "--json", report)
found = json.loads(report.read_text())
machine = json.loads(fitted.read_text())
for name, value in REAL.items():
    print(f"{name}: {value}, fitted {machine[name]:.4g}")
print(f"errors: {found['all']}, left out: {found['left_out']}")
if found["all"]["mean"] > MOST or found["all"]["count"] != len(RUNS):
    sys.exit(f"wanted a mean error of at most {MOST} over {len(RUNS)} runs")

again = folder / "again.json"
run("zero-plan-bench", "fit", runs, "--machine", "h100", "-o", again)
if again.read_bytes() != fitted.read_bytes():
    sys.exit("the same runs give another machine")
