"""Measures this machine with a model and compares what is then predicted for
other stages, rank counts and bucket sizes with what updates take.

The machine may be busy with other tests. So ranks have one thread each, and
what counts is the time for which they compute; a prediction may be off by a
factor. docs/Planning.md has figures of a quiet machine.
"""

import json
import os
import resource
import subprocess
import sys

folder, model = sys.argv[1:3]
FACTOR = 2
FEW, MANY = 2, 10  # updates
# Ranks a core, and options.
CASES = [(1, "stage=0"), (1, "stage=2 reduce-bucket-size=200000"),
         (1, "stage=3 accumulation=2"), (2, "stage=1")]


def run(*command):
    """The output of a command, and the seconds that it computed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


os.makedirs(folder, exist_ok=True)
machine = os.path.join(folder, "machine.json")
executable = os.path.join(folder, "train")
text = os.path.join(folder, "text.txt")
with open(text, "w") as file:
    file.write("to be or not to be, that is the question " * 500)
ranks = max(2, len(os.sched_getaffinity(0)))
run("zero-plan", model, "--calibrate", machine, "--ranks", f"1,{ranks}", "--pipeline=stage=1")
with open(machine) as file:
    measured = json.load(file)
assert measured["works_at_wait"] and measured["cores"] >= 1
assert {kernel["ranks"] for kernel in measured["kernels"]} == {1, ranks}
assert {entry["ranks"] for entry in measured["collectives"]} == {ranks}
assert all(entry["seconds"] >= 0 for entry in measured["kernels"] + measured["collectives"])
assert any(kernel["kernel"].startswith("nn.linear(") for kernel in measured["kernels"])

for load, case in CASES:
    case += f" ranks={load * ranks}"
    run("zero-compile", model, "--pipeline", case, "-o", executable)
    few, many = (run(executable, "--data", text, "--threads", "1", "--steps", str(steps))[1]
                 for steps in (FEW, MANY))
    seconds = (many - few) / (MANY - FEW) / measured["cores"]
    plan = json.loads(run("zero-plan", model, "--pipeline", case, "--machine", machine,
                          "--json", "-")[0])
    ratio = plan["prediction"]["seconds"] / seconds
    print(f"{case}: predicted {plan['prediction']['seconds']:.4f} s, "
          f"computed for {seconds:.4f} s, ratio {ratio:.2f}")
    if not 1 / FACTOR < ratio < FACTOR:
        sys.exit(f"{case}: predicted {ratio:.2f} times what was measured")
